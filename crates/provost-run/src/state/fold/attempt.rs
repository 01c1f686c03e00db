//! How the events of attempts change the state.
//!
//! Owns what is remembered of calls, their landings and what a step came to.

use provost_plan::digest::Digest;

use super::{item_mut, step_mut};
use crate::call::{Purpose, Slot};
use crate::card::PreviewResult;
use crate::event::{AttemptEnded, AttemptStarted, Created, Settlement, StepStatus};
use crate::outcome::{Class, Landing, Used};
use crate::state::fold::FoldError;
use crate::state::{InFlight, ItemProgress, ItemState, Previewed, State, WriteRecord};

pub(super) fn attempt_started(
    state: &mut State,
    started: &AttemptStarted,
    at: i64,
) -> Result<(), FoldError> {
    state.spend.attempts += 1;
    state.spend.money = state
        .spend
        .money
        .saturating_add(started.money.unwrap_or_default());
    state.spend.tokens = state
        .spend
        .tokens
        .saturating_add(started.tokens.unwrap_or(0));
    for (name, amount) in &started.values {
        let counted = state.spend.values.entry(name.clone()).or_default();
        *counted = counted.plus(*amount);
    }
    match &started.purpose {
        Purpose::Retake { for_step } => retaking(state, started, for_step),
        Purpose::Preview { .. } => previewing(state, started),
        Purpose::Confirm => confirming(state, started),
        Purpose::Reconcile => reconciling(state, started),
        Purpose::Effect => calling(state, started, at),
    }
}

/// The call that a step is about.
fn calling(state: &mut State, started: &AttemptStarted, at: i64) -> Result<(), FoldError> {
    let item = running(state, started)?;
    let first = item.history.attempt == 0;
    item.history.first_at = item.history.first_at.or(Some(at));
    item.history.tool = Some(started.tool);
    item.history.key.clone_from(&started.key);
    count(item, started, first);
    fly(item, started);
    if !started.read {
        item.history.earlier = Some((started.args_digest, started.earlier.clone()));
    }
    state.spend.calls += u64::from(first);
    if !started.read && state.effect(&started.slot).is_none() {
        state.writes.effects.push(WriteRecord {
            slot: started.slot.clone(),
            operation: started.operation.clone(),
            args_digest: started.args_digest,
            args: started.args.clone(),
            secret_args: started.secret_args.clone(),
            landing: Landing::Unknown,
            doubtful: false,
            attempt: started.attempt,
        });
    } else if let Some(effect) = state.effect_mut(&started.slot) {
        effect.attempt = started.attempt;
    }
    Ok(())
}

/// The item of an attempt of a step that runs by it.
fn running<'s>(
    state: &'s mut State,
    started: &AttemptStarted,
) -> Result<&'s mut ItemState, FoldError> {
    let kind = "AttemptStarted";
    step_mut(state, &started.slot.step, kind)?.set_status(StepStatus::Running);
    item_mut(state, &started.slot, kind)
}

/// Notes what was counted for a call: of a new one nothing was before.
fn count(item: &mut ItemState, started: &AttemptStarted, first: bool) {
    if first {
        item.history.counted.clear();
    }
    for (name, amount) in &started.values {
        let counted = item.history.counted.entry(name.clone()).or_default();
        *counted = counted.plus(*amount);
    }
}

/// Notes an attempt that a place was found for.
fn fly(item: &mut ItemState, started: &AttemptStarted) {
    item.history.attempt = started.attempt;
    item.history.deferrals = 0;
    item.retry_at = None;
    item.in_flight = Some(in_flight(started));
}

fn confirming(state: &mut State, started: &AttemptStarted) -> Result<(), FoldError> {
    let item = running(state, started)?;
    let first = item.confirm_reads().is_none();
    if let ItemProgress::Unconfirmed { reads } = &mut item.progress {
        reads.get_or_insert(0);
    }
    fly(item, started);
    state.spend.calls += u64::from(first);
    Ok(())
}

/// A tool is asked about a doubt, which stands.
fn reconciling(state: &mut State, started: &AttemptStarted) -> Result<(), FoldError> {
    let item = item_mut(state, &started.slot, "AttemptStarted")?;
    if let Some(doubt) = item.doubt_mut() {
        doubt.reconcile_tries += 1;
    }
    fly(item, started);
    Ok(())
}

/// A reading is taken again: what it brought before stands until it is there.
fn retaking(state: &mut State, started: &AttemptStarted, of: &str) -> Result<(), FoldError> {
    let kind = "AttemptStarted";
    let item = item_mut(state, &started.slot, kind)?;
    let begins = item.retaking().is_none();
    count(item, started, begins);
    if let Some(success) = item.success_mut() {
        success.retaking.get_or_insert(0);
    }
    item.history.attempt = started.attempt;
    item.in_flight = Some(in_flight(started));
    if begins {
        state.spend.calls += 1;
        let retaken = &mut step_mut(state, of, kind)?.retaken;
        *retaken.entry(started.slot.to_string()).or_default() += 1;
    }
    Ok(())
}

/// A person is about to be asked: nothing of the step itself has begun.
fn previewing(state: &mut State, started: &AttemptStarted) -> Result<(), FoldError> {
    let kind = "AttemptStarted";
    let step = step_mut(state, &started.slot.step, kind)?;
    if step.status == StepStatus::Pending {
        step.set_status(StepStatus::Ready);
    }
    let item = item_mut(state, &started.slot, kind)?;
    item.consent.preview = None;
    item.in_flight = Some(in_flight(started));
    Ok(())
}

/// A preview that a tool answered is kept for the card, whatever it says.
fn previewed(
    state: &mut State,
    ended: &AttemptEnded,
    of: Digest,
    closure: Digest,
    at: i64,
) -> Result<(), FoldError> {
    let message = ended.message.clone().unwrap_or_default();
    let failed = || PreviewResult::Failed(format!("{}: {message}", ended.class.word()));
    let previewed = Previewed {
        of,
        closure,
        at,
        evidence: ended.evidence,
        came: ended
            .shows
            .clone()
            .map_or_else(failed, PreviewResult::Shown),
    };
    let item = item_mut(state, &ended.slot, "AttemptEnded")?;
    item.consent.preview = (!ended.lost).then_some(previewed);
    Ok(())
}

fn in_flight(started: &AttemptStarted) -> InFlight {
    InFlight {
        operation: started.operation.clone(),
        args_digest: started.args_digest,
        sinks: started.sinks,
        read: started.read,
        keyed: started.key.is_some(),
        purpose: started.purpose.clone(),
        closure: started.closure,
        money: started.money.unwrap_or_default(),
        tokens: started.tokens.unwrap_or(0),
    }
}

pub(super) fn attempt_ended(
    state: &mut State,
    ended: &AttemptEnded,
    at: i64,
) -> Result<(), FoldError> {
    let kind = "AttemptEnded";
    // Why: what a lost process would have heard, and what was not sent, is no answer of a tool.
    let tried = u32::from(ended.is_try());
    let item = item_mut(state, &ended.slot, kind)?;
    let attempt = item.in_flight.take();
    if let (Some(attempt), Some(used)) = (&attempt, &ended.used) {
        paid(state, attempt, used);
    }
    if let Some(flight) = &attempt
        && let Purpose::Preview { of } = flight.purpose
    {
        return previewed(state, ended, of, flight.closure, at);
    }
    let item = item_mut(state, &ended.slot, kind)?;
    match attempt.as_ref().map(|attempt| &attempt.purpose) {
        Some(Purpose::Reconcile) => {
            item.retry_at = ended.retry_at;
            // Why it may be none: a person ended the doubt while the tool was asked.
            if let Some(doubt) = item.doubt_mut() {
                doubt.reconcile_tries = doubt.reconcile_tries.saturating_sub(1 - tried);
            }
        }
        Some(Purpose::Confirm) => {
            item.retry_at = ended.retry_at;
            if let ItemProgress::Unconfirmed { reads: Some(reads) } = &mut item.progress {
                *reads += tried;
            }
        }
        Some(Purpose::Retake { .. }) => {
            // Why nothing else: the earlier outcome stands, and its evidence with it.
            note_args(item, ended, attempt.as_ref());
            let success = item.success_mut();
            if let Some(tries) = success.and_then(|success| success.retaking.as_mut()) {
                *tries += tried;
            }
        }
        Some(Purpose::Effect | Purpose::Preview { .. }) | None => {
            return call_ended(state, ended, attempt);
        }
    }
    Ok(())
}

/// Notes the arguments of a call that brought an output.
fn note_args(item: &mut ItemState, ended: &AttemptEnded, attempt: Option<&InFlight>) {
    if let Some(attempt) = attempt.filter(|_| ended.class == Class::Ok) {
        item.history.args = Some(attempt.args_digest);
    }
}

/// An attempt ended of the call that a step is about.
fn call_ended(
    state: &mut State,
    ended: &AttemptEnded,
    attempt: Option<InFlight>,
) -> Result<(), FoldError> {
    let kind = "AttemptEnded";
    let item = item_mut(state, &ended.slot, kind)?;
    note_args(item, ended, attempt.as_ref());
    item.retry_at = ended.retry_at;
    // Why anew: each poll has the tries of a read of its own.
    item.history.tries = match ended.not_yet {
        true => 0,
        false => item.history.tries + u32::from(ended.is_try()),
    };
    item.history.landing = Some(ended.landing);
    item.history.class = Some(ended.class);
    item.history.evidence = ended.evidence.or(item.history.evidence);
    let step = step_mut(state, &ended.slot.step, kind)?;
    // Why: other items of the list may still wait for a person.
    if step.items.iter().any(|item| item.consent.card.is_some())
        && step.items.iter().all(|item| item.in_flight.is_none())
    {
        step.set_status(StepStatus::WaitingApproval);
    }
    if let Some(effect) = state.effect_mut(&ended.slot) {
        // Why: an earlier try that may have landed is not undone by a later one that did not.
        effect.doubtful |= ended.landing == Landing::Unknown;
        effect.landing = match ended.landing {
            Landing::Happened => Landing::Happened,
            Landing::None if effect.doubtful => Landing::Unknown,
            landing => landing,
        };
    }
    if let Some(attempt) = attempt
        && ended.class != Class::Ok
        && !ended.class.is_transient()
        && ended.retry_at.is_none()
    {
        state
            .writes
            .failed_calls
            .insert((attempt.operation, attempt.args_digest));
    }
    Ok(())
}

/// What an attempt took stands in the place of what was reserved for it, as far as it is known.
fn paid(state: &mut State, attempt: &InFlight, used: &Used) {
    let took = used.tokens_in.saturating_add(used.tokens_out);
    let tokens = state.spend.tokens.saturating_sub(attempt.tokens);
    state.spend.tokens = tokens.saturating_add(took);
    if let Some(cost) = used.cost {
        let money = state.spend.money.saturating_sub(attempt.money);
        state.spend.money = money.saturating_add(cost);
    }
}

/// How a step or an item is settled.
pub(super) struct StepSettlement<'e> {
    pub(super) status: StepStatus,
    pub(super) class: Option<Class>,
    pub(super) message: Option<&'e String>,
    pub(super) reconcile_at: Option<i64>,
    pub(super) created: Option<&'e Created>,
}

pub(super) fn step_settled(
    state: &mut State,
    slot: &Slot,
    settled: &StepSettlement<'_>,
    at: i64,
) -> Result<(), FoldError> {
    let StepSettlement {
        status,
        class,
        message,
        reconcile_at,
        created,
    } = *settled;
    let step = step_mut(state, &slot.step, "StepSettled")?;
    if step.is_list && slot.item.is_none() {
        step.class = class;
        step.message = message.cloned();
        step.set_status(status);
        step.close_view();
        return Ok(());
    }
    if let Some(item) = step.items.get_mut(slot.item.unwrap_or(0)) {
        if !item.progress.settle(status, at, reconcile_at, created) {
            let slot = slot.to_string();
            return Err(FoldError::NotSettled { slot, status });
        }
        item.history.class = class;
        item.retry_at = reconcile_at;
    }
    if step.is_list {
        step.message = step.message.take().or_else(|| message.cloned());
        return Ok(());
    }
    step.class = class;
    step.message = message.cloned();
    step.set_status(status);
    step.close_view();
    Ok(())
}

pub(super) fn doubt_settled(
    state: &mut State,
    slot: &Slot,
    settled: Settlement,
) -> Result<(), FoldError> {
    let kind = "DoubtSettled";
    let landing = match settled {
        Settlement::Happened => Landing::Happened,
        Settlement::DidNotHappen => Landing::None,
        Settlement::Abandoned => Landing::Unknown,
    };
    let item = item_mut(state, slot, kind)?;
    // Why: giving up on what it gave makes nothing unsure of what took place.
    let happened = item.history.landing == Some(Landing::Happened);
    let landing = match settled {
        Settlement::Abandoned if happened => Landing::Happened,
        _ => landing,
    };
    item.progress.reopen(item.observed.is_some());
    item.retry_at = None;
    item.history.landing = Some(landing);
    if settled == Settlement::DidNotHappen {
        // Why: what did not take place has used up nothing of its key's life.
        item.history.first_at = None;
    }
    if let Some(effect) = state
        .writes
        .effects
        .iter_mut()
        .find(|effect| effect.slot == *slot)
    {
        effect.landing = landing;
        effect.doubtful = false;
    }
    if state.ending.ended.is_none() {
        step_mut(state, &slot.step, kind)?.reopen();
    }
    Ok(())
}
