//! Part of the pass `shape`: a write of what a condition before it says is so already.
//!
//! Owns S724. A read that is given an argument of the write is about the same thing, and a field of
//! it that is called like another argument is what the write sets. INVARIANT: what is found sets
//! one field, to a value that is known before the run and that the step's own guards ask for, and
//! no other write of that server may come in between.

use serde_json::Value;

use super::accepted::asked;
use crate::catalog::Operation;
use crate::check::Pass;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::cases::{Demand, DemandSubject};
use crate::expr::tree::Compare;
use crate::expr::{ArgTree, Root, Segment, Template};
use crate::plan::{Step, StepKind};
use crate::schema::PathType;
use crate::source::Span;

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    for step in &pass.plan.steps {
        let StepKind::Tool { args, .. } = &step.kind else {
            continue;
        };
        if let Some(operation) = pass.operation(step).filter(|op| !op.effect.is_read()) {
            let finding = vain(pass, step, operation, args);
            found.extend(finding.or_else(|| expects(pass, step, operation, args)));
        }
    }
}

fn vain(pass: &Pass<'_>, step: &Step, operation: &Operation, args: &ArgTree) -> Option<Diagnostic> {
    let asserted = pass.order.assertions(&step.id.value);
    let asserted = asserted.filter_map(|held| Some(&held.assertion()?.condition));
    let guards = step.when.iter().chain(asserted);
    guards.flat_map(equal).find_map(|(span, subject, value)| {
        let Root::Step(read) = &subject.root else {
            return None;
        };
        let Some(Segment::Field(name)) = subject.path.last() else {
            return None;
        };
        let (_, given) = args.get(name)?;
        let is_same = pass.fixed_tree(given)? == value;
        let read = pass.plan.step(read)?;
        // Why at once, where it expects another word: what comes between does not change that.
        let expects = args.entries().iter().any(|(other, tree)| {
            other.as_str() != name
                && is_word(operation, other.as_str(), &value)
                && pass.fixed_tree(tree).is_some_and(|other| other != value)
        });
        let changes = !expects && may_change(pass, read, step);
        if !is_same || !is_about(pass, read, operation, (args, name)) || changes {
            return None;
        }
        let id = &step.id.value;
        let value = crate::digest::canonical(&value);
        let message = format!("`{id}` sets `{name}` to {value}, which it is where `{id}` runs");
        Some(
            Diagnostic::new(Code::VainWrite, given.span(), message)
                .related(span, "asks for the same")
                .hint("ask for what it is before, or set what it is to be after")
                .step(id),
        )
    })
}

/// A write that sets the word which it expects: of two arguments that take the same words.
fn expects(
    pass: &Pass<'_>,
    step: &Step,
    operation: &Operation,
    args: &ArgTree,
) -> Option<Diagnostic> {
    // Why first: few calls are given one word twice, and what an argument takes is dear to ask.
    if !has_equal_words(pass, args) {
        return None;
    }
    let words = |name: &str| {
        let field = [Segment::Field(name.to_owned())];
        match operation.input.ty().at(&field) {
            PathType::Known { ty, .. } => ty.values(),
            _ => Vec::new(),
        }
    };
    let own: Vec<(&str, &ArgTree, Vec<Value>)> = args
        .entries()
        .iter()
        .map(|(name, tree)| (name.as_str(), tree, words(name.as_str())))
        .filter(|(_, _, words)| words.len() > 1 && words.iter().all(Value::is_string))
        .collect();
    let [(one, first, words), (two, second, others)] = own.as_slice() else {
        return None;
    };
    let value = pass.fixed_tree(first)?;
    let is_same =
        value == pass.fixed_tree(second)? && words.iter().all(|word| others.contains(word));
    is_same.then(|| {
        let id = &step.id.value;
        let value = crate::digest::canonical(&value);
        let message = format!("`{id}` is given {value} as `{one}` and as `{two}`");
        Diagnostic::new(Code::VainWrite, second.span(), message)
            .related(first.span(), "the same")
            .hint("say what it is before, and what it is to be after")
            .step(id)
    })
}

/// Whether two arguments are given the same text.
fn has_equal_words(pass: &Pass<'_>, args: &ArgTree) -> bool {
    let given = args.entries().iter();
    let fixed = given.filter_map(|(_, tree)| pass.fixed_tree(tree).filter(Value::is_string));
    let words: Vec<Value> = fixed.collect();
    let mut each = words.iter().enumerate();
    each.any(|(at, word)| words.iter().skip(at + 1).any(|other| other == word))
}

/// The values that a condition asks places to be, whatever else it asks.
fn equal(condition: &Template) -> Vec<(Span, DemandSubject, Value)> {
    let each = asked(condition);
    each.filter_map(|(span, subject, demand)| match demand {
        Demand::Compares(Compare::Equal, value) if !subject.is_size && !value.is_null() => {
            Some((span, subject, value))
        }
        _ => None,
    })
    .collect()
}

/// Whether a read is about what the write reaches, and the write sets nothing else that is not
/// known to be a word of a list.
fn is_about(
    pass: &Pass<'_>,
    read: &Step,
    operation: &Operation,
    (args, set): (&ArgTree, &str),
) -> bool {
    let StepKind::Tool { args: asked, .. } = &read.kind else {
        return false;
    };
    let reads = pass.operation(read);
    if reads.is_none_or(|op| !op.effect.is_read() || op.server() != operation.server()) {
        return false;
    }
    let is_key = |tree: &ArgTree| {
        let mut given = asked.entries().iter();
        given.any(|(_, own)| own.form() == tree.form())
    };
    let is_word = |name: &str| {
        let field = [Segment::Field(name.to_owned())];
        matches!(operation.input.ty().at(&field), PathType::Known { ty, .. }
            if !ty.values().is_empty())
    };
    let mut others = args
        .entries()
        .iter()
        .filter(|(name, _)| name.as_str() != set);
    let is_known = |name: &str, tree: &ArgTree| {
        is_key(tree) || operation.content.contains(name) || is_word(name)
    };
    let has_key = args.entries().iter().any(|(_, tree)| is_key(tree));
    has_key && others.all(|(name, tree)| is_known(name, tree))
}

/// Whether an argument takes words, and this one is among them.
fn is_word(operation: &Operation, name: &str, word: &Value) -> bool {
    let field = [Segment::Field(name.to_owned())];
    matches!(operation.input.ty().at(&field), PathType::Known { ty, .. }
        if ty.values().contains(word))
}

/// Whether another write of the server may come between a read and a write.
pub(super) fn may_change(pass: &Pass<'_>, read: &Step, write: &Step) -> bool {
    let order = &pass.order;
    let node = |step: &Step| order.place(&step.id.value).and_then(|at| order.node(at));
    let (Some(read), Some(own)) = (node(read), node(write)) else {
        return true;
    };
    let server = own.operation.map(Operation::server);
    order.nodes().iter().any(|other| {
        let id = &other.step.id.value;
        let acts = other.is_call_of(|op| !op.effect.is_read() && Some(op.server()) == server);
        let is_before = order.is_before(id, &read.step.id.value);
        let is_after = order.is_before(&write.id.value, id);
        acts && *id != write.id.value && !is_before && !is_after
    })
}
