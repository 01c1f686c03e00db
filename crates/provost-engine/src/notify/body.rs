//! What a notice looks like to whoever is told: a CloudEvent, or what a chat service takes.
//!
//! Owns the bodies, the path and the headers of a webhook. Sends nothing. INVARIANT: a secret of a
//! chat service stands in the request alone, and never in the notice.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use provost_run::state::WaitKind;
use ring::hmac;
use serde_json::{Value, json};

use super::compose::subject;
use super::{CommandOf, NoticeSubject, NotifyBody, SubjectKind};
use crate::store::DueNotice;

const EVENT_MEDIA: &str = "application/cloudevents+json";
const JSON_MEDIA: &str = "application/json";
/// What a secret of Standard Webhooks begins with; the rest of it is base64.
const SECRET_PREFIX: &str = "whsec_";
/// Most characters of the summary that PagerDuty takes.
const SUMMARY_CHARS_MAX: usize = 1_024;

/// What is sent to a webhook.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) media: &'static str,
}

/// A notice with what it is sent from.
#[derive(Clone, Copy)]
pub(super) struct Told<'n> {
    pub(super) notice: &'n DueNotice,
    pub(super) store: &'n str,
    pub(super) commands: Option<&'n CommandOf>,
    /// The address that people use of the server of the workspace, if there is one.
    pub(super) url: Option<&'n str>,
}

/// What is sent to a webhook at this path, at a moment in seconds since 1970.
pub(super) fn sent(
    told: Told<'_>,
    as_body: NotifyBody,
    path: &str,
    secret: &str,
    seconds: i64,
) -> Result<Sent, String> {
    let plain = |path: String, body: Value| Sent {
        path,
        headers: Vec::new(),
        body: body.to_string().into_bytes(),
        media: JSON_MEDIA,
    };
    match as_body {
        NotifyBody::CloudEvent => {
            let body = event(told).to_string().into_bytes();
            Ok(Sent {
                path: path.to_owned(),
                headers: signed(&told.notice.id, seconds, &body, secret)?,
                body,
                media: EVENT_MEDIA,
            })
        }
        NotifyBody::Slack => {
            let of_path = |c: char| c.is_ascii_alphanumeric() || "/-_".contains(c);
            if secret.is_empty() || !secret.chars().all(of_path) {
                return Err("the secret is not the end of the webhook's path".to_owned());
            }
            let path = format!(
                "{}/{}",
                path.trim_end_matches('/'),
                secret.trim_matches('/')
            );
            Ok(plain(path, slack(told)))
        }
        NotifyBody::PagerDuty => Ok(plain(path.to_owned(), pagerduty(told, secret))),
    }
}

/// The notice as a CloudEvent.
pub(super) fn event(told: Told<'_>) -> Value {
    let notice = told.notice;
    let occasion = notice.notice.get("occasion").and_then(Value::as_str);
    let at = notice.notice.get("at_ms").and_then(Value::as_i64);
    let time = jiff::Timestamp::from_millisecond(at.unwrap_or_default()).unwrap_or_default();
    let command = told.command().map(Value::from);
    let link = told.link().map(Value::from);
    let data: BTreeMap<&str, &Value> = notice
        .notice
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| !value.is_null() && *name != "at_ms")
        .map(|(name, value)| (name.as_str(), value))
        .chain(command.as_ref().map(|command| ("command", command)))
        .chain(link.as_ref().map(|link| ("link", link)))
        .collect();
    json!({
        "specversion": "1.0",
        "id": notice.id,
        "source": format!("urn:provost:{}", told.store),
        "type": format!("provost.{}", occasion.unwrap_or_default()),
        "subject": notice.run,
        "time": time.to_string(),
        "datacontenttype": "application/json",
        "data": data,
    })
}

impl Told<'_> {
    fn text(&self, name: &str) -> &str {
        let text = self.notice.notice.get(name).and_then(Value::as_str);
        text.unwrap_or_default()
    }

    fn command(&self) -> Option<String> {
        Some(self.commands?(&subject(&self.notice.notice)?))
    }

    /// The page of what it is about. It carries no authority: who opens it signs in there.
    fn link(&self) -> Option<String> {
        let url = self.url?.trim_end_matches('/');
        let NoticeSubject { run, kind, which } = subject(&self.notice.notice)?;
        Some(match kind {
            SubjectKind::Waits(WaitKind::Approval) => format!("{url}/runs/{run}/cards/{which}"),
            // Why the first one: there is no run to look at.
            SubjectKind::Schedule => url.to_owned(),
            _ => format!("{url}/runs/{run}"),
        })
    }
}

/// A message of an incoming webhook of Slack. What stands in it may come from anybody.
fn slack(told: Told<'_>) -> Value {
    let escaped = |text: &str| {
        let text = text.replace('&', "&amp;");
        text.replace('<', "&lt;").replace('>', "&gt;")
    };
    // Why without it: the run is named in front.
    let text = told.text("text");
    let text = escaped(text.strip_prefix("run: ").unwrap_or(text));
    let begun = subject(&told.notice.notice).is_none_or(|of| of.kind != SubjectKind::Schedule);
    let of_run = begun.then(|| format!(", run {}", told.notice.run));
    let mut lines = vec![
        format!("provost{}: {text}", of_run.unwrap_or_default()),
        format!("Goal: {}", escaped(told.text("goal"))),
    ];
    let command = told.command();
    lines.extend(command.map(|command| format!("Type: {}", escaped(&command))));
    lines.extend(
        told.link()
            .map(|link| format!("Or open: {}", escaped(&link))),
    );
    // Why no markup: a star or a tick in a goal would change what the rest looks like.
    json!({ "text": lines.join("\n"), "mrkdwn": false })
}

/// An event of PagerDuty's Events API v2.
fn pagerduty(told: Told<'_>, routing_key: &str) -> Value {
    let severity = match told.text("occasion") {
        "failed" | "in_doubt" => "error",
        "ended" => "info",
        _ => "warning",
    };
    let about = told.notice.notice.get("about");
    let of = |name: &str| {
        about
            .and_then(|about| about.get(name)?.as_str())
            .unwrap_or("")
    };
    let summary = format!("{}: {}", told.text("goal"), told.text("text"));
    let summary: String = summary.chars().take(SUMMARY_CHARS_MAX).collect();
    json!({
        "routing_key": routing_key,
        "event_action": "trigger",
        "dedup_key": format!("{}/{}/{}", told.notice.run, of("kind"), of("which")),
        "payload": {
            "summary": summary,
            "source": format!("urn:provost:{}", told.store),
            "severity": severity,
            "component": told.notice.run,
            "class": told.text("occasion"),
            "custom_details": {
                "command": told.command(), "link": told.link(), "status": told.text("status"),
            },
        },
    })
}

/// The headers of Standard Webhooks.
fn signed(
    id: &str,
    seconds: i64,
    body: &[u8],
    secret: &str,
) -> Result<Vec<(String, String)>, String> {
    let key = match secret.strip_prefix(SECRET_PREFIX) {
        Some(text) => STANDARD
            .decode(text)
            .map_err(|_| format!("what follows `{SECRET_PREFIX}` in the secret is no base64"))?,
        None => secret.as_bytes().to_vec(),
    };
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let mut text = format!("{id}.{seconds}.").into_bytes();
    text.extend_from_slice(body);
    let signature = STANDARD.encode(hmac::sign(&key, &text));
    let headers = [
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", seconds.to_string()),
        ("webhook-signature", format!("v1,{signature}")),
    ];
    Ok(headers
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::signed;

    /// The example of the specification's reference libraries.
    #[test]
    fn the_signature_is_that_of_standard_webhooks() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let body = br#"{"test": 2432232314}"#;
        let headers = signed("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body, secret).unwrap();
        let signature = headers.last().map(|(_, value)| value.as_str());
        let wanted = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(signature, Some(wanted));
        assert!(signed("a", 1, body, "whsec_no base64!").is_err());
    }
}
