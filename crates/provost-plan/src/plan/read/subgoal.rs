//! Reads what is a subgoal's own: its envelope, its output and its result.
//!
//! INVARIANT: a field that a subgoal has no use for is refused, and so is a field of a subgoal on
//! any other step.

use super::expression;
use super::step::schema;
use crate::catalog::Effect;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::limits::SUBGOAL_STEPS_MAX;
use crate::node::{Fields, Kind, Node};
use crate::plan::{StepKind, Subgoal};
use crate::source::{Source, Spanned};

/// The fields that only a subgoal has.
const OWN: [&str; 5] = ["tools", "effect_max", "steps_max", "output", "result"];

/// The fields that only a step has which calls a tool or asks a person.
const OF_OTHERS: [&str; 15] = [
    "args",
    "as",
    "for_each",
    "max_items",
    "until",
    "every",
    "at_most",
    "confirm",
    "undo",
    "expect",
    "timeout",
    "fresh",
    "retry",
    "risk",
    "approval",
];

/// Takes the fields of a subgoal, if the step is one; else says of which step they are.
pub(super) fn subgoal(
    fields: &mut Fields<'_, '_>,
    node: &Node,
    source: &Source,
) -> Option<StepKind> {
    let text = fields.text("subgoal");
    let is_there = |name: &str| node.get(name).is_some_and(|n| n.kind != Kind::Null);
    if !is_there("subgoal") {
        for name in OWN {
            if let Some(value) = fields.node(name) {
                let message = format!("`{name}` belongs to `subgoal`, which is not there");
                let finding = Diagnostic::new(Code::MissingField, value.span, message);
                fields.diagnostics().push(finding);
            }
        }
        return None;
    }
    let hint = "say it of the steps that it is refined into";
    not_of(fields, node, "a subgoal", &[], hint);
    let tools = tools(fields);
    fields.required("effect_max");
    let effect = fields.node("effect_max").map(|node| node.span);
    let effect_max = fields.choice::<Effect>("effect_max", &Effect::WORDS);
    let steps_max = steps_max(fields);
    let output = fields.required("output");
    let output = output.and_then(|node| schema("output", node, fields.diagnostics()));
    let result = fields.node("result");
    let result = result.map(|node| expression("result", node, source, fields.diagnostics()));
    Some(StepKind::Subgoal(Box::new(Subgoal {
        text: text?,
        tools: tools?,
        effect_max: Spanned::new(effect_max?, effect?),
        steps_max: steps_max?,
        output: output?,
        result: match result {
            Some(result) => Some(result?),
            None => None,
        },
    })))
}

/// Refuses what only a step has which calls a tool or asks a person, on a step that does neither.
pub(super) fn not_of(
    fields: &mut Fields<'_, '_>,
    node: &Node,
    what: &str,
    more: &[&str],
    hint: &str,
) {
    for name in OF_OTHERS.iter().chain(more) {
        let value = node.get(name).filter(|value| value.kind != Kind::Null);
        if let Some(value) = value {
            let message = format!("`{name}` is of a step that calls a tool, and {what} calls none");
            let finding = Diagnostic::new(Code::WrongShape, value.span, message).hint(hint);
            fields.diagnostics().push(finding);
        }
    }
}

fn tools(fields: &mut Fields<'_, '_>) -> Option<Vec<Spanned<String>>> {
    let node = fields.required("tools")?;
    let tools = fields.texts("tools");
    if tools.is_empty() {
        let message = "`tools` names the tools that its steps may call: at least one";
        let finding = Diagnostic::new(Code::WrongShape, node.span, message);
        fields.diagnostics().push(finding);
        return None;
    }
    Some(tools)
}

fn steps_max(fields: &mut Fields<'_, '_>) -> Option<Spanned<u64>> {
    fields.required("steps_max")?;
    let most = fields.count("steps_max")?;
    if !(1..=SUBGOAL_STEPS_MAX).contains(&most.value) {
        let message = format!("`steps_max` must be from 1 to {SUBGOAL_STEPS_MAX}");
        let finding = Diagnostic::new(Code::WrongShape, most.span, message);
        fields.diagnostics().push(finding);
        return None;
    }
    Some(most)
}
