//! Who waits for whom: the order of a plan's steps.
//!
//! Owns the edges (what a step reads and needs), a topological order and the cycles. Reports
//! nothing itself. INVARIANT: an edge leads only to a step that the plan has.

use std::collections::{BTreeMap, BTreeSet};

use crate::expr::{Reference, Root};
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
    /// Cycles, each as the way round, with the place that makes each edge.
    pub(crate) cycles: Vec<Vec<Edge>>,
    /// Everything that runs before each step, directly or not.
    before: BTreeMap<String, BTreeSet<String>>,
}

/// One step waits for another, and where that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) span: Span,
}

impl Graph {
    pub(crate) fn of(plan: &Plan) -> Self {
        let ids: BTreeSet<&str> = plan.steps.iter().map(|s| s.id.value.as_str()).collect();
        let mut graph = Self::default();
        let mut edges: BTreeMap<&str, Vec<Edge>> = BTreeMap::new();
        for step in &plan.steps {
            let id = step.id.value.as_str();
            if edges.contains_key(id) {
                // A second step of the same name is reported, and is not part of the order.
                continue;
            }
            let edge = |to: &str, span| Edge {
                from: id.to_owned(),
                to: to.to_owned(),
                span,
            };
            let read: Vec<Edge> = references(step)
                .filter_map(|r| Some(edge(step_of(r)?, r.span)))
                .filter(|e| ids.contains(e.to.as_str()))
                .collect();
            let needed = step.needs.iter().map(|n| edge(&n.value, n.span));
            let reads = read.iter().map(|e| e.to.clone()).collect();
            let all: Vec<Edge> = read
                .into_iter()
                .chain(needed.filter(|e| ids.contains(e.to.as_str())))
                .collect();
            let after = all.iter().map(|e| e.to.clone()).collect();
            graph.reads.insert(id.to_owned(), reads);
            graph.after.insert(id.to_owned(), after);
            edges.insert(id, all);
        }
        graph.sort(plan);
        graph.find_cycles(&edges);
        graph
    }

    fn sort(&mut self, plan: &Plan) {
        let mut left: Vec<&str> = self.after.keys().map(String::as_str).collect();
        let written = |id: &&str| plan.steps.iter().position(|s| s.id.value == **id);
        left.sort_by_key(written);
        let mut done: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut order = Vec::new();
        loop {
            let ready = left.iter().position(|id| {
                self.after
                    .get(*id)
                    .is_some_and(|after| after.iter().all(|dep| done.contains_key(dep)))
            });
            let Some(at) = ready else { break };
            let id = left.remove(at).to_owned();
            let direct = self.after.get(&id).cloned().unwrap_or_default();
            let mut before: BTreeSet<String> = direct
                .iter()
                .filter_map(|dep| done.get(dep))
                .flatten()
                .cloned()
                .collect();
            before.extend(direct);
            done.insert(id.clone(), before);
            order.push(id);
        }
        self.before = done;
        self.order = order;
    }

    /// Finds one cycle through each step that is in one, each cycle once.
    fn find_cycles(&mut self, edges: &BTreeMap<&str, Vec<Edge>>) {
        let mut seen: BTreeSet<&str> = self.order.iter().map(String::as_str).collect();
        for start in edges.keys() {
            if seen.contains(start) {
                continue;
            }
            // Breadth first from `start` back to `start`: the shortest way round.
            let mut came: BTreeMap<&str, &Edge> = BTreeMap::new();
            let mut queue = std::collections::VecDeque::from([*start]);
            while let Some(here) = queue.pop_front() {
                for edge in edges.get(here).into_iter().flatten() {
                    if !came.contains_key(edge.to.as_str()) {
                        came.insert(&edge.to, edge);
                        queue.push_back(&edge.to);
                    }
                }
            }
            let mut way = Vec::new();
            let mut here = *start;
            while let Some(edge) = came.get(here) {
                way.push((*edge).clone());
                here = edge.from.as_str();
                if here == *start {
                    break;
                }
            }
            if here == *start && !way.is_empty() {
                way.reverse();
                seen.extend(
                    way.iter()
                        .filter_map(|e| edges.get_key_value(e.from.as_str()))
                        .map(|(id, _)| *id),
                );
                self.cycles.push(way);
            }
        }
    }

    /// Whether `first` always ends before `second` starts.
    pub(crate) fn is_before(&self, first: &str, second: &str) -> bool {
        self.before
            .get(second)
            .is_some_and(|before| before.contains(first))
    }
}

/// Every path a step reads.
pub(crate) fn references(step: &Step) -> impl Iterator<Item = &Reference> {
    step.templates()
        .into_iter()
        .flat_map(|(_, template)| template.references())
}

/// The step a path begins at.
pub(crate) fn step_of(reference: &Reference) -> Option<&str> {
    match &reference.root {
        Root::Step(id) => Some(id),
        _ => None,
    }
}
