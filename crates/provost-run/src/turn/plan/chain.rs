//! What follows where a planner comes to nothing: the next of the chain, or the end of planning.
//!
//! Owns who is next, the question that a person is asked then, and when revisions lead nowhere.
//! Makes no plan: whatever the next one offers meets the same check. INVARIANT: a planner is not
//! asked again, nor a run ended for want of a plan where a person may help, but by a person's word.

use provost_plan::check::CheckedPlan;
use provost_plan::codes::Code;
use provost_plan::diagnostic::Severity;
use provost_plan::limits::{ASKED_AGAIN_MAX, IDLE_REVISIONS_MAX};
use provost_plan::plan::request::{FindingView, NoPlan, Why};
use serde_json::json;

use super::budgeted::planner_limit;
use super::planning::emit_request;
use crate::card::QuestionPurpose;
use crate::event::{Event, NextPlanner, PlannerChoice};
use crate::machine::StepError;
use crate::state::chain::{AGAIN, STOP};
use crate::state::revision_progress::comes_again;
use crate::state::{Review, State};
use crate::turn::basis::Basis;
use crate::turn::end::finish::end_refused;
use crate::turn::log::TurnLog;

/// Findings that a person is shown of those in the last proposal.
const FINDINGS_SHOWN: usize = 3;

/// Ends planning without asking: a request that would be made is recorded as given up, or the
/// next of the chain is asked.
pub(super) fn give_up(
    log: &mut TurnLog<'_>,
    why: Option<&Why>,
    (class, reason): (NoPlan, &str),
    optional: bool,
) -> Result<(), StepError> {
    if goes_to_next(log.state(), why) {
        return hand_on(log, (class, reason));
    }
    let id = log.state().planning.requests + 1;
    emit_request(log, id, why.cloned(), false)?;
    log.emit(Event::PlanGivenUp {
        id,
        reason: reason.to_owned(),
        class: Some(class),
        goes_on: goes_on_after(log.state(), why),
    })?;
    if log.state().in_force.plan.is_none() && !optional {
        return end_refused(log, reason);
    }
    Ok(())
}

/// The planner says that it has no plan, or no change.
pub(super) fn declined(log: &mut TurnLog<'_>, id: u64, reason: &str) -> Result<(), StepError> {
    let class = match &log.state().route.planner {
        PlannerChoice::Interpreter { .. } => NoPlan::NoMatch,
        _ => NoPlan::Declined,
    };
    // Why not of a revision: that nothing better is known is an answer, and the plan in force
    // says what follows.
    let asked = log.state().planning.outstanding.as_ref();
    let why = asked.and_then(|request| request.why.clone());
    // Why of a refinement: without one the plan in force says nothing of what follows.
    let refines = why.as_ref().is_some_and(|why| why.refined().is_some());
    // Why of another goal: the plan in force was not made for it.
    let stuck = refines || log.state().goals.unplanned.is_some();
    if (log.state().in_force.plan.is_none() || stuck) && goes_to_next(log.state(), why.as_ref()) {
        return hand_on(log, (class, reason));
    }
    without_plan(log, id, (class, reason))
}

/// The planner gave no answer, or one that leads nowhere.
pub(super) fn failed(
    log: &mut TurnLog<'_>,
    id: u64,
    (class, reason): (NoPlan, &str),
) -> Result<(), StepError> {
    let asked = log.state().planning.outstanding.as_ref();
    let why = asked.and_then(|request| request.why.clone());
    if goes_to_next(log.state(), why.as_ref()) {
        return hand_on(log, (class, reason));
    }
    without_plan(log, id, (class, reason))
}

fn without_plan(
    log: &mut TurnLog<'_>,
    id: u64,
    (class, reason): (NoPlan, &str),
) -> Result<(), StepError> {
    let asked = log.state().planning.outstanding.as_ref();
    let why = asked.and_then(|request| request.why.clone());
    log.emit(Event::PlanGivenUp {
        id,
        reason: reason.to_owned(),
        class: Some(class),
        goes_on: goes_on_after(log.state(), why.as_ref()),
    })?;
    if log.state().in_force.plan.is_none() {
        return end_refused(log, reason);
    }
    Ok(())
}

/// Whether a run for which no other plan came goes on: a no to one step is none to what does
/// not depend on it.
fn goes_on_after(state: &State, why: Option<&Why>) -> bool {
    let Some(Why::Rejected {
        step: Some(rejected),
        ..
    }) = why
    else {
        return false;
    };
    let plan = state.plan().map(|plan| plan.checked());
    let depends = |id: &str| {
        let before = plan.map(|plan| plan.record().before(id));
        id == rejected || before.is_some_and(|before| before.contains(rejected))
    };
    let mut open = state.open_steps();
    open.any(|step| !depends(&step.id.value))
}

/// Whether others are asked where a request for this reason came to nothing. Why not where the
/// plan in force may stay: then the run goes on with it.
fn goes_to_next(state: &State, why: Option<&Why>) -> bool {
    let amended = state.goals.unplanned.is_some();
    amended || !why.is_some_and(Why::is_optional) && state.has_chain()
}

fn hand_on(log: &mut TurnLog<'_>, (class, reason): (NoPlan, &str)) -> Result<(), StepError> {
    let fallback = log.state().route.chain.fallback.clone();
    // Why only then: a playbook does not revise what another planner made.
    let playbook = fallback.filter(|_| log.state().in_force.plan.is_none());
    let to = playbook.map_or(NextPlanner::Person, |name| NextPlanner::Planner {
        planner: PlannerChoice::Interpreter {
            playbooks: vec![name],
        },
    });
    log.emit(Event::PlanHandedOn {
        id: log.state().planning.requests,
        reason: reason.to_owned(),
        class: Some(class),
        to,
    })
}

/// Waits for a person's word on a planner that came to nothing, and does what it says.
pub(crate) fn review(log: &mut TurnLog<'_>) -> Result<(), StepError> {
    let Some(review) = log.state().planning.review.clone() else {
        return Ok(());
    };
    if review.over {
        return end_refused(log, &review.reason);
    }
    let asks = |purpose: &QuestionPurpose| matches!(purpose, QuestionPurpose::Review { .. });
    let is_asked = log
        .state()
        .open_questions()
        .any(|(_, question)| asks(&question.purpose));
    if !is_asked {
        let request = review.request;
        let again = may_ask_again(log.basis(), review.why.as_ref());
        let mut answers = vec![STOP];
        if again {
            answers.insert(0, AGAIN);
        }
        let text = review_text(log.state(), &review, again);
        let answer = json!({ "enum": answers });
        log.ask_question(QuestionPurpose::Review { request }, text, answer)?;
    }
    Ok(())
}

/// Whether the limits of the run leave room for another round.
fn may_ask_again(at: Basis<'_>, why: Option<&Why>) -> bool {
    at.state.route.planner.may_fail()
        && at.state.route.chain.again < ASKED_AGAIN_MAX
        && (why.is_none() || has_revisions_left(at.state, why))
        && planner_limit(at, why).is_none()
}

/// Whether the limit of revisions leaves room for one more. Refinements do not count: their
/// envelopes bound them.
pub(super) fn has_revisions_left(state: &State, why: Option<&Why>) -> bool {
    let refines = why.is_some_and(|why| why.refined().is_some());
    let counted = state
        .in_force
        .revision
        .saturating_sub(state.in_force.refinements);
    refines || u64::from(counted) < state.head.limits.revisions + 1
}

fn review_text(state: &State, review: &Review, again: bool) -> String {
    let reason = &review.reason;
    let findings = &state.planning.findings;
    let is_error = |finding: &&FindingView| {
        let code = Code::from_text(&finding.code);
        code.is_none_or(|code| code.severity() == Severity::Error)
    };
    let refined = review.why.as_ref().and_then(Why::refined);
    let amended = state.goals.unplanned.is_some();
    let what = match (state.in_force.plan.is_some(), refined) {
        _ if amended => "no plan for the amended goal".to_owned(),
        (_, Some(id)) => format!("no refinement of `{id}`"),
        (true, None) => "no revision of the plan".to_owned(),
        (false, None) => "no plan".to_owned(),
    };
    let mut text = format!("there is {what}: {reason}");
    let errors = findings.iter().filter(is_error);
    for finding in errors.clone().take(FINDINGS_SHOWN) {
        text.push_str(&format!("; {}: {}", finding.code, finding.message));
    }
    match errors.count().saturating_sub(FINDINGS_SHOWN) {
        0 => {}
        more => text.push_str(&format!("; and {more} more")),
    }
    let author = state.route.planner.author();
    text.push_str(&match again {
        true => format!(". ask {author} again, or stop?"),
        false if !state.route.planner.may_fail() => ". amend the plan too, or stop?".to_owned(),
        false => ". the limits leave no room to ask again: stop?".to_owned(),
    });
    text
}

/// Why no further revision is asked for, if those before led nowhere.
pub(super) fn leads_nowhere(state: &State, why: Option<&Why>) -> Option<String> {
    let required = why.is_some_and(|why| !why.is_optional());
    let idle = state.route.progress.idle();
    (required && idle >= IDLE_REVISIONS_MAX).then(|| {
        format!(
            "the plan was revised {idle} times in a row, and no step ended and nothing new \
             became known in between"
        )
    })
}

/// Why a plan that passes the check is not taken, if it leads back to where the run was.
pub(super) fn leads_back(state: &State, checked: &CheckedPlan) -> Option<String> {
    let asked = state.planning.outstanding.as_ref();
    let why = asked.and_then(|request| request.why.as_ref());
    // Why these alone: of any other the plan in force may still be the best there is.
    let again = why.is_some_and(comes_again);
    let plan = checked.record().digest;
    (again && state.route.progress.is_back_at(plan)).then(|| {
        "the planner proposed an earlier plan \
         again, and nothing new is known since"
            .to_owned()
    })
}
