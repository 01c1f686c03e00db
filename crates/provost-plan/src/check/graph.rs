//! Who waits for whom: the order of a plan's steps.
//!
//! Owns the edges (what a step reads and needs), a topological order and the cycles. Reports
//! nothing itself. INVARIANT: an edge leads only to a step that the plan has.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use crate::expr::{Reference, Root, Template};
use crate::limits::CYCLES_MAX;
use crate::plan::{Plan, Step};
use crate::source::Span;

/// The order of a plan's steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    /// What each step waits for: what it reads and what it needs.
    pub(crate) after: BTreeMap<String, BTreeSet<String>>,
    /// What each step reads.
    pub(crate) reads: BTreeMap<String, BTreeSet<String>>,
    /// The steps that can run, each after all that it waits for, otherwise as written.
    pub(crate) order: Vec<String>,
    /// Cycles, each as the way round, with the place that makes each edge; no more than
    /// [`CYCLES_MAX`].
    pub(crate) cycles: Vec<Vec<Edge>>,
}

/// One step waits for another, and where that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) span: Span,
}

/// An edge as places: what is waited for, and where that is written.
type Wait = (usize, Span);

impl Graph {
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut graph = Self::default();
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        // A second step of the same name is reported, and is not part of the order.
        let mut steps: Vec<&Step> = Vec::new();
        for step in &plan.steps {
            places.entry(&step.id.value).or_insert_with(|| {
                steps.push(step);
                steps.len() - 1
            });
        }
        let place = |id: &str| places.get(id).copied();
        let reads: Vec<Vec<Wait>> = steps
            .iter()
            .map(|step| {
                references(step)
                    .filter_map(|r| Some((place(step_of(r)?)?, r.span)))
                    .collect()
            })
            .collect();
        let mut waits = reads.clone();
        for (waits, step) in waits.iter_mut().zip(&steps) {
            waits.extend(ordered(step).filter_map(|(id, span)| Some((place(id)?, span))));
            // Why its own too: what refines a subgoal runs only where and when that would.
            if let Some((parent, _)) = plan.parent(&step.id.value) {
                let when = parent.when.iter().flat_map(Template::references);
                let read = when.filter_map(|r| Some((step_of(r)?, r.span)));
                let before = ordered(parent).chain(read);
                waits.extend(before.filter_map(|(id, span)| Some((place(id)?, span))));
            }
            if step.subgoal().is_some() {
                let children = plan.children(&step.id.value);
                waits.extend(children.filter_map(|c| Some((place(&c.id.value)?, c.id.span))));
            }
        }
        let ids: Vec<&str> = steps.iter().map(|step| step.id.value.as_str()).collect();
        graph.reads = named(&ids, &reads);
        graph.after = named(&ids, &waits);
        graph.sort(&ids, &waits);
        graph.find_cycles(&places, &ids, &waits);
        graph
    }

    /// Puts the steps in order: of those that wait for nothing more, always the first written.
    fn sort(&mut self, ids: &[&str], waits: &[Vec<Wait>]) {
        let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); ids.len()];
        let mut left: Vec<usize> = waits.iter().map(Vec::len).collect();
        for (place, waits) in waits.iter().enumerate() {
            for (to, _) in waits {
                if let Some(dependents) = dependents.get_mut(*to) {
                    dependents.push(place);
                }
            }
        }
        let waits_for_nothing = left.iter().enumerate().filter(|(_, left)| **left == 0);
        let mut ready: BinaryHeap<Reverse<usize>> =
            waits_for_nothing.map(|(place, _)| Reverse(place)).collect();
        while let Some(Reverse(place)) = ready.pop() {
            self.order.extend(ids.get(place).map(|id| (*id).to_owned()));
            for dependent in dependents.get(place).into_iter().flatten() {
                if let Some(left) = left.get_mut(*dependent) {
                    *left -= 1;
                    if *left == 0 {
                        ready.push(Reverse(*dependent));
                    }
                }
            }
        }
    }

    /// Finds one cycle through each step that is in one, each cycle once, in the order of ids.
    fn find_cycles(&mut self, places: &BTreeMap<&str, usize>, ids: &[&str], waits: &[Vec<Wait>]) {
        let mut seen: BTreeSet<&str> = self.order.iter().map(String::as_str).collect();
        let mut cycles = Vec::new();
        for (id, start) in places {
            if cycles.len() == CYCLES_MAX {
                break;
            }
            if seen.contains(id) {
                continue;
            }
            let Some(way) = way_round(*start, waits) else {
                continue;
            };
            let name = |place: usize| ids.get(place).copied().unwrap_or_default();
            seen.extend(way.iter().map(|(from, _)| name(*from)));
            let edge = |(from, (to, span)): &(usize, Wait)| Edge {
                from: name(*from).to_owned(),
                to: name(*to).to_owned(),
                span: *span,
            };
            cycles.push(way.iter().map(edge).collect());
        }
        self.cycles = cycles;
    }
}

/// The steps that a step waits for without reading them.
fn ordered(step: &Step) -> impl Iterator<Item = (&str, Span)> {
    let needed = step.needs.iter();
    needed.map(|need| (need.value.as_str(), need.span))
}

/// The ids that each step waits for.
fn named(ids: &[&str], waits: &[Vec<Wait>]) -> BTreeMap<String, BTreeSet<String>> {
    let name = |(to, _): &Wait| ids.get(*to).map(|id| (*id).to_owned());
    ids.iter()
        .zip(waits)
        .map(|(id, waits)| ((*id).to_owned(), waits.iter().filter_map(name).collect()))
        .collect()
}

/// The shortest way from a step back to itself, edge by edge, if there is one.
fn way_round(start: usize, waits: &[Vec<Wait>]) -> Option<Vec<(usize, Wait)>> {
    let mut came: Vec<Option<(usize, Wait)>> = vec![None; waits.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(here) = queue.pop_front() {
        for wait in waits.get(here)? {
            let by = came.get_mut(wait.0)?;
            if by.is_none() {
                *by = Some((here, *wait));
                queue.push_back(wait.0);
            }
        }
        if came.get(start)?.is_some() {
            break;
        }
    }
    let mut way = Vec::new();
    let mut here = start;
    loop {
        let edge = (*came.get(here)?)?;
        here = edge.0;
        way.push(edge);
        if here == start {
            way.reverse();
            return Some(way);
        }
    }
}

/// Every path a step reads.
pub(crate) fn references(step: &Step) -> impl Iterator<Item = &Reference> {
    step.templates()
        .into_iter()
        .flat_map(|(_, template)| template.references())
}

/// Every template of a plan: of its steps, its proofs and its answer.
pub(crate) fn all_templates(plan: &Plan) -> impl Iterator<Item = &Template> {
    let proofs = plan.success.iter().map(|proof| &proof.check);
    let claims = plan.answer.iter();
    let said = claims.flat_map(|claim| claim.when.iter().chain([&claim.text]));
    let steps = plan.steps.iter().flat_map(Step::templates);
    steps
        .map(|(_, template)| template)
        .chain(proofs)
        .chain(said)
}

/// Every path a plan reads: in its steps, its proofs and its answer.
pub(crate) fn all_references(plan: &Plan) -> impl Iterator<Item = &Reference> {
    all_templates(plan).flat_map(Template::references)
}

/// The step a path begins at.
pub(crate) fn step_of(reference: &Reference) -> Option<&str> {
    match &reference.root {
        Root::Step(id) => Some(id),
        _ => None,
    }
}
