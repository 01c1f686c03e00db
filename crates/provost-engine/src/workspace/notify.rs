//! `[notify.NAME]`: who is told, of what and how.
//!
//! Owns reading the tables. Resolves no secret. INVARIANT: what leaves the machine is signed, and
//! encrypted unless it goes to this machine itself.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::node::{Fields, Node};
use provost_plan::source::Spanned;
use provost_wire::SecretName;
use provost_wire::http::{BaseUrl, Proxy};

use super::config::bad;
use crate::limits::{NOTIFY_REMIND_MIN, NOTIFY_TIMEOUT, NOTIFY_TIMEOUT_MAX};
use crate::notify::{DeliveryMethod, Escalation, NoticeReason, NotifyBody, NotifyTarget};

type NotifyEntry = (Spanned<String>, Node);

/// Reads the tables.
pub(super) fn read(
    entries: &[NotifyEntry],
    proxy: Option<&Arc<Proxy>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<NotifyTarget> {
    let names: BTreeSet<&str> = entries
        .iter()
        .map(|(name, _)| name.value.as_str())
        .collect();
    let one = |(name, node): &NotifyEntry| read_one(name, node, &names, proxy, diagnostics);
    entries.iter().filter_map(one).collect()
}

fn read_one(
    name: &Spanned<String>,
    node: &Node,
    names: &BTreeSet<&str>,
    proxy: Option<&Arc<Proxy>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<NotifyTarget> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.value.is_empty() || !name.value.chars().all(plain) {
        let message = "the name of a `[notify.NAME]` is of letters, digits, `-` and `_`";
        bad(diagnostics, name.span, message);
    }
    let owner = format!("`[notify.{}]`", name.value);
    let mut fields = Fields::new(owner.clone(), node, diagnostics)?;
    let command = fields.texts("command");
    let url = fields.text("url");
    let secret = fields.text("secret");
    let body = fields.choice("body", &NotifyBody::WORDS);
    let on = read_on(&mut fields);
    let timeout = fields.duration("timeout");
    let remind = fields.duration("remind");
    let escalate = fields.node("escalate");
    let span = fields.span();
    if let Some(timeout) = &timeout
        && (timeout.value.is_zero() || timeout.value > NOTIFY_TIMEOUT_MAX)
    {
        let message = "`timeout` must be longer than nothing and at most a minute";
        bad(fields.diagnostics(), timeout.span, message);
    }
    too_often(&mut fields, "remind", remind.as_ref());
    let private = fields.boolean("private").unwrap_or(false);
    fields.finish();
    let escalate = escalate.and_then(|node| read_escalate(&name.value, node, names, diagnostics));
    let by = match (command.is_empty(), url, secret) {
        (false, None, None) if body.is_none() => {
            DeliveryMethod::Command(command.into_iter().map(|word| word.value).collect())
        }
        (true, Some(url), Some(secret)) => {
            let (base, path, secret) = webhook(&url, &secret, private, proxy, diagnostics)?;
            DeliveryMethod::Webhook {
                base,
                path,
                secret,
                body: body.unwrap_or_default(),
            }
        }
        _ => {
            let message = format!("{owner} needs either `command`, or `url` with `secret`");
            let hint = "`secret` signs what is sent: `secret = \"env:PROVOST_HOOK_SECRET\"`";
            diagnostics.push(Diagnostic::new(Code::BadWorkspace, span, message).hint(hint));
            return None;
        }
    };
    Some(NotifyTarget {
        name: name.value.clone(),
        by,
        timeout: timeout.map_or(NOTIFY_TIMEOUT, |timeout| timeout.value),
        on,
        remind: remind.map(|remind| remind.value),
        escalate,
    })
}

fn read_on(fields: &mut Fields<'_, '_>) -> BTreeSet<NoticeReason> {
    let Some(items) = fields.list("on") else {
        return NoticeReason::WORDS
            .iter()
            .map(|(_, occasion)| *occasion)
            .filter(|occasion| occasion.is_default())
            .collect();
    };
    let span = fields.span();
    let items = items.len();
    let words = fields.texts("on");
    let mut on = BTreeSet::new();
    for word in &words {
        let found = NoticeReason::WORDS
            .iter()
            .find(|(known, _)| *known == word.value);
        match found {
            Some((_, occasion)) => {
                on.insert(*occasion);
            }
            None => {
                let known: Vec<String> = NoticeReason::WORDS
                    .iter()
                    .map(|(word, _)| format!("`{word}`"))
                    .collect();
                let message = format!("`on` lists some of {}", known.join(", "));
                bad(fields.diagnostics(), word.span, message);
            }
        }
    }
    if words.len() != items {
        bad(fields.diagnostics(), span, "`on` lists words");
    }
    on
}

fn read_escalate(
    name: &str,
    node: &Node,
    names: &BTreeSet<&str>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Escalation> {
    let mut fields = Fields::new("`escalate`", node, diagnostics)?;
    let after = fields.duration("after");
    let to = fields.required_text("to");
    let span = fields.span();
    too_often(&mut fields, "after", after.as_ref());
    fields.finish();
    let (Some(after), Some(to)) = (after, to) else {
        bad(diagnostics, span, "`escalate` needs `after` and `to`");
        return None;
    };
    if to.value == name || !names.contains(to.value.as_str()) {
        let message = format!("`to` names no other `[notify.NAME]`: `{}`", to.value);
        bad(diagnostics, to.span, message);
    }
    Some(Escalation {
        after: after.value,
        to: to.value,
    })
}

fn too_often(fields: &mut Fields<'_, '_>, name: &str, wait: Option<&Spanned<Duration>>) {
    if let Some(wait) = wait
        && wait.value < NOTIFY_REMIND_MIN
    {
        let message = format!(
            "`{name}` must be at least {} s",
            NOTIFY_REMIND_MIN.as_secs()
        );
        bad(fields.diagnostics(), wait.span, message);
    }
}

fn webhook(
    url: &Spanned<String>,
    secret: &Spanned<String>,
    private: bool,
    proxy: Option<&Arc<Proxy>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(BaseUrl, String, SecretName)> {
    let secret_name = SecretName::parse(&secret.value);
    if let Err(error) = &secret_name {
        bad(diagnostics, secret.span, error.to_string());
    }
    let (host, path) = split(&url.value);
    let base = match BaseUrl::parse(host) {
        Ok(base) if path.contains(['?', '#']) => {
            bad(
                diagnostics,
                url.span,
                "`url` contains a query or a fragment",
            );
            Some(base)
        }
        Ok(base) => Some(base.with_private(private).through(proxy.cloned())),
        Err(error) => {
            bad(diagnostics, url.span, error.to_string());
            None
        }
    }?;
    if is_in_clear(&base, &url.value) {
        let message = "`url` must be `https`: only to this machine itself a notice goes in clear";
        bad(diagnostics, url.span, message);
    }
    Some((base, path.to_owned(), secret_name.ok()?))
}

/// Whether what is sent to an address could be read on its way.
pub(super) fn is_in_clear(base: &BaseUrl, url: &str) -> bool {
    let here = ["127.0.0.1", "[::1]", "localhost"].contains(&base.host());
    !here && !url.starts_with("https://")
}

/// The scheme with the host, and the path.
pub(super) fn split(url: &str) -> (&str, &str) {
    let after = url.find("://").map_or(0, |at| at + 3);
    let path = url.get(after..).and_then(|rest| rest.find('/'));
    match path.and_then(|at| url.split_at_checked(after + at)) {
        Some(parts) => parts,
        None => (url, "/"),
    }
}
