//! What a model's opinion decides.
//!
//! Owns the one rule: a judge never opens a write. The words of its verdict are closed, so by type
//! they are `data`, and a comparison makes data of any text; but a text that it read may have told
//! it what to say. INVARIANT: what is no read and runs by an opinion runs by untrusted text.

use std::collections::BTreeSet;

use crate::check::Pass;
use crate::expr::{Root, Template};
use crate::label::{Integrity, Label};
use crate::plan::Step;

/// The steps of a plan by which a model's opinion has a say.
pub(super) struct Opinions<'a> {
    /// Those that ask one.
    asked: BTreeSet<&'a str>,
    /// Those that succeed by one.
    accepted: BTreeSet<&'a str>,
}

impl<'a> Opinions<'a> {
    pub(super) fn of(pass: &Pass<'a>) -> Self {
        let ids = |holds: &dyn Fn(&Step) -> bool| {
            let steps = pass.plan.steps.iter().filter(|step| holds(step));
            steps.map(|step| step.id.value.as_str()).collect()
        };
        let asked: BTreeSet<&str> = ids(&|step| asks(pass, step));
        let accepted = ids(&|step| {
            let own = asks(pass, step);
            let mut accepts = step.conditions();
            accepts.any(|accept| own || is_read(pass, accept))
        });
        Self { asked, accepted }
    }

    /// What opinions have to say in whether a step runs that is no read: through its guard, its
    /// list or the choice of its revision, or because a step before it succeeds by one.
    pub(super) fn deciding(&self, pass: &Pass<'_>, step: &Step, control: &Label) -> Option<Label> {
        if self.asked.is_empty() || pass.operation(step)?.effect.is_read() {
            return None;
        }
        let id = &step.id.value;
        let sources = control.sources.iter().map(String::as_str);
        let read = sources.filter(|source| self.asked.contains(source));
        let accepted = self.accepted.iter().copied();
        let before = accepted.filter(|earlier| pass.order.is_before(earlier, id));
        let labels = read
            .chain(before)
            .map(|opinion| Label::from_step(opinion, Integrity::Text));
        labels.reduce(|all, label| all.join(&label))
    }
}

/// Whether a template reads what a model said.
pub(in crate::check) fn is_read(pass: &Pass<'_>, template: &Template) -> bool {
    let mut references = template.references();
    references.any(|read| {
        let step = match &read.root {
            Root::Step(id) => pass.plan.step(id),
            _ => None,
        };
        step.is_some_and(|step| asks(pass, step))
    })
}

fn asks(pass: &Pass<'_>, step: &Step) -> bool {
    let operation = pass.operation(step);
    operation.is_some_and(|operation| operation.is_opinion())
}
