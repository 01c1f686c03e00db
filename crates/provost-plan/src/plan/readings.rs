//! The readings on which a step acts.
//!
//! Owns what counts as acting on a reading: the check warns by it, and the run takes by it again
//! what is too old. Reads no values. INVARIANT: a reading is a plain read.
//!
//! A step acts on a reading if an argument, guard or list of it reads the output of the read step,
//! directly or through other reads and answers. What comes through a write does not count: the
//! output of a write tells what the write did, after it did it. A status or an error is no reading.

use std::collections::BTreeSet;

use super::{CallRole, Field, Plan, Step};
use crate::catalog::Effect;
use crate::expr::{ArgTree, Fact, Reference, Root, Segment};

/// What decides about a call: not what is looked at when it is over.
pub(crate) fn acted_on(step: &Step) -> impl Iterator<Item = &Reference> {
    step.templates()
        .into_iter()
        .filter(|(field, _)| match field {
            Field::When | Field::ForEach | Field::Question | Field::Result | Field::Assert => true,
            Field::Args(role) => *role == CallRole::Own,
            Field::Until | Field::Accept(_) | Field::Message => false,
        })
        .flat_map(|(_, template)| template.references())
}

pub(crate) fn is_output(reference: &Reference) -> bool {
    is_field(reference, "output")
}

fn is_field(reference: &Reference, name: &str) -> bool {
    matches!(reference.path.first(), Some(Segment::Field(field)) if field == name)
}

/// Whether arguments read what nobody accepted: the error of a step, or the output of one that did
/// not succeed. `given` holds where they are read; `may_have_failed` is asked of a step, and
/// whether it is its error that is read.
pub fn reads_unaccepted(
    args: &ArgTree,
    given: &BTreeSet<Fact>,
    may_have_failed: &dyn Fn(&str, bool) -> bool,
) -> bool {
    let templates = args.templates().into_iter();
    let mut reads = templates.flat_map(|template| template.reads(given));
    reads.any(|read| {
        let Root::Step(id) = &read.reference.root else {
            return false;
        };
        let is_error = is_field(&read.reference, "error");
        let unsure = is_output(&read.reference) && read.needs() > 0 && !read.has_succeeded();
        (is_error || unsure) && may_have_failed(id, is_error)
    })
}

/// The plain reads on which `step` acts, in the order of the plan; `effect` is that of the
/// operation which a step calls.
pub fn readings<'p>(
    plan: &'p Plan,
    step: &Step,
    effect: &dyn Fn(&Step) -> Option<Effect>,
) -> Vec<&'p Step> {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&Step> = vec![step];
    while let Some(next) = open.pop() {
        for reference in acted_on(next).filter(|reference| is_output(reference)) {
            let Root::Step(id) = &reference.root else {
                continue;
            };
            let Some(source) = plan.step(id).filter(|s| seen.insert(&s.id.value)) else {
                continue;
            };
            let effect = effect(source);
            if effect == Some(Effect::Read) {
                found.insert(&source.id.value);
            }
            if source.tool().is_none() || effect.is_some_and(Effect::is_read) {
                open.push(source);
            }
        }
    }
    let steps = plan.steps.iter();
    steps
        .filter(|step| found.contains(step.id.value.as_str()))
        .collect()
}
