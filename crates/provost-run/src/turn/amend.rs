//! Amending: a person puts a plan or a goal of their own in the place of what is there.
//!
//! Owns who may, and the check of what they wrote. INVARIANT: an amendment comes into force only as a checked plan, and who wrote it counts as who asks for it,
//! so that they cannot approve it themselves.

use std::sync::Arc;

use provost_plan::check::{Checked, CheckedPlan, Draft, Origin};
use provost_plan::diagnostic::{Diagnostic, Severity};
use provost_plan::label::Label;
use provost_plan::plan::read::read_plan;
use provost_plan::plan::request::Why;
use provost_plan::plan::{Goal, Plan};
use provost_plan::policy::{AskTerms, Principal, PrincipalKind};
use provost_plan::source::Source;

use super::Turn;
use super::planning::{Change, ask_all_again, views};
use crate::event::Event;
use crate::machine::StepError;
use crate::statement::{PlanText, Signer};

/// The id of the criterion that stands for the goal's text where the user gave none.
const WHOLE_GOAL: &str = "goal";

impl Turn<'_> {
    pub(super) fn amend(
        &mut self,
        signer: Signer,
        plan: Option<PlanText>,
        goal: Option<String>,
        reason: String,
    ) -> Result<(), StepError> {
        let Signer { by, record } = signer;
        self.may_amend(&by)?;
        self.takes_amendments()?;
        let goal_text = goal.clone();
        let other_goal = goal.map(|text| goal_with(&self.state.goal, text));
        let goal = other_goal.as_ref().unwrap_or(&self.state.goal);
        let checked = match (&plan, &self.state.plan) {
            (Some(PlanText { name, text }), _) => {
                let plan = read_plan(&Source::new(name.as_str(), text.as_str()));
                let plan = plan.map_err(|found| refused("the plan cannot be read", &found))?;
                // Why: what a person supplies is trusted, and others approve it.
                let origin = Origin {
                    author: by.id.clone(),
                    literals: Label::trusted(),
                    control: Label::trusted(),
                };
                let (checked, found) = self.amended(plan, &origin, goal)?;
                Some((checked, found, origin))
            }
            (None, Some(plan)) if other_goal.is_some() => {
                let (checked, found) = self.checked_under(plan.checked().plan().clone(), goal)?;
                Some((checked, found, self.origin_in_force(&by.id)))
            }
            (None, None) if other_goal.is_some() => None,
            (None, _) => return Err(refused("neither a plan nor a goal is named", &[])),
        };
        let clears = other_goal.is_some();
        if let Some(goal) = other_goal {
            self.emit(Event::GoalAmended {
                goal,
                by: by.id.clone(),
                reason: reason.clone(),
                plan: plan.clone(),
                record: record.clone(),
            })?;
        }
        let replans = plan.is_none() && checked.is_some();
        if let Some(PlanText { name, text }) = plan {
            self.emit(Event::PlanAmended {
                name,
                text,
                by: by.id,
                reason: reason.clone(),
                goal: goal_text,
                record,
            })?;
        }
        if let Some((checked, found, origin)) = checked {
            self.put_in_force(&checked, &found, origin, &reason, clears)?;
        }
        if replans {
            let why = Why::Amended { reason };
            self.emit(Event::ReplanRequested { why })?;
        }
        Ok(())
    }

    /// Who asked for the run may amend it, and whoever may approve its plan.
    pub(super) fn may_amend(&self, by: &Principal) -> Result<(), StepError> {
        let requester = &self.state.principal;
        if by.kind == PrincipalKind::User && by.id == requester.id {
            return Ok(());
        }
        let terms = AskTerms::default();
        let may = self.rules.policy.may_approve(by, requester, None, &terms);
        may.map_err(|denied| StepError::NotAllowed {
            by: by.id.clone(),
            reason: denied.to_string(),
        })
    }

    fn takes_amendments(&self) -> Result<(), StepError> {
        let state = &self.state;
        if state.cancelled.is_some() || state.stopping.is_some() || state.limit.is_some() {
            return Err(refused("it is about to end", &[]));
        }
        let asked = state.planning.outstanding.as_ref();
        if asked.is_some_and(|request| !request.asked_people) {
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
        } = self.compile(draft, goal, self.state.revision + 1);
        let Some(checked) = plan else {
            return Err(refused("the plan does not pass the check", &diagnostics));
        };
        let wrong = self
            .state
            .planner
            .never_refined(checked.plan(), self.state.mode);
        match wrong.or_else(|| self.repeated_failure(&checked)) {
            Some(repeated) => Err(refused("the plan does not pass the check", &[repeated])),
            None => Ok((checked, diagnostics)),
        }
    }

    /// The plan in force, checked again under another goal.
    fn checked_under(
        &self,
        plan: Plan,
        goal: &Goal,
    ) -> Result<(CheckedPlan, Vec<Diagnostic>), StepError> {
        let draft = self.in_force(plan.into());
        let Checked {
            plan, diagnostics, ..
        } = self.compile(draft, goal, self.state.revision);
        let why = "the plan in force does not pass under this goal; amend it too";
        plan.map(|plan| (plan, diagnostics.clone()))
            .ok_or_else(|| refused(why, &diagnostics))
    }

    /// Brings a plan into force that no planner was asked for; with `clears`, no earlier yes
    /// outlives it.
    pub(super) fn put_in_force(
        &mut self,
        checked: &CheckedPlan,
        found: &[Diagnostic],
        origin: Origin,
        reason: &str,
        clears: bool,
    ) -> Result<(), StepError> {
        let (before, revision) = (self.state.revision, checked.record().revision);
        let Change {
            added,
            changed,
            removed,
            mut approvals,
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
        if clears {
            // Why: the goal stands on every card, so a yes was to another card.
            ask_all_again(&mut approvals);
        }
        self.emit(Event::ApprovalsRevised {
            retain: approvals.retain,
            replace: approvals.replace,
            clear: approvals.clear,
        })?;
        self.ask_for_plan()
    }
}

/// The goal with another text; a criterion that only repeated the text repeats the new one.
fn goal_with(goal: &Goal, text: String) -> Goal {
    let mut other = goal.clone();
    for criterion in &mut other.success {
        if criterion.id == WHOLE_GOAL && criterion.text == goal.text {
            criterion.text.clone_from(&text);
        }
    }
    other.text = text;
    // Why: a person typed it, whoever wrote the one before.
    other.untrusted = false;
    other
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
