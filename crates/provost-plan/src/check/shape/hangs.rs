//! Part of the pass `shape`: a proof that lets a later read depend on what no write looked at.
//!
//! Owns what S716 says of two sides of a proof that are to agree: a condition of what was asked or
//! read, and what a read finds after a write. INVARIANT: what is found is a choice that the proof
//! makes, and that neither the read nor anything before it makes, so the read is the same either
//! way; a write is taken for what changes what its server reads.

use std::collections::BTreeSet;

use super::agree::finding;
use crate::check::Pass;
use crate::check::graph::step_of;
use crate::check::order::OrderNode;
use crate::diagnostic::Diagnostic;
use crate::expr::tree::{Compare, Expr, ExprKind};
use crate::expr::{Reference, Root, Segment, references_of};
use crate::plan::readings::{acted_on, is_output};
use crate::plan::{Proof, Step, StepKind};

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    found.extend(pass.plan.success.iter().filter_map(|proof| {
        let mut open = vec![proof.check.whole()?.ast()];
        while let Some(expr) = open.pop() {
            open.extend(expr.children());
            if let Some(odd) = sides(expr)
                .into_iter()
                .find_map(|(asked, shown)| apart(pass, proof, &asked, &shown))
            {
                return Some(odd);
            }
        }
        None
    }));
}

/// What is to decide, and what is to show it: of each of the two sides that are to agree.
type Sides<'e> = (Vec<&'e Expr>, Vec<&'e Expr>);

/// The sides of `test ? a : b`, of `x == (test ? a : b)` and of two conditions that are equal.
fn sides(expr: &Expr) -> Vec<Sides<'_>> {
    match &expr.kind {
        ExprKind::Choice(test, yes, no) => vec![(vec![test], vec![yes, no])],
        ExprKind::Compare(Compare::Equal, left, right) => {
            let both: [(&Expr, &Expr); 2] = [(left, right), (right, left)];
            both.into_iter().filter_map(equal).collect()
        }
        _ => Vec::new(),
    }
}

fn equal<'e>((one, other): (&'e Expr, &'e Expr)) -> Option<Sides<'e>> {
    match &one.kind {
        ExprKind::Choice(test, ..) => Some((vec![&**test], vec![other])),
        _ if one.is_condition() && other.is_condition() => Some((vec![one], vec![other])),
        _ => None,
    }
}

/// A choice of one side that nothing makes which leads to what the other side reads.
fn apart(pass: &Pass<'_>, proof: &Proof, asked: &[&Expr], shown: &[&Expr]) -> Option<Diagnostic> {
    let read: Vec<Reference> = shown.iter().flat_map(|part| references_of(part)).collect();
    let mut nodes = read
        .iter()
        .filter(|read| is_output(read))
        .filter_map(|read| {
            let order = &pass.order;
            order.node(order.place(step_of(read)?)?)
        });
    let (last, write) = nodes.find_map(|node| Some((node, written_before(pass, node)?)))?;
    let mut chosen = Vec::new();
    asked
        .iter()
        .for_each(|part| choices(part, true, &mut chosen));
    let choice = chosen.into_iter().find(|choice| {
        let decides = step_of(choice).and_then(|id| pass.plan.step(id));
        let is_elsewhere = decides.is_some_and(|step| is_elsewhere(pass, step, last.step, write));
        let is_shown = read.iter().any(|read| covers(read, choice));
        is_output(choice) && is_elsewhere && !is_shown && !is_looked_at(pass, last, choice)
    })?;
    let (id, read) = (&write.id.value, &last.step.id.value);
    let name = &proof.criterion.value;
    let message = format!(
        "`{id}` does not look at `{choice}`, by which the proof of `{name}` tells what `{read}` \
         finds"
    );
    Some(finding(proof, write, message))
}

/// The last write before a read that it shows: of the server that it reads.
fn written_before<'p>(pass: &'p Pass<'_>, read: &OrderNode<'p>) -> Option<&'p Step> {
    let operation = read.operation.filter(|op| op.effect.is_read())?;
    let nodes = read.before.iter().filter_map(|at| pass.order.node(at));
    let writes = nodes.filter(|node| {
        node.is_call_of(|op| !op.effect.is_read() && op.server() == operation.server())
    });
    writes.last().map(|node| node.step)
}

/// Whether what decides is no read of what is shown, and no write could have waited for it: what
/// is read after the write may show the same.
fn is_elsewhere(pass: &Pass<'_>, decides: &Step, shown: &Step, write: &Step) -> bool {
    let observes = match &decides.kind {
        StepKind::Question { .. } => true,
        StepKind::Tool { tool, .. } => {
            let is_other = shown.tool().is_some_and(|own| own.value != tool.value);
            is_other
                && pass
                    .operation(decides)
                    .is_some_and(|op| op.effect.is_read())
        }
        _ => false,
    };
    let own = &decides.id.value;
    observes && *own != shown.id.value && !pass.order.is_before(&write.id.value, own)
}

/// The places that conditions in an expression compare with constants, or that are conditions.
fn choices(expr: &Expr, is_asked: bool, chosen: &mut Vec<Reference>) {
    let mut spans = BTreeSet::new();
    let mut open = vec![(expr, is_asked)];
    while let Some((expr, is_asked)) = open.pop() {
        match &expr.kind {
            ExprKind::Compare(_, left, right) => {
                for (place, other) in [(left, right), (right, left)] {
                    if other.is_literal() && !matches!(other.kind, ExprKind::Null) {
                        spans.insert(place.span);
                    }
                }
            }
            ExprKind::Path(..) if is_asked => {
                spans.insert(expr.span);
            }
            _ => {}
        }
        let goes_on = matches!(
            expr.kind,
            ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Not(_)
        );
        let walked = match &expr.kind {
            ExprKind::Walk(walk) => walk.filter.as_ref().or(Some(&walk.body)),
            _ => None,
        };
        open.extend(expr.children().into_iter().map(|part| {
            let is_condition = walked.is_some_and(|body| std::ptr::eq(body, part));
            (part, is_asked && goes_on || is_condition)
        }));
    }
    let read = references_of(expr).into_iter();
    chosen.extend(read.filter(|read| spans.contains(&read.span)));
}

/// Whether the read, or anything before it, acts on a place.
fn is_looked_at(pass: &Pass<'_>, read: &OrderNode<'_>, place: &Reference) -> bool {
    let before = read.before.iter().filter_map(|at| pass.order.node(at));
    let mut all = before.chain([read]).map(|node| node.step);
    all.any(|step| {
        let list = step.for_each.as_ref().and_then(|each| each.list.whole());
        let list = list.map(|list| references_of(list.ast()));
        let gone_over = list.as_ref().and_then(|list| list.first());
        acted_on(step).any(|read| match (&read.root, gone_over) {
            (Root::Item, Some(list)) => {
                let path = list.path.iter().chain([&Segment::Any]).chain(&read.path);
                covers(
                    &Reference {
                        root: list.root.clone(),
                        path: path.cloned().collect(),
                        ..read.clone()
                    },
                    place,
                )
            }
            _ => covers(read, place),
        })
    })
}

/// Whether who reads one place reads the other: the same, or one in it.
fn covers(read: &Reference, place: &Reference) -> bool {
    let is_field = |segment: &&Segment| matches!(segment, Segment::Field(_));
    let mut own = read.path.iter().filter(is_field);
    read.root == place.root
        && place
            .path
            .iter()
            .filter(is_field)
            .all(|segment| own.next() == Some(segment))
}
