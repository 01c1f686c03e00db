//! The pass `effects`: what the steps do to the world.
//!
//! Owns declared against computed risk, acceptance and repetition of writes, writes that meet, and
//! in `stale` readings that writes change. Effect and risk come from the operator's catalog alone.
//! INVARIANT: two writes are let run at once only if their targets are proven to differ.

use std::collections::BTreeMap;

use super::flow::opinion;
use super::shape::Exclusions;
use super::{FixedEntry, Pass};
use crate::catalog::{Effect, Idempotency, Operation};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::digest::{canonical, canonical_of};
use crate::expr::{Root, Template};
use crate::fix::Fix;
use crate::limits::DIAGNOSTICS_MAX;
use crate::plan::{CallRole, Step, StepKind};

pub(crate) use opposites::{Opposites, by_name, words};

mod fresh;
mod opposites;
mod settings;
mod stale;
mod targets;
mod undo;
mod until;

pub(crate) fn run(pass: &mut Pass<'_>) {
    let mut found = Vec::new();
    for step in &pass.plan.steps {
        found.extend(fresh::needless(pass, step));
        found.extend(settings::of_question(step));
        let Some(operation) = pass.operation(step) else {
            continue;
        };
        found.extend(risk(step, operation));
        found.extend(until::bad(step, operation));
        found.extend(confirm(pass, step, operation));
        found.extend(undo::bad(pass, step, operation));
        found.extend(settings::vain(step, operation));
        if !operation.effect.is_read() {
            found.extend(acceptance(pass, step, operation));
            found.extend(repetition(pass, step, operation));
        }
        found.extend(targets::items(pass, step, operation));
    }
    let mut meetings = Vec::new();
    let mut uncounted = 0;
    let writes = writes(pass);
    let exclusions = Exclusions::of(pass);
    for writes in writes.values() {
        for (second, earlier) in writes.iter().zip(earlier_candidates(writes)) {
            for first in earlier.into_iter().filter_map(|at| writes.get(at)) {
                if !is_same_call(first, second) && !may_share_target(first, second) {
                    continue;
                }
                // Why: which call is the repetition follows from the order of the run, not of the
                // text.
                let (later, earlier) = (&second.step.id.value, &first.step.id.value);
                let backwards = pass.order.is_before(later, earlier);
                let (one, two) = if backwards {
                    (second, first)
                } else {
                    (first, second)
                };
                let meeting = meeting(pass, one, two);
                // Why not of one call twice: which guard holds may be another one tomorrow.
                let runs = |how: &Meeting| {
                    matches!(how, Meeting::Repeated) || !exclusions.exclude(one.step, two.step)
                };
                match meeting.filter(runs) {
                    Some(_) if meetings.len() >= DIAGNOSTICS_MAX => uncounted += 1,
                    Some(meeting) => meetings.push((meeting, one, two)),
                    None => {}
                }
            }
        }
    }
    found.extend(targets::at_one_target(pass, &exclusions));
    found.extend(stale::readings(pass, &exclusions));
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

fn acceptance(pass: &Pass<'_>, step: &Step, operation: &Operation) -> Option<Diagnostic> {
    // Why: a model's opinion stands beside a step, and is never its acceptance.
    let mut accepts = step.accept.iter();
    let proven = accepts.any(|accept| !opinion::is_read(pass, accept));
    (!proven && step.confirm.is_none()).then(|| {
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

/// What is read back proves a write, and only a plain read proves without an effect of its own.
fn confirm(pass: &Pass<'_>, step: &Step, operation: &Operation) -> Option<Diagnostic> {
    let confirm = step.confirm.as_ref()?;
    let id = &step.id.value;
    if operation.effect.is_read() {
        let message = format!("`{id}` is a read, and `confirm` proves a write");
        return Some(
            Diagnostic::new(Code::BadConfirm, confirm.span, message)
                .hint("leave it out, and say in `accept` what must hold over `output`")
                .step(id),
        );
    }
    let read = pass.called(step, CallRole::Confirm)?;
    (read.effect != Effect::Read).then(|| {
        let message = format!(
            "`{}` confirms `{id}`, and is {}",
            read.name,
            effect_words(read)
        );
        Diagnostic::new(Code::BadConfirm, confirm.tool.span, message)
            .hint("only an operation of the effect `read` confirms: it must change nothing itself")
            .step(id)
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
    pass.terms.catalog.is_reconciled(&operation.name)
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

/// A step that is no read, with what is compared of it: texts as numbers, since each is compared
/// with many others.
struct Write<'a> {
    step: &'a Step,
    operation: &'a Operation,
    /// The call it makes: each argument by its value, if that is known before the run, else by its
    /// form; and what hangs on an item, with its list.
    call: usize,
    /// The values of its sinks that are known before the run.
    sinks: Vec<(&'a str, usize)>,
}

/// Texts, each with its number.
#[derive(Default)]
struct Numbered(BTreeMap<String, usize>);

impl Numbered {
    fn of(&mut self, text: String) -> usize {
        let next = self.0.len();
        *self.0.entry(text).or_insert(next)
    }
}

/// The steps that are no reads, by operation: only writes of one operation can meet.
fn writes<'a>(pass: &Pass<'a>) -> BTreeMap<&'a str, Vec<Write<'a>>> {
    let mut writes: BTreeMap<&str, Vec<Write<'a>>> = BTreeMap::new();
    let mut numbered = Numbered::default();
    for step in &pass.plan.steps {
        let (Some(operation), StepKind::Tool { tool, args }) = (pass.operation(step), &step.kind)
        else {
            continue;
        };
        if operation.effect.is_read() {
            continue;
        }
        let mut read = args.templates().into_iter().flat_map(Template::references);
        let on_item = read.any(|r| matches!(r.root, Root::Item | Root::Index));
        let (mut call, mut sinks) = (BTreeMap::new(), Vec::new());
        for entry in args.entries() {
            let (name, tree) = entry;
            let value = match pass.fixed_entry(entry) {
                Some(FixedEntry::LeftOut) => continue,
                Some(FixedEntry::Sent(known)) => {
                    let known = canonical(&known);
                    if operation.is_sink(name) {
                        sinks.push((&**name, numbered.of(known.clone())));
                    }
                    (true, known)
                }
                None => (false, tree.form()),
            };
            // Why as written: an argument that may be left out is not one that is always there.
            let name = match value.0 {
                true => name.to_string(),
                false => name.written(),
            };
            call.insert(name, value);
        }
        let list = step.for_each.as_ref().filter(|_| on_item);
        let list = list.map(|for_each| for_each.list.form());
        let write = Write {
            step,
            operation,
            call: numbered.of(canonical_of(&(call, list)).unwrap_or_default()),
            sinks,
        };
        writes.entry(&tool.value).or_default().push(write);
    }
    writes
}

/// For each write the places of those before it that may be the same call or share its target; all
/// others differ in the value of a sink.
fn earlier_candidates<'a>(writes: &[Write<'a>]) -> Vec<Vec<usize>> {
    let names = |write: &Write<'a>| write.sinks.iter().map(|(name, _)| *name).collect();
    let named: Vec<Vec<&'a str>> = writes.iter().map(names).collect();
    let mut calls: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut targets: BTreeMap<&[(&str, usize)], Vec<usize>> = BTreeMap::new();
    // Why only where all name the same sinks: of others it takes a look at each pair.
    let is_grouped = named.iter().zip(named.iter().skip(1)).all(|(a, b)| a == b);
    let each = writes.iter().enumerate().map(|(at, write)| {
        if !is_grouped {
            return (0..at).collect();
        }
        let call = calls.entry(write.call).or_default();
        let target = targets.entry(&write.sinks).or_default();
        let mut earlier: Vec<usize> = call.iter().chain(target.iter()).copied().collect();
        earlier.sort_unstable();
        earlier.dedup();
        call.push(at);
        target.push(at);
        earlier
    });
    each.collect()
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
    let is_over = |id: &String| pass.base.over.contains(id);
    // Why: what has ended runs beside nothing, such as a call that a person said no to.
    let may_meet = may_share_target(first, second)
        && !is_over(one)
        && !is_over(two)
        && !pass.order.is_settled(one, two);
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

/// Whether two steps make one call.
fn is_same_call(first: &Write<'_>, second: &Write<'_>) -> bool {
    first.operation.idempotency != Idempotency::Natural && first.call == second.call
}

/// Whether two calls may reach the same target: some sink differs for certain only if both are
/// constants.
fn may_share_target(first: &Write<'_>, second: &Write<'_>) -> bool {
    !first.sinks.iter().any(|(name, value)| {
        let mut others = second.sinks.iter();
        others.any(|(other, theirs)| other == name && theirs != value)
    })
}
