//! What a run does next: a table over its state.
//!
//! Owns the order of precedence of all that may be due. Does nothing of it, and looks at no step:
//! that is the rest of the turn. INVARIANT: what comes first here keeps back all that comes after.

use super::DispatchGate;
use crate::state::{State, UndoProgress};

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing: the run is over, or waits for a reply, a person or a process.
    Wait,
    /// To end what was cancelled.
    EndCancelled,
    /// To undo what happened.
    Undo,
    /// To end at a limit.
    EndLimit,
    /// To end what was given up, once doubts were asked about.
    Stop,
    /// To ask people what becomes of a plan that nobody made.
    Review,
    /// To ask a planner.
    AskPlanner,
    /// To go on with the steps of the plan in force.
    Work,
}

/// What a run in this state does next.
pub(super) fn next(state: &State, pace: DispatchGate) -> Next {
    let ending = &state.ending;
    if ending.ended.is_some() {
        return Next::Wait;
    }
    if ending.cancelled.is_some() {
        return match ending.undo {
            UndoProgress::Unwanted | UndoProgress::Stopped(_) => Next::EndCancelled,
            UndoProgress::Wanted(_) | UndoProgress::Placed(_) => Next::Undo,
        };
    }
    if pace != DispatchGate::Go || ending.paused.is_some() {
        return Next::Wait;
    }
    if state.spend.limit.is_some() {
        return Next::EndLimit;
    }
    if ending.stopping.is_some() {
        return Next::Stop;
    }
    if state.planning.outstanding.is_some() {
        return Next::Wait;
    }
    if state.planning.review.is_some() {
        return Next::Review;
    }
    let wanted = state.planning.wanted.is_some() || state.goals.unplanned.is_some();
    if wanted || state.in_force.plan.is_none() {
        // Why: a planner is shown facts, so nothing may be on its way while it is asked.
        return match state.in_flight() {
            0 => Next::AskPlanner,
            _ => Next::Wait,
        };
    }
    if state.open_cards().any(|(_, card)| card.step().is_none()) {
        return Next::Wait;
    }
    Next::Work
}
