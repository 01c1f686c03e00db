//! Part of the pass `shape`: what a call is given against what its own `accept` and `confirm` ask.
//!
//! Owns S718. A field of an output that is called like an argument and can hold its value is taken
//! for that argument. INVARIANT: what is found compares two values that are known before the run.

use serde_json::Value;

use super::solve::meets;
use crate::check::scope::Site;
use crate::check::typing::TypedPlace;
use crate::check::{FixedEntry, Pass};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::digest::canonical;
use crate::expr::cases::{Demand, DemandSubject, cases};
use crate::expr::tree::Compare;
use crate::expr::{ArgTree, Key, Root, Segment, Template};
use crate::plan::{Step, StepKind};

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    for step in &pass.plan.steps {
        let StepKind::Tool { args, .. } = &step.kind else {
            continue;
        };
        if pass.operation(step).is_none_or(|op| op.effect.is_read()) {
            continue;
        }
        let own = step.accept.iter().map(|accept| (accept, Root::Output));
        let confirm = step.confirm.iter().flat_map(|confirm| &confirm.accept);
        let site = Site::confirmed(pass, step);
        for (accept, about) in own.chain(confirm.map(|accept| (accept, Root::Read))) {
            found.extend(other_value(pass, &site, (step, args), accept, &about));
        }
        if let Some(confirm) = &step.confirm {
            found.extend(other_target(pass, step, args, &confirm.args));
        }
    }
}

/// An acceptance that asks for another value than the one that the call is given.
fn other_value(
    pass: &Pass<'_>,
    site: &Site<'_>,
    (step, args): (&Step, &ArgTree),
    accept: &Template,
    about: &Root,
) -> Option<Diagnostic> {
    let parts = accept.whole()?.conjuncts().iter();
    let mut demands = parts.filter_map(|part| {
        let mut cases = cases(part, true)?;
        let only = cases.pop()?;
        cases.is_empty().then_some(only)
    });
    demands.find_map(|case| {
        case.into_iter().find_map(|(subject, demand)| {
            let (name, value) = argument(pass, args, &subject, about)?;
            let is_other = asks_for_one(&demand, &value) && !meets(&value, &demand);
            if !is_other || !can_hold(pass, site, &subject, &value) {
                return None;
            }
            let id = &step.id.value;
            let given = canonical(&value);
            let message = format!("`{id}` is given the `{name}` {given}, and accepts another");
            Some(
                Diagnostic::new(Code::OtherThanGiven, accept.span(), message)
                    .related(args.span(), "given here")
                    .hint(format!("ask for what the call is given: {given}"))
                    .step(id),
            )
        })
    })
}

/// The argument that a demand is about, with its value, if that is known.
fn argument(
    pass: &Pass<'_>,
    args: &ArgTree,
    subject: &DemandSubject,
    about: &Root,
) -> Option<(String, Value)> {
    let Some(Segment::Field(name)) = subject.path.last() else {
        return None;
    };
    if subject.root != *about || subject.is_size {
        return None;
    }
    let value = sent(pass, args.get(name)?)?;
    Some((name.clone(), value))
}

/// The value that is sent of an entry, if that is known.
fn sent(pass: &Pass<'_>, entry: &(Key, ArgTree)) -> Option<Value> {
    match pass.fixed_entry(entry)? {
        FixedEntry::Sent(value) => Some(value),
        FixedEntry::LeftOut => None,
    }
}

/// Whether a demand asks for certain values of the kind of another.
fn asks_for_one(demand: &Demand, value: &Value) -> bool {
    let is_like = |other: &Value| {
        value.is_string() && other.is_string()
            || value.is_number() && other.is_number()
            || value.is_boolean() && other.is_boolean()
    };
    match demand {
        Demand::Compares(Compare::Equal, other) => is_like(other),
        Demand::Among(others, true) => !others.is_empty() && others.iter().all(is_like),
        Demand::Compares(..) | Demand::Among(..) | Demand::Nothing => false,
    }
}

/// Whether the place that is looked at can hold the value: else it is another thing of that name.
fn can_hold(pass: &Pass<'_>, site: &Site<'_>, subject: &DemandSubject, value: &Value) -> bool {
    match pass.place(site, &subject.root, &subject.path) {
        TypedPlace::Typed(typed) => !typed.is_reported() && !typed.to_type().excludes(value),
        TypedPlace::Absent { .. } => false,
    }
}

/// A confirming read that is given another value than the write, or one for all items.
fn other_target(
    pass: &Pass<'_>,
    step: &Step,
    args: &ArgTree,
    confirm: &ArgTree,
) -> Option<Diagnostic> {
    let varies = |tree: &ArgTree| {
        let mut read = tree.templates().into_iter().flat_map(|t| t.references());
        read.any(|read| matches!(read.root, Root::Item | Root::Index))
    };
    let id = &step.id.value;
    args.entries().iter().find_map(|entry| {
        let (name, given) = entry;
        let read_entry = confirm.get(name)?;
        let (_, read) = read_entry;
        let read_value = sent(pass, read_entry)?;
        let message = match sent(pass, entry) {
            Some(given) if given != read_value => format!(
                "`{id}` is given the `{}` {}, and `confirm` reads {}",
                &**name,
                canonical(&given),
                canonical(&read_value)
            ),
            None if varies(given) => format!(
                "`confirm` of `{id}` reads the same `{}` for every item",
                &**name
            ),
            _ => return None,
        };
        Some(
            Diagnostic::new(Code::OtherThanGiven, read.span(), message)
                .related(given.span(), "given here")
                .hint("read back what the call has written")
                .step(id),
        )
    })
}
