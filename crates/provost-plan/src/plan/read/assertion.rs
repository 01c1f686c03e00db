//! Reads what is an assertion's own: its condition and its message.
//!
//! INVARIANT: a field that an assertion has no use for is refused, and `message` on any other step.

use serde_json::json;

use super::subgoal::not_of;
use super::{expression, template};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::node::{Fields, Kind, Node};
use crate::plan::StepKind;
use crate::plan::assertion::Assertion;
use crate::schema::Schema;
use crate::source::Source;

const HINT: &str = "say it of the step that calls: an assertion is one condition, looked at once";

/// Takes `assert: "${ steps.stock.output.free > 3 }"` and `message: "too few"`, if the step is an
/// assertion; else says of which step they are.
pub(super) fn assertion(
    fields: &mut Fields<'_, '_>,
    node: &Node,
    source: &Source,
) -> Option<StepKind> {
    let condition = fields.node("assert");
    let message = fields.node("message");
    let Some(condition) = condition else {
        if let Some(message) = message {
            let text = "`message` belongs to `assert`, which is not there";
            let finding = Diagnostic::new(Code::MissingField, message.span, text);
            fields.diagnostics().push(finding);
        }
        return None;
    };
    let is_other = |kind: &&str| node.get(kind).is_some_and(|n| n.kind != Kind::Null);
    // Why not then: a step that is two things at once is told that.
    if !["tool", "question", "subgoal"].iter().any(is_other) {
        not_of(fields, node, "an assertion", &["accept"], HINT);
    }
    let condition = expression("assert", condition, source, fields.diagnostics());
    let message = message.map(|node| template("message", node, source, fields.diagnostics()));
    Some(StepKind::Assertion(Box::new(Assertion {
        condition: condition?,
        message: match message {
            Some(message) => Some(message?),
            None => None,
        },
        output: Schema::compile(json!({ "type": "boolean", "const": true })).ok()?,
    })))
}
