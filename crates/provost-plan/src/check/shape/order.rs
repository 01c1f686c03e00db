//! Part of the pass `shape`: steps against their order.
//!
//! Owns needless order, readings taken twice, and effects that come before what can still fail.
//! INVARIANT: the work is one set of steps for each step, never a comparison of every pair by name.

use std::collections::{BTreeMap, BTreeSet};

use super::exclusive::Exclusions;
use crate::catalog::{Effect, Idempotency};
use crate::check::Pass;
use crate::check::graph::{all_references, step_of};
use crate::check::order::{Order, OrderNode, StepSet};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::{Fact, Template};
use crate::fix::Fix;
use crate::plan::{OnFailure, Step, StepKind};

/// Most places that one finding points at beside its own.
const RELATED_MAX: usize = 8;

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    // What ends the plan or sends it back if it fails, and is no effect of E's weight.
    let can_fail = pass.order.all(|node| {
        let is_light = node.is_call_of(|op| op.effect <= Effect::Write);
        let is_light = is_light || node.step.assertion().is_some();
        // Why not what has ended: it fails no more.
        let is_over = pass.base.over.contains(&node.step.id.value);
        is_light && !is_over && node.step.on_failure != OnFailure::Continue
    });
    let exclusions = Exclusions::of(pass);
    for node in pass.order.nodes() {
        needless(pass, node, found);
        early((&pass.order, &exclusions), node, &can_fail, found);
    }
    unheeded(pass, found);
    repeated(pass, found);
    settled(pass, found);
}

/// S709: an entry of `needs` that something else implies.
fn needless(pass: &Pass<'_>, node: &OrderNode<'_>, found: &mut Vec<Diagnostic>) {
    let (order, id) = (&pass.order, &node.step.id.value);
    // Why of its `when` alone, where it is a subgoal: the steps that refine it wait for what that
    // reads, and not for what its result does.
    let when = node.step.when.iter().flat_map(Template::references);
    let in_when: BTreeSet<String> = when.filter_map(step_of).map(str::to_owned).collect();
    let reads = match node.step.subgoal() {
        Some(_) => Some(&in_when),
        None => pass.graph.reads.get(id),
    };
    let of_subgoal = || {
        in_when
            .iter()
            .chain(node.step.needs.iter().map(|n| &n.value))
    };
    let after: BTreeSet<&String> = match node.step.subgoal() {
        Some(_) => of_subgoal().collect(),
        None => pass.graph.after.get(id).into_iter().flatten().collect(),
    };
    let after: Vec<(&str, usize)> = after
        .into_iter()
        .filter_map(|other| Some((other.as_str(), order.place(other)?)))
        .collect();
    let mut implied = order.none();
    for (_, other) in &after {
        order
            .node(*other)
            .into_iter()
            .for_each(|node| implied.add(&node.certain));
    }
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for need in &node.step.needs {
        let first = seen.insert(&need.value);
        let Some(place) = order.place(&need.value) else {
            continue;
        };
        let why = if !first {
            format!("`needs` names `{}` twice", need.value)
        } else if reads.is_some_and(|reads| reads.contains(&need.value)) {
            format!("`{id}` reads `{}`, so it waits for it anyway", need.value)
        } else if implied.contains(place) {
            let holds = |at: usize| {
                order
                    .node(at)
                    .is_some_and(|node| node.certain.contains(place))
            };
            let through = after.iter().find(|(_, other)| holds(*other));
            let through = through.map_or("", |(other, _)| *other);
            format!(
                "`{id}` waits for `{through}`, which waits for `{}`",
                need.value
            )
        } else {
            continue;
        };
        found.push(
            Diagnostic::new(Code::NeedlessOrder, need.span, why)
                .label("this orders nothing")
                .hint("leave it out: `needs` is for order that no data gives")
                .fix(Fix::LeaveOut)
                .step(id),
        );
    }
}

/// S711: an effect that cannot be taken back, beside a call that can still fail.
fn early(
    (order, exclusions): (&Order<'_>, &Exclusions<'_, '_>),
    node: &OrderNode<'_>,
    can_fail: &StepSet,
    found: &mut Vec<Diagnostic>,
) {
    if !node.is_call_of(|op| op.effect > Effect::Write) {
        return;
    }
    let beside = can_fail.clone().without(&node.before).without(&node.after);
    let others = beside.iter().filter_map(|at| order.node(at));
    // Why not what excludes it: where this runs, that does not, and so does not fail.
    let others = others.filter(|other| !exclusions.exclude(node.step, other.step));
    let others: Vec<&OrderNode<'_>> = others.collect();
    if others.is_empty() {
        return;
    }
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
        "`{id}` cannot be undone, and does not wait for {}{more}, which may still fail",
        names.join(", ")
    );
    let needs: Vec<&str> = others.iter().map(|o| o.step.id.value.as_str()).collect();
    let needs = match needs.len() {
        0..=3 => format!("`needs: [{}]`", needs.join(", ")),
        _ => format!(
            "`needs: [{}, …]`",
            needs.into_iter().take(3).collect::<Vec<_>>().join(", ")
        ),
    };
    let mut finding = Diagnostic::new(Code::EarlyEffect, node.step.id.span, message)
        .label("may happen first")
        .hint(format!(
            "write {needs} at `{id}` so that it comes last; or `on_failure: continue` at what the \
             plan can go on without"
        ))
        .step(id);
    for other in others.iter().take(RELATED_MAX) {
        finding = finding.related(other.step.id.span, "may still fail");
    }
    found.push(finding);
}

/// Whether a step is a question of which one answer is accepted, and without it nothing goes on.
fn must_be_answered(step: &Step) -> bool {
    let asks = matches!(step.kind, StepKind::Question { .. });
    asks && !step.accept.is_empty() && step.on_failure != OnFailure::Continue
}

/// Whether the plan reads anything of a step.
fn is_read(pass: &Pass<'_>, id: &str) -> bool {
    all_references(pass.plan).any(|read| step_of(read) == Some(id))
}

/// S702: an assertion or an answer that nothing waits for, beside a write that it may be meant for.
fn unheeded(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    let order = &pass.order;
    let writes = order.all(|node| node.is_call_of(|op| !op.effect.is_read()));
    // Why not what weighs more: S711 says it of that.
    let plain = order.all(|node| node.is_call_of(|op| op.effect == Effect::Write));
    for node in order.nodes() {
        let id = &node.step.id.value;
        if node.step.assertion().is_some() && node.step.asserted().is_none() && !is_read(pass, id) {
            let message = format!("nothing looks at how `{id}` ends, and all goes on if it fails");
            found.push(
                Diagnostic::new(Code::UnreadOutput, node.step.id.span, message)
                    .hint(format!(
                        "leave out `on_failure: continue`, or read `steps.{id}.status`"
                    ))
                    .step(id),
            );
        }
        let is_meant = node.step.asserted().is_some() || must_be_answered(node.step);
        if !is_meant || !writes.clone().and(&node.after).is_empty() {
            continue;
        }
        let beside = plain.clone().without(&node.before);
        let first = beside.iter().find_map(|at| order.node(at));
        if let Some(write) = first.map(|node| node.step) {
            let other = &write.id.value;
            let message = format!("nothing waits for `{id}`: `{other}` may run although it fails");
            found.push(
                Diagnostic::new(Code::UnreadOutput, node.step.id.span, message)
                    .related(write.id.span, "does not wait for it")
                    .hint(format!("add `{id}` to the `needs` of `{other}`"))
                    .step(id),
            );
        }
    }
}

/// S710: a plain read that an earlier step made already.
fn repeated(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    let order = &pass.order;
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let ids = pass.plan.steps.iter().map(|step| step.id.value.as_str());
    let written = ids
        .filter(|id| seen.insert(id))
        .filter_map(|id| order.place(id));
    let changes = order.writers();
    // A question to a person, and a tool that nobody knows, pause as a change does.
    let pauses = order.all(|node| node.operation.is_none_or(|op| !op.effect.is_read()));
    let mut firsts: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for at in written {
        let node = order.node(at);
        let Some((node, (key, server))) = node.and_then(|node| Some((node, plain_read(node)?)))
        else {
            continue;
        };
        let known = firsts.entry(key).or_default();
        let first = known
            .iter()
            .filter_map(|first| order.node(*first))
            .find(|first| {
                // Why not what an earlier plan read: it is read again because time has passed.
                let is_over = |node: &OrderNode<'_>| pass.base.over.contains(&node.step.id.value);
                is_taken_for(first, node)
                    && is_over(first) == is_over(node)
                    && !is_other_moment(first, node, changes.get(server), &pauses)
            });
        match first {
            Some(first) => {
                let (own, other) = (&node.step.id.value, &first.step.id.value);
                let message = format!("`{own}` reads what `{other}` has read already");
                found.push(
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

/// S710: a call that sets what an earlier one has set, while nothing in between changes anything.
fn settled(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    let order = &pass.order;
    let acts = order.all(|node| node.operation.is_none_or(|op| !op.effect.is_read()));
    let sets = order.all(|node| {
        let is_natural = node.is_call_of(|op| op.idempotency == Idempotency::Natural);
        is_natural && node.step.for_each.is_none() && !node.step.approval_required
    });
    let call = |step: &Step| match &step.kind {
        StepKind::Tool { tool, args } => Some((tool.value.clone(), args.form())),
        _ => None,
    };
    let mut firsts: BTreeMap<(String, String), Vec<&OrderNode<'_>>> = BTreeMap::new();
    for node in sets.and(&acts).iter().filter_map(|at| order.node(at)) {
        let Some(key) = call(node.step) else {
            continue;
        };
        let known = firsts.entry(key).or_default();
        let first = known.iter().find(|first| {
            let between = first.after.clone().and(&node.before).and(&acts);
            let is_over = pass.base.over.contains(&first.step.id.value);
            let is_before = order.is_before(&first.step.id.value, &node.step.id.value);
            let is_made = is_taken_for(first, node) || asks_for(node.step, &first.step.id.value);
            is_before && is_made && between.is_empty() && !is_over && node.step.fresh.is_none()
        });
        if let Some(first) = first {
            let (own, other) = (&node.step.id.value, &first.step.id.value);
            let message =
                format!("`{own}` makes the same call as `{other}`, and it changes nothing");
            found.push(
                Diagnostic::new(Code::RepeatedRead, node.step.id.span, message)
                    .related(first.step.id.span, "the same call")
                    .hint("remove one of them, or say that it is meant: `approval: required`")
                    .step(own),
            );
        }
        known.push(node);
    }
}

/// Whether a step runs only where another has succeeded.
pub(super) fn asks_for(step: &Step, id: &str) -> bool {
    let facts = step.when.iter().flat_map(|when| when.facts_if_true());
    let mut known = facts.filter_map(|fact| match fact {
        Fact::Status { step, words } if step == id => Some(words),
        _ => None,
    });
    known.any(|words| words.iter().all(|word| word == "succeeded"))
}

/// What makes two plain reads the same, and the server that is read.
fn plain_read<'n>(node: &'n OrderNode<'_>) -> Option<(String, &'n str)> {
    let operation = node.operation.filter(|op| op.effect == Effect::Read)?;
    let StepKind::Tool { tool, args } = &node.step.kind else {
        return None;
    };
    if node.step.for_each.is_some() {
        return None;
    }
    let key = format!("{} {}", tool.value, args.form());
    Some((key, operation.server()))
}

/// Whether what `first` read is there wherever `later` runs.
fn is_taken_for(first: &OrderNode<'_>, later: &OrderNode<'_>) -> bool {
    let form = |node: &OrderNode<'_>| node.step.when.as_ref().map(Template::form);
    let runs = first.step.when.is_none() || form(first) == form(later);
    runs && !first.step.on_failure.may_go_on()
}

/// Whether the second reading may be another one: a change of the same server runs between the
/// two, or it is ordered after some change, or a person's answer, that the first is not.
fn is_other_moment(
    first: &OrderNode<'_>,
    later: &OrderNode<'_>,
    changes: Option<&StepSet>,
    pauses: &StepSet,
) -> bool {
    // Why only what is ordered between: a reading that waits for no change may come before it.
    let lies_between = changes.is_some_and(|changes| {
        let between = |one: &OrderNode<'_>, other: &OrderNode<'_>| {
            !one.after.clone().and(&other.before).and(changes).is_empty()
        };
        between(first, later) || between(later, first)
    });
    let waited = |one: &OrderNode<'_>, other: &OrderNode<'_>| {
        !pauses
            .clone()
            .and(&one.before)
            .without(&other.before)
            .is_empty()
    };
    lies_between || waited(later, first) || waited(first, later)
}
