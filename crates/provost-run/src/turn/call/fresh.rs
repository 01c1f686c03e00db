//! Readings that are taken again before a step with `fresh` begins.
//!
//! Owns when a reading is too old, what becomes of it, and what that does to the step. What was
//! observed stands until the new observation is there, and for good if none comes. INVARIANT: no
//! reading changes under a call that was begun and is not over.

use std::sync::Arc;

use provost_plan::approve::ApprovedPlan;
use provost_plan::catalog::Effect;
use provost_plan::check::StepRecord;
use provost_plan::digest::Digest;
use provost_plan::expr::Root;
use provost_plan::limits::RETAKEN_MAX;
use provost_plan::plan::Step;
use provost_plan::plan::readings::readings;
use provost_plan::policy::Decision;
use serde_json::Value;

use super::admit::{defer, put_off};
use super::dependency::guard;
use super::dispatch::{Candidate, candidate, list, start};
use super::settle::{acceptance, output_label, settle_failed, settle_list};
use crate::admission::Denial;
use crate::call::{Purpose, Slot};
use crate::event::{AttemptEnded, Event, SkipReason};
use crate::machine::StepError;
use crate::outcome::Class;
use crate::state::{ItemState, State};
use crate::turn::basis::Basis;
use crate::turn::log::TurnLog;

/// A reading that has to be taken again.
struct StaleRead<'p> {
    step: &'p Step,
    slot: Slot,
    /// The call; a sentence where it cannot be made any more.
    call: Result<Candidate, String>,
}

/// What the age of its readings means for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fresh {
    /// It may begin.
    Enough,
    /// It waits; nothing else changed.
    NotYet,
    /// Something began or changed, so that the step has to be looked at anew.
    Moved,
}

/// Begins a call if what it acts on is young enough; true if its step has to be looked at anew.
pub(super) fn start_fresh(
    log: &mut TurnLog<'_>,
    step: &Step,
    record: &StepRecord,
    candidate: Candidate,
    card: Option<Digest>,
) -> Result<bool, StepError> {
    match freshen(log, step, &candidate.slot)? {
        Fresh::Moved => return Ok(true),
        Fresh::NotYet => {}
        Fresh::Enough => start(log, record, candidate, card, Purpose::Effect)?,
    }
    Ok(false)
}

/// Whether a call of `step` may begin by the age of what it acts on; if not, what is too old
/// is on its way, or the step is over by it.
fn freshen(log: &mut TurnLog<'_>, step: &Step, slot: &Slot) -> Result<Fresh, StepError> {
    // Why the first attempt alone: every attempt of one call has the same arguments.
    let begun = log.state().item(slot).is_some_and(ItemState::has_begun);
    let (Some(limit), Some(plan)) = (&step.fresh, log.state().in_force.plan.clone()) else {
        return Ok(Fresh::Enough);
    };
    if begun {
        return Ok(Fresh::Enough);
    }
    let limit = i64::try_from(limit.value.as_millis()).unwrap_or(i64::MAX);
    let taken = readings_of(log.basis(), &plan, step);
    if is_any_flying(log.state(), &taken) {
        return Ok(Fresh::NotYet);
    }
    let due = due(log.basis(), &plan, &taken, limit);
    if due.is_empty() {
        return Ok(match still_wanted(log, step)? {
            true => Fresh::Enough,
            false => Fresh::Moved,
        });
    }
    let mut held = due.iter().map(|due| &due.step.id.value);
    if let Some(held) = held
        .find(|id| is_relied_on(log.state(), &plan, id))
        .cloned()
    {
        wait_for_reading(log, slot, &held)?;
        return Ok(Fresh::NotYet);
    }
    retake(log, &plan, step, due)?;
    Ok(Fresh::Moved)
}

/// Leaves a step until a call that was made of the same reading is over: it may be in doubt,
/// so no moment is known any more.
fn wait_for_reading(log: &mut TurnLog<'_>, slot: &Slot, held: &str) -> Result<(), StepError> {
    if log
        .state()
        .item(slot)
        .is_none_or(|item| item.retry_at.is_none())
    {
        return Ok(());
    }
    let because = format!("another call uses the result of `{held}`");
    log.emit(Event::Deferred {
        slot: slot.clone(),
        until: None,
        because,
    })
}

/// Whether a step of which readings were taken again is still to be asked about and begun.
pub(super) fn is_wanted_still(log: &mut TurnLog<'_>, step: &Step) -> Result<bool, StepError> {
    let known = log.state().steps.get(&step.id.value);
    if known.is_none_or(|known| known.retaken.is_empty()) {
        return Ok(true);
    }
    let Some(plan) = log.state().in_force.plan.clone() else {
        return Ok(false);
    };
    let taken = readings_of(log.basis(), &plan, step);
    if is_any_flying(log.state(), &taken) {
        return Ok(false);
    }
    still_wanted(log, step)
}

fn is_any_flying(state: &State, taken: &[&Step]) -> bool {
    let mut known = taken
        .iter()
        .filter_map(|step| state.steps.get(&step.id.value));
    known.any(|known| known.items.iter().any(|item| item.in_flight.is_some()))
}

fn readings_of<'p>(at: Basis<'_>, plan: &'p ApprovedPlan, step: &Step) -> Vec<&'p Step> {
    let effect =
        |step: &Step| -> Option<Effect> { Some(at.rules.catalog.get(&step.tool()?.value)?.effect) };
    readings(plan.checked().plan(), step, &effect)
}

/// The readings that are older than `limit`, or that would be other calls by now; of those
/// that rest on one another the first only.
fn due<'p>(
    at: Basis<'_>,
    plan: &'p ApprovedPlan,
    taken: &[&'p Step],
    limit: i64,
) -> Vec<StaleRead<'p>> {
    let mut due: Vec<StaleRead<'_>> = Vec::new();
    for step in taken {
        let Some(known) = at.state.steps.get(&step.id.value) else {
            continue;
        };
        for (index, item) in known.items.iter().enumerate() {
            let slot = Slot {
                step: step.id.value.clone(),
                item: known.is_list.then_some(index),
            };
            if item.success().is_none() {
                continue;
            }
            let call = call_of(at, plan, step, &slot);
            let seen = item.observed.as_ref();
            let old = seen.is_none_or(|seen| at.now - seen.at > limit);
            let other = call
                .as_ref()
                .is_ok_and(|call| is_other(item, call.args_digest));
            if old || other {
                due.push(StaleRead { step, slot, call });
            }
        }
    }
    let named: Vec<String> = due.iter().map(|due| due.step.id.value.clone()).collect();
    due.retain(|due| {
        let before = readings_of(at, plan, due.step);
        !before.iter().any(|step| named.contains(&step.id.value))
    });
    due
}

/// The call of a reading, as it would be made now.
fn call_of(
    at: Basis<'_>,
    plan: &ApprovedPlan,
    step: &Step,
    slot: &Slot,
) -> Result<Candidate, String> {
    let id = &step.id.value;
    let gone = || format!("`{id}` is not in the plan");
    let (_, record) = plan.checked().step(id).ok_or_else(gone)?;
    if guard(at, step) != Ok(true) {
        return Err(format!("`{id}` would not be read any more"));
    }
    if let Some(for_each) = &step.for_each
        && list(at, for_each).as_ref().ok() != list_of(at.state, id)
    {
        return Err(format!("the list of `{id}` is another by now"));
    }
    let candidate = candidate(at, step, record, slot);
    let candidate = candidate.map_err(|refusal| refusal.message)?;
    match candidate.verdict.decision {
        Decision::Permit => Ok(candidate),
        Decision::Ask | Decision::Forbid => Err(format!("policy does not permit `{id}` by itself")),
    }
}

fn list_of<'t>(state: &'t State, id: &str) -> Option<&'t Vec<Value>> {
    state.steps.get(id).map(|known| &known.list)
}

/// Whether a call that was begun and is not over was made of what `reading` gave, or is
/// accepted by it.
fn is_relied_on(state: &State, plan: &ApprovedPlan, reading: &str) -> bool {
    let steps = plan.checked().plan().steps.iter();
    let mut relying = steps.filter(|step| {
        let templates = step.templates();
        let mut names = templates.iter().flat_map(|(_, text)| text.references());
        names.any(|reference| matches!(&reference.root, Root::Step(id) if id == reading))
    });
    let under_way = |item: &ItemState| {
        let is_over = !item.is_open() && !item.is_in_doubt();
        item.has_begun() && !is_over
    };
    relying.any(|step| {
        let known = state.steps.get(&step.id.value);
        known.is_some_and(|known| known.items.iter().any(under_way))
    })
}

/// Takes readings again for `step`, or fails it where that cannot be.
fn retake(
    log: &mut TurnLog<'_>,
    plan: &Arc<ApprovedPlan>,
    step: &Step,
    due: Vec<StaleRead<'_>>,
) -> Result<(), StepError> {
    let id = &step.id.value;
    for StaleRead { slot, call, .. } in due {
        let call = match call {
            Ok(call) => call,
            Err(reason) => return fail_stale(log, id, &reason),
        };
        let known = log.state().steps.get(id);
        let times = known.and_then(|known| known.retaken.get(&slot.to_string()));
        let begins = log
            .state()
            .item(&slot)
            .is_some_and(|item| item.retaking().is_none());
        if begins && times.is_some_and(|times| *times >= RETAKEN_MAX) {
            let reason = format!("`{slot}` was read again {RETAKEN_MAX} times");
            return fail_stale(log, id, &reason);
        }
        if log.state().in_flight() as u64 >= log.state().limits_in_force().concurrency {
            return Ok(());
        }
        if let Some((_, record)) = plan.checked().step(&slot.step) {
            let for_step = id.clone();
            start(log, record, call, None, Purpose::Retake { for_step })?;
        }
        let over = log
            .state()
            .steps
            .get(id)
            .is_none_or(|known| known.status.is_final());
        if over || log.state().spend.limit.is_some() || log.state().ending.paused.is_some() {
            return Ok(());
        }
    }
    Ok(())
}

/// Looks again at the guard and the list of a step whose readings may have changed.
fn still_wanted(log: &mut TurnLog<'_>, step: &Step) -> Result<bool, StepError> {
    let id = &step.id.value;
    match guard(log.basis(), step) {
        Ok(true) => {}
        Ok(false) => return skip_open(log, id).map(|()| false),
        Err(reason) => {
            fail_open(log, id, Class::Expression, &reason)?;
            return Ok(false);
        }
    }
    let Some(for_each) = &step.for_each else {
        return Ok(true);
    };
    let list = match list(log.basis(), for_each) {
        Ok(list) => list,
        Err(reason) => {
            fail_open(log, id, Class::Expression, &reason)?;
            return Ok(false);
        }
    };
    if Some(&list) == list_of(log.state(), id) {
        return Ok(true);
    }
    let begun = log
        .state()
        .steps
        .get(id)
        .is_some_and(|known| known.attempted());
    let most = usize::try_from(for_each.max_items.value).unwrap_or(usize::MAX);
    if begun || list.len() > most {
        let reason = "its list is another by now";
        return fail_stale(log, id, reason).map(|()| false);
    }
    withdraw(log, id)?;
    let empty = list.is_empty();
    log.emit(Event::ListEvaluated {
        step: id.clone(),
        items: list,
        secret: false,
    })?;
    if empty {
        settle_list(log, id)?;
    }
    Ok(false)
}

/// Closes a card that asks about what is not to be done any more.
fn withdraw(log: &mut TurnLog<'_>, id: &str) -> Result<(), StepError> {
    if !log
        .state()
        .open_cards()
        .any(|(_, card)| card.step() == Some(id))
    {
        return Ok(());
    }
    log.emit(Event::ApprovalsRevised {
        retain: Vec::new(),
        replace: vec![id.to_owned()],
        clear: Vec::new(),
    })
}

/// The slots of a step at which nothing was begun.
fn open_slots(state: &State, id: &str) -> Vec<Slot> {
    let Some(known) = state.steps.get(id) else {
        return Vec::new();
    };
    let items = known.items.iter().enumerate();
    items
        .filter(|(_, item)| item.is_open() && item.in_flight.is_none())
        .map(|(index, _)| Slot {
            step: id.to_owned(),
            item: known.is_list.then_some(index),
        })
        .collect()
}

fn skip_open(log: &mut TurnLog<'_>, id: &str) -> Result<(), StepError> {
    withdraw(log, id)?;
    for slot in open_slots(log.state(), id) {
        log.emit(Event::StepSkipped {
            slot,
            because: SkipReason::When,
        })?;
    }
    if log.state().steps.get(id).is_some_and(|known| known.is_list) {
        return settle_list(log, id);
    }
    Ok(())
}

/// The step is over: a reading it acts on is too old.
fn fail_stale(log: &mut TurnLog<'_>, id: &str, reason: &str) -> Result<(), StepError> {
    let message = format!("what it acts on is too old: {reason}");
    fail_open(log, id, Class::Stale, &message)
}

fn fail_open(
    log: &mut TurnLog<'_>,
    id: &str,
    class: Class,
    message: &str,
) -> Result<(), StepError> {
    withdraw(log, id)?;
    for slot in open_slots(log.state(), id) {
        settle_failed(log, &slot, class, message.to_owned())?;
    }
    Ok(())
}

/// Puts a step off because a reading could not be taken again now.
pub(super) fn put_off_all(
    log: &mut TurnLog<'_>,
    id: &str,
    denial: &Denial,
) -> Result<(), StepError> {
    for slot in open_slots(log.state(), id) {
        if log.state().ending.paused.is_none() && log.state().spend.limit.is_none() {
            put_off(log, &slot, denial.clone())?;
        }
    }
    Ok(())
}

fn retakes_for(state: &State, slot: &Slot) -> Option<String> {
    let purpose = state.item(slot)?.purpose()?;
    purpose.retaken_for().map(str::to_owned)
}

/// Whether what is in flight at a slot takes a reading again.
pub(super) fn is_retaking(state: &State, slot: &Slot) -> bool {
    retakes_for(state, slot).is_some()
}

/// Takes a reading that came again.
pub(super) fn retaken(
    log: &mut TurnLog<'_>,
    slot: &Slot,
    ended: AttemptEnded,
    output: Value,
    evidence: Digest,
) -> Result<(), StepError> {
    let of = retakes_for(log.state(), slot).unwrap_or_default();
    if let Err((_, message)) = acceptance(log.basis(), slot, &output) {
        let class = Class::AcceptanceFailed;
        let reason = format!("`{slot}` was read again and is not accepted: {message}");
        log.emit(Event::AttemptEnded(AttemptEnded { class, ..ended }))?;
        return fail_stale(log, &of, &reason);
    }
    log.emit(Event::AttemptEnded(ended))?;
    let label = output_label(log.basis(), slot, &output);
    log.emit(Event::ObservationMade {
        slot: slot.clone(),
        output,
        label,
        evidence,
    })
}

/// Takes the failure of a reading that was to come again.
pub(super) fn not_retaken(
    log: &mut TurnLog<'_>,
    slot: &Slot,
    mut ended: AttemptEnded,
) -> Result<(), StepError> {
    let of = retakes_for(log.state(), slot).unwrap_or_default();
    let again = ended.retry_at.take();
    let message = ended.message.clone().unwrap_or_default();
    let comes_again = !ended.is_try();
    log.emit(Event::AttemptEnded(ended))?;
    if let Some(at) = again {
        for open in open_slots(log.state(), &of) {
            defer(log, &open, at, format!("`{slot}` is read again"))?;
        }
        return Ok(());
    }
    if comes_again {
        return Ok(());
    }
    fail_stale(
        log,
        &of,
        &format!("`{slot}` could not be read again: {message}"),
    )
}

/// Whether the call is another than the one that brought the output.
fn is_other(item: &ItemState, args: Digest) -> bool {
    item.history.args.is_some_and(|before| before != args)
}
