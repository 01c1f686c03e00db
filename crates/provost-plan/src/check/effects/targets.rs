//! Writes that certainly reach one target: items of one list, and operations of one server.
//!
//! Owns only what is certain; two steps of one operation are compared in [`super`]. INVARIANT: a
//! finding here holds in every run in which both calls are made.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::shape::Exclusions;
use super::super::{FixedEntry, Pass};
use super::opposites::Opposites;
use crate::catalog::{Effect, Idempotency, Operation};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::digest::canonical;
use crate::expr::{ArgTree, Root};
use crate::plan::{CallRole, Field, Step, StepKind};

/// Most pairs of writes that are compared.
const PAIRS_MAX: usize = 20_000;

/// Items of one list that make the same call, or overwrite one target at the same time.
///
/// Why not more: items that differ in content alone may well belong to one target, such as lines
/// of one log or messages to one person; only what deletes or overwrites is certain to clash.
pub(super) fn items(pass: &Pass<'_>, step: &Step, operation: &Operation) -> Option<Diagnostic> {
    let each = step.for_each.as_ref()?;
    let StepKind::Tool { args, .. } = &step.kind else {
        return None;
    };
    if each.max_items.value < 2 {
        return None;
    }
    let varies = |value: &ArgTree| {
        let mut read = value.templates().into_iter().flat_map(|t| t.references());
        read.any(|r| matches!(r.root, Root::Item | Root::Index))
    };
    let id = &step.id.value;
    if !args.entries().iter().any(|(_, value)| varies(value)) {
        if step.approval_required {
            return None;
        }
        let message = format!("`{id}` makes the same call for every item");
        // Why: what changes nothing more is only made in vain.
        let in_vain = operation.effect.is_read() || operation.idempotency == Idempotency::Natural;
        let (code, hint) = match in_vain {
            true => (
                Code::RepeatedRead,
                "read `item` in its arguments, or leave `for_each` out",
            ),
            false => (
                Code::RepeatedCall,
                "read `item` in its arguments, or say that it is meant: `approval: required`",
            ),
        };
        return Some(
            Diagnostic::new(code, step.id.span, message)
                .related(each.list.span(), "once for each item of this list")
                .hint(hint)
                .step(id),
        );
    }
    if let Some(finding) = equal_items(pass, step, operation) {
        return Some(finding);
    }
    let mut sinks = args
        .entries()
        .iter()
        .filter(|(name, _)| operation.is_sink(name));
    let settled = operation.idempotency == Idempotency::Natural;
    if settled || operation.effect != Effect::Destructive || sinks.any(|(_, value)| varies(value)) {
        return None;
    }
    let message = format!("the items of `{id}` write to one target at the same time");
    Some(
        Diagnostic::new(Code::ConcurrentWrites, step.id.span, message)
            .label(format!("`{}` is destructive", operation.name))
            .related(each.list.span(), "nothing orders the items of a list")
            .hint("read `item` in an argument that decides the target")
            .step(id),
    )
}

/// Two items of a list that is known before the run, which make one call.
fn equal_items(pass: &Pass<'_>, step: &Step, operation: &Operation) -> Option<Diagnostic> {
    let each = step.for_each.as_ref()?;
    let by_index = step
        .templates()
        .into_iter()
        .filter(|(field, _)| *field == Field::Args(CallRole::Own))
        .any(|(_, template)| template.references().any(|read| read.root == Root::Index));
    if by_index || step.approval_required || operation.idempotency == Idempotency::Natural {
        return None;
    }
    let Value::Array(items) = pass.fixed(&each.list)? else {
        return None;
    };
    let mut seen = BTreeMap::new();
    let (first, second, item) = items.iter().enumerate().find_map(|(at, item)| {
        let before = seen.insert(canonical(item), at)?;
        Some((before, at, item))
    })?;
    let id = &step.id.value;
    let message = format!("items {first} and {second} of `{id}` make the same call");
    let code = match operation.effect.is_read() {
        true => Code::RepeatedRead,
        false => Code::RepeatedCall,
    };
    Some(
        Diagnostic::new(code, step.id.span, message)
            .related(
                each.list.span(),
                format!("{} stands here twice", canonical(item)),
            )
            .hint("name each item once, or say that it is meant: `approval: required`")
            .step(id),
    )
}

/// A write to targets that can be compared.
struct Targeted<'a> {
    step: &'a Step,
    operation: &'a Operation,
    /// Each argument that decides the target: its value if that is known, else as it is written.
    sinks: BTreeMap<&'a str, String>,
    /// Whether all of them are known.
    known: bool,
}

/// Two operations of one server that are given the same targets, in no order: one of them is
/// destructive, or one takes back what the other does.
///
/// Why not more: two operations that share some target may well belong together; only where every
/// sink has the same name and value do both certainly reach the same.
pub(super) fn at_one_target(pass: &Pass<'_>, exclusions: &Exclusions<'_, '_>) -> Vec<Diagnostic> {
    let mut servers: BTreeMap<&str, Vec<Targeted<'_>>> = BTreeMap::new();
    for write in pass
        .plan
        .steps
        .iter()
        .filter_map(|step| targeted(pass, step))
    {
        let server = write.operation.server();
        servers.entry(server).or_default().push(write);
    }
    let opposites = Opposites::of(pass.plan);
    let mut found = Vec::new();
    let mut compared = 0;
    for group in servers.values() {
        // Why asked once: writes of one operation are never found here, and most are.
        let mut names = group.iter().map(|write| write.operation.name.as_str());
        let first = names.next();
        let are_mixed = names.any(|name| Some(name) != first);
        for (at, second) in group.iter().enumerate() {
            let meets = |first: &&Targeted<'_>| {
                first.operation.name != second.operation.name
                    && clash(first, second, &opposites)
                    && !pass
                        .order
                        .is_settled(&first.step.id.value, &second.step.id.value)
                    && !exclusions.exclude(first.step, second.step)
            };
            compared += at;
            if compared > PAIRS_MAX {
                return found;
            }
            let mut before = group.iter().take(if are_mixed { at } else { 0 });
            if let Some(first) = before.find(meets) {
                found.push(at_once(first.step, second.step, second.operation));
            }
        }
    }
    found
}

/// A step that writes, with what decides its target; none where that hangs on an item, or where the
/// run decides whether it is sent.
fn targeted<'a>(pass: &Pass<'a>, step: &'a Step) -> Option<Targeted<'a>> {
    let (Some(operation), StepKind::Tool { args, .. }) = (pass.operation(step), &step.kind) else {
        return None;
    };
    // Why not what has ended: it runs beside nothing.
    if operation.effect.is_read() || pass.base.over.contains(&step.id.value) {
        return None;
    }
    let written = step.value.get("args");
    let mut known = true;
    let mut sinks = BTreeMap::new();
    for entry in args.entries() {
        let (name, value) = entry;
        if !operation.is_sink(name) {
            continue;
        }
        let mut read = value.templates().into_iter().flat_map(|t| t.references());
        if read.any(|r| matches!(r.root, Root::Item | Root::Index)) {
            return None;
        }
        let text = match pass.fixed_entry(entry) {
            Some(FixedEntry::Sent(value)) => canonical(&value),
            Some(FixedEntry::LeftOut) => continue,
            None if name.may_be_left_out() => return None,
            None => {
                known = false;
                canonical(written?.get(name.written())?)
            }
        };
        sinks.insert(&**name, text);
    }
    (!sinks.is_empty()).then_some(Targeted {
        step,
        operation,
        sinks,
        known,
    })
}

/// Whether two writes certainly reach one target, and the order of the two decides what is left.
fn clash(first: &Targeted<'_>, second: &Targeted<'_>, opposites: &Opposites<'_>) -> bool {
    let effects = [first.operation.effect, second.operation.effect];
    let overwrites = effects.contains(&Effect::Destructive)
        && !effects.contains(&Effect::External)
        && (first.step.when.is_none() && second.step.when.is_none());
    if overwrites && first.known && second.known && first.sinks == second.sinks {
        return true;
    }
    let (fewer, more) = match first.sinks.len() <= second.sinks.len() {
        true => (&first.sinks, &second.sinks),
        false => (&second.sinks, &first.sinks),
    };
    let same = fewer
        .iter()
        .all(|(name, value)| more.get(name) == Some(value));
    same && opposites.are(&first.operation.name, &second.operation.name)
}

fn at_once(first: &Step, second: &Step, by: &Operation) -> Diagnostic {
    let message = format!(
        "`{}` and `{}` may write to one target at the same time",
        first.id.value, second.id.value
    );
    Diagnostic::new(Code::ConcurrentWrites, second.id.span, message)
        .label(format!("calls `{}`", by.name))
        .related(first.id.span, "nothing orders these two")
        .hint(format!(
            "add `needs: [{}]` to `{}`",
            first.id.value, second.id.value
        ))
        .step(&second.id.value)
}
