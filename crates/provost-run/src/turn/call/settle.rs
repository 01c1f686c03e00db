//! From a tool's reply to a settled step.
//!
//! Owns classification of what came back, retry, doubt, acceptance. INVARIANT: a plain write with
//! unknown landing is in doubt and is never tried again.

use provost_plan::catalog::Idempotency;
use provost_plan::digest::{Digest, normalize};
use provost_plan::label::Label;
use provost_plan::plan::{Retry, Step};
use serde_json::Value;

use super::admit::miss;
use super::beside::holds;
use super::confirm::{confirmed, settle_accepted};
use super::doubt::{reconciled, settle_in_doubt};
use super::fresh::{is_retaking, not_retaken, retaken};
use super::poll::{ends_polling, in_time, poll_again, poll_lost};
use crate::call::{Purpose, Slot};
use crate::event::{AttemptEnded, Created, Event, StepStatus};
use crate::machine::StepError;
use crate::outcome::{Class, Landing, Reply};
use crate::state::{ItemState, State, StepState, WriteRecord};
use crate::turn::basis::Basis;
use crate::turn::log::TurnLog;
use crate::turn::scope::{Roots, item_value};
use crate::turn::secret::is_secret;
use crate::turn::work::{judged, keepable};
use crate::view;

/// Refuses the end of an attempt that is not in flight.
pub(crate) fn expect_flying(state: &State, slot: &Slot, attempt: u32) -> Result<(), StepError> {
    if state.item(slot).and_then(ItemState::flying) != Some(attempt) {
        return Err(StepError::NoAttempt {
            slot: slot.clone(),
            attempt,
        });
    }
    Ok(())
}

/// Takes the end of an attempt that is in flight, of a preview excepted.
pub(crate) fn ended(
    log: &mut TurnLog<'_>,
    slot: &Slot,
    attempt: u32,
    mut reply: Reply,
) -> Result<(), StepError> {
    let purpose = log.state().item(slot).and_then(ItemState::purpose);
    let purpose = purpose.cloned().unwrap_or_default();
    // Why the landing: only of what was surely not sent is it known that nothing came of it.
    let lacks = reply.lacks.take();
    if let Some(secret) = lacks.filter(|_| reply.landing == Landing::None) {
        return not_sent(log, slot, attempt, reply, secret);
    }
    match purpose {
        Purpose::Reconcile => reconciled(log, slot, attempt, reply),
        Purpose::Confirm => confirmed(log, slot, attempt, reply),
        Purpose::Effect | Purpose::Retake { .. } | Purpose::Preview { .. } => {
            answered(log, slot, attempt, reply)
        }
    }
}

/// Takes that an attempt was not made for want of a secret, whatever it was for.
fn not_sent(
    log: &mut TurnLog<'_>,
    slot: &Slot,
    attempt: u32,
    reply: Reply,
    secret: String,
) -> Result<(), StepError> {
    let reason = reply.message.clone().unwrap_or_default();
    let evidence = log.keep(reply.media, reply.evidence);
    let ended = AttemptEnded {
        message: reply.message,
        evidence: Some(evidence),
        unsent: true,
        ..AttemptEnded::new(slot, attempt, reply.class, reply.landing).timed(reply.time)
    };
    attempt_over(log, slot, ended)?;
    miss(log, slot, secret, &reason)
}

/// Takes what came of an attempt of the call itself.
fn answered(
    log: &mut TurnLog<'_>,
    slot: &Slot,
    attempt: u32,
    reply: Reply,
) -> Result<(), StepError> {
    let Reply {
        class,
        landing,
        output,
        evidence,
        media,
        message,
        retry_after,
        lacks: _,
        refused_args,
        used,
        time,
    } = reply;
    let digest = log.keep(media, evidence);
    let fits = match (class, output) {
        (Class::Ok, Some(output)) => judge_output(log.basis(), slot, output),
        (Class::Ok, None) => Err("the tool gave no output".to_owned()),
        (_, _) => Err(String::new()),
    };
    let (class, message) = match (&fits, class) {
        (Ok(_), class) => (class, message),
        (Err(reason), Class::Ok) => (
            judged(log.basis(), Class::OutputInvalid),
            Some(reason.clone()),
        ),
        (Err(_), class) => (class, message),
    };
    let retry_at = retry_at(log.basis(), slot, class, landing, retry_after);
    let ended = AttemptEnded {
        message,
        evidence: Some(digest),
        retry_at,
        refused_args,
        used,
        ..AttemptEnded::new(slot, attempt, class, landing).timed(time)
    };
    match fits {
        Ok(output) if is_retaking(log.state(), slot) => retaken(log, slot, ended, output, digest),
        Ok(output) => match ends_polling(log.basis(), slot, &output) {
            Ok(true) => {
                log.emit(Event::AttemptEnded(ended))?;
                accept_output(log, slot, &output, digest)
            }
            Ok(false) => poll_again(log, slot, ended),
            Err((class, message)) => {
                log.emit(Event::AttemptEnded(ended))?;
                settle_failed(log, slot, class, message)
            }
        },
        Err(_) => attempt_over(log, slot, ended),
    }
}

/// Records the end of an attempt that brought no output, and what follows from it.
pub(crate) fn attempt_over(
    log: &mut TurnLog<'_>,
    slot: &Slot,
    ended: AttemptEnded,
) -> Result<(), StepError> {
    let purpose = log.state().item(slot).and_then(ItemState::purpose);
    if purpose.is_some_and(Purpose::is_auxiliary) {
        // Why nothing more: the doubt, the write or the question stands, and the read is made
        // again.
        return log.emit(Event::AttemptEnded(ended));
    }
    if is_retaking(log.state(), slot) {
        return not_retaken(log, slot, ended);
    }
    if poll_lost(log, slot, &ended)? {
        return Ok(());
    }
    let (class, landing) = (ended.class, ended.landing);
    let uncounted = !ended.is_try();
    let retries = ended.retry_at.is_some();
    let message = ended.message.clone().unwrap_or_default();
    let repeatable = may_repeat(log.basis(), slot, landing, log.now());
    log.emit(Event::AttemptEnded(ended))?;
    if retries || uncounted && repeatable {
        return Ok(());
    }
    let effect = log.state().effect(slot);
    if effect.is_some_and(|effect| effect.landing == Landing::Unknown) {
        return settle_in_doubt(log, slot, class, message);
    }
    settle_failed(log, slot, class, message)
}

/// The output in normal form, if it fits its schemas.
pub(super) fn judge_output(at: Basis<'_>, slot: &Slot, output: Value) -> Result<Value, String> {
    let output = normalize(output).map_err(|error| error.to_string())?;
    keepable(&output)?;
    let Some((step, operation)) = step_and_operation(at, &slot.step) else {
        return Ok(output);
    };
    let schemas = operation.output.iter().chain(&step.expect);
    for schema in schemas {
        if let Some(violation) = schema.violations_within(&output, at.purse).first() {
            let place = if violation.pointer.is_empty() {
                "/"
            } else {
                &violation.pointer
            };
            return Err(format!(
                "the output does not fit at `{place}`: {}",
                violation.message
            ));
        }
    }
    Ok(output)
}

pub(super) fn step_and_operation<'t>(
    at: Basis<'t>,
    id: &str,
) -> Option<(
    &'t Step,
    &'t std::sync::Arc<provost_plan::catalog::Operation>,
)> {
    let (step, _) = at.state.plan()?.checked().step(id)?;
    let operation = at.rules.catalog.get(&step.tool()?.value)?;
    Some((step, operation))
}

/// Records an output and settles the step by its acceptance.
pub(crate) fn accept_output(
    log: &mut TurnLog<'_>,
    slot: &Slot,
    output: &Value,
    evidence: Digest,
) -> Result<(), StepError> {
    let label = output_label(log.basis(), slot, output);
    log.emit(Event::ObservationMade {
        slot: slot.clone(),
        output: output.clone(),
        label,
        evidence,
    })?;
    match acceptance(log.basis(), slot, output) {
        Ok(()) => settle_accepted(log, slot),
        Err((class, message)) => settle_failed(log, slot, class, message),
    }
}

/// Settles a step or item as succeeded, with what it made.
pub(super) fn settle_succeeded(log: &mut TurnLog<'_>, slot: &Slot) -> Result<(), StepError> {
    log.emit(Event::StepSettled {
        slot: slot.clone(),
        status: StepStatus::Succeeded,
        class: None,
        message: None,
        reconcile_at: None,
        created: created(log.basis(), slot),
    })?;
    settle_list_of(log, slot)
}

fn created(at: Basis<'_>, slot: &Slot) -> Option<Created> {
    let (_, operation) = step_and_operation(at, &slot.step)?;
    let creates = operation.creates.as_ref()?;
    let output = at.state.item(slot).and_then(ItemState::output);
    let sent = at.state.effect(slot).map(|effect| &effect.args);
    Some(Created {
        kind: creates.kind.clone(),
        id: sent
            .zip(output)
            // Why: what is secret is not listed.
            .filter(|_| !is_secret(at, &slot.step))
            .and_then(|(args, output)| creates.id_of(args, output)),
    })
}

pub(super) fn output_label(at: Basis<'_>, slot: &Slot, output: &Value) -> Label {
    let Some(plan) = &at.state.in_force.plan else {
        return Label::trusted();
    };
    let Some((step, record)) = plan.checked().step(&slot.step) else {
        return Label::trusted();
    };
    view::output_label(&at.rules.catalog, step, record, output)
}

pub(super) fn acceptance(
    at: Basis<'_>,
    slot: &Slot,
    output: &Value,
) -> Result<(), (Class, String)> {
    let Some(plan) = &at.state.in_force.plan else {
        return Ok(());
    };
    let Some((step, _)) = plan.checked().step(&slot.step) else {
        return Ok(());
    };
    let mut conditions = step.conditions().peekable();
    if conditions.peek().is_none() {
        return Ok(());
    }
    let item = item_value(at.state, slot);
    let roots = Roots::new(at.purse).with_item(item).with_output(output);
    let named = step.conditions().flat_map(|accept| accept.references());
    let scope = roots.scope_for(at.state, named);
    holds(conditions, &scope)
}

/// When the next attempt may begin, if there may be one.
fn retry_at(
    at: Basis<'_>,
    slot: &Slot,
    class: Class,
    landing: Landing,
    retry_after: Option<std::time::Duration>,
) -> Option<i64> {
    // Why: a repetition that the tool recognises ends the doubt, whatever words the error had.
    if !class.is_transient() && !is_unknown(at.state, slot, landing) {
        return None;
    }
    let item = at.state.item(slot);
    let retaking = item.and_then(ItemState::retaking);
    let tries = retaking
        .or(item.map(|item| item.history.tries))
        .unwrap_or(0)
        + 1;
    let due = next_try(at, slot, tries, retry_after)?;
    // Why not of a reading that is taken again: nobody polls for it any more.
    let is_early = retaking.is_some() || in_time(at.state, slot, due);
    (is_early && may_repeat(at, slot, landing, due)).then_some(due)
}

/// Whether nobody knows if the write took place, after an attempt with this landing.
fn is_unknown(state: &State, slot: &Slot, landing: Landing) -> bool {
    let effect = state.effect(slot);
    effect.is_some_and(|effect| match landing {
        Landing::Happened => false,
        Landing::Unknown => true,
        // Why: a later try that did not land says nothing of an earlier one.
        Landing::None => effect.doubtful,
    })
}

/// When the try after so many may begin, if the step has one left.
pub(super) fn next_try(
    at: Basis<'_>,
    slot: &Slot,
    tries: u32,
    retry_after: Option<std::time::Duration>,
) -> Option<i64> {
    let retry = step_and_operation(at, &slot.step)
        .and_then(|(step, _)| step.retry)
        .unwrap_or(Retry::DEFAULT);
    if tries >= retry.attempts {
        return None;
    }
    let ms = |wait: std::time::Duration| i64::try_from(wait.as_millis()).ok();
    let own = ms(retry.wait_after(tries)).unwrap_or(i64::MAX);
    let asked = retry_after.and_then(ms).unwrap_or(0);
    Some(at.now.saturating_add(own.max(asked)))
}

/// Whether the same call may be made again at the moment `at`, after an attempt with this
/// landing.
pub(super) fn may_repeat(at: Basis<'_>, slot: &Slot, landing: Landing, moment: i64) -> bool {
    let Some((step, operation)) = step_and_operation(at, &slot.step) else {
        return false;
    };
    let before = at.state.effect(slot);
    // Why: an earlier try that may have landed is not undone by a later one that did not.
    let unknown = landing != Landing::None || before.is_some_and(|effect| effect.doubtful);
    if operation.effect.is_read() || !unknown {
        return true;
    }
    // Why: only the tool that was called is known to recognise its key.
    if at.state.item(slot).and_then(|item| item.history.tool)
        != at.rules.catalog.digest(&operation.name)
    {
        return false;
    }
    match &operation.idempotency {
        Idempotency::Natural => true,
        Idempotency::None => false,
        Idempotency::Key { ttl_ms, .. } => {
            let first = at.state.item(slot).and_then(|item| item.history.first_at);
            let lives = i64::try_from(*ttl_ms).unwrap_or(i64::MAX);
            // Why: it may arrive as late as its time allows, and the key must live until then.
            let own = step
                .timeout
                .unwrap_or(operation.timeout)
                .min(operation.timeout);
            let takes = i64::try_from(own.as_millis()).unwrap_or(i64::MAX);
            let arrives = moment.saturating_add(takes);
            first.is_some_and(|first| arrives < first.saturating_add(lives))
        }
    }
}

/// Settles a step or item as failed.
pub(crate) fn settle_failed(
    log: &mut TurnLog<'_>,
    slot: &Slot,
    class: Class,
    message: String,
) -> Result<(), StepError> {
    let class = judged(log.basis(), class);
    // Why: what keeps the next try from beginning does not undo an earlier one.
    let unknown = |e: &WriteRecord| e.doubtful && e.landing == Landing::Unknown;
    if log.state().effect(slot).is_some_and(unknown) {
        return settle_in_doubt(log, slot, class, message);
    }
    log.emit(Event::StepSettled {
        slot: slot.clone(),
        status: StepStatus::Failed,
        class: Some(class),
        message: Some(message),
        reconcile_at: None,
        created: None,
    })?;
    settle_list_of(log, slot)
}

pub(super) fn settle_list_of(log: &mut TurnLog<'_>, slot: &Slot) -> Result<(), StepError> {
    if slot.item.is_some() {
        settle_list(log, &slot.step)
    } else {
        Ok(())
    }
}

/// Settles lists of which every item is settled and that is all that is recorded.
pub(crate) fn finish_lists(log: &mut TurnLog<'_>) -> Result<(), StepError> {
    let open = |step: &StepState| step.is_list && step.listed && !step.status.is_final();
    let lists = log.state().steps.iter().filter(|(_, step)| open(step));
    let ids: Vec<String> = lists.map(|(id, _)| id.clone()).collect();
    ids.iter().try_for_each(|id| settle_list(log, id))
}

/// Settles a step that runs over a list, once all its items are.
pub(crate) fn settle_list(log: &mut TurnLog<'_>, id: &str) -> Result<(), StepError> {
    let Some(known) = log.state().steps.get(id) else {
        return Ok(());
    };
    let all: Option<Vec<StepStatus>> = known.items.iter().map(ItemState::status).collect();
    let Some(all) = all else { return Ok(()) };
    let slot = Slot {
        step: id.to_owned(),
        item: None,
    };
    let of = |status: StepStatus| all.iter().filter(|s| **s == status).count();
    let failed = of(StepStatus::Failed);
    let (status, class, message) = if of(StepStatus::InDoubt) > 0 {
        let message = format!(
            "{} of {} items are in doubt",
            of(StepStatus::InDoubt),
            all.len()
        );
        (StepStatus::InDoubt, Some(Class::Partial), Some(message))
    } else if failed > 0 {
        let class = known
            .items
            .iter()
            .filter_map(|item| item.history.class)
            .next();
        let only = (failed == all.len()).then_some(class).flatten();
        let first = known.message.clone().unwrap_or_default();
        let message = format!("{failed} of {} items failed: {first}", all.len());
        (
            StepStatus::Failed,
            only.or(Some(Class::Partial)),
            Some(message),
        )
    } else {
        (StepStatus::Succeeded, None, None)
    };
    log.emit(Event::StepSettled {
        slot,
        status,
        class,
        message,
        reconcile_at: None,
        created: None,
    })
}
