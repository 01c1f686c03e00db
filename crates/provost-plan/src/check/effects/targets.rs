//! Writes that certainly reach one target: items of one list, and operations of one server.
//!
//! Owns only what is certain; two steps of one operation are compared in [`super`]. INVARIANT: a
//! finding here holds in every run in which both calls are made.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::Pass;
use crate::catalog::{Effect, Idempotency, Operation};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::{ArgTree, Root};
use crate::plan::{Step, StepKind};

/// Items of one list that make the same call, or overwrite one target at the same time.
///
/// Why not more: items that differ in content alone may well belong to one target, such as lines
/// of one log or messages to one person; only what deletes or overwrites is certain to clash.
pub(super) fn items(step: &Step, operation: &Operation) -> Option<Diagnostic> {
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

/// Two operations of one server that are given the same constant targets, one of them destructive,
/// in no order.
///
/// Why not more: two operations that share some target may well belong together; only where every
/// sink has the same name and value do both certainly reach the same.
pub(super) fn at_one_target(pass: &Pass<'_>) -> Vec<Diagnostic> {
    let mut groups: BTreeMap<(&str, String), Vec<(&Step, &Operation)>> = BTreeMap::new();
    for step in &pass.plan.steps {
        let (Some(operation), StepKind::Tool { args, .. }) = (pass.operation(step), &step.kind)
        else {
            continue;
        };
        // Why: guards may exclude each other.
        let guarded = step.when.is_some();
        if guarded || !matches!(operation.effect, Effect::Write | Effect::Destructive) {
            continue;
        }
        let sinks: Option<BTreeMap<&str, Value>> = args
            .entries()
            .iter()
            .filter(|(name, _)| operation.is_sink(name))
            .map(|(name, value)| Some((&**name, pass.fixed_tree(value)?)))
            .collect();
        if let Some(sinks) = sinks.filter(|sinks| !sinks.is_empty()) {
            let key = (operation.server(), json!(sinks).to_string());
            groups.entry(key).or_default().push((step, operation));
        }
    }
    let mut found = Vec::new();
    for group in groups.values() {
        for (at, (second, second_by)) in group.iter().enumerate() {
            let meets = |(first, first_by): &&(&Step, &Operation)| {
                let destroys = [first_by.effect, second_by.effect].contains(&Effect::Destructive);
                destroys
                    && first_by.name != second_by.name
                    && !pass.order.is_settled(&first.id.value, &second.id.value)
            };
            if let Some((first, _)) = group.iter().take(at).find(meets) {
                found.push(at_once(first, second, second_by));
            }
        }
    }
    found
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
