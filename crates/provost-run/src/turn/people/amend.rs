//! Amending: a person puts a plan or a goal of their own in the place of what is there.
//!
//! Owns who may, and the check of what they wrote. INVARIANT: an amendment comes into force only as
//! a checked plan, and what somebody wrote is recorded as theirs, so that they cannot approve it.

use std::sync::Arc;

use provost_plan::check::{Checked, CheckedPlan, Draft, Origin};
use provost_plan::diagnostic::{Diagnostic, Severity};
use provost_plan::expr::{Root, Segment};
use provost_plan::label::Label;
use provost_plan::plan::read::read_plan;
use provost_plan::plan::{Goal, Plan};
use provost_plan::policy::Principal;
use provost_plan::source::Source;

use crate::event::{Event, PlannerChoice};
use crate::machine::StepError;
use crate::state::{Act, AuthoredFields, fields_written};
use crate::statement::{PlanText, Signer};
use crate::turn::plan::planning::{Change, views};
use crate::turn::work::UNCHECKED;
use crate::turn::{DispatchGate, Turn};

impl Turn<'_> {
    pub(in crate::turn) fn amend(
        &mut self,
        signer: Signer,
        plan: Option<PlanText>,
        goal: Option<String>,
        reason: &str,
    ) -> Result<(), StepError> {
        let Signer { by, record } = signer;
        self.may(Act::Amend, &by)?;
        self.takes_amendments()?;
        let goal_text = goal.clone();
        let mut other_goal = goal.map(|text| self.goal_with(&text));
        if let Some(plan) = &plan
            && !self.may_check(&plan.text)?
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
        let goal = other_goal.as_ref().unwrap_or(&self.state.goals.goal);
        let mut wrote = AuthoredFields::new();
        let checked = match document {
            Some(plan) => {
                // Why: what a person supplies is trusted, and others approve it.
                let origin = Origin {
                    author: by.id.clone(),
                    literals: Label::trusted(),
                    control: Label::trusted(),
                };
                let (checked, found) = self.amended(plan, &origin, goal)?;
                let before = self.state.plan().map(|plan| plan.checked().plan());
                wrote = fields_written(before, checked.plan());
                Some((checked, found, origin))
            }
            None if other_goal.is_some() => None,
            None => return Err(refused("neither a plan nor a goal is named", &[])),
        };
        if let Some(goal) = other_goal {
            self.emit(Event::GoalAmended {
                goal,
                planner: self.planner_of_another(),
                clears: true,
                by: by.id.clone(),
                reason: reason.to_owned(),
                plan: plan.clone(),
                record: record.clone(),
            })?;
        }
        if let Some(PlanText { name, text }) = plan {
            self.emit(Event::PlanAmended {
                name,
                text,
                wrote,
                by: by.id,
                reason: reason.to_owned(),
                goal: goal_text,
                record,
            })?;
        }
        if let Some((checked, found, origin)) = checked {
            self.put_in_force(&checked, &found, origin, reason)?;
        }
        Ok(())
    }

    /// The goal of another text, with the criterion that stands for it: what showed that the one
    /// before was reached shows nothing of this one.
    fn goal_with(&self, text: &str) -> Goal {
        Goal {
            // Why: steps that ran stay in the plan, and read the values they ran with.
            params: self.state.goals.goal.params.clone(),
            ..Goal::of_text(text)
        }
    }

    /// Who plans for another goal: whoever thinks plans up does, and otherwise the playbook that
    /// matches, which is chosen anew.
    fn planner_of_another(&self) -> Option<PlannerChoice> {
        match self.state.route.planner {
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

    /// Which parameter of `goal` has another value than the one that a step ran with, in words.
    pub(in crate::turn) fn ran_with_others(&self, goal: &Goal) -> Option<String> {
        let plan = self.state.plan()?.checked().plan();
        let settled = self.state.settled();
        let params = &self.state.goals.goal.params;
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

    /// Whether policy lets somebody do this to the run.
    pub(in crate::turn) fn may(&self, act: Act<'_>, by: &Principal) -> Result<(), StepError> {
        self.rules.policy.judge(&self.state.facts(act, by))?;
        Ok(())
    }

    fn takes_amendments(&self) -> Result<(), StepError> {
        let state = &self.state;
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
        if is_asked && self.pace != DispatchGate::Hear {
            return Err(refused("a planner is being asked for a plan", &[]));
        }
        Ok(())
    }

    /// The plan a person wrote, checked like any other.
    fn amended(
        &self,
        plan: Plan,
        origin: &Origin,
        goal: &Goal,
    ) -> Result<(CheckedPlan, Vec<Diagnostic>), StepError> {
        let draft = Draft {
            plan: plan.into(),
            origin: origin.clone(),
        };
        let Checked {
            plan, diagnostics, ..
        } = self.compile_proposal(draft, goal);
        let Some(checked) = plan else {
            return Err(refused("the plan does not pass the check", &diagnostics));
        };
        match self.repeated_failure(&checked) {
            Some(repeated) => Err(refused("the plan does not pass the check", &[repeated])),
            None => Ok((checked, diagnostics)),
        }
    }

    /// Brings a plan into force that no planner was asked for.
    pub(in crate::turn) fn put_in_force(
        &mut self,
        checked: &CheckedPlan,
        found: &[Diagnostic],
        origin: Origin,
        reason: &str,
    ) -> Result<(), StepError> {
        let (before, revision) = (self.state.in_force.revision, checked.record().revision);
        let Change {
            added,
            changed,
            removed,
            approvals,
        } = self.change_to(checked);
        self.emit(Event::PlanChecked {
            id: 0,
            document: Arc::clone(&checked.plan().value),
            record: Arc::clone(checked.shared_record()),
            findings: views(found),
            consult: Vec::new(),
            control: origin.control,
            literals: origin.literals,
        })?;
        if before == 0 {
            self.emit(Event::RunStarted { revision })?;
            return self.ask_for_plan();
        }
        if revision > before {
            self.emit(Event::PlanRevised {
                revision,
                added,
                changed,
                removed,
                because: Some(reason.to_owned()),
            })?;
        }
        self.emit(Event::ApprovalsRevised {
            retain: approvals.retain,
            replace: approvals.replace,
            clear: approvals.clear,
        })?;
        self.ask_for_plan()
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
