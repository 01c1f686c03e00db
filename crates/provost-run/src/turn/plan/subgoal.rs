//! Subgoals: when a planner is asked to refine one, and what a refinement may be.
//!
//! Owns the trigger of a refinement and its bounds. Makes no call. INVARIANT: a refinement adds
//! steps of its one subgoal, or its result, and changes nothing else.

use std::collections::BTreeMap;

use provost_plan::check::CheckedPlan;
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::plan::request::Why;
use provost_plan::plan::subgoal::parent_of;
use provost_plan::plan::{Plan, Step};
use provost_plan::source::Span;

use crate::event::Event;
use crate::machine::StepError;
use crate::state::State;
use crate::turn::log::TurnLog;

/// Asks for the refinement that nothing but a planner can bring on, once nothing is on its way:
/// a planner is shown facts.
pub(crate) fn ask_to_refine(
    log: &mut TurnLog<'_>,
    subgoal: Option<String>,
) -> Result<(), StepError> {
    match subgoal {
        Some(step) if log.state().in_flight() == 0 => log.emit(Event::ReplanRequested {
            why: Why::Refine { step },
        }),
        _ => Ok(()),
    }
}

/// The plan in force and the subgoal of it that the planner is asked to refine, if it is.
pub(super) fn refined(state: &State) -> Option<(&Plan, &str)> {
    let asked = state.planning.outstanding.as_ref();
    let why = asked.and_then(|request| request.why.as_ref());
    let before = state.plan()?;
    Some((before.checked().plan(), why.and_then(Why::refined)?))
}

/// Why the plan may not come into force although it passes the check: it does something else
/// than to refine the subgoal in question.
pub(super) fn beyond_refinement(state: &State, checked: &CheckedPlan) -> Option<Diagnostic> {
    let (before, id) = refined(state)?;
    beyond(before, checked.plan(), id)
}

/// What a refinement of the subgoal `id` does beyond that, or that it does nothing.
fn beyond(before: &Plan, after: &Plan, id: &str) -> Option<Diagnostic> {
    let found = |span: Span, message: String| {
        let hint = format!(
            "leave the current plan unchanged: add steps `{id}/…`, or the `result` of `{id}`"
        );
        Some(Diagnostic::new(Code::BeyondRefinement, span, message).hint(hint))
    };
    let place = after.step(id).map_or(Span::default(), |step| step.id.span);
    let known: BTreeMap<&str, &Step> = before
        .steps
        .iter()
        .map(|step| (step.id.value.as_str(), step))
        .collect();
    for (name, was) in &known {
        let Some(now) = after.step(name) else {
            return found(place, format!("a refinement of `{id}` leaves out `{name}`"));
        };
        let same = match *name == id {
            true => now.without_result() == was.without_result(),
            false => now.value == was.value,
        };
        if !same {
            return found(
                now.id.span,
                format!("a refinement of `{id}` changes `{name}`"),
            );
        }
    }
    let mut added = 0;
    for step in &after.steps {
        let name = step.id.value.as_str();
        if known.contains_key(name) {
            continue;
        }
        if parent_of(name) != Some(id) {
            return found(
                step.id.span,
                format!("a refinement of `{id}` adds `{name}`"),
            );
        }
        added += 1;
    }
    for field in ["success", "answer", "limits"] {
        if before.value.get(field) != after.value.get(field) {
            return found(place, format!("a refinement of `{id}` changes `{field}`"));
        }
    }
    let is_open = after.step(id).is_some_and(Step::is_open_subgoal);
    if added == 0 && is_open {
        return found(
            place,
            format!("nothing refines `{id}`: no step is added, and no result"),
        );
    }
    None
}
