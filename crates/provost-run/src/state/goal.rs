//! Another goal: what counts no more once a person has put it in the place of the one before.
//!
//! Owns what is remembered of the change until somebody has planned for the new goal. Decides
//! nothing. INVARIANT: while a goal is unplanned, no yes, no card and no question of the plan in
//! force counts, and what that plan called before never begins again but as a read.

use provost_plan::plan::Goal;

use super::{Consent, Planning, State};
use crate::event::{PlannerChoice, StepStatus};

/// A goal that nobody has planned for.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingGoal {
    /// Why a person put it, in their words.
    pub reason: String,
    /// The goal that the plan in force was made for.
    pub before: Goal,
}

impl State {
    /// The goal that the plan in force was made for.
    #[must_use]
    pub fn goal_of_plan(&self) -> &Goal {
        let unplanned = self.goals.unplanned.as_ref();
        unplanned.map_or(&self.goals.goal, |unplanned| &unplanned.before)
    }
}

/// Takes in another goal, with whoever plans for it.
pub(super) fn goal_amended(
    state: &mut State,
    goal: &Goal,
    planner: Option<&PlannerChoice>,
    reason: &str,
) {
    let last = std::mem::replace(&mut state.goals.goal, goal.clone());
    let before = match state.goals.unplanned.take() {
        Some(unplanned) => unplanned.before,
        None => last,
    };
    state.goals.unplanned = Some(PendingGoal {
        reason: reason.to_owned(),
        before,
    });
    if let Some(planner) = planner {
        state.route.planner = planner.clone();
        state.route.chain.first = planner.clone();
    }
    // Why: it matched the goal before.
    state.route.chain.fallback = None;
    let requests = state.planning.requests;
    state.planning = Planning {
        requests,
        ..Planning::default()
    };
    forget_people(state);
    let called = state
        .writes
        .effects
        .iter()
        .map(|effect| effect.slot.step.clone());
    state.goals.former.extend(called);
    let failed = |step: &super::StepState| step.status == StepStatus::Failed;
    let failed = state.steps.iter().filter(|(_, step)| failed(step));
    let failed = failed.map(|(id, _)| id);
    // Why: whoever plans for the new goal is shown them, and what the old plan wanted then is over.
    failed
        .chain(&state.goals.former)
        .for_each(|id| state.followups.ask(id));
    state.followups.forget_to_show();
}

/// Closes what people were asked, and takes back what they agreed to.
fn forget_people(state: &mut State) {
    for card in state.people.cards.values_mut() {
        card.open = false;
        // Why the steps too: a later card may give the same step free, and this one would be taken
        // for what people said to it.
        card.agreed = None;
    }
    for asked in state.people.questions.values_mut() {
        asked.open = false;
    }
    state.followups.forget_people();
    if let Some(plan) = &mut state.in_force.plan {
        let plan = std::sync::Arc::make_mut(plan);
        state.steps.keys().for_each(|id| plan.revoke(id));
    }
    for step in state.steps.values_mut() {
        for item in &mut step.items {
            item.consent = Consent::default();
        }
        let asked = [StepStatus::WaitingApproval, StepStatus::WaitingAnswer];
        if asked.contains(&step.status) {
            step.set_status(StepStatus::Pending);
        }
    }
}
