//! Who is asked where the planner of a run fails: a playbook, then a person.
//!
//! Owns the chain and where a run stands in it, and how events change both. Never decides that a
//! planner came to nothing. INVARIANT: each link is asked after the one before it, and another
//! round of the planner only after a person's word.

use provost_plan::plan::request::Why;

use super::{Planning, State};
use crate::card::QuestionPurpose;
use crate::event::{NextPlanner, PlannerChoice};

/// The answer that has the planner asked again.
pub(crate) const AGAIN: &str = "again";
/// The answer that lets the run end.
pub(crate) const STOP: &str = "stop";

/// The chain of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Who planned when the run began.
    pub first: PlannerChoice,
    /// The playbook that is asked after it, until it was.
    pub fallback: Option<String>,
    /// How often a person had the first asked again.
    pub again: u64,
}

impl Chain {
    pub(super) fn new(first: PlannerChoice, fallback: Option<String>) -> Self {
        Self {
            first,
            fallback,
            again: 0,
        }
    }
}

/// A planner that failed, until a person said what follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    /// The number of the last request to it.
    pub request: u64,
    /// Why it failed.
    pub reason: String,
    /// What the request was for.
    pub why: Option<Why>,
    /// Whether what was refused last is of another than who would be asked again.
    pub of_another: bool,
    /// Whether a person let it be, and no plan is in force: then the run ends.
    pub over: bool,
}

impl State {
    /// Whether others are asked where the planner in force fails.
    pub(crate) fn has_chain(&self) -> bool {
        // Why the first too: a playbook that was asked in its place is a link of its chain.
        self.route.planner.may_fail()
            || self.in_force.plan.is_none() && self.route.chain.first.may_fail()
    }
}

/// The planner failed, and `to` is next.
pub(super) fn handed_on(state: &mut State, request: u64, reason: &str, to: &NextPlanner) {
    match to {
        NextPlanner::Planner { planner } => {
            // Why nothing stays: what was refused is not of this planner.
            let requests = state.planning.requests;
            state.planning = Planning {
                requests,
                ..Planning::default()
            };
            state.route.chain.fallback = None;
            state.route.planner = planner.clone();
        }
        NextPlanner::Person => {
            let outstanding = state.planning.outstanding.take();
            let wanted = state.planning.wanted.take();
            let asked_again = match state.in_force.plan {
                Some(_) => state.route.planner.clone(),
                None => state.route.chain.first.clone(),
            };
            state.planning.review = Some(Review {
                request,
                reason: reason.to_owned(),
                why: outstanding.and_then(|asked| asked.why).or(wanted),
                of_another: state.route.planner != asked_again,
                over: false,
            });
            state.route.planner = asked_again;
        }
    }
}

/// A person said what follows: the planner is asked `again`, or the run ends as it would have.
pub(super) fn reviewed(state: &mut State, again: bool) {
    let Some(mut review) = state.planning.review.take() else {
        return;
    };
    for asked in state.people.questions.values_mut() {
        asked.open &= !matches!(asked.question.purpose, QuestionPurpose::Review { .. });
    }
    if again {
        state.route.chain.again += 1;
        let mut planning = std::mem::take(&mut state.planning);
        if review.of_another {
            let requests = planning.requests;
            planning = Planning {
                requests,
                ..Planning::default()
            };
        }
        // Why the last one stays else: with its findings it is where the planner goes on.
        planning.refused = 0;
        planning.refused_before.clear();
        planning.wanted = review.why;
        state.planning = planning;
    } else if state.in_force.plan.is_some() {
        state.ending.stopping = review.why;
    } else {
        review.over = true;
        state.planning.review = Some(review);
    }
}
