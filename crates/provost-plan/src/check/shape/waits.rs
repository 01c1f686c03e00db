//! Part of the pass `shape`: a state that a read wants at once, of what a write has just begun.
//!
//! Owns S726. A read that is given what a write answered is about what that began; where it accepts
//! one state of several, the others are those before it is over. INVARIANT: nothing is found where
//! the write itself accepts that state, where the read is made again until it is there, or where
//! anything in between takes its time.

use std::collections::BTreeSet;

use serde_json::Value;

use super::accepted::asked;
use super::solve::meets;
use crate::check::Pass;
use crate::check::graph::step_of;
use crate::check::order::OrderNode;
use crate::check::scope::Site;
use crate::check::typing::TypedPlace;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::cases::{Demand, DemandSubject};
use crate::expr::{Root, Segment, Template};
use crate::plan::{Step, StepKind};
use crate::source::Span;

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    for node in pass.order.nodes() {
        let step = node.step;
        let reads = node.is_call_of(|op| op.effect.is_read());
        if reads && step.until.is_none() && step.retry.is_none() {
            found.extend(at_once(pass, node));
        }
    }
}

fn at_once(pass: &Pass<'_>, read: &OrderNode<'_>) -> Option<Diagnostic> {
    let write = begun_by(pass, read)?;
    let site = Site::after(pass, read.step);
    let (span, name) = read.step.accept.iter().find_map(|accept| {
        of_output(accept)
            .into_iter()
            .find_map(|(span, subject, demand)| {
                let [Segment::Field(name)] = subject.path.as_slice() else {
                    return None;
                };
                let TypedPlace::Typed(typed) = pass.place(&site, &Root::Output, &subject.path)
                else {
                    return None;
                };
                let words = typed.to_type().values();
                let (wanted, others): (Vec<Value>, Vec<Value>) =
                    words.into_iter().partition(|word| meets(word, &demand));
                let is_state = wanted.iter().chain(&others).all(Value::is_string);
                let is_choice = is_state && !wanted.is_empty() && others.len() > 1;
                (is_choice && !says(write, name, &wanted)).then(|| (span, name.clone()))
            })
    })?;
    let (id, other) = (&read.step.id.value, &write.id.value);
    let message = format!("`{id}` wants a certain `{name}` at once of what `{other}` has begun");
    Some(
        Diagnostic::new(Code::UnwaitedState, span, message)
            .related(write.id.span, "begun here")
            .hint(format!(
                "poll it with `until`, or if it is so at once, make it the `confirm` of `{other}`"
            ))
            .step(id),
    )
}

/// The write whose answer a read is given, if nothing between the two takes its time.
fn begun_by<'p>(pass: &'p Pass<'_>, read: &OrderNode<'_>) -> Option<&'p Step> {
    let StepKind::Tool { args, .. } = &read.step.kind else {
        return None;
    };
    let given = args.templates().into_iter().flat_map(Template::references);
    let list = read.step.for_each.iter();
    let gone_over = list.flat_map(|each| each.list.references());
    let given: BTreeSet<&str> = given.chain(gone_over).filter_map(step_of).collect();
    let mut writes = given.into_iter().filter_map(|id| {
        let node = pass.order.node(pass.order.place(id)?)?;
        node.is_call_of(|op| !op.effect.is_read()).then_some(node)
    });
    let write = writes.next()?;
    let between = write.after.clone().and(&read.before);
    let mut between = between.iter().filter_map(|at| pass.order.node(at));
    let takes_time = between.any(|node| {
        node.step.until.is_some() || node.operation.is_none_or(|op| !op.effect.is_read())
    });
    (!takes_time && writes.next().is_none()).then_some(write.step)
}

/// Whether a write accepts a field of its answer only where it has one of these values.
fn says(write: &Step, name: &str, wanted: &[Value]) -> bool {
    let mut told = write.accept.iter().flat_map(of_output);
    let confirm = write.confirm.iter().flat_map(|confirm| &confirm.accept);
    let is_of = |path: &[Segment]| match path.last() {
        Some(Segment::Field(field)) => field == name,
        _ => false,
    };
    let is_wanted = |demand: &Demand| wanted.iter().any(|word| meets(word, demand));
    told.any(|(_, subject, demand)| is_of(&subject.path) && is_wanted(&demand))
        || confirm
            .flat_map(Template::references)
            .any(|read| is_of(&read.path))
}

/// What an acceptance asks of single places of an output.
fn of_output(accept: &Template) -> Vec<(Span, DemandSubject, Demand)> {
    let asked = asked(accept).filter(|(_, subject, demand)| {
        let is_asked = matches!(demand, Demand::Compares(..) | Demand::Among(..));
        is_asked && subject.root == Root::Output && !subject.is_size
    });
    asked.collect()
}
