//! Whether anything reads what a step gives back.
//!
//! Owns the question alone: it is asked of a write that took place and whose answer nobody saw.
//! Evaluates nothing. INVARIANT: a reading by name counts, whether or not it comes to be evaluated.

use provost_plan::expr::{Root, Segment, Template};
use provost_plan::plan::Step;

use super::State;

impl State {
    /// Whether what a step gives back is looked at: by its own acceptance, by another step, a proof
    /// or a claim of the answer.
    #[must_use]
    pub fn is_output_read(&self, id: &str) -> bool {
        let Some(plan) = self.plan().map(|plan| plan.checked().plan()) else {
            return false;
        };
        let own = plan.step(id);
        let accepted = |step: &Step| !step.accept.is_empty() || step.confirm.is_some();
        let said = plan.answer.iter();
        let mut said = said.flat_map(|claim| std::iter::once(&claim.text).chain(&claim.when));
        own.is_some_and(accepted)
            || self.is_output_needed(id)
            || said.any(|template| reads(template, id))
    }

    /// Whether another step or a proof reads it, so that nothing goes on without.
    pub(crate) fn is_output_needed(&self, id: &str) -> bool {
        let Some(plan) = self.plan().map(|plan| plan.checked().plan()) else {
            return false;
        };
        let others = plan.steps.iter().filter(|step| step.id.value != id);
        let mut of_steps = others.flat_map(|step| step.templates());
        of_steps.any(|(_, template)| reads(template, id))
            || plan.success.iter().any(|proof| reads(&proof.check, id))
    }
}

/// Whether an expression reads more of a step than how it ended.
fn reads(template: &Template, id: &str) -> bool {
    let of_status = |first: &Segment| match first {
        Segment::Field(name) => name == "status" || name == "error",
        _ => false,
    };
    template.references().any(|reference| {
        matches!(&reference.root, Root::Step(step) if step == id)
            && !reference.path.first().is_some_and(of_status)
    })
}
