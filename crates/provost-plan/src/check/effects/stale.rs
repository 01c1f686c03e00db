//! Readings that another step of the plan may change before they are acted on.
//!
//! Owns what counts as acting on a reading. Reads no values. INVARIANT: the work is a walk over the
//! edges with one set for each step.
//!
//! A step acts on a reading if an argument, guard or list of it reads the output of the read step,
//! directly or through other reads and answers. What comes through a write does not count: the
//! output of a write tells what the write did, after it did it. A status or an error is no reading.
//! A change that the plan makes because of the reading, in between, is no surprise to it.

use std::collections::BTreeMap;

use super::super::Pass;
use super::super::graph::{references, step_of};
use super::super::order::{Order, OrderNode, StepSet};
use super::super::shape::Exclusions;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::plan::Step;
use crate::plan::readings::{acted_on, is_output};

/// The steps that act on a reading which another step may change in between.
pub(super) fn readings(pass: &Pass<'_>, exclusions: &Exclusions<'_, '_>) -> Vec<Diagnostic> {
    let order = &pass.order;
    let (readings, writers) = (acted_on_by(order), order.writers());
    let over = order.all(|node| pass.base.over.contains(&node.step.id.value));
    let numbered = order.nodes().iter().zip(&readings).enumerate();
    numbered
        .filter(|(_, (node, _))| node.is_call_of(|op| !op.effect.is_read()))
        .filter_map(|(at, _)| stale((order, &over, exclusions), &writers, at, &readings))
        .collect()
}

/// The readings that each step acts on.
fn acted_on_by(order: &Order<'_>) -> Vec<StepSet> {
    let mut all: Vec<StepSet> = Vec::with_capacity(order.nodes().len());
    for node in order.nodes() {
        let mut readings = order.none();
        for reference in acted_on(node.step).filter(|reference| is_output(reference)) {
            let Some(source) = step_of(reference).and_then(|id| order.place(id)) else {
                continue;
            };
            let operation = order.node(source).and_then(|node| node.operation);
            if operation.is_some_and(|op| op.effect.is_read()) {
                readings.insert(source);
            }
            let passes_on = operation.is_none_or(|op| op.effect.is_read());
            if let (true, Some(through)) = (passes_on, all.get(source)) {
                readings.add(through);
            }
        }
        // Why: it runs because of what these looked at.
        for assertion in order.assertions(&node.step.id.value) {
            let looked = order.place(&assertion.id.value).and_then(|at| all.get(at));
            looked.into_iter().for_each(|looked| readings.add(looked));
        }
        all.push(readings);
    }
    all
}

/// Whether a step reads anything of another, its status too.
fn looks_at(step: &Step, other: &Step) -> bool {
    references(step).any(|read| step_of(read) == Some(other.id.value.as_str()))
}

/// How to mend it. Why not always by the other order: where the step waits for the write, that
/// would be a cycle.
fn hint(order: &Order<'_>, step: &str, writing: &str) -> String {
    if order.is_before(writing, step) {
        return format!("read again after `{writing}`, and let `{step}` act on that reading");
    }
    format!("read again after `{writing}`, or let `{writing}` need `{step}`")
}

/// The finding about one step, if one of its readings may be stale: the first such pair is shown.
fn stale(
    (order, over, exclusions): (&Order<'_>, &StepSet, &Exclusions<'_, '_>),
    writers: &BTreeMap<&str, StepSet>,
    at: usize,
    acted_on: &[StepSet],
) -> Option<Diagnostic> {
    let acting = order.node(at)?;
    let readings = acted_on.get(at)?;
    let mut first: Option<(&OrderNode<'_>, &OrderNode<'_>, bool)> = None;
    let mut pairs = 0u32;
    for reading in readings.iter() {
        let Some(read) = order.node(reading) else {
            continue;
        };
        let Some(writers) = read.operation.and_then(|op| writers.get(op.server())) else {
            continue;
        };
        let mut out = acting.after.clone();
        out.add(&read.before);
        out.insert(at);
        // Why: what has ended changes nothing that is still to be read.
        if !over.contains(reading) {
            out.add(over);
        }
        let between = writers.clone().without(&out);
        for writer in between.iter() {
            let write = order.node(writer);
            let excluded = write.is_some_and(|write| exclusions.exclude(acting.step, write.step));
            // Why: one decision may have several writes. The later ones know what the first did.
            let in_order = acting.before.contains(writer) && read.after.contains(writer);
            let decided_by_it = || {
                let acts = acted_on.get(writer).is_some_and(|by| by.contains(reading));
                acts || write.is_some_and(|write| looks_at(write.step, read.step))
            };
            if excluded || in_order && decided_by_it() {
                out.insert(writer);
            }
        }
        let between = between.without(&out);
        if between.is_empty() {
            continue;
        }
        pairs += 1;
        // Why: what certainly runs in between says more than what may.
        let certain = between.clone().and(&acting.before).and(&read.after);
        let writer = certain.iter().next().or_else(|| between.iter().next())?;
        first = first.or(Some((read, order.node(writer)?, !certain.is_empty())));
    }
    first.map(|first| finding(order, acting, first, pairs))
}

/// The finding about a step, a reading and what changes it, the first of so many pairs.
fn finding(
    order: &Order<'_>,
    acting: &OrderNode<'_>,
    (read, write, certain): (&OrderNode<'_>, &OrderNode<'_>, bool),
    pairs: u32,
) -> Diagnostic {
    let (step, reading, writing) = (acting.step, read.step, write.step);
    let may = if certain { "changes" } else { "may change" };
    let message = format!(
        "`{}` acts on what `{}` read, which `{}` {may} in between",
        step.id.value, reading.id.value, writing.id.value
    );
    let name = |node: &OrderNode<'_>| node.operation.map_or("", |op| op.name.as_str()).to_owned();
    let finding = Diagnostic::new(Code::StaleReading, step.id.span, message)
        .label("acts on the reading")
        .related(
            writing.id.span,
            format!("calls `{}`, which may change it", name(write)),
        )
        .related(reading.id.span, format!("reads with `{}`", name(read)))
        .hint(hint(order, &step.id.value, &writing.id.value))
        .step(&step.id.value);
    match pairs {
        1 => finding,
        more => finding.note(format!(
            "the same holds for {} more of its readings",
            more - 1
        )),
    }
}
