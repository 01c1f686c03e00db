//! Reads `question`: what a person is asked, and how long.
//!
//! Owns the bounds of `expires`, and that a `default` is a value and nothing that is computed.
//! Never judges whether it fits: that is the pass `types`. INVARIANT: no default stands without a
//! deadline.

use std::time::Duration;

use serde_json::json;

use super::step::{above_nothing, schema};
use super::template;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::duration;
use crate::limits::QUESTION_EXPIRES_DAYS_MAX;
use crate::node::{Fields, Kind, Node};
use crate::plan::{Expiry, StepKind};
use crate::schema::Schema;
use crate::source::{Source, Spanned};

/// Takes a text alone, or `{ text, answer, of, expires, default }`.
pub(super) fn question_of(
    node: &Node,
    source: &Source,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<StepKind> {
    if matches!(node.kind, Kind::Text(_)) {
        let text = template("question", node, source, diagnostics)?;
        let answer = Schema::compile(json!({"type": "string"})).ok()?;
        return Some(StepKind::Question {
            text,
            answer,
            of: None,
            expires: None,
        });
    }
    let mut fields = Fields::new("a question", node, diagnostics)?;
    let text = fields
        .required("text")
        .and_then(|node| template("text", node, source, fields.diagnostics()));
    let answer = match fields.node("answer") {
        None => Schema::compile(json!({"type": "string"})).ok(),
        Some(node) => schema("answer", node, fields.diagnostics()),
    };
    let of = fields.text("of");
    let expires = expiry(&mut fields);
    fields.finish();
    Some(StepKind::Question {
        text: text?,
        answer: answer?,
        of,
        expires,
    })
}

/// Takes `expires: 4h` and `default: no`.
fn expiry(fields: &mut Fields<'_, '_>) -> Option<Expiry> {
    let written = fields.node("expires").is_some();
    let after = above_nothing(fields, "expires");
    let default = fields.node("default");
    let most = Duration::from_secs(QUESTION_EXPIRES_DAYS_MAX * 24 * 60 * 60);
    if let Some(after) = after.as_ref().filter(|after| after.value > most) {
        let most = duration::print(most);
        let message = format!("`expires` may be at most {most}");
        let finding = Diagnostic::new(Code::TooLarge, after.span, message);
        fields.diagnostics().push(finding);
    }
    if let Some(default) = default {
        if !written {
            let message = "`default` belongs to `expires`, which is not there";
            let hint = "say with `expires` how long an answer is waited for, such as `4h`";
            let finding = Diagnostic::new(Code::MissingField, default.span, message).hint(hint);
            fields.diagnostics().push(finding);
        }
        if is_computed(default) {
            let message = "`default` is a value as it is written, and no expression";
            let hint = "write the value itself; what is computed from it stands in a later step";
            let finding = Diagnostic::new(Code::WrongShape, default.span, message).hint(hint);
            fields.diagnostics().push(finding);
        }
    }
    Some(Expiry {
        after: after?.value,
        default: default.map(|node| Spanned::new(node.to_value(), node.span)),
    })
}

/// Whether a text of it reads as an expression.
fn is_computed(node: &Node) -> bool {
    match &node.kind {
        Kind::Text(text) => text.contains("${"),
        Kind::List(items) => items.iter().any(is_computed),
        Kind::Map(entries) => entries.iter().any(|(_, value)| is_computed(value)),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => false,
    }
}
