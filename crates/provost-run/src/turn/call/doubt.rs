//! Doubt: effects of which nobody knows whether they took place, and how that ends.
//!
//! Owns the reconcile read, a person's settlement and what follows from either. Never repeats the
//! write itself. INVARIANT: a doubt ends by an event that says who ended it, and by nothing else.

use std::sync::Arc;

use provost_plan::catalog::{Operation, Reconcile, WriteInDoubt};
use provost_plan::digest::{Digest, canonical};
use provost_plan::limits::RECONCILE_READS_MAX;
use provost_plan::plan::Retry;
use provost_plan::policy::OperationFacts;
use serde_json::Value;

use super::admit::put_off;
use super::beside::{
    AuxiliaryRead, Hindrance, begin_read, brought, gives_up, permitted, read_ended,
};
use super::settle::{
    accept_output, judge_output, settle_failed, settle_list_of, settle_succeeded,
    step_and_operation,
};
use crate::admission::Denial;
use crate::call::{Purpose, Slot};
use crate::event::{AttemptEnded, Event, SettledBy, Settlement, StepStatus};
use crate::machine::StepError;
use crate::outcome::{Class, Landing, Reply};
use crate::state::{Act, ItemState, State};
use crate::statement::Credential;
use crate::statement::{Signer, StatementRecord};
use crate::turn::basis::Basis;
use crate::turn::log::TurnLog;

/// What a person says became of a write in doubt.
pub(crate) struct StatedSettlement {
    pub(crate) slot: Slot,
    /// The attempt that it is signed for.
    pub(crate) attempt: Option<Digest>,
    pub(crate) settled: Settlement,
    pub(crate) output: Option<Value>,
    pub(crate) reason: String,
}

/// Who ends a doubt, and what is recorded of what they said.
struct SettlementSource {
    by: SettledBy,
    attempt: Option<Digest>,
    reason: Option<String>,
    output: Option<Value>,
    record: Option<StatementRecord>,
}

/// Settles a step or item whose effect may or may not have taken place.
pub(crate) fn settle_in_doubt(
    log: &mut TurnLog<'_>,
    slot: &Slot,
    class: Class,
    message: String,
) -> Result<(), StepError> {
    let reconcile = reconcile_of(log.basis(), slot).map(|(_, reconcile)| reconcile);
    let wait = reconcile.and_then(|reconcile| i64::try_from(reconcile.final_after_ms).ok());
    log.emit(Event::StepSettled {
        slot: slot.clone(),
        status: StepStatus::InDoubt,
        class: Some(class),
        message: Some(message),
        reconcile_at: wait.map(|wait| log.now().saturating_add(wait)),
        created: None,
    })?;
    settle_list_of(log, slot)
}

/// The operation that was called and its reconcile read, if it has one that can be believed
/// and is still the one that was called.
fn reconcile_of(at: Basis<'_>, slot: &Slot) -> Option<(Arc<Operation>, Reconcile)> {
    let (_, operation) = step_and_operation(at, &slot.step)?;
    let reconcile = operation.reconcile.as_ref()?;
    let catalog = &at.rules.catalog;
    let called = at.state.item(slot).and_then(|item| item.history.tool);
    let same = called == catalog.digest(&operation.name);
    (same && catalog.is_reconciled(&operation.name)).then(|| (operation.clone(), reconcile.clone()))
}

/// Slots in doubt about which the tool can still be asked.
fn reconcilable(at: Basis<'_>) -> Vec<(Slot, Option<i64>)> {
    let open = at.state.items().filter(|(_, item)| {
        let doubt = item.doubt();
        doubt.is_some_and(|doubt| doubt.reconcile_tries < RECONCILE_READS_MAX)
            // Why not of what surely took place: only what it gave is not known.
            && item.history.landing != Some(Landing::Happened)
            && item.in_flight.is_none()
    });
    open.map(|(slot, item)| (slot, item.retry_at))
        .filter(|(slot, _)| reconcile_of(at, slot).is_some())
        .collect()
}

/// Whether a read about a doubt is on its way or will be.
pub(crate) fn is_reconciling(at: Basis<'_>) -> bool {
    let asks = |item: &ItemState| item.purpose() == Some(&Purpose::Reconcile);
    at.state.items().any(|(_, item)| asks(item)) || !reconcilable(at).is_empty()
}

/// Asks about every doubt whose time has come.
pub(crate) fn reconcile_ready(log: &mut TurnLog<'_>) -> Result<(), StepError> {
    // Why effects and not steps: a list goes on while one of its items is in doubt.
    if log.state().unsure_effects().next().is_none() {
        return Ok(());
    }
    give_up_unasked(log)?;
    for (slot, due) in reconcilable(log.basis()) {
        if log.state().ending.paused.is_some() {
            return Ok(());
        }
        let full = log.state().in_flight() as u64 >= log.state().limits_in_force().concurrency;
        if full || due.is_some_and(|at| at > log.now()) {
            continue;
        }
        match inquiry(log.basis(), &slot) {
            Ok(inquiry) => inquire(log, slot, inquiry)?,
            Err(reason) => log.emit(Event::ReconcileGivenUp { slot, reason })?,
        }
    }
    Ok(())
}

/// Leaves to a person what a read was to ask about that the catalog does not have any more.
fn give_up_unasked(log: &mut TurnLog<'_>) -> Result<(), StepError> {
    let waits = log.state().items().filter(|(_, item)| {
        item.is_in_doubt() && item.in_flight.is_none() && item.retry_at.is_some()
    });
    let slots: Vec<Slot> = waits.map(|(slot, _)| slot).collect();
    for slot in slots {
        if reconcile_of(log.basis(), &slot).is_none() {
            let reason = "the tool is not the one that was called".to_owned();
            log.emit(Event::ReconcileGivenUp { slot, reason })?;
        }
    }
    Ok(())
}

fn inquiry(at: Basis<'_>, slot: &Slot) -> Result<AuxiliaryRead, String> {
    let gone = || "the tool has no reconcile read any more".to_owned();
    let (_, reconcile) = reconcile_of(at, slot).ok_or_else(gone)?;
    let read = at.rules.catalog.get(&reconcile.tool).ok_or_else(gone)?;
    let key = sent_key(at.state, slot);
    let written = written_args(at.state, slot).ok_or_else(gone)?;
    let doubted = WriteInDoubt {
        args: &written,
        key: &key,
    };
    let args = reconcile
        .request(doubted)
        .map_err(|error| error.to_string())?;
    permitted(at, slot, Purpose::Reconcile, read, args)
}

fn sent_key(state: &State, slot: &Slot) -> Value {
    let key = state.item(slot).and_then(|item| item.history.key.clone());
    key.map_or(Value::Null, Value::String)
}

fn written_args(state: &State, slot: &Slot) -> Option<Value> {
    Some(state.effect(slot)?.args.clone())
}

/// What becomes of a read about a doubt that was not admitted: the doubt stands, whatever it
/// was, and a person has it where waiting does not help.
fn put_off_inquiry(log: &mut TurnLog<'_>, slot: Slot, denial: Denial) -> Result<(), StepError> {
    let because = match &denial {
        Denial::Budget { because } => because.clone(),
        Denial::Doubt { run, .. } => format!("run {run} is in doubt about the same"),
        Denial::Stopped(_) | Denial::Later { .. } | Denial::Full { .. } => {
            match gives_up(log.state(), &slot, &denial) {
                Some(because) => because.to_owned(),
                None => return put_off(log, &slot, denial),
            }
        }
    };
    let reason = format!("no read may begin: {because}");
    log.emit(Event::ReconcileGivenUp { slot, reason })
}

/// Asks the tool, unless something keeps the read from beginning.
fn inquire(log: &mut TurnLog<'_>, slot: Slot, inquiry: AuxiliaryRead) -> Result<(), StepError> {
    let reason = match begin_read(log, inquiry)? {
        Ok(()) => return Ok(()),
        Err(Hindrance::Denied(denial)) => return put_off_inquiry(log, slot, denial),
        Err(Hindrance::Limit(limit)) => format!("no read may begin: {}", limit.words),
        Err(Hindrance::NotInPlan) => "the current plan has no such call".to_owned(),
    };
    log.emit(Event::ReconcileGivenUp { slot, reason })
}

/// Takes what a reconcile read brought.
pub(super) fn reconciled(
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
        time,
        ..
    } = reply;
    let digest = log.keep(media, evidence);
    if !is_in_doubt(log.state(), slot) {
        // Why nothing follows: a person ended the doubt while the tool was asked.
        let failed = (class != Class::Ok).then(|| (class, message.unwrap_or_default()));
        let ended = read_ended(slot, attempt, failed, digest).timed(time);
        return log.emit(Event::AttemptEnded(ended));
    }
    let told = brought(log.basis(), slot, class, output, message)
        .and_then(|output| told(log.basis(), slot, &output));
    match told {
        Ok((tool, landed, output)) => {
            let ended = read_ended(slot, attempt, None, digest).timed(time);
            log.emit(Event::AttemptEnded(ended))?;
            let settled = if landed {
                Settlement::Happened
            } else {
                Settlement::DidNotHappen
            };
            let testimony = SettlementSource {
                by: SettledBy::Reconcile { tool },
                attempt: None,
                reason: None,
                output: None,
                record: None,
            };
            let output = output.map(|value| (value, digest));
            end_doubt(log, slot, settled, testimony, output)
        }
        Err(failed) => {
            let doubt = log.state().item(slot).and_then(ItemState::doubt);
            let tries = doubt.map_or(1, |doubt| doubt.reconcile_tries);
            let wait = i64::try_from(Retry::DEFAULT.wait_after(tries).as_millis());
            let next = log.now().saturating_add(wait.unwrap_or(i64::MAX));
            let retry_at = (tries < RECONCILE_READS_MAX).then_some(next);
            log.emit(Event::AttemptEnded(AttemptEnded {
                retry_at,
                ..read_ended(slot, attempt, Some(failed), digest).timed(time)
            }))
        }
    }
}

/// What the output of the read says: its operation, whether the write landed, its output.
fn told(
    at: Basis<'_>,
    slot: &Slot,
    output: &Value,
) -> Result<(String, bool, Option<Value>), (Class, String)> {
    let (_, reconcile) = reconcile_of(at, slot).ok_or_else(|| {
        (
            Class::Drift,
            "the tool is not the one that was called".to_owned(),
        )
    })?;
    let (key, args) = (
        sent_key(at.state, slot),
        written_args(at.state, slot).unwrap_or_default(),
    );
    let doubted = WriteInDoubt {
        args: &args,
        key: &key,
    };
    let expression =
        |error: provost_plan::catalog::ReconcileError| (Class::Expression, error.to_string());
    let landed = reconcile.landed(doubted, output).map_err(expression)?;
    let recovered = if landed {
        reconcile.recovered(doubted, output).map_err(expression)?
    } else {
        None
    };
    Ok((reconcile.tool, landed, recovered))
}

/// Takes a person's word on a doubt.
pub(crate) fn settle(
    log: &mut TurnLog<'_>,
    Signer { by, mut record }: Signer,
    stated: StatedSettlement,
) -> Result<(), StepError> {
    let StatedSettlement {
        slot,
        attempt,
        settled,
        output,
        reason,
    } = stated;
    let refused = |reason: &str| StepError::NotAllowed {
        by: by.id.clone(),
        what: "settle",
        reason: reason.to_owned(),
    };
    if reason.trim().is_empty() {
        return Err(refused("a doubt is settled with a reason"));
    }
    let slot = doubtful_slot(log.state(), &slot)?;
    let called = step_and_operation(log.basis(), &slot.step);
    let operation = called.map(|(_, operation)| OperationFacts::of(operation));
    log.basis().may(Act::Settle(operation.as_ref()), &by)?;
    let needs = log.state().head.required != Credential::Nothing;
    if let Some(record) = record.as_mut().filter(|_| needs) {
        record.operation = operation.map(Box::new);
    }
    let stands = log.state().attempt_in_doubt(&slot);
    if attempt.is_none() || attempt != stands {
        return Err(StepError::OtherAttempt { slot, stands });
    }
    let item = log.state().item(&slot);
    let known = item.is_some_and(|item| item.history.landing == Some(Landing::Happened));
    let says_more = output.is_some() || settled == Settlement::Abandoned;
    if known && !says_more {
        return Err(refused(
            "that it took place is recorded; what it gave is missing (`--happened --output`)",
        ));
    }
    if settled == Settlement::DidNotHappen {
        must_be_over(log.basis(), &slot)?;
    }
    let output = match output {
        Some(_) if settled != Settlement::Happened => {
            return Err(refused("only what happened has an output"));
        }
        Some(output) => Some(judge_output(log.basis(), &slot, output).map_err(|reason| {
            StepError::BadOutput {
                slot: slot.clone(),
                reason,
            }
        })?),
        None => None,
    };
    let stated = output.clone();
    let output = output.map(|value| {
        let bytes = canonical(&value).into_bytes();
        let digest = log.keep("application/json".to_owned(), bytes);
        (value, digest)
    });
    let testimony = SettlementSource {
        by: SettledBy::Person { id: by.id },
        attempt,
        reason: Some(reason),
        output: stated,
        record,
    };
    end_doubt(log, &slot, settled, testimony, output)
}

/// Whether nothing that was sent for a slot can take place any more, by what its tool declares;
/// until then nobody can have seen that it did not.
fn must_be_over(at: Basis<'_>, slot: &Slot) -> Result<(), StepError> {
    let doubt = at.state.item(slot).and_then(ItemState::doubt);
    let until = doubt.and_then(|doubt| doubt.final_at);
    match until.filter(|until| *until > at.now && reconcile_of(at, slot).is_some()) {
        Some(until) => Err(StepError::TooEarly {
            slot: slot.clone(),
            wait_ms: until - at.now,
        }),
        None => Ok(()),
    }
}

fn is_in_doubt(state: &State, slot: &Slot) -> bool {
    let item = state.item(slot);
    item.is_some_and(ItemState::is_in_doubt)
}

/// The one slot in doubt that is meant.
fn doubtful_slot(state: &State, meant: &Slot) -> Result<Slot, StepError> {
    let doubtful = state.items().filter(|(slot, item)| {
        item.is_in_doubt()
            && slot.step == meant.step
            && (meant.item.is_none() || slot.item == meant.item)
    });
    let all: Vec<Slot> = doubtful.map(|(slot, _)| slot).collect();
    match all.as_slice() {
        // Why the same: a settlement is signed for one attempt, and names it as it stands.
        [only] if only == meant => Ok(only.clone()),
        several => Err(StepError::NotInDoubt {
            slot: meant.clone(),
            doubtful: several.to_vec(),
        }),
    }
}

fn end_doubt(
    log: &mut TurnLog<'_>,
    slot: &Slot,
    settled: Settlement,
    testimony: SettlementSource,
    output: Option<(Value, Digest)>,
) -> Result<(), StepError> {
    let class = log.state().item(slot).and_then(|item| item.history.class);
    let class = class.unwrap_or(Class::Unavailable);
    let by_person = matches!(testimony.by, SettledBy::Person { .. });
    log.emit(Event::DoubtSettled {
        slot: slot.clone(),
        attempt: testimony.attempt,
        settled,
        by: testimony.by,
        reason: testimony.reason,
        output: testimony.output,
        secret: false,
        record: testimony.record,
    })?;
    match (settled, output) {
        (Settlement::Happened, Some((output, evidence))) => {
            match judge_output(log.basis(), slot, output) {
                Ok(output) => accept_output(log, slot, &output, evidence),
                Err(reason) => settle_failed(log, slot, Class::OutputInvalid, reason),
            }
        }
        (Settlement::Happened, None) => happened_unseen(log, slot),
        (Settlement::DidNotHappen, _) if goes_on(log.basis(), slot, by_person) => Ok(()),
        (Settlement::DidNotHappen, _) => {
            let message = "it did not take place".to_owned();
            settle_failed(log, slot, class, message)
        }
        (Settlement::Abandoned, _) => {
            let message = "whether it took place will not be known".to_owned();
            settle_failed(log, slot, class, message)
        }
    }
}

/// Whether a write that did not take place is tried again: a person's word opens it anew, a
/// read's word counts against the retries of the step.
fn goes_on(at: Basis<'_>, slot: &Slot, by_person: bool) -> bool {
    let step = step_and_operation(at, &slot.step).and_then(|(step, _)| step.retry);
    let most = step.unwrap_or(Retry::DEFAULT).attempts;
    let tries = at.state.item(slot).map_or(0, |item| item.history.tries);
    at.state.ending.ended.is_none() && (by_person || tries < most)
}

/// Settles a write that took place and whose output nobody saw.
fn happened_unseen(log: &mut TurnLog<'_>, slot: &Slot) -> Result<(), StepError> {
    let step = step_and_operation(log.basis(), &slot.step);
    let is_judged = step.is_some_and(|(step, _)| !step.accept.is_empty() || step.confirm.is_some());
    let goes_on = log.state().ending.ended.is_none()
        && log.state().ending.stopping.is_none()
        && log.state().ending.cancelled.is_none();
    let message = match (goes_on, is_judged) {
        (false, true) => {
            let message = "it took place, but its output is not known, so what is accepted \
                           of it cannot be looked at"
                .to_owned();
            return settle_failed(log, slot, Class::AcceptanceFailed, message);
        }
        (true, true) => "it took place, and what it gave is not known, which is to be accepted",
        (true, false) if log.state().is_output_needed(&slot.step) => {
            "it took place, and what it gave is not known, which is read later"
        }
        (_, false) => return settle_succeeded(log, slot),
    };
    // Why in doubt still: what reads it waits, until somebody says what it gave.
    log.emit(Event::StepSettled {
        slot: slot.clone(),
        status: StepStatus::InDoubt,
        class: Some(Class::OutputInvalid),
        message: Some(message.to_owned()),
        reconcile_at: None,
        created: None,
    })?;
    settle_list_of(log, slot)
}
