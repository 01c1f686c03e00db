//! Asking a planner, and what becomes of its reply.
//!
//! Owns requests, the check of proposals and the change from one revision to the next. A proposal
//! without a checked plan never gets past this file.

use std::sync::Arc;

use provost_plan::catalog::Operation;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::expr::{Root, Segment};
use provost_plan::plan::request::{
    EnvelopeView, FindingView, NoPlan, PlanReply, PlanRequest, PlannerQuestion, PlannerUsage,
    RequestKind, RoleView, ToolSignature, Why,
};
use provost_plan::plan::{Goal, Step, ranking};

use super::budgeted::{no_shared_budget, planner_limit};
use super::chain::{declined, failed, give_up, has_revisions_left, leads_nowhere};
use super::in_force::PlanChange;
use super::judge::{judge, refuse};
use crate::card::QuestionPurpose;
use crate::event::{Candidates, Event, PlannerChoice};
use crate::machine::{Rules, StepError};
use crate::state::State;
use crate::turn::log::TurnLog;
use crate::view;

/// Which parameter of `goal` has another value than the one that a step ran with, in words.
fn ran_with_others(state: &State, goal: &Goal) -> Option<String> {
    let plan = state.plan()?.checked().plan();
    let settled = state.settled();
    let params = &state.goals.goal.params;
    let differs = |name: &str| {
        let other = goal.params.get(name);
        other.is_some_and(|other| params.get(name).is_some_and(|value| value != other))
    };
    let ran = plan.steps.iter().filter(|s| settled.contains(&s.id.value));
    ran.flat_map(|step| step.templates().into_iter().map(move |t| (step, t.1)))
        .flat_map(|(step, template)| template.references().map(move |r| (step, r)))
        .filter(|(_, reference)| reference.root == Root::Params)
        .find_map(|(step, reference)| {
            let named = |name: &&String| match reference.path.first() {
                Some(Segment::Field(field)) => field == *name,
                _ => true,
            };
            let name = params.keys().filter(named).find(|name| differs(name))?;
            Some(format!(
                "step `{}` ran with another {name}: begin another run for this goal",
                step.id.value
            ))
        })
}

/// Asks the planner, if the limits still allow it and it leads anywhere.
pub(crate) fn request_plan(log: &mut TurnLog<'_>) -> Result<(), StepError> {
    let why = why_wanted(log.state());
    let optional = why.as_ref().is_some_and(Why::is_optional);
    if why.is_some() && !has_revisions_left(log.state(), why.as_ref()) {
        let reason = format!(
            "the plan was revised {} times",
            log.state().head.limits.revisions
        );
        return give_up(log, why.as_ref(), (NoPlan::Limit, &reason), optional);
    }
    if let Some(reason) = leads_nowhere(log.state(), why.as_ref()) {
        return give_up(log, why.as_ref(), (NoPlan::Repeated, &reason), optional);
    }
    let limit = planner_limit(log.basis(), why.as_ref());
    if let Some(limit) = limit.or_else(|| no_shared_budget(log.basis())) {
        return give_up(log, why.as_ref(), (NoPlan::Limit, &limit), optional);
    }
    let id = log.state().planning.requests + 1;
    emit_request(log, id, why, true)
}

/// Why a plan is wanted: before all else, because nobody planned for the goal.
fn why_wanted(state: &State) -> Option<Why> {
    let unplanned = state.goals.unplanned.as_ref();
    let amended = unplanned.map(|unplanned| Why::Amended {
        reason: unplanned.reason.clone(),
    });
    amended.or_else(|| state.planning.wanted.clone())
}

pub(super) fn emit_request(
    log: &mut TurnLog<'_>,
    id: u64,
    why: Option<Why>,
    leaves: bool,
) -> Result<(), StepError> {
    let request = build_request(log.state(), log.rules(), id, why.clone());
    let bytes = serde_json::to_vec(&request).unwrap_or_default();
    let cost = log.state().route.planner.cost();
    let reserved = cost.map(|cost| cost.of_request(bytes.len() as u64));
    let digest = log.keep("application/json".to_owned(), bytes);
    let kind = request.kind;
    let of = log.rules().catalog.names().count();
    let given = request.tools.iter().map(|tool| tool.name.clone());
    let candidates = (request.tools.len() < of).then(|| Candidates {
        of: of as u64,
        tools: given.collect(),
    });
    log.emit(Event::PlanRequested {
        id,
        kind,
        request: digest,
        why,
        reserved: reserved.filter(|_| leaves),
        candidates,
    })?;
    if leaves {
        log.send(request);
    }
    Ok(())
}

pub(crate) fn planned(
    log: &mut TurnLog<'_>,
    id: u64,
    reply: PlanReply,
    usage: Option<PlannerUsage>,
) -> Result<PlanChange, StepError> {
    if !log.state().awaits_plan(id) {
        return Err(StepError::NoRequest { id });
    }
    if let Some(usage) = usage {
        log.emit(Event::BudgetSpent { id, usage })?;
    }
    match reply {
        PlanReply::Plan { .. } => {
            log.emit(Event::PlanProposed {
                id,
                reply: reply.clone(),
            })?;
            return judge(log, id, reply);
        }
        PlanReply::Unreadable { ref findings, .. } => {
            let findings = findings.clone();
            log.emit(Event::PlanProposed { id, reply })?;
            refuse(log, id, findings)?;
        }
        PlanReply::Decline(reason) => declined(log, id, &reason)?,
        PlanReply::Failed { class, reason } => failed(log, id, (class, &reason))?,
        PlanReply::Interpreted { goal, playbook, by } => {
            interpreted(log, id, goal, playbook, by)?;
        }
        PlanReply::Questions(questions) => planner_asks(log, id, questions)?,
    }
    Ok(PlanChange::None)
}

/// The goal is understood: its playbook is asked from here on. Only the interpreter that the
/// run began with may say so, or that reads an amended goal, and only of a playbook that it
/// may choose.
fn interpreted(
    log: &mut TurnLog<'_>,
    id: u64,
    mut goal: Goal,
    playbook: String,
    by: String,
) -> Result<(), StepError> {
    let unplanned = log.state().goals.unplanned.is_some();
    let known = match &log.state().route.planner {
        PlannerChoice::Interpreter { playbooks } => {
            // Why: an amended goal is for any playbook of the workspace.
            playbooks.contains(&playbook) || playbooks.is_empty() && unplanned
        }
        _ => false,
    };
    let planned = log.state().in_force.plan.is_some() && !unplanned;
    if !known || planned || goal.text != log.state().goals.goal.text {
        let reason = format!("the goal may not be left to playbook `{playbook}`");
        return declined(log, id, &reason);
    }
    if let Some(reason) = ran_with_others(log.state(), &goal) {
        return declined(log, id, &reason);
    }
    // Why: steps that ran stay in the plan, and read the values they ran with.
    for (name, value) in &log.state().goals.goal.params {
        let known = goal.params.contains_key(name);
        if !known && log.state().in_force.plan.is_some() {
            goal.params.insert(name.clone(), value.clone());
        }
    }
    log.emit(Event::GoalInterpreted {
        goal,
        by,
        planner: Some(PlannerChoice::Playbook { name: playbook }),
    })
}

fn planner_asks(
    log: &mut TurnLog<'_>,
    id: u64,
    asked: Vec<PlannerQuestion>,
) -> Result<(), StepError> {
    if asked.is_empty() {
        return declined(log, id, "the planner asked no question");
    }
    for question in asked {
        let purpose = QuestionPurpose::Planner {
            id: question.id,
            request: id,
        };
        log.ask_question(purpose, question.text, question.answer)?;
    }
    Ok(())
}

/// The request that waits for a reply, as it was made.
pub(crate) fn current_request(state: &State, rules: &Rules) -> PlanRequest {
    let (id, why) = state
        .planning
        .outstanding
        .as_ref()
        .map_or((0, None), |request| (request.id, request.why.clone()));
    build_request(state, rules, id, why)
}

pub(crate) fn build_request(
    state: &State,
    rules: &Rules,
    id: u64,
    why: Option<Why>,
) -> PlanRequest {
    let planning = &state.planning;
    let plan = state.plan().map(|plan| plan.checked().plan());
    let refined = why.as_ref().and_then(Why::refined);
    let envelope = plan.zip(refined);
    let envelope = envelope.and_then(|(plan, step)| EnvelopeView::of(plan, step));
    let tools = offered(state, rules);
    let tools = tools.into_iter().map(ToolSignature::of);
    let roles = rules.catalog.roles();
    PlanRequest {
        id,
        kind: match (plan, &envelope) {
            (Some(_), Some(_)) => RequestKind::Refine,
            (Some(_), None) => RequestKind::Revise,
            (None, _) => RequestKind::Propose,
        },
        mode: state.head.mode,
        goal: state.goals.goal.clone(),
        tools: tools.collect(),
        roles: roles.map(|role| RoleView::of(role)).collect(),
        plan: state
            .in_force
            .plan
            .is_some()
            .then(|| Arc::clone(&state.in_force.document)),
        observations: view::of_run(state, &rules.catalog),
        diagnostics: state.planning.findings.clone(),
        proposal: planning
            .mended_text
            .as_ref()
            .or(planning.refused_text.as_ref())
            .cloned(),
        answers: state.planning.answers.clone(),
        why,
        envelope,
        limits: state.head.limits.clone(),
    }
}

/// The operations that a planner is told of: for a model, of a large catalog, those that the goal
/// may need, in an order that stays as long as the goal does; behind them what a person put into
/// the plan in force beside them.
fn offered<'a>(state: &State, rules: &'a Rules) -> Vec<&'a Operation> {
    let all = || rules.catalog.iter().map(Arc::as_ref);
    if !matches!(state.route.planner, PlannerChoice::Model { .. }) {
        return all().collect();
    }
    let Some(mut chosen) = ranking::candidates(&rules.catalog, &state.goals.goal) else {
        return all().collect();
    };
    let plan = state.plan().map(|plan| plan.checked().plan());
    let steps = plan.into_iter().flat_map(|plan| &plan.steps);
    for tool in steps.filter_map(Step::tool) {
        let known = rules.catalog.get(&tool.value).map(Arc::as_ref);
        let missing = known.filter(|known| chosen.iter().all(|one| one.name != known.name));
        chosen.extend(missing);
    }
    chosen
}

pub(crate) fn views(diagnostics: &[Diagnostic]) -> Vec<FindingView> {
    diagnostics.iter().map(FindingView::of).collect()
}
