//! Confirmation: the read that proves that a write landed, before its step has succeeded.
//!
//! Owns when it is made, what it asks and what follows from its answer. Never repeats the write,
//! and never settles a doubt: only what surely happened is read back. INVARIANT: a step with
//! `confirm` succeeds by a reading over which its `accept` holds, and by nothing else.

use provost_plan::check::StepRecord;
use provost_plan::expr::Template;
use provost_plan::plan::{SideCall, Step};
use serde_json::Value;

use super::admit::put_off;
use super::beside::{
    AuxiliaryRead, Hindrance, begin_read, brought, gives_up, holds, permitted, read_ended,
};
use super::dispatch::role_admits;
use super::limit::not_admitted;
use super::settle::{next_try, settle_failed, settle_succeeded};
use crate::call::{Purpose, Slot};
use crate::event::{AttemptEnded, Event};
use crate::machine::StepError;
use crate::outcome::{Class, Reply};
use crate::state::{ItemState, State};
use crate::turn::basis::Basis;
use crate::turn::log::TurnLog;
use crate::turn::scope::{Roots, item_value};

/// Settles what took place and was accepted, unless it has to be read back first.
pub(super) fn settle_accepted(log: &mut TurnLog<'_>, slot: &Slot) -> Result<(), StepError> {
    match confirm_of(log.state(), slot) {
        None => settle_succeeded(log, slot),
        Some(_) if log.state().ending.ended.is_none() => Ok(()),
        Some(_) => unconfirmed(log, slot, "the run is over, so the write is not confirmed"),
    }
}

fn confirm_of<'t>(state: &'t State, slot: &Slot) -> Option<&'t SideCall> {
    let (step, _) = state.plan()?.checked().step(&slot.step)?;
    step.confirm.as_ref()
}

/// Whether a slot took place and was accepted, and is not proven yet.
pub(super) fn is_to_be_read_back(state: &State, step: &Step, slot: &Slot) -> bool {
    let item = state.item(slot);
    step.confirm.is_some() && item.is_some_and(ItemState::is_unconfirmed)
}

/// Reads back what a slot wrote, unless all places for calls are `full`.
pub(super) fn read_back(
    log: &mut TurnLog<'_>,
    step: &Step,
    record: &StepRecord,
    slot: Slot,
    full: bool,
) -> Result<(), StepError> {
    if full {
        return Ok(());
    }
    let began = match reading(log.basis(), step, record, &slot) {
        Ok(reading) => begin_read(log, reading)?,
        Err(reason) => return unconfirmed(log, &slot, &reason),
    };
    match began {
        Ok(()) => Ok(()),
        Err(Hindrance::Limit(limit)) => not_admitted(log, slot, limit),
        Err(Hindrance::Denied(denial)) => match gives_up(log.state(), &slot, &denial) {
            Some(because) => unconfirmed(log, &slot, because),
            None => put_off(log, &slot, denial),
        },
        Err(Hindrance::NotInPlan) => unconfirmed(log, &slot, "the current plan has no such read"),
    }
}

/// The concrete read of a slot, or why there is none.
fn reading(
    at: Basis<'_>,
    step: &Step,
    record: &StepRecord,
    slot: &Slot,
) -> Result<AuxiliaryRead, String> {
    let gone = || "the tool is not the one the plan was checked under".to_owned();
    let confirm = step.confirm.as_ref().ok_or_else(gone)?;
    let known = record.confirm.as_ref().ok_or_else(gone)?;
    role_admits(at, step, record, &confirm.tool.value).map_err(|refusal| refusal.message)?;
    let catalog = &at.rules.catalog;
    let operation = catalog
        .get(&confirm.tool.value)
        .filter(|operation| catalog.digest(&operation.name) == Some(known.tool))
        .ok_or_else(gone)?;
    let output = at.state.item(slot).and_then(ItemState::output);
    let roots = Roots::new(at.purse)
        .with_item(item_value(at.state, slot))
        .with_output(output.unwrap_or(&Value::Null));
    let named = confirm.args.templates().into_iter();
    let scope = roots.scope_for(at.state, named.flat_map(Template::references));
    let args = confirm
        .args
        .eval(&scope)
        .map_err(|error| error.to_string())?;
    permitted(at, slot, Purpose::Confirm, operation, args)
}

/// Takes what the read that proves a write brought.
pub(super) fn confirmed(
    log: &mut TurnLog<'_>,
    slot: &Slot,
    attempt: u32,
    reply: Reply,
) -> Result<(), StepError> {
    let Reply {
        class,
        output,
        evidence,
        media,
        message,
        retry_after,
        time,
        ..
    } = reply;
    let digest = log.keep(media, evidence);
    match brought(log.basis(), slot, class, output, message) {
        Ok(read) => {
            let ended = read_ended(slot, attempt, None, digest).timed(time);
            log.emit(Event::AttemptEnded(ended))?;
            match proves(log.basis(), slot, &read) {
                Ok(()) => settle_succeeded(log, slot),
                Err(reason) => unconfirmed(log, slot, &reason),
            }
        }
        Err((class, message)) => {
            let retry_at = read_again_at(log.basis(), slot, class, retry_after);
            let reason = format!("{}: {message}", class.word());
            log.emit(Event::AttemptEnded(AttemptEnded {
                retry_at,
                ..read_ended(slot, attempt, Some((class, message)), digest).timed(time)
            }))?;
            if retry_at.is_some() {
                return Ok(());
            }
            unconfirmed(log, slot, &reason)
        }
    }
}

/// Whether what was read back shows that the write landed.
fn proves(at: Basis<'_>, slot: &Slot, read: &Value) -> Result<(), String> {
    let Some(confirm) = confirm_of(at.state, slot) else {
        return Err("the current plan does not say what it must show".to_owned());
    };
    let output = at.state.item(slot).and_then(ItemState::output);
    let roots = Roots::new(at.purse)
        .with_item(item_value(at.state, slot))
        .with_output(output.unwrap_or(&Value::Null))
        .with_read(read);
    let named = confirm.accept.iter().flat_map(Template::references);
    let scope = roots.scope_for(at.state, named);
    holds(&confirm.accept, &scope).map_err(|(_, reason)| reason)
}

/// When the read is made again, if the retries of its step allow it.
fn read_again_at(
    at: Basis<'_>,
    slot: &Slot,
    class: Class,
    retry_after: Option<std::time::Duration>,
) -> Option<i64> {
    let before = at.state.item(slot).and_then(ItemState::confirm_reads);
    let tries = before.unwrap_or(0) + 1;
    class
        .is_transient()
        .then(|| next_try(at, slot, tries, retry_after))?
}

/// Settles what took place and could not be shown to have: nothing repeats it blindly.
fn unconfirmed(log: &mut TurnLog<'_>, slot: &Slot, reason: &str) -> Result<(), StepError> {
    let by = confirm_of(log.state(), slot).map_or("nothing", |confirm| confirm.tool.value.as_str());
    let message = format!("the tool says it took place, but `{by}` does not confirm it: {reason}");
    settle_failed(log, slot, Class::AcceptanceFailed, message)
}
