//! Part of the pass `shape`: a proof or an assertion of another value than its call was given.
//!
//! Owns which conditions are looked at beside `accept` and `confirm`; what is another value is
//! [`super::echo`]'s. INVARIANT: what is found lies directly in the output of a call without
//! `for_each`, and is called like one of its arguments.

use std::collections::BTreeSet;

use super::echo::other_value;
use crate::check::Pass;
use crate::check::graph::step_of;
use crate::check::scope::Site;
use crate::diagnostic::Diagnostic;
use crate::expr::{Root, Template};
use crate::plan::{Step, StepKind};

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    let asserted = pass.plan.steps.iter().filter_map(Step::asserted);
    let asserted = asserted.map(|asserted| &asserted.condition);
    let proofs = pass.plan.success.iter().map(|proof| &proof.check);
    for condition in proofs.chain(asserted) {
        let read: BTreeSet<&str> = condition.references().filter_map(step_of).collect();
        let mut read = read.into_iter();
        found.extend(read.find_map(|id| of_answer(pass, condition, id)));
    }
}

fn of_answer(pass: &Pass<'_>, condition: &Template, id: &str) -> Option<Diagnostic> {
    let step = pass.plan.step(id).filter(|step| step.for_each.is_none())?;
    let StepKind::Tool { args, .. } = &step.kind else {
        return None;
    };
    pass.operation(step)?;
    let about = Root::Step(id.to_owned());
    other_value(pass, &Site::end(), (step, args), condition, &about)
}
