//! Part of the pass `shape`: steps against their order.
//!
//! Owns needless order, readings taken twice, and effects that come before what can still fail.
//! INVARIANT: the work is one row of bits for each step, never a comparison of every pair by name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Shape;
use crate::catalog::{Effect, Operation};
use crate::check::Pass;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::digest::canonical;
use crate::fix::Fix;
use crate::plan::{OnFailure, Step, StepKind};

/// Most places that one finding points at beside its own.
const RELATED_MAX: usize = 8;

pub(super) fn run(pass: &Pass<'_>, shape: &mut Shape) {
    let order = Order::of(pass);
    for at in 0..order.nodes.len() {
        needless(pass, &order, at, shape);
        early(&order, at, shape);
    }
    repeated(&order, shape);
}

/// A set of steps, by their place in the order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Set(Vec<u64>);

impl Set {
    fn empty(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn put(&mut self, at: usize) {
        if let Some(bits) = self.0.get_mut(at / 64) {
            *bits |= 1 << (at % 64);
        }
    }

    fn has(&self, at: usize) -> bool {
        self.0
            .get(at / 64)
            .is_some_and(|bits| bits >> (at % 64) & 1 == 1)
    }

    fn put_all(&mut self, other: &Self) {
        for (bits, more) in self.0.iter_mut().zip(&other.0) {
            *bits |= more;
        }
    }

    fn and(mut self, other: &Self) -> Self {
        for (bits, others) in self.0.iter_mut().zip(&other.0) {
            *bits &= others;
        }
        self
    }

    fn without(mut self, other: &Self) -> Self {
        for (bits, others) in self.0.iter_mut().zip(&other.0) {
            *bits &= !others;
        }
        self
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|bits| *bits == 0)
    }

    fn places(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(word, bits)| {
            (0..64)
                .filter(move |bit| bits >> bit & 1 == 1)
                .map(move |bit| word * 64 + bit)
        })
    }
}

/// A step that has a place in the order.
struct Node<'p> {
    step: &'p Step,
    operation: Option<&'p Operation>,
    /// Where it is written among the steps.
    written: usize,
    /// What ends before it begins.
    before: Set,
    /// What begins after it has ended.
    after: Set,
}

impl Node<'_> {
    fn is_call_of(&self, holds: impl Fn(&Operation) -> bool) -> bool {
        self.operation.is_some_and(holds)
    }
}

/// The steps in an order in which they can run; a step in a cycle has none and is left out.
struct Order<'p> {
    nodes: Vec<Node<'p>>,
    places: BTreeMap<&'p str, usize>,
    /// Calls whose failure ends the plan or sends it back, and that are no effect of E's weight.
    can_fail: Set,
}

impl<'p> Order<'p> {
    fn of(pass: &'p Pass<'_>) -> Self {
        let written: BTreeMap<&str, (usize, &Step)> = pass
            .plan
            .steps
            .iter()
            .enumerate()
            .rev()
            .map(|(at, step)| (step.id.value.as_str(), (at, step)))
            .collect();
        let order = &pass.graph.order;
        let count = order.len();
        let mut sorted = Self {
            nodes: Vec::with_capacity(count),
            places: BTreeMap::new(),
            can_fail: Set::empty(count),
        };
        for (at, id) in order.iter().enumerate() {
            let mut before = Set::empty(count);
            for dep in pass.graph.after.get(id).into_iter().flatten() {
                if let Some(dep) = sorted.places.get(dep.as_str()).copied()
                    && let Some(node) = sorted.nodes.get(dep)
                {
                    before.put(dep);
                    before.put_all(&node.before);
                }
            }
            let Some((written, step)) = written.get(id.as_str()).copied() else {
                continue;
            };
            let operation = pass.operation(step).map(AsRef::as_ref);
            let is_light = |op: &Operation| op.effect <= Effect::Write;
            if operation.is_some_and(is_light) && step.on_failure != OnFailure::Continue {
                sorted.can_fail.put(at);
            }
            sorted.places.insert(id, at);
            sorted.nodes.push(Node {
                step,
                operation,
                written,
                before,
                after: Set::empty(count),
            });
        }
        sorted.look_back();
        sorted
    }

    /// Fills `after`: the other side of `before`.
    fn look_back(&mut self) {
        for at in 0..self.nodes.len() {
            let before = self.nodes.get(at).map(|node| node.before.clone());
            for first in before.iter().flat_map(Set::places) {
                if let Some(node) = self.nodes.get_mut(first) {
                    node.after.put(at);
                }
            }
        }
    }

    fn node(&self, at: usize) -> Option<&Node<'p>> {
        self.nodes.get(at)
    }
}

/// S709: an entry of `needs` that something else implies.
fn needless(pass: &Pass<'_>, order: &Order<'_>, at: usize, shape: &mut Shape) {
    let Some(node) = order.node(at) else { return };
    let id = &node.step.id.value;
    let reads = pass.graph.reads.get(id);
    let after: Vec<&Node<'_>> = pass
        .graph
        .after
        .get(id)
        .into_iter()
        .flatten()
        .filter_map(|other| order.node(*order.places.get(other.as_str())?))
        .collect();
    let mut implied = Set::empty(order.nodes.len());
    for other in &after {
        implied.put_all(&other.before);
    }
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for need in &node.step.needs {
        let first = seen.insert(&need.value);
        let Some(place) = order.places.get(need.value.as_str()).copied() else {
            continue;
        };
        let why = if !first {
            format!("`needs` names `{}` twice", need.value)
        } else if reads.is_some_and(|reads| reads.contains(&need.value)) {
            format!("`{id}` reads `{}`, so it waits for it anyway", need.value)
        } else if implied.has(place) {
            let through = after.iter().find(|other| other.before.has(place));
            let through = through.map_or("", |other| &other.step.id.value);
            format!(
                "`{id}` waits for `{through}`, which waits for `{}`",
                need.value
            )
        } else {
            continue;
        };
        shape.push(
            Diagnostic::new(Code::NeedlessOrder, need.span, why)
                .label("this orders nothing")
                .hint("leave it out: `needs` is for order that no data gives")
                .fix(Fix::LeaveOut)
                .step(id),
        );
    }
}

/// S711: an effect that cannot be taken back, beside a call that can still fail.
fn early(order: &Order<'_>, at: usize, shape: &mut Shape) {
    let Some(node) = order.node(at) else { return };
    if !node.is_call_of(|op| op.effect > Effect::Write) {
        return;
    }
    let beside = order
        .can_fail
        .clone()
        .without(&node.before)
        .without(&node.after);
    if beside.is_empty() {
        return;
    }
    let others: Vec<&Node<'_>> = beside.places().filter_map(|at| order.node(at)).collect();
    let id = &node.step.id.value;
    let names: Vec<String> = others
        .iter()
        .take(3)
        .map(|other| format!("`{}`", other.step.id.value))
        .collect();
    let more = match others.len().saturating_sub(names.len()) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let message = format!(
        "`{id}` cannot be taken back, and may happen before {}{more} fails",
        names.join(", ")
    );
    let mut finding = Diagnostic::new(Code::EarlyEffect, node.step.id.span, message)
        .label("nothing orders it and them")
        .hint(format!(
            "add them to the `needs` of `{id}`, or let them go on: `on_failure: continue`"
        ))
        .step(id);
    for other in others.iter().take(RELATED_MAX) {
        finding = finding.related(other.step.id.span, "may still fail");
    }
    shape.push(finding);
}

/// S710: a plain read that an earlier step made already.
fn repeated(order: &Order<'_>, shape: &mut Shape) {
    let mut written: Vec<(usize, &Node<'_>)> = order.nodes.iter().enumerate().collect();
    written.sort_by_key(|(_, node)| node.written);
    let mut changes: BTreeMap<&str, Set> = BTreeMap::new();
    let mut pauses = Set::empty(order.nodes.len());
    for (at, node) in order.nodes.iter().enumerate() {
        match node.operation {
            Some(operation) if operation.effect.is_read() => {}
            Some(operation) => {
                let of_server = changes.entry(operation.server());
                of_server
                    .or_insert_with(|| Set::empty(order.nodes.len()))
                    .put(at);
                pauses.put(at);
            }
            // A question to a person, or a tool that nobody knows.
            None => pauses.put(at),
        }
    }
    let mut firsts: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, node) in written {
        let Some((key, server)) = plain_read(node) else {
            continue;
        };
        let known = firsts.entry(key).or_default();
        let first = known
            .iter()
            .filter_map(|first| order.node(*first))
            .find(|first| {
                is_taken_for(first, node)
                    && !is_other_moment(first, node, changes.get(server), &pauses)
            });
        match first {
            Some(first) => {
                let (own, other) = (&node.step.id.value, &first.step.id.value);
                let message = format!("`{own}` reads what `{other}` has read already");
                shape.push(
                    Diagnostic::new(Code::RepeatedRead, node.step.id.span, message)
                        .related(first.step.id.span, "the same call")
                        .hint(format!("read `steps.{other}.output` instead"))
                        .step(own),
                );
            }
            None if known.len() < RELATED_MAX => known.push(at),
            None => {}
        }
    }
}

/// What makes two plain reads the same, and the server that is read.
fn plain_read<'n>(node: &'n Node<'_>) -> Option<(String, &'n str)> {
    let operation = node.operation.filter(|op| op.effect == Effect::Read)?;
    let StepKind::Tool { tool, .. } = &node.step.kind else {
        return None;
    };
    if node.step.for_each.is_some() {
        return None;
    }
    let args = node.step.value.get("args").unwrap_or(&Value::Null);
    let key = format!("{} {}", tool.value, canonical(args));
    Some((key, operation.server()))
}

/// Whether what `first` read is there wherever `later` runs.
fn is_taken_for(first: &Node<'_>, later: &Node<'_>) -> bool {
    let text = |node: &Node<'_>| node.step.when.as_ref().map(|when| when.text().to_owned());
    let runs = first.step.when.is_none() || text(first) == text(later);
    runs && first.step.on_failure != OnFailure::Continue
}

/// Whether the second reading may be another one: a change of the same server may run between the
/// two, or it is ordered after some change, or a person's answer, that the first is not.
fn is_other_moment(
    first: &Node<'_>,
    later: &Node<'_>,
    changes: Option<&Set>,
    pauses: &Set,
) -> bool {
    let may_lie_between = changes.is_some_and(|changes| {
        let before_both = first.before.clone().and(&later.before);
        let after_both = first.after.clone().and(&later.after);
        let between = changes.clone().without(&before_both).without(&after_both);
        !between.is_empty()
    });
    let waited = |one: &Node<'_>, other: &Node<'_>| {
        !pauses
            .clone()
            .and(&one.before)
            .without(&other.before)
            .is_empty()
    };
    may_lie_between || waited(later, first) || waited(first, later)
}
