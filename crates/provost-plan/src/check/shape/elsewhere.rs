//! Part of the pass `shape`: a read that looks at another thing than the write that it is for.
//!
//! Owns S727. What decides a write, or waits for it, is told to be about the write by what both
//! are given under one name. INVARIANT: both values are known before the run, and no other read of
//! that operation looks at what the write reaches; or it is a constant that stands nowhere else,
//! where all other calls are given one value.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::check::Pass;
use crate::check::graph::{references, step_of};
use crate::check::order::OrderNode;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::digest::canonical;
use crate::expr::{ArgTree, Key, Segment};
use crate::plan::{CallRole, Step, StepKind};
use crate::schema::PathType;

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    for node in pass.order.nodes() {
        if !node.is_call_of(|op| !op.effect.is_read()) {
            continue;
        }
        let other = decided_elsewhere(pass, node).or_else(|| awaited_elsewhere(pass, node));
        found.extend(other.map(|odd| odd.finding(node.step)));
    }
    found.extend(odd_ones(pass));
}

/// Fewest letters of a constant that is looked for in a text.
const CONSTANT_CHARS_MIN: usize = 3;
/// Most arguments of a plan that are compared.
const ARGUMENTS_MAX: usize = 4_000;

/// An argument of a call.
#[derive(Clone, Copy)]
struct Given<'p> {
    step: &'p Step,
    tool: &'p str,
    tree: &'p ArgTree,
}

/// Reads that are given a constant which stands nowhere else in the plan, where every other call is
/// given one and the same value by that name.
fn odd_ones(pass: &Pass<'_>) -> Vec<Diagnostic> {
    let mut by_name: BTreeMap<&str, Vec<Given<'_>>> = BTreeMap::new();
    let calls = pass.plan.steps.iter().filter_map(|step| match &step.kind {
        StepKind::Tool { tool, args } => Some((step, tool.value.as_str(), args)),
        _ => None,
    });
    let each = calls.flat_map(|(step, tool, args)| {
        let entries = args.entries().iter();
        entries.map(move |(name, tree)| (name.as_str(), Given { step, tool, tree }))
    });
    for (name, given) in each.take(ARGUMENTS_MAX) {
        by_name.entry(name).or_default().push(given);
    }
    let all = by_name.iter();
    all.filter_map(|(name, all)| odd_one(pass, name, all))
        .collect()
}

fn odd_one(pass: &Pass<'_>, name: &str, all: &[Given<'_>]) -> Option<Diagnostic> {
    let mut forms: BTreeMap<String, Vec<&Given<'_>>> = BTreeMap::new();
    for given in all {
        let form = match pass.fixed_tree(given.tree) {
            Some(value) => canonical(&value),
            None => given.tree.form(),
        };
        forms.entry(form).or_default().push(given);
    }
    let mut groups = forms.values();
    let (Some(one), Some(two), None) = (groups.next(), groups.next(), groups.next()) else {
        return None;
    };
    let (odd, others) = match (one.as_slice(), two.as_slice()) {
        ([one], [_]) if is_constant(pass, name, one) => (*one, two),
        ([_], [two]) => (*two, one),
        ([one], _) => (*one, two),
        (_, [two]) => (*two, one),
        _ => return None,
    };
    let first = others.first()?;
    let value = pass.fixed_tree(odd.tree)?;
    if !is_meant(pass, odd, others) || !is_constant(pass, name, odd) {
        return None;
    }
    let id = &odd.step.id.value;
    let message = format!(
        "`{id}` alone is given the `{name}` {}, which stands nowhere else",
        canonical(&value)
    );
    Some(
        Diagnostic::new(Code::ReadElsewhere, odd.tree.span(), message)
            .related(first.tree.span(), "what the others are given")
            .hint("look at what the others look at, or name it in the goal")
            .step(id),
    )
}

/// Whether the value that the others are given is the one that is meant: two of them have it, and
/// the goal names it or a write is given it; or the same read is made again after a write.
fn is_meant(pass: &Pass<'_>, odd: &Given<'_>, others: &[&Given<'_>]) -> bool {
    let acts = |step: &Step| pass.operation(step).is_some_and(|op| !op.effect.is_read());
    let value = others.first().and_then(|one| pass.fixed_tree(one.tree));
    let is_named = value.is_some_and(|value| pass.terms.goal.place_of(&value).is_some());
    let is_written = || others.iter().any(|one| acts(one.step));
    if others.len() > 1 && (is_named || is_written()) {
        return true;
    }
    let own = &odd.step.id.value;
    let mut same = others.iter().filter(|one| one.tool == odd.tool);
    same.any(|one| {
        let other = &one.step.id.value;
        let order = &pass.order;
        let between = |write: &Step| {
            let id = &write.id.value;
            order.is_before(own, id) && order.is_before(id, other)
                || order.is_before(other, id) && order.is_before(id, own)
        };
        let mut steps = pass.plan.steps.iter();
        steps.any(|step| acts(step) && between(step))
    })
}

/// Whether a plain read is given a constant that names one of many things, and that nothing else in
/// the plan says.
fn is_constant(pass: &Pass<'_>, name: &str, given: &Given<'_>) -> bool {
    let reads = pass.operation(given.step).filter(|op| op.effect.is_read());
    let Some(Value::String(text)) = pass.fixed_tree(given.tree) else {
        return false;
    };
    let field = [Segment::Field(name.to_owned())];
    let is_named = reads.is_some_and(|op| match op.input.ty().at(&field) {
        PathType::Known { ty, .. } => {
            let schema = ty.to_json();
            ty.values().is_empty()
                && (schema.get("pattern").is_some() || schema.get("format").is_some())
        }
        _ => false,
    });
    is_named
        && given.tree.templates().is_empty()
        && text.chars().count() >= CONSTANT_CHARS_MIN
        && pass.plan.source.text.matches(text.as_str()).count() == 1
        && pass.terms.goal.place_of(&Value::String(text)).is_none()
}

/// A read, and the argument by which it looks elsewhere.
struct Elsewhere<'p> {
    read: &'p Step,
    entry: &'p (Key, ArgTree),
    value: Value,
    /// What the write is given by that name.
    given: Value,
    why: &'static str,
}

impl Elsewhere<'_> {
    fn finding(self, write: &Step) -> Diagnostic {
        let (id, name) = (&self.read.id.value, self.entry.0.as_str());
        let message = format!(
            "`{id}` {} the `{name}` {}, and `{}` is given {}",
            self.why,
            canonical(&self.value),
            write.id.value,
            canonical(&self.given)
        );
        Diagnostic::new(Code::ReadElsewhere, self.entry.1.span(), message)
            .related(write.id.span, "the write that it is for")
            .hint("look at what the write reaches, or at both")
            .step(id)
    }
}

fn args(step: &Step) -> Option<&ArgTree> {
    match &step.kind {
        StepKind::Tool { args, .. } => Some(args),
        _ => None,
    }
}

/// A read that decides about a write, where the same read of the `confirm` looks at what the write
/// is given, and no step before the write does.
fn decided_elsewhere<'p>(pass: &'p Pass<'_>, write: &OrderNode<'_>) -> Option<Elsewhere<'p>> {
    let own = args(write.step)?;
    let confirm = write.step.confirm.as_ref()?;
    let called = pass.called(write.step, CallRole::Confirm)?;
    let before: Vec<&Step> = pass
        .plan
        .steps
        .iter()
        .filter(|step| {
            let is_same = pass
                .operation(step)
                .is_some_and(|op| op.name == called.name);
            is_same && pass.order.is_before(&step.id.value, &write.step.id.value)
        })
        .collect();
    let is_like = |step: &&Step| {
        let given = args(step).map(ArgTree::form);
        given == Some(confirm.args.form())
    };
    if before.iter().any(is_like) {
        return None;
    }
    before.into_iter().find_map(|read| {
        let given = args(read)?;
        // Why all but one: what differs in more is asked for another reason.
        let mut differ = given.entries().iter().filter(|(name, tree)| {
            let there = confirm.args.get(name).map(|(_, tree)| tree.form());
            there != Some(tree.form())
        });
        let (entry, None) = (differ.next()?, differ.next()) else {
            return None;
        };
        if given.entries().len() != confirm.args.entries().len() || !decides(pass, read, write) {
            return None;
        }
        let value = pass.fixed_tree(&entry.1)?;
        let given = pass.fixed_tree(&own.get(&entry.0)?.1)?;
        let there = pass.fixed_tree(&confirm.args.get(&entry.0)?.1)?;
        (value != given && there == given).then_some(Elsewhere {
            read,
            entry,
            value,
            given,
            why: "looks at",
        })
    })
}

/// Whether a write runs or goes over what a read has found, by itself or by an assertion before it.
fn decides(pass: &Pass<'_>, read: &Step, write: &OrderNode<'_>) -> bool {
    let id = read.id.value.as_str();
    let mut own = references(write.step).filter_map(step_of);
    let mut asserted = pass.order.assertions(&write.step.id.value);
    own.any(|read| read == id)
        || asserted.any(|step| references(step).filter_map(step_of).any(|read| read == id))
}

/// A poll that waits for a write, and is given by the same name what no write before it is given.
fn awaited_elsewhere<'p>(pass: &'p Pass<'_>, write: &OrderNode<'_>) -> Option<Elsewhere<'p>> {
    let id = write.step.id.value.as_str();
    let server = write.operation?.server();
    let own = args(write.step)?;
    // Why the `until` first: few steps have one, and this looks at all steps for each write.
    let mut polls = pass.plan.steps.iter().filter(|step| {
        step.until.is_some()
            && pass.operation(step).is_some_and(|op| op.effect.is_read())
            && pass
                .graph
                .after
                .get(&step.id.value)
                .is_some_and(|waits| waits.contains(id))
    });
    polls.find_map(|poll| {
        if pass.operation(poll)?.server() != server {
            return None;
        }
        args(poll)?.entries().iter().find_map(|entry| {
            let value = pass.fixed_tree(&entry.1)?;
            let given = pass.fixed_tree(&own.get(&entry.0)?.1)?;
            let reached = pass.order.nodes().iter().any(|other| {
                let is_before = pass.order.is_before(&other.step.id.value, &poll.id.value);
                let given = args(other.step).and_then(|args| args.get(&entry.0));
                let acts = other.is_call_of(|op| !op.effect.is_read());
                // Why what is not known too: it may be the same.
                acts && is_before
                    && given.is_some_and(|(_, tree)| {
                        pass.fixed_tree(tree).is_none_or(|given| given == value)
                    })
            });
            (value != given && !reached).then_some(Elsewhere {
                read: poll,
                entry,
                value,
                given,
                why: "waits for",
            })
        })
    })
}
