//! `fresh` where it does nothing.
//!
//! Owns the finding alone: what a step acts on is `plan::readings`.

use super::super::Pass;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::fix::Fix;
use crate::plan::Step;
use crate::plan::readings::readings;

pub(super) fn needless(pass: &Pass<'_>, step: &Step) -> Option<Diagnostic> {
    let fresh = step.fresh.as_ref()?;
    let operation = pass.operation(step);
    // Why silent: of an unknown tool nobody knows what it does.
    if step.tool().is_some() && operation.is_none() {
        return None;
    }
    let id = &step.id.value;
    let message = if operation.is_none_or(|operation| operation.effect.is_read()) {
        format!("`{id}` changes nothing, so nothing is taken again before it")
    } else if readings(pass.plan, step, &|step| Some(pass.operation(step)?.effect)).is_empty() {
        format!("`{id}` acts on no reading that could be taken again")
    } else {
        return None;
    };
    Some(
        Diagnostic::new(Code::NeedlessFresh, fresh.span, message)
            .hint("leave `fresh` out, or put it on a step with an effect that acts on a plain read")
            .fix(Fix::LeaveOut)
            .step(id),
    )
}
