//! Polling: a read that is repeated until its `until` holds.
//!
//! Owns when the next poll may begin, and that none begins too late. Never repeats what is no
//! read. INVARIANT: between two polls lies at least `every`, counted from the recorded end of the
//! one before, also if that end was lost with a process; none begins later than `at_most` after
//! the first.

use provost_plan::duration;
use provost_plan::plan::Until;
use serde_json::Value;

use super::beside::holds;
use super::settle::settle_failed;
use crate::call::Slot;
use crate::event::{AttemptEnded, Event};
use crate::machine::StepError;
use crate::outcome::Class;
use crate::state::State;
use crate::turn::basis::Basis;
use crate::turn::log::TurnLog;
use crate::turn::scope::{Roots, item_value};

fn until_of<'t>(state: &'t State, slot: &Slot) -> Option<&'t Until> {
    let (step, _) = state.plan()?.checked().step(&slot.step)?;
    step.until.as_ref()
}

/// Whether what a read brought ends its polling.
pub(super) fn ends_polling(
    at: Basis<'_>,
    slot: &Slot,
    output: &Value,
) -> Result<bool, (Class, String)> {
    let Some(until) = until_of(at.state, slot) else {
        return Ok(true);
    };
    let item = item_value(at.state, slot);
    let roots = Roots::new(at.purse).with_item(item).with_output(output);
    let scope = roots.scope_for(at.state, until.condition.references());
    match holds([&until.condition], &scope) {
        Err((Class::AcceptanceFailed, _)) => Ok(false),
        judged => judged.map(|()| true),
    }
}

/// Takes an answer that does not end the polling.
pub(super) fn poll_again(
    log: &mut TurnLog<'_>,
    slot: &Slot,
    ended: AttemptEnded,
) -> Result<(), StepError> {
    let not_yet = true;
    after_poll(log, slot, AttemptEnded { not_yet, ..ended })
}

/// Takes that a poll was lost with its process, if the slot polls.
pub(super) fn poll_lost(
    log: &mut TurnLog<'_>,
    slot: &Slot,
    ended: &AttemptEnded,
) -> Result<bool, StepError> {
    let polls = ended.lost && until_of(log.state(), slot).is_some();
    if polls {
        after_poll(log, slot, ended.clone())?;
    }
    Ok(polls)
}

fn after_poll(log: &mut TurnLog<'_>, slot: &Slot, ended: AttemptEnded) -> Result<(), StepError> {
    let every = until_of(log.state(), slot).map_or(0, |until| millis(until.every));
    let next = log.now().saturating_add(every);
    let retry_at = in_time(log.state(), slot, next).then_some(next);
    log.emit(Event::AttemptEnded(AttemptEnded { retry_at, ..ended }))?;
    match retry_at {
        Some(_) => Ok(()),
        None => polling_over(log, slot),
    }
}

/// Settles a slot whose time to poll is over.
pub(super) fn polling_over(log: &mut TurnLog<'_>, slot: &Slot) -> Result<(), StepError> {
    let at_most = until_of(log.state(), slot).map(|until| until.at_most);
    let at_most = duration::print(at_most.unwrap_or_default());
    let message = format!("`until` did not hold within {at_most}");
    settle_failed(log, slot, Class::DeadlineExceeded, message)
}

/// Whether an attempt of a slot may still begin at this moment.
pub(super) fn in_time(state: &State, slot: &Slot, moment: i64) -> bool {
    let Some(until) = until_of(state, slot) else {
        return true;
    };
    let first = state.item(slot).and_then(|item| item.history.first_at);
    first.is_none_or(|first| moment <= first.saturating_add(millis(until.at_most)))
}

fn millis(duration: std::time::Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
