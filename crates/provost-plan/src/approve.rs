//! Approved plans: what a person's yes covers, and for how long.
//!
//! Owns [`ApprovedPlan`], the only thing from which calls are made. Never asks anybody: that is
//! the run machine's. INVARIANT: an approval counts only for a step whose closure digest is the
//! one that was approved.
//!
//! Neither type can be made up:
//!
//! ```compile_fail,E0451
//! use provost_plan::approve::ApprovedPlan;
//! fn forge(checked: provost_plan::check::CheckedPlan) -> ApprovedPlan {
//!     ApprovedPlan { checked, grants: Default::default() }
//! }
//! ```
//!
//! ```compile_fail,E0451
//! use provost_plan::check::{CheckedPlan, PlanRecord};
//! fn forge(plan: provost_plan::plan::Plan, record: PlanRecord) -> CheckedPlan {
//!     CheckedPlan { plan, record }
//! }
//! ```
//!
//! The control, which compiles:
//!
//! ```
//! use provost_plan::approve::ApprovedPlan;
//! fn gated(checked: provost_plan::check::CheckedPlan) -> ApprovedPlan {
//!     ApprovedPlan::gated(checked)
//! }
//! ```

use std::collections::BTreeMap;

use crate::catalog::Operation;
use crate::check::{CheckedPlan, PlanRecord, StepRecord};
use crate::digest::Digest;
use crate::label::Integrity;
use crate::policy::Decision;

/// A plan that may run: nothing in it is forbidden, and every ask is approved or a gate.
#[derive(Clone, Debug)]
pub struct ApprovedPlan {
    checked: CheckedPlan,
    grants: BTreeMap<String, Grant>,
}

/// A person's yes to one step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    closure: Digest,
}

impl Grant {
    /// The closure digest that was approved.
    #[must_use]
    pub fn closure(&self) -> Digest {
        self.closure
    }
}

/// What becomes of approvals when a plan is revised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Steps whose approval stands: the closure digest is the same.
    pub retain: Vec<String>,
    /// Steps that changed and are asked about again.
    pub replace: Vec<String>,
    /// Steps that are gone.
    pub clear: Vec<String>,
}

impl Delta {
    /// What a revision does to approvals of `steps`, each with the closure digest approved; with
    /// none, whatever was approved is asked about again.
    pub fn of<'a>(
        steps: impl IntoIterator<Item = (&'a str, Option<Digest>)>,
        revised: &PlanRecord,
    ) -> Self {
        let mut delta = Self::default();
        for (id, closure) in steps {
            let list = match revised.steps.get(id) {
                Some(step) if Some(step.closure) == closure => &mut delta.retain,
                Some(_) => &mut delta.replace,
                None => &mut delta.clear,
            };
            list.push(id.to_owned());
        }
        delta
    }
}

impl ApprovedPlan {
    /// A plan in which every ask is a gate: its step waits for a person when it is ready.
    #[must_use]
    pub fn gated(checked: CheckedPlan) -> Self {
        Self {
            checked,
            grants: BTreeMap::new(),
        }
    }

    /// The plan.
    #[must_use]
    pub fn checked(&self) -> &CheckedPlan {
        &self.checked
    }

    /// The steps that a person approved with the plan.
    #[must_use]
    pub fn grants(&self) -> &BTreeMap<String, Grant> {
        &self.grants
    }

    /// Records a person's yes to a step of this plan. Says whether it counts: the step must be
    /// there with that closure digest.
    pub fn grant(&mut self, step: &str, closure: Digest) -> bool {
        let matches = self
            .checked
            .record()
            .steps
            .get(step)
            .is_some_and(|s| s.closure == closure);
        if matches {
            self.grants.insert(step.to_owned(), Grant { closure });
        }
        matches
    }

    /// Takes back a person's yes to a step: what they judged it under has moved.
    pub fn revoke(&mut self, step: &str) {
        self.grants.remove(step);
    }

    /// Whether a person approved the step with the plan.
    #[must_use]
    pub fn is_granted(&self, step: &str) -> bool {
        let record = self.checked.record().steps.get(step);
        let closure = record.map(|record| record.closure);
        self.grants
            .get(step)
            .is_some_and(|grant| Some(grant.closure) == closure)
    }

    /// Whether the approval of the plan lets a step run without asking again with its values:
    /// only with trusted sinks and control, and when policy left no condition open.
    #[must_use]
    pub fn opens_gate(&self, step: &str, record: &StepRecord, operation: &Operation) -> bool {
        let granted = self
            .grants
            .get(step)
            .is_some_and(|grant| grant.closure == record.closure);
        granted && self.is_granted(step) && is_settled(record, operation)
    }

    /// The plan after a revision, with the approvals that survive it.
    #[must_use]
    pub fn revised(self, checked: CheckedPlan) -> Self {
        let mut revised = Self::gated(checked);
        for (step, grant) in self.grants {
            revised.grant(&step, grant.closure);
        }
        revised
    }

    /// What a revision would do to the approvals of this plan.
    #[must_use]
    pub fn delta(&self, revised: &CheckedPlan) -> Delta {
        let grants = self
            .grants
            .iter()
            .map(|(id, grant)| (id.as_str(), Some(grant.closure)));
        Delta::of(grants, revised.record())
    }
}

/// Whether nothing that a person must judge was left to the values of a call.
fn is_settled(record: &StepRecord, operation: &Operation) -> bool {
    let decided = record
        .verdict
        .as_ref()
        .is_some_and(|v| v.decision != Decision::Forbid && v.condition.is_none());
    let mut sinks = record
        .labels
        .iter()
        .filter(|(name, _)| operation.is_sink(name));
    let trusted = sinks.all(|(_, label)| label.integrity == Integrity::Trusted);
    decided && trusted && record.control.integrity != Integrity::Text
}

#[cfg(test)]
mod tests;
