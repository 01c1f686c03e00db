//! What a step waits for, and what its guard says.
//!
//! Owns both questions for steps of a plan, of a subgoal and of an undoing. Records nothing.
//! INVARIANT: no step begins before what it depends on is settled as it has to be.

use provost_plan::plan::subgoal::parent_of;
use provost_plan::plan::{OnFailure, Step};

use crate::event::StepStatus;
use crate::state::{Dependency, State, StepState};
use crate::turn::basis::Basis;
use crate::turn::scope::Roots;

/// What a step waits for.
fn need_of(state: &State, id: &str) -> Dependency {
    if state.is_undoing() {
        return need_undoing(state, id);
    }
    let continues = state
        .plan()
        .and_then(|plan| plan.checked().step(id))
        .is_some_and(|(step, _)| step.on_failure == OnFailure::Continue);
    state.need(id, continues)
}

/// What an undoing step waits for: all before it in doubt or over, undoing steps known to be.
fn need_undoing(state: &State, id: &str) -> Dependency {
    let undoes = state.may_begin(id);
    match state.steps.get(id).map(|known| known.status) {
        Some(status) if undoes && (!status.is_final() || status == StepStatus::InDoubt) => {
            Dependency::Wait
        }
        _ => Dependency::Met,
    }
}

/// Whether `id` may go on as far as `on` is concerned: a subgoal goes on once its steps have
/// ended, however they did.
pub(super) fn need_for(state: &State, id: &str, on: &str) -> Dependency {
    match need_of(state, on) {
        Dependency::Never if parent_of(on) == Some(id) => Dependency::Met,
        need => need,
    }
}

/// What the guard of a step says now, with that of the subgoal that it refines; true where
/// there is none.
pub(super) fn guard(at: Basis<'_>, step: &Step) -> Result<bool, String> {
    if step.subgoal().is_some() && is_begun(at.state, &step.id.value) {
        // Why not asked again: its steps ran because it was true.
        return Ok(true);
    }
    let plan = at.state.plan().map(|plan| plan.checked().plan());
    let parent = plan.and_then(|plan| plan.parent(&step.id.value));
    let of_parent = parent.and_then(|(parent, _)| parent.when.as_ref());
    for when in of_parent.into_iter().chain(&step.when) {
        let roots = Roots::new(at.purse);
        let says = when.eval_bool(&roots.scope_for(at.state, when.references()));
        if !says.map_err(|error| error.to_string())? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a step of this subgoal ran.
fn is_begun(state: &State, id: &str) -> bool {
    let plan = state.plan().map(|plan| plan.checked().plan());
    let mut children = plan.into_iter().flat_map(|plan| plan.children(id));
    let ran = |known: &StepState| {
        known.attempted() || matches!(known.status, StepStatus::Succeeded | StepStatus::Failed)
    };
    children.any(|child| state.steps.get(&child.id.value).is_some_and(ran))
}
