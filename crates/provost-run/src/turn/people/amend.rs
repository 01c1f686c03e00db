//! Amending: a person puts a plan or a goal of their own in the place of what is there.
//!
//! Owns who may, and the check of what they wrote. INVARIANT: an amendment comes into force only as
//! a checked plan, and what somebody wrote is recorded as theirs, so that they cannot approve it.

use provost_plan::check::{Checked, Draft, Origin};
use provost_plan::diagnostic::{Diagnostic, Severity};
use provost_plan::label::Label;
use provost_plan::plan::read::read_plan;
use provost_plan::plan::{Goal, Plan};
use provost_plan::source::Source;

use crate::event::{Event, PlannerChoice};
use crate::machine::StepError;
use crate::state::{Act, AuthoredFields, State, fields_written};
use crate::statement::{PlanText, Signer};
use crate::turn::DispatchGate;
use crate::turn::basis::Basis;
use crate::turn::log::TurnLog;
use crate::turn::plan::in_force::{PlanChange, put_in_force};
use crate::turn::plan::judge::repeated_failure;
use crate::turn::plan::planning::views;
use crate::turn::terms::{SuppliedPlan, compile_proposal};
use crate::turn::work::{UNCHECKED, may_check};

pub(crate) fn amend(
    log: &mut TurnLog<'_>,
    signer: Signer,
    plan: Option<PlanText>,
    goal: Option<String>,
    reason: &str,
) -> Result<PlanChange, StepError> {
    let Signer { by, record } = signer;
    log.basis().may(Act::Amend, &by)?;
    takes_amendments(log.basis())?;
    let goal_text = goal.clone();
    let mut other_goal = goal.map(|text| goal_with(log.state(), &text));
    if let Some(plan) = &plan
        && !may_check(log.basis(), &plan.text)?
    {
        return Err(refused(UNCHECKED, &[]));
    }
    let document = plan.as_ref().map(read).transpose()?;
    // Why: who writes the plan and the goal says with it how the goal is shown to be reached.
    let own = document.as_ref().and_then(|plan| plan.goal.as_ref());
    if let (Some(goal), Some(own)) = (&mut other_goal, own)
        && goal.text == own.value.text
    {
        goal.success.clone_from(&own.value.success);
    }
    let goal = other_goal.as_ref().unwrap_or(&log.state().goals.goal);
    let mut wrote = AuthoredFields::new();
    let supplied = match document {
        Some(plan) => {
            let supplied = amended(log.basis(), plan, &by.id, goal)?;
            let before = log.state().plan().map(|plan| plan.checked().plan());
            wrote = fields_written(before, supplied.checked.plan());
            Some(supplied)
        }
        None if other_goal.is_some() => None,
        None => return Err(refused("neither a plan nor a goal is named", &[])),
    };
    if let Some(goal) = other_goal {
        log.emit(Event::GoalAmended {
            goal,
            planner: planner_of_another(log.state()),
            clears: true,
            by: by.id.clone(),
            reason: reason.to_owned(),
            plan: plan.clone(),
            record: record.clone(),
        })?;
    }
    if let Some(PlanText { name, text }) = plan {
        log.emit(Event::PlanAmended {
            name,
            text,
            wrote,
            by: by.id,
            reason: reason.to_owned(),
            goal: goal_text,
            record,
        })?;
    }
    match supplied {
        Some(plan) => put_in_force(log, plan, reason),
        None => Ok(PlanChange::None),
    }
}

/// The goal of another text, with the criterion that stands for it: what showed that the one
/// before was reached shows nothing of this one.
fn goal_with(state: &State, text: &str) -> Goal {
    Goal {
        // Why: steps that ran stay in the plan, and read the values they ran with.
        params: state.goals.goal.params.clone(),
        ..Goal::of_text(text)
    }
}

/// Who plans for another goal: whoever thinks plans up does, and otherwise the playbook that
/// matches, which is chosen anew.
fn planner_of_another(state: &State) -> Option<PlannerChoice> {
    match state.route.planner {
        PlannerChoice::Playbook { .. }
        | PlannerChoice::Interpreter { .. }
        | PlannerChoice::File { .. } => Some(PlannerChoice::Interpreter {
            playbooks: Vec::new(),
        }),
        PlannerChoice::Client { .. }
        | PlannerChoice::Model { .. }
        | PlannerChoice::Process { .. } => None,
    }
}

fn takes_amendments(at: Basis<'_>) -> Result<(), StepError> {
    let state = &at.state;
    if state.ending.cancelled.is_some()
        || state.ending.stopping.is_some()
        || state.spend.limit.is_some()
    {
        return Err(refused("it is about to end", &[]));
    }
    let asked = state.planning.outstanding.as_ref();
    // Why not while people are heard: who was asked went with the process before, and nobody is
    // asked again before the statement counts.
    let is_asked = asked.is_some_and(|request| !request.asked_people);
    if is_asked && at.pace != DispatchGate::Hear {
        return Err(refused("a planner is being asked for a plan", &[]));
    }
    Ok(())
}

/// The plan a person wrote, checked like any other.
fn amended(at: Basis<'_>, plan: Plan, by: &str, goal: &Goal) -> Result<SuppliedPlan, StepError> {
    // Why: what a person supplies is trusted, and others approve it.
    let origin = Origin {
        author: by.to_owned(),
        literals: Label::trusted(),
        control: Label::trusted(),
    };
    let draft = Draft {
        plan: plan.into(),
        origin: origin.clone(),
    };
    let Checked {
        plan, diagnostics, ..
    } = compile_proposal(at, draft, goal);
    let Some(checked) = plan else {
        return Err(refused("the plan does not pass the check", &diagnostics));
    };
    match repeated_failure(at, &checked) {
        Some(repeated) => Err(refused("the plan does not pass the check", &[repeated])),
        None => Ok(SuppliedPlan {
            checked,
            found: diagnostics,
            origin,
        }),
    }
}

fn read(plan: &PlanText) -> Result<Plan, StepError> {
    let plan = read_plan(&Source::new(plan.name.as_str(), plan.text.as_str()));
    plan.map_err(|found| refused("the plan cannot be read", &found))
}

fn refused(reason: &str, found: &[Diagnostic]) -> StepError {
    let errors: Vec<Diagnostic> = found
        .iter()
        .filter(|finding| finding.severity() == Severity::Error)
        .cloned()
        .collect();
    StepError::Amendment {
        reason: reason.to_owned(),
        findings: views(&errors),
    }
}
