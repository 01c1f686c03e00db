//! The end of a run: proofs, answer, and every way of ending without one.
//!
//! INVARIANT: success is evaluated over outcomes, never over text; every claim carries what it
//! cites.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::codes::Code;
use provost_plan::diagnostic::Severity;
use provost_plan::expr::Part;
use provost_plan::label::Integrity;
use provost_plan::limits::ANSWER_BYTES_MAX;
use provost_plan::plan::request::{FindingView, Why};
use provost_plan::plan::{Claim, Plan};
use serde_json::Value;

use crate::event::{
    AnswerPart, AnswerSpan, Citation, EndedBy, Event, Proven, Prover, RunEnded, RunStatus,
    StepStatus,
};
use crate::machine::StepError;
use crate::outcome::Class;
use crate::read::words::because;
use crate::state::State;
use crate::turn::Flow;
use crate::turn::basis::Basis;
use crate::turn::call::doubt::settle_in_doubt;
use crate::turn::log::TurnLog;
use crate::turn::scope::{Roots, steps_named};
use crate::turn::secret::told_of;
use crate::turn::work::judged;
use crate::{shown, view};

/// Ends the run if nothing more can happen in it; goes on where a criterion asks for a revision.
pub(crate) fn finish_if_over(log: &mut TurnLog<'_>) -> Result<Flow, StepError> {
    let doubt = log.state().any_doubted();
    // Why: a failed step is final, but a person may still send it back to the planner.
    let asked = log.state().open_questions().next().is_some();
    // Why: a reading may be on its way again for a step that is over by now.
    let flying = log.state().in_flight() > 0;
    if !log.state().all_final() || doubt || asked || flying {
        return Ok(Flow::Hold);
    }
    let criteria = prove(log.basis());
    let unmet: Vec<String> = criteria
        .iter()
        .filter(|(_, proven)| **proven != Proven::Held)
        .map(|(id, _)| id.clone())
        .collect();
    if unmet.is_empty() {
        let answer = answer_parts(log.basis());
        let ended = RunEnded {
            status: RunStatus::Succeeded,
            class: None,
            step: None,
            by: None,
            message: None,
            proven_by: proven_by(log.state(), &criteria),
            proofs: proofs(log.state(), &criteria),
            criteria,
            answer,
        };
        return end(log, ended).map(|()| Flow::Hold);
    }
    log.emit(Event::ReplanRequested {
        why: Why::Unmet { criteria: unmet },
    })?;
    Ok(Flow::Go)
}

pub(super) fn prove(at: Basis<'_>) -> BTreeMap<String, Proven> {
    // Why none of another goal: its plan proves what was wanted before.
    let plan = at.state.plan();
    let Some(plan) = plan.filter(|_| at.state.goals.unplanned.is_none()) else {
        return BTreeMap::new();
    };
    let roots = Roots::new(at.purse);
    let failed = failed_lists(at.state, plan.checked().plan());
    let mut scope = roots.scope(at.state);
    for (id, view) in &failed {
        scope = scope.with_step(id, view);
    }
    let mut criteria: BTreeMap<String, Proven> = BTreeMap::new();
    for proof in &plan.checked().plan().success {
        let proven = match proof.check.eval_bool(&scope) {
            Ok(true) => Proven::Held,
            Ok(false) => Proven::NotHeld,
            Err(error) => Proven::Failed(told_of(at, &proof.check, &error.to_string())),
        };
        let known = criteria
            .entry(proof.criterion.value.clone())
            .or_insert(Proven::Held);
        if *known == Proven::Held {
            *known = proven;
        }
    }
    criteria
}

/// What proofs see of the lists that failed in a plan that does not go on after that: no output.
/// Why: the items that failed are in it as null, and a proof that counts them would hold.
fn failed_lists<'a>(state: &'a State, plan: &Plan) -> Vec<(&'a String, Value)> {
    let failed = state.steps.iter().filter(|(id, known)| {
        let goes_on = plan
            .step(id)
            .is_some_and(|step| step.on_failure.may_go_on());
        known.is_list && known.status == StepStatus::Failed && !goes_on
    });
    let without_output = |view: &Value| {
        let mut view = view.clone();
        if let Value::Object(map) = &mut view {
            map.remove("output");
        }
        view
    };
    failed
        .map(|(id, known)| (id, without_output(&known.view)))
        .collect()
}

/// Who wrote the proofs of these criteria.
fn proven_by(state: &State, criteria: &BTreeMap<String, Proven>) -> BTreeMap<String, Prover> {
    let mut by = state.proven_by();
    by.retain(|criterion, _| criteria.contains_key(criterion));
    by
}

/// The steps that the proofs of these criteria read.
fn proofs(
    state: &State,
    criteria: &BTreeMap<String, Proven>,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut read: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let proofs = state
        .plan()
        .into_iter()
        .flat_map(|plan| &plan.checked().plan().success);
    for proof in proofs.filter(|proof| criteria.contains_key(&proof.criterion.value)) {
        let named = steps_named(proof.check.references());
        let known = read.entry(proof.criterion.value.clone()).or_default();
        known.extend(named.into_keys());
    }
    read
}

fn answer_parts(at: Basis<'_>) -> Vec<AnswerPart> {
    let Some(plan) = &at.state.in_force.plan else {
        return Vec::new();
    };
    let mut left = ANSWER_BYTES_MAX;
    let claims = plan.checked().plan().answer.iter();
    let parts = claims.filter_map(|claim| answer_part(at, claim));
    let shortened = parts.map(|part| {
        let bytes = part.spans.iter().map(|span| span.text.len()).sum();
        match left.checked_sub(bytes) {
            Some(rest) => left = rest,
            None => return failed_claim("the answer is too long"),
        }
        part
    });
    shortened.collect()
}

/// One claim, if its guard holds.
fn answer_part(at: Basis<'_>, claim: &Claim) -> Option<AnswerPart> {
    let roots = Roots::new(at.purse);
    let scope = roots.scope(at.state);
    match claim.when.as_ref().map(|when| when.eval_bool(&scope)) {
        None | Some(Ok(true)) => {}
        Some(Ok(false)) => return None,
        Some(Err(error)) => {
            let when = claim.when.as_ref().unwrap_or(&claim.text);
            return Some(failed_claim(&told_of(at, when, &error.to_string())));
        }
    }
    let mut spans = Vec::new();
    for part in claim.text.parts() {
        match part {
            Part::Text(text) => {
                // Why only words: a stop or a bracket tells nothing.
                let words = text.contains(char::is_alphanumeric);
                let literals = &at.state.in_force.literals;
                let untrusted = words && literals.integrity == Integrity::Text;
                let text = text.clone();
                spans.push(AnswerSpan { text, untrusted });
            }
            Part::Expr(expression) => {
                let label = view::expression_label(at.state, &at.rules.catalog, expression);
                let text = match expression.print(&scope) {
                    Ok(text) => shown::text(&label, text),
                    Err(error) => {
                        let error = told_of(at, &claim.text, &error.to_string());
                        return Some(failed_claim(&error));
                    }
                };
                // Why: a number or a flag carries no words, whatever it was counted from.
                let words = expression.eval(&scope).is_ok_and(|value| value.is_string());
                let untrusted = words && label.integrity == Integrity::Text;
                spans.push(AnswerSpan { text, untrusted });
            }
        }
    }
    let named = steps_named(claim.text.references());
    let said = claim.cites.iter().map(|cite| cite.value.clone());
    let mut cited: Vec<String> = named.keys().cloned().chain(said).collect();
    cited.sort();
    cited.dedup();
    let cites: Vec<Citation> = cited
        .into_iter()
        .filter_map(|step| citation(at.state, step))
        .collect();
    let reads_one = cites.iter().any(|cite| named.contains_key(&cite.step));
    Some(AnswerPart {
        spans,
        assertion: !cites.is_empty() && !reads_one,
        cites,
    })
}

fn citation(state: &State, step: String) -> Option<Citation> {
    let known = state.steps.get(&step)?;
    let evidence: Vec<_> = known
        .items
        .iter()
        .filter_map(|item| item.history.evidence)
        .collect();
    // Why without any: that a list has no items is what the claim says, and the step ended with it.
    let is_empty_list = known.is_list && known.listed && known.items.is_empty();
    let ended_empty = is_empty_list && known.status == StepStatus::Succeeded;
    (ended_empty || !evidence.is_empty()).then_some(Citation { step, evidence })
}

/// Ends a run that was cancelled, once nothing is in flight.
pub(crate) fn end_cancelled(log: &mut TurnLog<'_>) -> Result<(), StepError> {
    if log.state().in_flight() > 0 {
        return Ok(());
    }
    let Some((by, reason)) = log.state().ending.cancelled.clone() else {
        return Ok(());
    };
    let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    if log.state().ending.reopened {
        return end_reopened(log, &format!("{by}{reason}"));
    }
    let mut message = format!("cancelled by {by}{reason}");
    if log.state().ending.undo.placed().is_some() {
        let undone = log.state().undone().len();
        message.push_str(&format!("; undone: {undone}"));
    }
    end_with(log, RunStatus::Cancelled, Class::Cancelled, None, message)
}

/// Ends a run anew that a person had undone after its end.
fn end_reopened(log: &mut TurnLog<'_>, by: &str) -> Result<(), StepError> {
    let (status, undone, left) = log.state().result_of_undo();
    let mut message = format!("undo requested by {by}; undone: {undone}, not undone: {left}");
    if let Some((_, limit)) = &log.state().spend.limit {
        message.push_str(&format!("; no other call may begin: {limit}"));
    }
    // Why no class: nothing went wrong that ended it.
    end_with(log, status, None, None, message)
}

/// Ends a run that a planner or a person gave up on.
pub(crate) fn end_stopped(log: &mut TurnLog<'_>) -> Result<(), StepError> {
    match log.state().ending.stopping.clone() {
        Some(why) => end_because(log, &why),
        None => Ok(()),
    }
}

pub(crate) fn end_because(log: &mut TurnLog<'_>, why: &Why) -> Result<(), StepError> {
    match why {
        Why::Observed { .. } => Ok(()),
        Why::Amended { .. } => end_refused(log, "no plan was made for the amended goal"),
        Why::Rejected { step, reason } => {
            let message = format!("a person rejected it: {reason}");
            end_with(
                log,
                RunStatus::Rejected,
                Class::Rejected,
                step.clone(),
                message,
            )
        }
        Why::Expired { step } => {
            let step = (!step.is_empty()).then(|| step.clone());
            let message = "nobody answered in time".to_owned();
            end_with(log, RunStatus::Expired, Class::Expired, step, message)
        }
        Why::Unmet { .. } if log.state().ending.rejected.is_some() => {
            match log.state().ending.rejected.clone() {
                Some(rejected) => end_because(log, &rejected),
                None => Ok(()),
            }
        }
        Why::Unmet { .. } => {
            let class = judged(log.basis(), Class::Unmet);
            end_with(log, RunStatus::Failed, class, None, because(why))
        }
        Why::Refine { step } => {
            let message = format!("no planner refined the subgoal `{step}`");
            end_with(
                log,
                RunStatus::Failed,
                Class::Unmet,
                Some(step.clone()),
                message,
            )
        }
        Why::StepFailed { step, .. } => {
            let (class, message) = log
                .state()
                .failure(step)
                .unwrap_or_else(|| (Class::ToolBug, "the step failed".to_owned()));
            let message = format!("step `{step}` failed: {message}");
            end_with(log, RunStatus::Failed, class, Some(step.clone()), message)
        }
    }
}

pub(crate) fn end_refused(log: &mut TurnLog<'_>, reason: &str) -> Result<(), StepError> {
    let findings = &log.state().planning.findings;
    let is_error = |finding: &&FindingView| {
        Code::from_text(&finding.code).is_some_and(|code| code.severity() == Severity::Error)
    };
    let message = match findings.iter().find(is_error) {
        Some(first) if reason.contains(&first.message) => reason.to_owned(),
        Some(first) => format!("{reason}; first error {}: {}", first.code, first.message),
        None => reason.to_owned(),
    };
    end_with(
        log,
        RunStatus::Refused,
        Class::InvalidArguments,
        None,
        message,
    )
}

/// Ends a run that met a limit, once nothing is in flight.
pub(crate) fn end_limit(log: &mut TurnLog<'_>) -> Result<(), StepError> {
    match log.state().spend.limit.clone() {
        Some((step, limit)) if log.state().in_flight() == 0 => {
            let message = format!("no other call may begin: {limit}");
            end_with(
                log,
                RunStatus::Failed,
                Class::BudgetExceeded,
                Some(step),
                message,
            )
        }
        _ => Ok(()),
    }
}

pub(crate) fn end_moved(log: &mut TurnLog<'_>, message: &str) -> Result<(), StepError> {
    if log.state().ending.cancelled.is_some() {
        return end_cancelled(log);
    }
    let message = format!("the plan is no longer admissible under the current rules: {message}");
    end_with(log, RunStatus::Failed, Class::Drift, None, message)
}

fn end_with(
    log: &mut TurnLog<'_>,
    status: RunStatus,
    class: impl Into<Option<Class>>,
    step: Option<String>,
    message: String,
) -> Result<(), StepError> {
    let criteria = if log.state().in_force.plan.is_some() {
        prove(log.basis())
    } else {
        BTreeMap::new()
    };
    end(
        log,
        RunEnded {
            status,
            class: class.into(),
            step,
            by: None,
            message: Some(message),
            proven_by: proven_by(log.state(), &criteria),
            proofs: proofs(log.state(), &criteria),
            criteria,
            answer: Vec::new(),
        },
    )
}

fn end(log: &mut TurnLog<'_>, ended: RunEnded) -> Result<(), StepError> {
    // Why: an effect that may have landed stays in doubt, whatever ended the run before its
    // next attempt.
    for slot in log.state().unknown_effects() {
        let message = "the run ended before this was known".to_owned();
        settle_in_doubt(log, &slot, Class::Cancelled, message)?;
    }
    let by = ended_by(log.state(), &ended);
    log.emit(Event::RunEnded(RunEnded { by, ..ended }))
}

/// Who or what ends a run so.
fn ended_by(state: &State, ended: &RunEnded) -> Option<EndedBy> {
    let person = |id: &String| EndedBy::Person { id: id.clone() };
    let cancelled = state.ending.cancelled.as_ref().map(|(by, _)| by);
    let request = state.ending.ran_out.map(|id| EndedBy::Request { id });
    let step = ended.step.clone().map(|id| EndedBy::Step { id });
    match (ended.status, ended.class) {
        (RunStatus::Succeeded, _) => None,
        (RunStatus::Rejected, _) => state.ending.rejected_by.as_ref().map(person),
        (RunStatus::Expired, _) => Some(EndedBy::Time),
        (RunStatus::Refused, _) => request,
        (_, Some(Class::BudgetExceeded)) => Some(EndedBy::Limit),
        (_, Some(Class::Drift)) => Some(EndedBy::Rules),
        (RunStatus::Failed, _) => step.or(request),
        // What is left was cancelled, or undone after its end.
        _ => cancelled.map(person),
    }
}

fn failed_claim(error: &str) -> AnswerPart {
    let text = format!("(a claim could not be made: {error})");
    AnswerPart {
        spans: vec![AnswerSpan {
            text,
            untrusted: false,
        }],
        assertion: false,
        cites: Vec::new(),
    }
}
