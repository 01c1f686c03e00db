//! Readings that another step of the plan may change before they are acted on.
//!
//! Owns what counts as acting on a reading. Reads no values. INVARIANT: the work is a walk over the
//! edges with one set of bits a step.
//!
//! A step acts on a reading if an argument, guard or list of it reads the output of the read step,
//! directly or through other reads and answers. What comes through a write does not count: the
//! output of a write tells what the write did, after it did it. A status or an error is no reading.

use std::collections::BTreeMap;

use super::super::Pass;
use crate::catalog::Operation;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;

use crate::plan::Step;
use crate::plan::readings::{acted_on, is_output};

/// A set of steps, by their place in the order.
#[derive(Clone)]
struct Set(Vec<u64>);

impl Set {
    fn of(size: usize) -> Self {
        Self(vec![0; size.div_ceil(64)])
    }

    fn insert(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }

    fn add(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    fn keep(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= other;
        }
    }

    fn drop(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= !other;
        }
    }

    fn contains(&self, at: usize) -> bool {
        let word = self.0.get(at / 64).copied().unwrap_or(0);
        word & (1 << (at % 64)) != 0
    }

    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            (0..64)
                .filter(move |bit| word & (1 << bit) != 0)
                .map(move |bit| at * 64 + bit)
        })
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }
}

/// The steps in their order, with who comes before and after whom.
pub(super) struct Order<'a> {
    steps: Vec<(&'a Step, Option<&'a Operation>)>,
    places: BTreeMap<&'a str, usize>,
    /// All that has ended before a step starts.
    before: Vec<Set>,
    /// All that starts only after a step has ended.
    after: Vec<Set>,
    /// The readings that a step acts on.
    readings: Vec<Set>,
}

impl<'a> Order<'a> {
    pub(super) fn of(pass: &'a Pass<'_>) -> Self {
        let by_id: BTreeMap<&str, &Step> = pass
            .plan
            .steps
            .iter()
            .rev()
            .map(|step| (step.id.value.as_str(), step))
            .collect();
        let steps: Vec<(&Step, Option<&Operation>)> = pass
            .graph
            .order
            .iter()
            .filter_map(|id| by_id.get(id.as_str()).copied())
            .map(|step| (step, pass.operation(step).map(AsRef::as_ref)))
            .collect();
        let places = steps
            .iter()
            .enumerate()
            .map(|(at, (step, _))| (step.id.value.as_str(), at))
            .collect();
        let none = Set::of(steps.len());
        let mut all = Self {
            before: vec![none.clone(); steps.len()],
            after: vec![none.clone(); steps.len()],
            readings: vec![none; steps.len()],
            places,
            steps,
        };
        all.order(pass);
        all.read();
        all
    }

    /// Whether one of two steps always ends before the other starts; so it is with itself.
    pub(super) fn is_settled(&self, one: &str, other: &str) -> bool {
        let place = |id: &str| self.places.get(id).copied();
        let (Some(one), Some(other)) = (place(one), place(other)) else {
            return false;
        };
        let is_before = |first: usize, second: usize| {
            let before = self.before.get(second);
            before.is_some_and(|before| before.contains(first))
        };
        one == other || is_before(one, other) || is_before(other, one)
    }

    /// The steps that act on a reading which another step may change in between.
    pub(super) fn stale_readings(&self) -> Vec<Diagnostic> {
        let mut writers: BTreeMap<&str, Set> = BTreeMap::new();
        for (at, (_, operation)) in self.steps.iter().enumerate() {
            if let Some(operation) = operation.filter(|op| !op.effect.is_read()) {
                let set = writers
                    .entry(operation.server())
                    .or_insert_with(|| Set::of(self.steps.len()));
                set.insert(at);
            }
        }
        let acting = self.steps.iter().enumerate();
        acting
            .filter(|(_, (_, operation))| operation.is_some_and(|op| !op.effect.is_read()))
            .filter_map(|(at, _)| stale(self, &writers, at))
            .collect()
    }

    fn order(&mut self, pass: &Pass<'_>) {
        let direct: Vec<Vec<usize>> = self
            .steps
            .iter()
            .map(|(step, _)| {
                let after = pass.graph.after.get(&step.id.value).into_iter().flatten();
                after
                    .filter_map(|dep| self.places.get(dep.as_str()).copied())
                    .collect()
            })
            .collect();
        for (at, deps) in direct.iter().enumerate() {
            let mut before = Set::of(self.steps.len());
            for dep in deps {
                before.insert(*dep);
                if let Some(earlier) = self.before.get(*dep) {
                    before.add(earlier);
                }
            }
            if let Some(place) = self.before.get_mut(at) {
                *place = before;
            }
        }
        for (at, deps) in direct.iter().enumerate().rev() {
            let Some(mut later) = self.after.get(at).cloned() else {
                continue;
            };
            later.insert(at);
            for dep in deps {
                if let Some(after) = self.after.get_mut(*dep) {
                    after.add(&later);
                }
            }
        }
    }

    fn read(&mut self) {
        for at in 0..self.steps.len() {
            let Some((step, _)) = self.steps.get(at).copied() else {
                continue;
            };
            let mut readings = Set::of(self.steps.len());
            for reference in acted_on(step) {
                let source = super::super::graph::step_of(reference)
                    .and_then(|id| self.places.get(id).copied());
                let Some(source) = source.filter(|_| is_output(reference)) else {
                    continue;
                };
                let operation = self.steps.get(source).and_then(|(_, op)| *op);
                if operation.is_some_and(|op| op.effect.is_read()) {
                    readings.insert(source);
                }
                let passes_on = operation.is_none_or(|op| op.effect.is_read());
                if let (true, Some(through)) = (passes_on, self.readings.get(source)) {
                    readings.add(through);
                }
            }
            if let Some(place) = self.readings.get_mut(at) {
                *place = readings;
            }
        }
    }
}

/// The finding about one step, if one of its readings may be stale: the first such pair is shown.
fn stale(all: &Order<'_>, writers: &BTreeMap<&str, Set>, at: usize) -> Option<Diagnostic> {
    let (step, _) = all.steps.get(at)?;
    let mut first: Option<(usize, usize)> = None;
    let mut pairs = 0u32;
    for reading in all.readings.get(at)?.iter() {
        let Some((_, Some(operation))) = all.steps.get(reading) else {
            continue;
        };
        let Some(mut between) = writers.get(operation.server()).cloned() else {
            continue;
        };
        if let (Some(before), Some(after)) = (all.before.get(reading), all.after.get(at)) {
            between.drop(before);
            between.drop(after);
        }
        let mut itself = Set::of(all.steps.len());
        itself.insert(at);
        between.drop(&itself);
        if between.is_empty() {
            continue;
        }
        pairs += 1;
        // Why: what certainly runs in between says more than what may.
        let mut certain = between.clone();
        if let (Some(before), Some(after)) = (all.before.get(at), all.after.get(reading)) {
            certain.keep(before);
            certain.keep(after);
        }
        let writer = certain.iter().next().or_else(|| between.iter().next())?;
        first = first.or(Some((reading, writer)));
    }
    let (reading, writer) = first?;
    let ((read, read_by), (write, write_by)) = (all.steps.get(reading)?, all.steps.get(writer)?);
    let certain = all.before.get(at)?.contains(writer) && all.after.get(reading)?.contains(writer);
    let may = if certain { "changes" } else { "may change" };
    let message = format!(
        "`{}` acts on what `{}` read, which `{}` {may} in between",
        step.id.value, read.id.value, write.id.value
    );
    let name =
        |operation: &Option<&Operation>| operation.map_or("", |op| op.name.as_str()).to_owned();
    let finding = Diagnostic::new(Code::StaleReading, step.id.span, message)
        .label("acts on the reading")
        .related(
            write.id.span,
            format!("calls `{}`, which may change it", name(write_by)),
        )
        .related(read.id.span, format!("reads with `{}`", name(read_by)))
        .hint(format!(
            "read again after `{}`, or let `{}` need `{}`",
            write.id.value, write.id.value, step.id.value
        ))
        .step(&step.id.value);
    Some(match pairs {
        1 => finding,
        more => finding.note(format!(
            "the same holds for {} more of its readings",
            more - 1
        )),
    })
}
