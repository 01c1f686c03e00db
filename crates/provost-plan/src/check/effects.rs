//! The pass `effects`: what the steps do to the world.
//!
//! Owns declared against computed risk, acceptance and repetition of writes, and writes that meet.
//! Effect and risk come from the operator's catalog alone. INVARIANT: two writes are let run at
//! once only if their targets are proven to differ.

use serde_json::Value;

use super::Pass;
use crate::catalog::{Idempotency, Operation};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::ArgTree;
use crate::plan::{Step, StepKind};

pub(crate) fn run(pass: &mut Pass<'_>) {
    let mut found = Vec::new();
    for step in &pass.plan.steps {
        let Some(operation) = pass.operation(step) else {
            continue;
        };
        found.extend(risk(step, operation));
        if !operation.effect.is_read() {
            found.extend(acceptance(step, operation));
            found.extend(repetition(step, operation));
        }
    }
    for (at, second) in pass.plan.steps.iter().enumerate() {
        for first in pass.plan.steps.iter().take(at) {
            found.extend(meeting(pass, first, second));
        }
    }
    pass.diagnostics.extend(found);
}

fn risk(step: &Step, operation: &Operation) -> Option<Diagnostic> {
    let declared = step.risk.as_ref()?;
    let computed = operation.risk();
    (declared.value < computed).then(|| {
        let message = format!(
            "`{}` declares the risk {}, but it is {}",
            step.id.value,
            declared.value.word(),
            computed.word()
        );
        Diagnostic::new(Code::RiskUnderstated, declared.span, message)
            .label(format!("`{}` is {}", operation.name, computed.word()))
            .hint("leave `risk` out: it is computed from the catalog")
            .step(&step.id.value)
    })
}

fn acceptance(step: &Step, operation: &Operation) -> Option<Diagnostic> {
    step.accept.is_empty().then(|| {
        let message = format!(
            "`{}` is {} and nothing says when it has worked",
            step.id.value,
            effect_words(operation)
        );
        Diagnostic::new(Code::NoAcceptance, step.id.span, message)
            .hint("add `accept: [\"${ output.… }\"]`")
            .step(&step.id.value)
    })
}

fn repetition(step: &Step, operation: &Operation) -> Option<Diagnostic> {
    operation.is_plain_write().then(|| {
        let message = format!(
            "`{}` is tried at most once: its tool recognises no repetition",
            step.id.value
        );
        Diagnostic::new(Code::NoIdempotency, step.id.span, message)
            .note("if its outcome stays unknown, the run waits for a person")
            .step(&step.id.value)
    })
}

fn effect_words(operation: &Operation) -> &'static str {
    use crate::catalog::Effect;
    match operation.effect {
        Effect::Read => "a read",
        Effect::Egress => "a read that can leak",
        Effect::Write => "a write",
        Effect::External => "an external effect",
        Effect::Destructive => "destructive",
    }
}

/// Two steps of one operation: the same call twice, or two writes to one target at once.
fn meeting(pass: &Pass<'_>, first: &Step, second: &Step) -> Option<Diagnostic> {
    let operation = pass.operation(first)?;
    if operation.effect.is_read() || first.tool()?.value != second.tool()?.value {
        return None;
    }
    if first.id.value == second.id.value {
        return None;
    }
    if is_same_call(operation, first, second) && !second.approval_required {
        let message = format!(
            "`{}` makes the same call as `{}`",
            second.id.value, first.id.value
        );
        return Some(
            Diagnostic::new(Code::RepeatedCall, second.id.span, message)
                .related(first.id.span, "first made here")
                .hint("remove one of them, or say that it is meant: `approval: required`")
                .step(&second.id.value),
        );
    }
    let ordered = pass.graph.is_before(&first.id.value, &second.id.value)
        || pass.graph.is_before(&second.id.value, &first.id.value);
    if ordered || !may_share_target(pass, operation, first, second) {
        return None;
    }
    let message = format!(
        "`{}` and `{}` may write to one target at the same time",
        first.id.value, second.id.value
    );
    Some(
        Diagnostic::new(Code::ConcurrentWrites, second.id.span, message)
            .label(format!("also calls `{}`", operation.name))
            .related(first.id.span, "nothing orders these two")
            .hint(format!(
                "add `needs: [{}]` to `{}`",
                first.id.value, second.id.value
            ))
            .step(&second.id.value),
    )
}

/// Whether two steps call with equal arguments, as far as that is written.
fn is_same_call(operation: &Operation, first: &Step, second: &Step) -> bool {
    let args = |step: &Step| step.value.get("args").cloned().unwrap_or(Value::Null);
    operation.idempotency != Idempotency::Natural
        && first.for_each.is_none()
        && second.for_each.is_none()
        && args(first) == args(second)
}

/// Whether two calls may reach the same target: some sink differs for certain only if both are
/// constants.
fn may_share_target(pass: &Pass<'_>, operation: &Operation, first: &Step, second: &Step) -> bool {
    let (StepKind::Tool { args: first, .. }, StepKind::Tool { args: second, .. }) =
        (&first.kind, &second.kind)
    else {
        return false;
    };
    let differs = |name: &str, value: &ArgTree| {
        let other = second.get(name).and_then(|other| pass.fixed_tree(other));
        match (pass.fixed_tree(value), other) {
            (Some(value), Some(other)) => value != other,
            _ => false,
        }
    };
    !first
        .entries()
        .iter()
        .any(|(name, value)| operation.is_sink(name) && differs(name, value))
}
