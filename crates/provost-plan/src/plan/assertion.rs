//! Assertions: steps that call nothing and say what must hold before others go on.
//!
//! Owns what an assertion is, what it yields, and which of them stand between a step and its
//! beginning. Evaluates nothing. INVARIANT: an assertion stands before a step only if that step
//! begins after it ended, whatever else became of the plan.

use std::collections::BTreeSet;

use super::subgoal::parent_of;
use super::{OnFailure, Plan, Step, StepKind};
use crate::expr::Template;
use crate::schema::Schema;

/// What must hold for the steps after it.
#[derive(Clone, Debug)]
pub struct Assertion {
    /// The condition.
    pub condition: Template,
    /// What is said where it does not hold.
    pub message: Option<Template>,
    /// What it yields where it does: `true`.
    pub output: Schema,
}

impl Step {
    /// The assertion it is, if it is one.
    #[must_use]
    pub fn assertion(&self) -> Option<&Assertion> {
        match &self.kind {
            StepKind::Assertion(assertion) => Some(assertion),
            StepKind::Tool { .. } | StepKind::Question { .. } | StepKind::Subgoal(_) => None,
        }
    }

    /// What it asserts of all that waits for it: nothing where they go on without it.
    #[must_use]
    pub fn asserted(&self) -> Option<&Assertion> {
        let holds_back = self.on_failure != OnFailure::Continue;
        self.assertion().filter(|_| holds_back)
    }

    /// Whether what it waits for certainly went as it had to: a subgoal goes on once its own steps
    /// have ended, however they did.
    #[must_use]
    pub fn rests_on(&self, other: &str) -> bool {
        parent_of(other) != Some(self.id.value.as_str())
    }
}

/// The assertions that hold a step back, directly and through others, by what each step waits for.
#[must_use]
pub fn before<'p>(
    plan: &'p Plan,
    after: &dyn Fn(&str) -> Option<&'p BTreeSet<String>>,
    id: &str,
) -> Vec<&'p Step> {
    if plan.steps.iter().all(|step| step.asserted().is_none()) {
        return Vec::new();
    }
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&Step> = plan.step(id).into_iter().collect();
    while let Some(step) = open.pop() {
        let waits = after(&step.id.value).into_iter().flatten();
        let waits = waits.filter(|other| step.rests_on(other));
        let new = waits.filter(|other| seen.insert(other));
        open.extend(new.filter_map(|other| plan.step(other)));
    }
    let steps = plan.steps.iter();
    steps
        .filter(|step| step.asserted().is_some() && seen.contains(step.id.value.as_str()))
        .collect()
}
