//! From a step that may run to a call that does.
//!
//! Owns readiness, guards, lists, arguments, the verdict on concrete values and the limits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use provost_plan::catalog::{Idempotency, Operation};
use provost_plan::check::StepRecord;
use provost_plan::check::policy::with_own_caution;
use provost_plan::digest::{Digest, Domain, canonical};
use provost_plan::expr::Template;
use provost_plan::limits::ARGS_BYTES_MAX;
use provost_plan::money::Money;
use provost_plan::plan::{CallRole, Expiry, ForEach, Step, StepKind};
use provost_plan::policy::{CallFacts, Decision, Verdict};
use serde_json::Value;

use super::admit::put_off;
use super::approval::{ApprovalState, approval_of, not_approved, with_caution};
use super::assertion::settle_assertion;
use super::beside::call_of_intent;
use super::confirm::{is_to_be_read_back, read_back};
use super::dependency::{guard, need_for};
use super::doubt::{is_reconciling, settle_in_doubt};
use super::earlier::{Before, before, forbidden, look_up};
use super::fresh::{is_wanted_still, put_off_all, start_fresh};
use super::limit::{added, is_first, known, limit_reached, not_admitted};
use super::origin::{reads_accepted, values_from_goal};
use super::poll::{in_time, polling_over};
use super::settle::{may_repeat, settle_failed, settle_list};
use super::sinks::{same_sinks, sinks_digest};
use super::subgoal::settle_subgoal;
use crate::call::{Purpose, Slot, idempotency_key};
use crate::card::{ConcreteCall, Question, QuestionExpiry, QuestionPurpose};
use crate::event::{AttemptStarted, Event, SkipReason, StepStatus};
use crate::machine::StepError;
use crate::outcome::{Class, Landing};
use crate::shown;
use crate::state::{Dependency, ItemState, State, StepState};
use crate::turn::basis::Basis;
use crate::turn::log::TurnLog;
use crate::turn::scope::{Roots, item_value};
use crate::turn::secret;
use crate::turn::secret::question_text;
use crate::turn::work::items_of;

/// A call that could be made, before anybody allowed it.
pub(crate) struct Candidate {
    pub(crate) slot: Slot,
    pub(crate) operation: Arc<Operation>,
    pub(crate) args: Value,
    pub(crate) args_digest: Digest,
    pub(crate) args_bytes: u64,
    pub(crate) verdict: Verdict,
    pub(crate) repeats: Option<String>,
    /// The equal calls that were made before.
    pub(crate) before: Before,
    /// The names of the arguments that are secret.
    pub(crate) secrets: BTreeSet<String>,
}

/// What somebody else has to do before a step goes on.
#[must_use]
pub(crate) enum Due {
    /// Nothing.
    Nothing,
    /// People are asked about these calls of it.
    Ask(Vec<Candidate>),
    /// A planner refines it.
    Refine,
}

/// What policy is asked about a candidate.
struct CandidateCall<'c> {
    operation: &'c Operation,
    args: &'c Value,
    /// How many equal calls were made before.
    repeats: u64,
}

/// A step that cannot become a call, and why.
pub(crate) struct Refusal {
    pub(crate) class: Class,
    pub(crate) message: String,
}

/// Starts what may start of a step.
pub(crate) fn begin_step(
    log: &mut TurnLog<'_>,
    step: &Step,
    record: &StepRecord,
) -> Result<Due, StepError> {
    let id = &step.id.value;
    if !log.state().may_begin(id) {
        return Ok(Due::Nothing);
    }
    match log.state().steps.get(id).map(|known| known.status) {
        Some(StepStatus::Pending) => consider(log, step, record),
        Some(StepStatus::Ready | StepStatus::Running | StepStatus::WaitingApproval) => {
            run_items(log, step, record)
        }
        _ => Ok(Due::Nothing),
    }
}

/// Looks at a step that waits for others.
fn consider(log: &mut TurnLog<'_>, step: &Step, record: &StepRecord) -> Result<Due, StepError> {
    let id = &step.id.value;
    for on in &record.after {
        match need_for(log.state(), id, on) {
            Dependency::Met => {}
            Dependency::Wait => {
                log.waits_for(id, on);
                return Ok(Due::Nothing);
            }
            Dependency::Never => {
                let (step, on) = (id.clone(), on.clone());
                log.emit(Event::StepBlocked { step, on })?;
                return Ok(Due::Nothing);
            }
        }
    }
    let slot = Slot {
        step: id.clone(),
        item: None,
    };
    let skipped = match guard(log.basis(), step) {
        Ok(true) => None,
        Ok(false) => Some(SkipReason::When),
        Err(reason) => {
            settle_failed(log, &slot, Class::Expression, reason)?;
            return Ok(Due::Nothing);
        }
    };
    let left_out = || not_approved(log.state(), id, record).then_some(SkipReason::NotApproved);
    if let Some(because) = skipped.or_else(left_out) {
        log.emit(Event::StepSkipped { slot, because })?;
        return Ok(Due::Nothing);
    }
    if let StepKind::Question {
        text,
        answer,
        of,
        expires,
    } = &step.kind
    {
        match question_text(log.basis(), text) {
            Ok(text) => log.ask(Question {
                run: log.state().head.run.clone(),
                purpose: QuestionPurpose::Step { step: id.clone() },
                text,
                answer: answer.value().clone(),
                of: of.as_ref().map(|of| of.value.clone()),
                expires: expires.as_ref().map(|expires| expiry(expires, log.now())),
            })?,
            Err((class, message)) => settle_failed(log, &slot, class, message)?,
        }
        return Ok(Due::Nothing);
    }
    if let Some(assertion) = step.assertion() {
        settle_assertion(log, &slot, assertion)?;
        return Ok(Due::Nothing);
    }
    if let Some(subgoal) = step.subgoal() {
        return settle_subgoal(log, step, subgoal);
    }
    if !evaluate_list(log, step)? {
        return Ok(Due::Nothing);
    }
    run_items(log, step, record)
}

/// When a question lapses that is asked now.
fn expiry(expires: &Expiry, now: i64) -> QuestionExpiry {
    let after = i64::try_from(expires.after.as_millis()).unwrap_or(i64::MAX);
    let default = expires.default.as_ref();
    QuestionExpiry {
        at: now.saturating_add(after),
        default: default.map(|default| default.value.clone()),
    }
}

/// What a list is now.
pub(super) fn list(at: Basis<'_>, for_each: &ForEach) -> Result<Vec<Value>, String> {
    let (roots, list) = (Roots::new(at.purse), &for_each.list);
    match list.eval(&roots.scope_for(at.state, list.references())) {
        Ok(list) => items_of(list),
        Err(error) => Err(error.to_string()),
    }
}

/// Evaluates the list of a `for_each`, once. False if the step is over by it.
fn evaluate_list(log: &mut TurnLog<'_>, step: &Step) -> Result<bool, StepError> {
    let id = &step.id.value;
    let Some(for_each) = &step.for_each else {
        return Ok(true);
    };
    if log.state().steps.get(id).is_some_and(|known| known.listed) {
        return Ok(true);
    }
    let slot = Slot {
        step: id.clone(),
        item: None,
    };
    let items = match list(log.basis(), for_each) {
        Ok(items) => items,
        Err(reason) => {
            settle_failed(log, &slot, Class::Expression, reason)?;
            return Ok(false);
        }
    };
    let most = for_each.max_items.value;
    if items.len() as u64 > most {
        let message = format!("`for_each` has {} items, more than the {most}", items.len());
        settle_failed(log, &slot, Class::BudgetExceeded, message)?;
        return Ok(false);
    }
    let empty = items.is_empty();
    log.emit(Event::ListEvaluated {
        step: id.clone(),
        items,
        secret: false,
    })?;
    if empty {
        settle_list(log, id)?;
    }
    Ok(!empty)
}

/// Starts, or asks about, every item of a step that is not started.
fn run_items(log: &mut TurnLog<'_>, step: &Step, record: &StepRecord) -> Result<Due, StepError> {
    if is_wanted_still(log, step)? {
        run_open_items(log, step, record)
    } else {
        Ok(Due::Nothing)
    }
}

/// Settles a slot whose call is not to begin any more: its goal was amended, or its time is over.
fn settle_late(log: &mut TurnLog<'_>, slot: &Slot) -> Result<bool, StepError> {
    if log.state().goals.former.contains(&slot.step) {
        let message = "the goal was amended before it took place".to_owned();
        settle_failed(log, slot, Class::Cancelled, message)?;
        return Ok(true);
    }
    if !in_time(log.state(), slot, log.now()) {
        polling_over(log, slot)?;
        return Ok(true);
    }
    Ok(false)
}

fn run_open_items(
    log: &mut TurnLog<'_>,
    step: &Step,
    record: &StepRecord,
) -> Result<Due, StepError> {
    let id = &step.id.value;
    let Some(known) = log.state().steps.get(id) else {
        return Ok(Due::Nothing);
    };
    let is_list = known.is_list;
    let places = log.state().limits_in_force().concurrency;
    let mut asked = Vec::new();
    for index in open_items(log.basis(), known) {
        let mut moved = false;
        let full = log.state().in_flight() as u64 >= places;
        if full && !may_ask(record) {
            break;
        }
        let slot = Slot {
            step: id.clone(),
            item: is_list.then_some(index),
        };
        // Why before all else: what took place is never called again.
        if is_to_be_read_back(log.state(), step, &slot) {
            read_back(log, step, record, slot, full)?;
            continue;
        }
        if settle_late(log, &slot)? {
            continue;
        }
        if let Some((class, message)) = beyond_repeating(log.basis(), &slot) {
            settle_in_doubt(log, &slot, class, message)?;
            continue;
        }
        match candidate(log.basis(), step, record, &slot) {
            // Why: a read may still tell what became of the other call.
            Err(refusal) if refusal.class == Class::Conflict && is_reconciling(log.basis()) => {}
            Err(refusal) => settle_failed(log, &slot, refusal.class, refusal.message)?,
            Ok(candidate) => match candidate.verdict.decision {
                Decision::Forbid => {
                    look_up(log, &candidate);
                    settle_failed(log, &slot, Class::PolicyDenied, forbidden(&candidate))?;
                }
                // Why: one card asks about all items, so the rest is looked at all the same.
                Decision::Permit if full => {}
                Decision::Permit => moved = start_fresh(log, step, record, candidate, None)?,
                Decision::Ask => match approval_of(log.basis(), step, record, &candidate) {
                    ApprovalState::Approved(_) if full => {}
                    ApprovalState::Approved(card) => {
                        moved = start_fresh(log, step, record, candidate, Some(card))?;
                    }
                    ApprovalState::Open => asked.push(candidate),
                },
            },
        }
        if moved || log.state().spend.limit.is_some() || log.state().ending.paused.is_some() {
            return Ok(Due::Nothing);
        }
    }
    if asked.is_empty() {
        return Ok(Due::Nothing);
    }
    asked.iter().for_each(|candidate| look_up(log, candidate));
    Ok(Due::Ask(asked))
}

/// The items at which something may begin now, those that were begun first: others may wait
/// until these are over, because they act on the same reading.
fn open_items(at: Basis<'_>, known: &StepState) -> Vec<usize> {
    let open = known.items.iter().enumerate().filter(|(_, item)| {
        item.is_open()
            && item.in_flight.is_none()
            && item.consent.card.is_none()
            && item.retry_at.is_none_or(|due| due <= at.now)
    });
    let (begun, others): (Vec<_>, Vec<_>) = open.partition(|(_, item)| item.has_begun());
    let places = begun.into_iter().chain(others).map(|(index, _)| index);
    places.collect()
}

/// Why an attempt that may have landed cannot be made again, if it cannot.
fn beyond_repeating(at: Basis<'_>, slot: &Slot) -> Option<(Class, String)> {
    let history = at.state.item(slot).map(|item| &item.history);
    let history = history.filter(|history| history.attempt > 0)?;
    let landing = history.landing.unwrap_or(Landing::Unknown);
    if may_repeat(at, slot, landing, at.now) {
        return None;
    }
    let message = "it may have taken place, and repeating it is no longer safe".to_owned();
    Some((history.class.unwrap_or(Class::Unavailable), message))
}

/// The concrete call of a slot, with policy's word on it.
pub(super) fn candidate(
    at: Basis<'_>,
    step: &Step,
    record: &StepRecord,
    slot: &Slot,
) -> Result<Candidate, Refusal> {
    let StepKind::Tool { tool, args } = &step.kind else {
        return Err(refusal(Class::ToolBug, "the step is no call"));
    };
    role_admits(at, step, record, &tool.value)?;
    let operation = at
        .rules
        .catalog
        .get(&tool.value)
        .filter(|operation| at.rules.catalog.digest(&operation.name) == record.tool)
        .ok_or_else(|| {
            refusal(
                Class::Drift,
                "the tool is not the one the plan was checked under",
            )
        })?
        .clone();
    let secrets = secret::refused(step, record, &operation)
        .map_err(|message| refusal(Class::PolicyDenied, &message))?;
    let roots = Roots::new(at.purse).with_item(item_value(at.state, slot));
    let args = args
        .eval(&roots.scope_for(
            at.state,
            args.templates().into_iter().flat_map(Template::references),
        ))
        .map_err(|error| refusal(Class::Expression, &error.to_string()))?;
    let text = canonical(&args);
    if text.len() > ARGS_BYTES_MAX {
        let message = format!("the arguments have more than {ARGS_BYTES_MAX} bytes");
        return Err(refusal(Class::InvalidArguments, &message));
    }
    if let Some(violation) = operation.input.violations_within(&args, at.purse).first() {
        let message = format!("argument `{}`: {}", violation.pointer, violation.message);
        return Err(refusal(Class::InvalidArguments, &message));
    }
    let args_digest = Digest::of_bytes(Domain::Args, text.as_bytes());
    let repeats = repeats(at.state, slot, &operation, args_digest, &args)?;
    let before = before(at, slot, &operation, args_digest);
    let call = CandidateCall {
        operation: &operation,
        args: &args,
        repeats: before.repeats,
    };
    let mut verdict = with_own_caution(step, decide(at, step, record, &call));
    if repeats.is_some() && verdict.decision != Decision::Forbid {
        verdict = with_caution(verdict);
    }
    Ok(Candidate {
        slot: slot.clone(),
        operation,
        args,
        args_digest,
        args_bytes: u64::try_from(text.len()).unwrap_or(u64::MAX),
        verdict,
        repeats,
        before,
        secrets,
    })
}

/// Whether the role of a step is the one it was checked in, and admits a tool that it names.
pub(super) fn role_admits(
    at: Basis<'_>,
    step: &Step,
    record: &StepRecord,
    tool: &str,
) -> Result<(), Refusal> {
    let catalog = &at.rules.catalog;
    let role = step.role().and_then(|name| catalog.role(name));
    if role.map(|role| role.digest()) != record.role {
        let message = "the role is not the one the plan was checked under";
        return Err(refusal(Class::Drift, message));
    }
    if catalog.admits(step.role(), tool) {
        return Ok(());
    }
    let name = step.role().unwrap_or_default();
    let message = format!("the role `{name}` does not admit `{tool}`");
    Err(refusal(Class::PolicyDenied, &message))
}

fn decide(at: Basis<'_>, step: &Step, record: &StepRecord, call: &CandidateCall<'_>) -> Verdict {
    let CandidateCall {
        operation,
        args,
        repeats,
    } = *call;
    let empty = serde_json::Map::new();
    let facts = CallFacts {
        principal: &at.state.head.principal,
        operation,
        role: step.role().unwrap_or_default(),
        args: args.as_object().unwrap_or(&empty),
        unknown: &BTreeSet::new(),
        labels: &record.labels,
        control: &record.control,
        // Why not more: the arguments just passed their schema.
        inputs_validated: reads_accepted(at, step, CallRole::Own),
        values_from_goal: values_from_goal(at, record, args),
        repeats: Some(repeats),
        totals: at.state.plan().map(|plan| &plan.checked().record().totals),
    };
    at.rules.policy.decide(&facts)
}

/// The step whose effect this call would repeat.
fn repeats(
    state: &State,
    slot: &Slot,
    operation: &Operation,
    args_digest: Digest,
    args: &Value,
) -> Result<Option<String>, Refusal> {
    if operation.effect.is_read() {
        return Ok(None);
    }
    let in_doubt = state.unsure_effects().find(|effect| {
        effect.slot != *slot
            && effect.landing == Landing::Unknown
            && effect.operation == operation.name
            && same_sinks(operation, &effect.args, args)
    });
    if let Some(effect) = in_doubt {
        let message = format!(
            "step `{}` may already have done this, its outcome is unknown",
            effect.slot
        );
        return Err(refusal(Class::Conflict, &message));
    }
    let same = state.effects_of(&operation.name, args_digest);
    let repeated = same.filter(|effect| effect.slot != *slot && effect.landing != Landing::None);
    Ok(repeated.last().map(|effect| effect.slot.to_string()))
}

/// Records the intent and makes the call.
pub(super) fn start(
    log: &mut TurnLog<'_>,
    record: &StepRecord,
    candidate: Candidate,
    approval: Option<Digest>,
    purpose: Purpose,
) -> Result<(), StepError> {
    look_up(log, &candidate);
    let Candidate {
        slot,
        operation,
        args,
        args_digest,
        args_bytes,
        verdict,
        before,
        ..
    } = candidate;
    let spend = operation.spend(Some(args_bytes));
    let first = is_first(log.state(), &slot);
    let values = added(log.state(), &slot, first, &operation, &args);
    if let Some(limit) = limit_reached(log.state(), first, &spend, &values) {
        return not_admitted(log, slot, limit);
    }
    if let Some(denial) = log.said().denials.get(&slot).cloned() {
        return match purpose.retaken_for() {
            Some(id) => put_off_all(log, id, &denial),
            None => put_off(log, &slot, denial),
        };
    }
    let attempt = log.state().item(&slot).map_or(1, ItemState::next_attempt);
    let key = key_of(log.state(), &slot, &operation, record.closure);
    let sinks = sinks_digest(&operation, &args);
    let intent = AttemptStarted {
        slot,
        attempt,
        operation: operation.name.clone(),
        tool: record.tool.unwrap_or_else(|| operation.digest()),
        closure: record.closure,
        args,
        secret_args: BTreeSet::new(),
        args_digest,
        key,
        verdict,
        approval,
        read: operation.effect.is_read(),
        purpose,
        sinks: (!operation.effect.is_read()).then_some(sinks),
        money: (spend.money > Money::ZERO).then_some(spend.money),
        tokens: (spend.tokens > 0).then_some(spend.tokens),
        values: known(&values),
        earlier: before.calls,
        timeout_ms: None,
        narrowed: false,
    };
    match call_of_intent(log.basis(), &intent) {
        Some(call) => log.begin(intent, call),
        None => {
            let message = "the current plan has no such call".to_owned();
            settle_failed(log, &intent.slot, Class::ToolBug, message)
        }
    }
}

/// The key that is sent with every attempt of a call, where its tool honours one.
fn key_of(state: &State, slot: &Slot, operation: &Operation, closure: Digest) -> Option<String> {
    let keyed = matches!(operation.idempotency, Idempotency::Key { .. });
    let sent = state.item(slot).and_then(|item| item.history.key.clone());
    let new = || idempotency_key(&state.head.run, slot, closure);
    keyed.then(|| sent.unwrap_or_else(new))
}

/// What an approved candidate is shown as.
pub(crate) fn concrete(candidate: &Candidate) -> ConcreteCall {
    ConcreteCall {
        item: candidate.slot.item,
        args: shown::args(&candidate.args, &candidate.secrets),
        args_digest: candidate.args_digest,
        origins: BTreeMap::new(),
        repeats: candidate.repeats.clone(),
        earlier: candidate.before.calls.clone(),
        preview: None,
    }
}

/// Whether a call of this step may need a person's word.
fn may_ask(record: &StepRecord) -> bool {
    let settled =
        |verdict: &Verdict| verdict.decision == Decision::Permit && verdict.condition.is_none();
    !record.verdict.as_ref().is_some_and(settled)
}

fn refusal(class: Class, message: &str) -> Refusal {
    Refusal {
        class,
        message: message.to_owned(),
    }
}
