//! The early end: success holds already, and only plain reads remain.
//!
//! Owns when a run need not go on. Never ends one whose proofs or answer name a step that is still
//! open, nor one in which anything but a plain read is left. INVARIANT: what is skipped here could
//! have changed neither the proofs nor the answer.

use provost_plan::catalog::Effect;
use provost_plan::expr::{Reference, Root};

use super::finish::{finish_if_over, prove};
use crate::call::Slot;
use crate::event::{Event, Proven, SkipReason};
use crate::machine::StepError;
use crate::state::State;
use crate::turn::Flow;
use crate::turn::basis::Basis;
use crate::turn::log::TurnLog;

/// Whether the run may end now although steps are left.
pub(crate) fn needs_no_more(at: Basis<'_>) -> bool {
    let Some(plan) = &at.state.in_force.plan else {
        return false;
    };
    let plan = plan.checked().plan();
    let names = |reference: &Reference| match &reference.root {
        Root::Step(id) => Some(is_final(at.state, id)),
        _ => None,
    };
    // Why by name: what is said of an open step may hold now and not when it is over.
    let settled = |references: &mut dyn Iterator<Item = &Reference>| {
        references.filter_map(names).all(|is_final| is_final)
    };
    let shown = plan.success.iter().all(|proof| {
        let names_one = proof.check.references().any(|r| names(r).is_some());
        names_one && settled(&mut proof.check.references())
    });
    if !shown || plan.success.is_empty() || at.state.all_final() {
        return false;
    }
    let answered = plan.answer.iter().all(|claim| {
        let when = claim.when.iter().flat_map(|when| when.references());
        settled(&mut when.chain(claim.text.references()))
            && claim
                .cites
                .iter()
                .all(|step| is_final(at.state, &step.value))
    });
    // Why questions and doubts: a person's word may still change what becomes of the run.
    answered
        && at.state.open_questions().next().is_none()
        && !at.state.any_doubted()
        && only_reads_remain(at)
        && prove(at).values().all(|proven| *proven == Proven::Held)
}

fn is_final(state: &State, id: &str) -> bool {
    let step = state.steps.get(id);
    step.is_some_and(|step| step.status.is_final())
}

/// Whether every step left is a plain read by the catalog in force that no planner wants to
/// see.
fn only_reads_remain(at: Basis<'_>) -> bool {
    at.state.open_steps().all(|step| {
        let operation = step
            .tool()
            .and_then(|tool| at.rules.catalog.get(&tool.value));
        operation.is_some_and(|operation| operation.effect == Effect::Read)
            && !at.state.followups.is_to_show(&step.id.value)
    })
}

/// Skips what is left and ends the run.
pub(crate) fn end_early(log: &mut TurnLog<'_>) -> Result<Flow, StepError> {
    let left: Vec<String> = log
        .state()
        .open_steps()
        .map(|step| step.id.value.clone())
        .collect();
    for step in left {
        log.emit(Event::StepSkipped {
            slot: Slot { step, item: None },
            because: SkipReason::Proven,
        })?;
    }
    finish_if_over(log)
}
