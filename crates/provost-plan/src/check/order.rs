//! The order of a plan's steps as sets: what has ended before a step starts, what starts after it.
//!
//! Owns the one set of steps and the one answer to "which comes first". The edges are
//! [`super::graph`]'s. INVARIANT: nodes stand in an order in which they can run; a step in a cycle,
//! or that waits for one, has no place.

use std::collections::BTreeMap;

use super::graph::Graph;
use crate::catalog::{Catalog, Operation};
use crate::plan::{Plan, Step};

/// A set of steps by their places, a bit each: a thousand steps that all wait for all before are
/// 128 KiB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepSet(Vec<u64>);

impl StepSet {
    fn of_size(size: usize) -> Self {
        Self(vec![0; size.div_ceil(64)])
    }

    pub(crate) fn insert(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }

    pub(crate) fn contains(&self, at: usize) -> bool {
        let word = self.0.get(at / 64).copied().unwrap_or_default();
        word >> (at % 64) & 1 == 1
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    pub(crate) fn and(mut self, other: &Self) -> Self {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= other;
        }
        self
    }

    pub(crate) fn without(mut self, other: &Self) -> Self {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= !other;
        }
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = usize::try_from(left.trailing_zeros()).ok()?;
                // Why: this takes the lowest bit away, and of none there is nothing to take.
                left &= left.checked_sub(1)?;
                Some(at * 64 + bit)
            })
        })
    }
}

/// A step that has a place in the order.
pub(crate) struct OrderNode<'a> {
    pub(crate) step: &'a Step,
    pub(crate) operation: Option<&'a Operation>,
    /// All that has ended before it starts.
    pub(crate) before: StepSet,
    /// What of that certainly went as it had to, for it to start.
    pub(crate) certain: StepSet,
    /// All that starts only after it has ended.
    pub(crate) after: StepSet,
}

impl OrderNode<'_> {
    pub(crate) fn is_call_of(&self, holds: impl Fn(&Operation) -> bool) -> bool {
        self.operation.is_some_and(holds)
    }
}

/// The steps that can run, each after all that it waits for, otherwise as written.
pub(crate) struct Order<'a> {
    nodes: Vec<OrderNode<'a>>,
    places: BTreeMap<&'a str, usize>,
    /// The places of assertions: most plans have none, and each step is asked which hold it back.
    asserting: Vec<usize>,
}

impl<'a> Order<'a> {
    pub(crate) fn of(plan: &'a Plan, catalog: &'a Catalog, graph: &Graph) -> Self {
        let steps: Vec<&Step> = graph.order.iter().filter_map(|id| plan.step(id)).collect();
        let ids = steps.iter().map(|step| step.id.value.as_str());
        let places: BTreeMap<&str, usize> = ids.zip(0..).collect();
        let none = StepSet::of_size(steps.len());
        let mut nodes: Vec<OrderNode<'a>> = Vec::with_capacity(steps.len());
        let mut waits: Vec<Vec<usize>> = Vec::with_capacity(steps.len());
        for step in steps {
            let named = graph.after.get(&step.id.value).into_iter().flatten();
            let own: Vec<usize> = named
                .filter_map(|id| places.get(id.as_str()).copied())
                .collect();
            let (mut before, mut certain) = (none.clone(), none.clone());
            for first in &own {
                before.insert(*first);
                if let Some(earlier) = nodes.get(*first) {
                    before.add(&earlier.before);
                    if step.rests_on(&earlier.step.id.value) {
                        certain.insert(*first);
                        certain.add(&earlier.certain);
                    }
                }
            }
            waits.push(own);
            let operation = step.tool().and_then(|tool| catalog.get(&tool.value));
            nodes.push(OrderNode {
                step,
                operation: operation.map(AsRef::as_ref),
                before,
                certain,
                after: none.clone(),
            });
        }
        for (at, own) in waits.iter().enumerate().rev() {
            let Some(mut later) = nodes.get(at).map(|node| node.after.clone()) else {
                continue;
            };
            later.insert(at);
            for first in own {
                if let Some(node) = nodes.get_mut(*first) {
                    node.after.add(&later);
                }
            }
        }
        let asserts = |(at, node): (usize, &OrderNode<'_>)| node.step.asserted().map(|_| at);
        let asserting = nodes.iter().enumerate().filter_map(asserts).collect();
        Self {
            nodes,
            places,
            asserting,
        }
    }

    pub(crate) fn nodes(&self) -> &[OrderNode<'a>] {
        &self.nodes
    }

    pub(crate) fn node(&self, at: usize) -> Option<&OrderNode<'a>> {
        self.nodes.get(at)
    }

    pub(crate) fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// No place.
    pub(crate) fn none(&self) -> StepSet {
        StepSet::of_size(self.nodes.len())
    }

    /// The places of the nodes of which something holds.
    pub(crate) fn all(&self, holds: impl Fn(&OrderNode<'a>) -> bool) -> StepSet {
        let mut set = self.none();
        let held = self.nodes.iter().enumerate().filter(|(_, n)| holds(n));
        held.for_each(|(at, _)| set.insert(at));
        set
    }

    /// The steps that change something, by the server they call.
    pub(crate) fn writers(&self) -> BTreeMap<&'a str, StepSet> {
        let mut writers = BTreeMap::new();
        for (at, node) in self.nodes.iter().enumerate() {
            if let Some(operation) = node.operation.filter(|op| !op.effect.is_read()) {
                let set = writers.entry(operation.server());
                let set: &mut StepSet = set.or_insert_with(|| self.none());
                set.insert(at);
            }
        }
        writers
    }

    /// The assertions that hold a step back.
    pub(crate) fn assertions(&self, id: &str) -> impl Iterator<Item = &'a Step> {
        let node = self.place(id).and_then(|place| self.node(place));
        let holds = move |at: &&usize| node.is_some_and(|node| node.certain.contains(**at));
        let held = self.asserting.iter().filter(holds);
        held.filter_map(|at| Some(self.node(*at)?.step))
    }

    /// Whether `first` always ends before `second` starts.
    pub(crate) fn is_before(&self, first: &str, second: &str) -> bool {
        let (Some(first), Some(second)) = (self.place(first), self.place(second)) else {
            return false;
        };
        let second = self.node(second);
        second.is_some_and(|second| second.before.contains(first))
    }

    /// Whether one of two steps always ends before the other starts; so it is with itself.
    pub(crate) fn is_settled(&self, one: &str, other: &str) -> bool {
        one == other || self.is_before(one, other) || self.is_before(other, one)
    }
}

#[cfg(test)]
mod tests {
    use super::StepSet;

    #[test]
    fn a_set_gives_its_places_in_order_and_no_other() {
        let mut set = StepSet::of_size(200);
        assert_eq!(set.iter().next(), None);
        let places = [0, 1, 63, 64, 127, 130, 199];
        for place in places.into_iter().rev() {
            set.insert(place);
        }
        assert_eq!(set.iter().collect::<Vec<_>>(), places);
        assert!((0..200).all(|at| set.contains(at) == places.contains(&at)));
    }
}
