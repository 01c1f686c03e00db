//! Whether revisions lead anywhere: what became known between one plan and the next.
//!
//! Owns the count of facts, and the plans that were in force with what was known then. Decides
//! nothing. INVARIANT: what a planner itself brings about (a plan, a step that is skipped) is no
//! fact; what a tool or a person said is, and so is a failure that it was not asked about before.

use std::collections::BTreeMap;

use provost_plan::digest::Digest;
use provost_plan::plan::request::Why;

use crate::event::Event;

/// How far the plans of a run have brought it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RevisionProgress {
    /// How much became known so far.
    facts: u64,
    /// How much was known when the plan in force came.
    at_revision: u64,
    /// Revisions in a row, up to the one in force, before which nothing became known.
    idle: u32,
    /// The plan in force.
    plan: Option<Digest>,
    /// Plans that were in force before it, with what was known when they were replaced.
    seen: BTreeMap<Digest, u64>,
}

impl RevisionProgress {
    /// Revisions in a row since which nothing became known.
    pub(crate) fn idle(&self) -> u32 {
        if self.facts == self.at_revision {
            self.idle
        } else {
            0
        }
    }

    /// Whether this plan is in force, or was and nothing became known since.
    pub(crate) fn is_back_at(&self, plan: Digest) -> bool {
        self.plan == Some(plan) || self.seen.get(&plan) == Some(&self.facts)
    }

    /// What of it bears on what may still happen.
    #[must_use]
    pub fn bearing(&self) -> (u32, Vec<Digest>) {
        let back = self.seen.iter().filter(|(_, known)| **known == self.facts);
        (self.idle(), back.map(|(plan, _)| *plan).collect())
    }

    pub(super) fn note(&mut self, event: &Event) {
        match event {
            Event::PlanChecked { id, record, .. } => {
                let revised = *id != 0 && record.revision > 1;
                self.idle = match self.facts == self.at_revision {
                    true if revised => self.idle + 1,
                    _ => 0,
                };
                self.at_revision = self.facts;
                let before = self.plan.replace(record.digest);
                self.seen.extend(before.map(|plan| (plan, self.facts)));
            }
            Event::ReplanRequested { why } => self.facts += u64::from(!comes_again(why)),
            event if is_fact(event) => self.facts += 1,
            _ => {}
        }
    }
}

/// Whether a revision is wanted for this reason as long as the plan stays what it is; each of the
/// others is said once, of something that was not known before.
pub(crate) fn comes_again(why: &Why) -> bool {
    match why {
        Why::Unmet { .. } | Why::Refine { .. } => true,
        Why::Expired { step } => step.is_empty(),
        Why::Observed { .. }
        | Why::StepFailed { .. }
        | Why::Rejected { .. }
        | Why::Amended { .. } => false,
    }
}

/// Whether something is known by it that was not before.
fn is_fact(event: &Event) -> bool {
    matches!(
        event,
        Event::ObservationMade { .. }
            | Event::StepSettled { .. }
            | Event::DoubtSettled { .. }
            | Event::ApprovalGiven { .. }
            | Event::ApprovalRejected { .. }
            | Event::QuestionAnswered { .. }
            | Event::GoalAmended { .. }
            | Event::PlanAmended { .. }
    )
}
