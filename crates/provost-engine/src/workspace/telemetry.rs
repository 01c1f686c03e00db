//! `[telemetry]`: where traces are sent.
//!
//! Owns reading the table. Resolves no secret and sends nothing. INVARIANT: without the table
//! nothing is sent, and what leaves the machine is encrypted unless it goes to this machine itself.

use std::sync::Arc;

use provost_plan::diagnostic::Diagnostic;
use provost_plan::node::{Fields, Kind, Node};
use provost_plan::source::Spanned;
use provost_run::read::spans::SpanContent;
use provost_wire::SecretName;
use provost_wire::http::{BaseUrl, Proxy};

use super::config::bad;
use super::notify::is_in_clear;
use crate::limits::{NOTIFY_TIMEOUT, NOTIFY_TIMEOUT_MAX};
use crate::telemetry::{OtlpForm, OtlpSignal, TelemetrySettings};

/// Reads the table.
pub(super) fn read(
    node: &Node,
    proxy: Option<&Arc<Proxy>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<TelemetrySettings> {
    let mut fields = Fields::new("`[telemetry]`", node, diagnostics)?;
    let otlp = fields.required_text("otlp");
    let headers = fields.map("headers").unwrap_or_default();
    let form = fields.choice("protocol", &OtlpForm::WORDS);
    let content = fields.choice("content", &SpanContent::WORDS);
    let send = read_send(&mut fields);
    let timeout = fields.duration("timeout");
    let private = fields.boolean("private").unwrap_or(false);
    if let Some(timeout) = &timeout
        && (timeout.value.is_zero() || timeout.value > NOTIFY_TIMEOUT_MAX)
    {
        let message = "`timeout` must be longer than nothing and at most a minute";
        bad(fields.diagnostics(), timeout.span, message);
    }
    fields.finish();
    let headers = headers
        .iter()
        .filter_map(|(name, value)| read_header(name, value, diagnostics))
        .collect();
    let otlp = otlp?;
    let base = BaseUrl::parse(&otlp.value)
        .map_err(|error| bad(diagnostics, otlp.span, error.to_string()))
        .ok()?;
    if is_in_clear(&base, &otlp.value) {
        let message = "`otlp` must be `https`: only to this machine itself traces go in clear";
        bad(diagnostics, otlp.span, message);
    }
    Some(TelemetrySettings {
        base: base.with_private(private).through(proxy.cloned()),
        headers,
        form: form.unwrap_or_default(),
        send,
        content: content.unwrap_or_default(),
        timeout: timeout.map_or(NOTIFY_TIMEOUT, |timeout| timeout.value),
    })
}

fn read_send(fields: &mut Fields<'_, '_>) -> Vec<OtlpSignal> {
    let words = fields.texts("send");
    let mut send = Vec::new();
    for word in &words {
        let found = OtlpSignal::WORDS
            .iter()
            .find(|(known, _)| *known == word.value);
        match found {
            Some((_, signal)) if !send.contains(signal) => send.push(*signal),
            Some(_) => {}
            None => {
                let message = "`send` lists some of `traces`, `logs` and `metrics`";
                bad(fields.diagnostics(), word.span, message);
            }
        }
    }
    if words.is_empty() {
        send.push(OtlpSignal::Traces);
    }
    send
}

fn read_header(
    name: &Spanned<String>,
    value: &Node,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(String, SecretName)> {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let own = ["host", "content-type", "content-length", "user-agent"];
    let lower = name.value.to_ascii_lowercase();
    if lower.is_empty() || !lower.chars().all(letter) || own.contains(&lower.as_str()) {
        let message = format!("`{}` is no header that can be set", name.value);
        bad(diagnostics, name.span, message);
    }
    let Kind::Text(text) = &value.kind else {
        bad(diagnostics, value.span, "a header names a secret");
        return None;
    };
    match SecretName::parse(text) {
        Ok(secret) => Some((name.value.clone(), secret)),
        Err(error) => {
            bad(diagnostics, value.span, error.to_string());
            None
        }
    }
}
