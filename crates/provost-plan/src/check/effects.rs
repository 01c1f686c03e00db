//! The pass `effects`: what the steps do to the world.
//!
//! Owns declared against computed risk, acceptance and repetition of writes, writes that meet, and
//! in `stale` readings that writes change. Effect and risk come from the operator's catalog alone.
//! INVARIANT: two writes are let run at once only if their targets are proven to differ.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Pass;
use crate::catalog::{Effect, Idempotency, Operation};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::{Root, Template};
use crate::fix::Fix;
use crate::limits::DIAGNOSTICS_MAX;
use crate::plan::{Step, StepKind};

mod stale;
mod targets;

pub(crate) fn run(pass: &mut Pass<'_>) {
    let mut found = Vec::new();
    for step in &pass.plan.steps {
        let Some(operation) = pass.operation(step) else {
            continue;
        };
        found.extend(risk(step, operation));
        if !operation.effect.is_read() {
            found.extend(acceptance(step, operation));
            found.extend(repetition(pass, step, operation));
            found.extend(targets::items(step, operation));
        }
    }
    let mut meetings = Vec::new();
    let mut uncounted = 0;
    let writes = writes(pass);
    for writes in writes.values() {
        for (at, second) in writes.iter().enumerate() {
            for first in writes.iter().take(at) {
                // Why: which call is the repetition follows from the order of the run, not of the
                // text.
                let backwards = pass
                    .graph
                    .is_before(&second.step.id.value, &first.step.id.value);
                let (one, two) = if backwards {
                    (second, first)
                } else {
                    (first, second)
                };
                match meeting(pass, one, two) {
                    Some(_) if meetings.len() >= DIAGNOSTICS_MAX => uncounted += 1,
                    Some(meeting) => meetings.push((meeting, one, two)),
                    None => {}
                }
            }
        }
    }
    let order = stale::Order::of(pass);
    found.extend(targets::at_one_target(pass, &order));
    found.extend(order.stale_readings());
    found.extend(meetings.iter().map(|(how, one, two)| how.finding(one, two)));
    pass.uncounted += uncounted;
    pass.diagnostics.extend(found);
}

fn risk(step: &Step, operation: &Operation) -> Option<Diagnostic> {
    let declared = step.risk.as_ref()?;
    let computed = operation.risk();
    (declared.value < computed).then(|| {
        let message = format!(
            "`{}` declares the risk {}, but it is {}",
            step.id.value,
            declared.value.word(),
            computed.word()
        );
        Diagnostic::new(Code::RiskUnderstated, declared.span, message)
            .label(format!("`{}` is {}", operation.name, computed.word()))
            .hint("leave `risk` out: it is computed from the catalog")
            .fix(Fix::LeaveOut)
            .step(&step.id.value)
    })
}

fn acceptance(step: &Step, operation: &Operation) -> Option<Diagnostic> {
    step.accept.is_empty().then(|| {
        let message = format!(
            "`{}` is {} and nothing says when it has worked",
            step.id.value,
            effect_words(operation)
        );
        Diagnostic::new(Code::NoAcceptance, step.id.span, message)
            .hint("add `accept: [\"${ output.… }\"]`")
            .step(&step.id.value)
    })
}

fn repetition(pass: &Pass<'_>, step: &Step, operation: &Operation) -> Option<Diagnostic> {
    if !operation.is_plain_write() || is_reconciled(pass, operation) {
        return None;
    }
    let message = format!(
        "`{}` is tried at most once: its tool recognises no repetition",
        step.id.value
    );
    let finding = Diagnostic::new(Code::NoIdempotency, step.id.span, message)
        .note("if its outcome stays unknown, the run waits for a person")
        .step(&step.id.value);
    let reconcile = operation.reconcile.as_ref();
    Some(match reconcile.map(|r| r.hold(&pass.terms.catalog)) {
        Some(Err(error)) => finding.note(error.to_string()),
        _ => finding,
    })
}

/// Whether a doubt about a call of `operation` is settled by a read of the catalog.
pub(crate) fn is_reconciled(pass: &Pass<'_>, operation: &Operation) -> bool {
    let reconcile = operation.reconcile.as_ref();
    reconcile.is_some_and(|reconcile| reconcile.hold(&pass.terms.catalog).is_ok())
}

fn effect_words(operation: &Operation) -> &'static str {
    match operation.effect {
        Effect::Read => "a read",
        Effect::Egress => "a read that can leak",
        Effect::Write => "a write",
        Effect::External => "an external effect",
        Effect::Destructive => "destructive",
    }
}

/// A step that is no read, with what is compared of it.
struct Write<'a> {
    step: &'a Step,
    operation: &'a Operation,
    /// Its arguments as written.
    args: Option<&'a Value>,
    /// The names of its arguments.
    names: BTreeSet<&'a str>,
    /// Those whose value is known before the run.
    known: BTreeMap<&'a str, Value>,
    /// Whether an argument hangs on the item of a list.
    on_item: bool,
}

impl<'a> Write<'a> {
    fn written(&self, name: &str) -> Option<&'a Value> {
        self.args?.get(name)
    }

    fn list(&self) -> Option<&'a Value> {
        self.step.value.get("for_each")
    }
}

/// The steps that are no reads, by operation: only writes of one operation can meet.
fn writes<'a>(pass: &Pass<'a>) -> BTreeMap<&'a str, Vec<Write<'a>>> {
    let mut writes: BTreeMap<&str, Vec<Write<'a>>> = BTreeMap::new();
    for step in &pass.plan.steps {
        let (Some(operation), StepKind::Tool { tool, args }) = (pass.operation(step), &step.kind)
        else {
            continue;
        };
        if operation.effect.is_read() {
            continue;
        }
        let entries = || args.entries().iter();
        let mut read = args.templates().into_iter().flat_map(Template::references);
        let write = Write {
            step,
            operation,
            args: step.value.get("args"),
            names: entries().map(|(name, _)| &**name).collect(),
            known: entries()
                .filter_map(|(name, tree)| Some((&**name, pass.fixed_tree(tree)?)))
                .collect(),
            on_item: read.any(|r| matches!(r.root, Root::Item | Root::Index)),
        };
        writes.entry(&tool.value).or_default().push(write);
    }
    writes
}

/// How two steps of one operation meet.
#[derive(Clone, Copy)]
enum Meeting {
    /// The same call twice.
    Repeated,
    /// Two writes that may reach one target at once.
    AtOnce,
}

fn meeting(pass: &Pass<'_>, first: &Write<'_>, second: &Write<'_>) -> Option<Meeting> {
    let (one, two) = (&first.step.id.value, &second.step.id.value);
    if one == two {
        return None;
    }
    if is_same_call(first, second) && !second.step.approval_required {
        return Some(Meeting::Repeated);
    }
    let may_meet = may_share_target(first, second)
        && !pass.graph.is_before(one, two)
        && !pass.graph.is_before(two, one);
    may_meet.then_some(Meeting::AtOnce)
}

impl Meeting {
    fn finding(self, first: &Write<'_>, second: &Write<'_>) -> Diagnostic {
        let (one, two) = (&first.step.id, &second.step.id);
        match self {
            Self::Repeated => {
                let message = format!("`{}` makes the same call as `{}`", two.value, one.value);
                Diagnostic::new(Code::RepeatedCall, two.span, message)
                    .related(one.span, "first made here")
                    .hint("remove one of them, or say that it is meant: `approval: required`")
                    .step(&two.value)
            }
            Self::AtOnce => {
                let message = format!(
                    "`{}` and `{}` may write to one target at the same time",
                    one.value, two.value
                );
                let order = format!("add `needs: [{}]` to `{}`", one.value, two.value);
                Diagnostic::new(Code::ConcurrentWrites, two.span, message)
                    .label(format!("also calls `{}`", second.operation.name))
                    .related(one.span, "nothing orders these two")
                    .hint(order)
                    .step(&two.value)
            }
        }
    }
}

/// Whether two steps make one call: each argument has one value that is known before the run, or is
/// written alike, and what hangs on an item comes from one list.
fn is_same_call(first: &Write<'_>, second: &Write<'_>) -> bool {
    let is_equal = |name: &str| {
        let known = first.known.get(name);
        known.is_some() && known == second.known.get(name)
            || first.written(name) == second.written(name)
    };
    first.operation.idempotency != Idempotency::Natural
        && first.names.len() == second.names.len()
        && first
            .names
            .iter()
            .all(|name| second.names.contains(name) && is_equal(name))
        && (!first.on_item || first.list() == second.list())
}

/// Whether two calls may reach the same target: some sink differs for certain only if both are
/// constants.
fn may_share_target(first: &Write<'_>, second: &Write<'_>) -> bool {
    let mut sinks = first
        .known
        .iter()
        .filter(|(name, _)| first.operation.is_sink(name));
    !sinks.any(|(name, value)| {
        let other = second.known.get(name);
        other.is_some_and(|other| other != value)
    })
}
