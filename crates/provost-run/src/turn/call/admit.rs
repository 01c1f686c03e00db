//! What a run does when an attempt of it is not admitted, or cannot be made.
//!
//! Owns deferral, and the pause for want of a secret. Decides nothing about other runs: that is
//! [`crate::admission`]'s. INVARIANT: an attempt that is not admitted is put off or settled, by an
//! event that says why.

use super::beside::gives_up;
use super::settle::{settle_failed, step_and_operation};
use crate::admission::{Denial, Stop, tool_of};
use crate::call::Slot;
use crate::event::{Event, LimitKind, LimitReached, Missing};
use crate::machine::StepError;
use crate::outcome::Class;
use crate::turn::log::TurnLog;

/// How often the breaker of a tool may put one attempt off before the step fails.
pub(crate) const BREAKER_DEFERRALS_MAX: u32 = 3;
/// The first and the longest wait for a place, in milliseconds.
const PLACE_WAIT_MS: (i64, i64) = (20, 1_000);

/// What becomes of an attempt that was not admitted.
pub(crate) fn put_off(log: &mut TurnLog<'_>, slot: &Slot, denial: Denial) -> Result<(), StepError> {
    if let Some(because) = gives_up(log.state(), slot, &denial) {
        return settle_failed(log, slot, Class::BreakerOpen, because.to_owned());
    }
    match denial {
        Denial::Stopped(Stop { what, by, reason }) => log.emit(Event::Paused {
            by,
            what,
            reason,
            missing: None,
            record: None,
        }),
        Denial::Doubt { run, slot: other } => {
            let message = format!(
                "step `{other}` of run {run} may already have done this, its outcome is unknown"
            );
            settle_failed(log, slot, Class::Conflict, message)
        }
        Denial::Later { until, because, .. } => {
            let until = until.max(log.now() + 1);
            defer(log, slot, until, because)
        }
        Denial::Full { because } => {
            let deferrals = log
                .state()
                .item(slot)
                .map_or(0, |item| item.history.deferrals);
            let (first, most) = PLACE_WAIT_MS;
            let wait = first.saturating_mul(1 << deferrals.min(10)).min(most);
            defer(log, slot, log.now().saturating_add(wait), because)
        }
        Denial::Budget { because } => log.emit(Event::AdmissionRefused {
            slot: slot.clone(),
            limit: because,
            reached: Some(LimitReached::in_words(LimitKind::Budget)),
        }),
    }
}

pub(super) fn defer(
    log: &mut TurnLog<'_>,
    slot: &Slot,
    until: i64,
    because: String,
) -> Result<(), StepError> {
    log.emit(Event::Deferred {
        slot: slot.clone(),
        until: Some(until),
        because,
    })
}

/// Stops the run until somebody sets the secret without which the call of `slot` cannot be
/// made; `secret` is its name.
pub(super) fn miss(
    log: &mut TurnLog<'_>,
    slot: &Slot,
    secret: String,
    reason: &str,
) -> Result<(), StepError> {
    if log.state().ending.paused.is_some() {
        return Ok(());
    }
    let named = format!("the secret `{secret}` ");
    let reason = reason.strip_prefix(&named).unwrap_or(reason).to_owned();
    let tool = step_and_operation(log.basis(), &slot.step);
    let tool = tool.map_or_else(String::new, |(_, operation)| operation.name.clone());
    log.emit(Event::Paused {
        by: "provost".to_owned(),
        what: format!("tool `{}`", tool_of(&tool)),
        reason,
        missing: Some(Missing {
            secret,
            slot: slot.clone(),
        }),
        record: None,
    })
}
