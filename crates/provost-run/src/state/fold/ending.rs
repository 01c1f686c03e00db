//! How the end of a run changes its state.
//!
//! Owns what is withdrawn and which steps are over then. INVARIANT: a write in doubt stays in
//! doubt.

use crate::event::StepStatus;
use crate::state::{ItemState, Planning, State};

/// Opens a run that has ended for one thing: taking back what it did.
pub(super) fn reopen(state: &mut State, by: &str, reason: Option<&String>) {
    state.ending.ended = None;
    state.ending.reopened = true;
    state.ending.paused = None;
    state.ending.cancelled = Some((by.to_owned(), reason.cloned()));
    state.ending.undo.reopened();
    // Why anew: what is to be undone is often what a limit ended; what is spent stays spent.
    state.spend.limit = None;
    (state.spend.calls, state.spend.attempts) = (0, 0);
    state.spend.active_ms = 0;
    let items = state.steps.values_mut().flat_map(|step| &mut step.items);
    let doubts = items.filter_map(ItemState::doubt_mut);
    doubts.for_each(|doubt| doubt.reconcile_tries = 0);
    close(state);
}

/// Withdraws what is asked, and ends every step that is not over.
pub(super) fn end_all(state: &mut State) {
    for card in state.people.cards.values_mut() {
        card.open = false;
    }
    for asked in state.people.questions.values_mut() {
        asked.open = false;
    }
    for step in state
        .steps
        .values_mut()
        .filter(|step| !step.status.is_final())
    {
        let doubtful = step.items.iter().any(ItemState::is_in_doubt);
        step.set_status(if doubtful {
            StepStatus::InDoubt
        } else {
            StepStatus::Cancelled
        });
    }
}

/// Ends every step of a run of which only undoing is left, and what planning waits for.
pub(super) fn close(state: &mut State) {
    end_all(state);
    for step in state.steps.values_mut() {
        if step.status == StepStatus::Cancelled {
            step.items.iter_mut().for_each(|item| item.retry_at = None);
        }
    }
    let requests = state.planning.requests;
    state.planning = Planning {
        requests,
        ..Planning::default()
    };
    state.ending.stopping = None;
}
