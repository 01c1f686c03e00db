//! What follows from steps that failed, or that a planner asked to see.
//!
//! Owns the table from `on_failure` to what the turn does. Does nothing of it. INVARIANT: the first
//! step of the plan that wants something is heard first.

use provost_plan::plan::OnFailure;
use provost_plan::plan::request::Why;
use provost_plan::policy::OnExpiry;

use crate::card::Card;
use crate::event::StepStatus;
use crate::outcome::Class;
use crate::state::{FailureReview, State};

/// What the turn does about it.
pub(super) enum Reaction {
    /// Nothing.
    None,
    /// Wait for what is in flight.
    Wait,
    /// Ask for a revision.
    Replan(Why),
    /// End the run.
    End(Why),
    /// Ask a person.
    Escalate { step: String, class: Class },
}

/// What steps that failed want next, or that their planner asked to see.
pub(super) fn reaction(state: &State) -> Reaction {
    let Some(plan) = &state.in_force.plan else {
        return Reaction::None;
    };
    if !state.followups.any_for_planner() && !state.any_failed() {
        return Reaction::None;
    }
    for step in &plan.checked().plan().steps {
        let id = &step.id.value;
        let Some(known) = state.steps.get(id) else {
            continue;
        };
        let settled = matches!(known.status, StepStatus::Succeeded | StepStatus::Skipped);
        if settled && state.followups.is_to_show(id) {
            return Reaction::Replan(Why::Observed { step: id.clone() });
        }
        let class = known.class.unwrap_or(Class::ToolBug);
        let review = state.followups.failure(id);
        if review == FailureReview::SentBack {
            return Reaction::Replan(why_of(state, id, class));
        }
        if known.status != StepStatus::Failed || review != FailureReview::Open {
            continue;
        }
        let wanted = match step.on_failure {
            OnFailure::Replan if lapse_ends(state, id, class) => OnFailure::Stop,
            wanted => wanted,
        };
        let step = id.clone();
        return match wanted {
            OnFailure::Continue => continue,
            OnFailure::Replan => Reaction::Replan(why_of(state, id, class)),
            OnFailure::Stop if state.in_flight() > 0 => Reaction::Wait,
            OnFailure::Stop => Reaction::End(why_of(state, id, class)),
            OnFailure::Escalate => Reaction::Escalate { step, class },
        };
    }
    Reaction::None
}

fn why_of(state: &State, id: &str, class: Class) -> Why {
    let message = state
        .failure(id)
        .map_or_else(String::new, |(_, message)| message);
    match class {
        Class::Rejected => Why::Rejected {
            step: Some(id.to_owned()),
            reason: message,
        },
        Class::Expired => Why::Expired {
            step: id.to_owned(),
        },
        other => Why::StepFailed {
            step: id.to_owned(),
            class: other.word().to_owned(),
        },
    }
}

/// Whether policy ends the run because nobody answered about this step in time.
fn lapse_ends(state: &State, id: &str, class: Class) -> bool {
    let fails = |card: &Card| card.step() == Some(id) && card.terms.on_expiry == OnExpiry::Fail;
    class == Class::Expired && state.people.cards.values().any(|state| fails(&state.card))
}
