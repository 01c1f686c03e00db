//! The early end: success holds already, and only plain reads remain.
//!
//! Owns when a run need not go on. Never ends one whose proofs or answer name a step that is still
//! open, nor one in which anything but a plain read is left. INVARIANT: what is skipped here could
//! have changed neither the proofs nor the answer.

use provost_plan::catalog::Effect;
use provost_plan::expr::{Reference, Root};

use crate::call::Slot;
use crate::event::{Event, Proven, SkipReason};
use crate::machine::StepError;
use crate::turn::Turn;

impl Turn<'_> {
    /// Whether the run may end now although steps are left.
    pub(in crate::turn) fn needs_no_more(&self) -> bool {
        let Some(plan) = &self.state.in_force.plan else {
            return false;
        };
        let plan = plan.checked().plan();
        let names = |reference: &Reference| match &reference.root {
            Root::Step(id) => Some(self.is_final(id)),
            _ => None,
        };
        // Why by name: what is said of an open step may hold now and not when it is over.
        let settled = |references: &mut dyn Iterator<Item = &Reference>| {
            references.filter_map(names).all(|is_final| is_final)
        };
        let shown = plan.success.iter().all(|proof| {
            let names_one = proof.check.references().any(|r| names(r).is_some());
            names_one && settled(&mut proof.check.references())
        });
        if !shown || plan.success.is_empty() || self.state.all_final() {
            return false;
        }
        let answered = plan.answer.iter().all(|claim| {
            let when = claim.when.iter().flat_map(|when| when.references());
            settled(&mut when.chain(claim.text.references()))
                && claim.cites.iter().all(|step| self.is_final(&step.value))
        });
        // Why questions and doubts: a person's word may still change what becomes of the run.
        answered
            && self.state.open_questions().next().is_none()
            && !self.state.any_doubted()
            && self.only_reads_remain()
            && self.prove().values().all(|proven| *proven == Proven::Held)
    }

    fn is_final(&self, id: &str) -> bool {
        let step = self.state.steps.get(id);
        step.is_some_and(|step| step.status.is_final())
    }

    /// Whether every step left is a plain read by the catalog in force that no planner wants to
    /// see.
    fn only_reads_remain(&self) -> bool {
        self.state.open_steps().all(|step| {
            let operation = step
                .tool()
                .and_then(|tool| self.rules.catalog.get(&tool.value));
            operation.is_some_and(|operation| operation.effect == Effect::Read)
                && !self.state.followups.is_to_show(&step.id.value)
        })
    }

    /// Skips what is left and ends the run.
    pub(in crate::turn) fn end_early(&mut self) -> Result<(), StepError> {
        let left: Vec<String> = self
            .state
            .open_steps()
            .map(|step| step.id.value.clone())
            .collect();
        for step in left {
            self.emit(Event::StepSkipped {
                slot: Slot { step, item: None },
                because: SkipReason::Proven,
            })?;
        }
        self.finish_if_over()
    }
}
