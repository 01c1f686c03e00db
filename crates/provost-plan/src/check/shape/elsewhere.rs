//! Part of the pass `shape`: a read that looks at another thing than the write that it is for.
//!
//! Owns S727. What decides a write, or waits for it, is told to be about the write by what both
//! are given under one name. INVARIANT: both values are known before the run, and no other read of
//! that operation looks at what the write reaches.

use serde_json::Value;

use crate::check::Pass;
use crate::check::graph::{references, step_of};
use crate::check::order::OrderNode;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::digest::canonical;
use crate::expr::{ArgTree, Key};
use crate::plan::{CallRole, Step, StepKind};

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    for node in pass.order.nodes() {
        if !node.is_call_of(|op| !op.effect.is_read()) {
            continue;
        }
        let other = decided_elsewhere(pass, node).or_else(|| awaited_elsewhere(pass, node));
        found.extend(other.map(|odd| odd.finding(node.step)));
    }
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
