//! Part of the pass `shape`: conditions of items that choose all of them, or none.
//!
//! Owns S712 of a list that is filtered for `for_each`, as `when` writes it out or as the list says
//! itself, and of comprehensions anywhere that no item can meet. What excludes what is
//! [`super::solve`]'s. INVARIANT: what is found holds for every item that fits its schema; a
//! condition that is only cautious (of null) is let pass.

use std::collections::BTreeSet;

use super::accepted::AcceptedOutputs;
use super::proofs::guarding;
use super::solve::{Assume, Solver};
use crate::check::Pass;
use crate::check::graph::all_templates;
use crate::check::scope::Site;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::cases::{Case, Demand, DemandSubject, both, cases, each, witness};
use crate::expr::tree::{Expr, ExprKind, Walk, WalkKind, sources};
use crate::expr::{Expression, Root, Template};
use crate::plan::Step;
use crate::source::Span;

pub(super) fn run(pass: &Pass<'_>, accepted: &AcceptedOutputs, found: &mut Vec<Diagnostic>) {
    for step in &pass.plan.steps {
        let Some((list, condition)) = condition(step) else {
            continue;
        };
        let site = Site::of_item(pass, step, list);
        let solver = guarding(pass, accepted, &site);
        let finding = decides_nothing(&solver, &condition).or_else(|| chooses(&solver, &condition));
        found.extend(finding.map(|finding| finding.step(&step.id.value)));
    }
    anywhere(pass, accepted, found);
}

/// Conditions of comprehensions, wherever they stand, that no item meets whatever its type is.
fn anywhere(pass: &Pass<'_>, accepted: &AcceptedOutputs, found: &mut Vec<Diagnostic>) {
    let end = Site::end();
    let solver = guarding(pass, accepted, &end);
    let said: Vec<Span> = found.iter().map(|finding| finding.span).collect();
    let is_said = |at: Span| said.iter().any(|s| s.start <= at.start && at.end <= s.end);
    // Why: a name of a `let` stands in each place that uses it.
    let mut seen: BTreeSet<Span> = BTreeSet::new();
    let expressions = all_templates(pass.plan).flat_map(Template::expressions);
    let mut open: Vec<&Expr> = expressions.map(Expression::ast).collect();
    while let Some(expr) = open.pop() {
        open.extend(expr.children());
        let ExprKind::Walk(walk) = &expr.kind else {
            continue;
        };
        let asked = match walk.kind {
            WalkKind::Exists | WalkKind::ExistsOne | WalkKind::All => Some(&walk.body),
            WalkKind::Map | WalkKind::Filter => walk.filter.as_ref(),
        };
        let is_new = |asked: &&Expr| !is_said(asked.span) && seen.insert(asked.span);
        let Some(asked) = asked.filter(is_new) else {
            continue;
        };
        let item = witness(&walk.list.form());
        let asked = asked.about(walk.variable.id, &item);
        let alone = || match walk.kind {
            WalkKind::All => None,
            _ => chooses(&solver, &asked),
        };
        let own = with_itself(&asked).filter(|one| !is_said(one.span));
        let own = own.or_else(|| against_accepted(&solver, walk, (&asked, &item)));
        found.extend(own.or_else(alone));
    }
}

/// A term that compares a value with itself.
fn with_itself(condition: &Expr) -> Option<Diagnostic> {
    let is_same = |term: &&Expr| match &term.kind {
        ExprKind::Compare(_, one, two) => !one.is_literal() && one.form() == two.form(),
        _ => false,
    };
    let term = terms(condition).iter().find(is_same)?;
    Some(
        Diagnostic::new(
            Code::ConstantGuard,
            term.span,
            "a value is compared with itself",
        )
        .label("the same for every item")
        .hint("compare it with what it is to be held against"),
    )
}

/// A condition of the items of a step over a list, which none meets that the step accepts.
fn against_accepted(
    solver: &Solver<'_, '_>,
    walk: &Walk,
    (asked, item): (&Expr, &Root),
) -> Option<Diagnostic> {
    let lists = sources(&walk.list).into_iter().filter_map(each);
    let of: Case = lists
        .map(|list| {
            let item = DemandSubject {
                root: item.clone(),
                path: Vec::new(),
                is_size: false,
            };
            (item, Demand::ItemOf(list))
        })
        .collect();
    let asked_for = cases(asked, true)?;
    let careless = Solver {
        accepted: None,
        ..*solver
    };
    if asked_for.is_empty() || careless.never(&asked_for).is_some() {
        return None;
    }
    let never = solver.never(&both(&asked_for, &[of])?)?;
    let message = format!("no item is ever so: {}", never.reason);
    Some(
        Diagnostic::new(Code::ConstantGuard, asked.span, message)
            .label("the `until` and `accept` of the step let none of these pass")
            .hint("ask for the same in both, or let the step go on to the end that is asked for"),
    )
}

/// The condition by which a step chooses items, about `item`, and the list of all of them.
fn condition(step: &Step) -> Option<(&Expr, Expr)> {
    let list = step.for_each.as_ref()?.list.whole()?;
    let ExprKind::Walk(walk) = &list.ast().kind else {
        return None;
    };
    let condition = walk.filter.as_ref()?;
    let about = || condition.about(walk.variable.id, &Root::Item);
    (walk.kind == WalkKind::Filter).then(|| (&walk.list, about()))
}

fn terms(condition: &Expr) -> &[Expr] {
    match &condition.kind {
        ExprKind::And(terms) => terms,
        _ => std::slice::from_ref(condition),
    }
}

/// A term that is true of every item.
fn decides_nothing(solver: &Solver<'_, '_>, condition: &Expr) -> Option<Diagnostic> {
    // Why not what was accepted: whoever asks for it once more is only careful.
    let careful = Solver {
        trust: Assume::NoCaution,
        accepted: None,
        ..*solver
    };
    let always = |term: &&Expr| {
        let otherwise = cases(term, false);
        otherwise.is_some_and(|cases| careful.never(&cases).is_some())
    };
    let vacuous = terms(condition).iter().find(always)?;
    let message = "this is true of every item";
    Some(
        Diagnostic::new(Code::ConstantGuard, vacuous.span, message)
            .label("leaves no item out")
            .hint("leave it out, or ask for what you mean"),
    )
}

/// Terms that no item meets together. Why not one alone: what a comparison never comes to is found
/// where it is typed.
fn chooses(solver: &Solver<'_, '_>, condition: &Expr) -> Option<Diagnostic> {
    let each: Option<Vec<Vec<Case>>> = terms(condition)
        .iter()
        .map(|term| cases(term, true))
        .collect();
    let each = each.filter(|each| each.len() > 1)?;
    if each.iter().any(|alone| solver.never(alone).is_some()) {
        return None;
    }
    let mut together = vec![Vec::new()];
    for own in &each {
        together = both(&together, own)?;
    }
    // Why parameters too: what two terms ask of one thing exclude each other for this goal.
    let told = Solver {
        trust: Assume::Everything,
        ..*solver
    };
    let never = told.never(&together)?;
    let message = format!("no item is ever chosen: {}", never.reason);
    Some(
        Diagnostic::new(Code::ConstantGuard, condition.span, message)
            .label("true of no item")
            .hint("ask for what you mean"),
    )
}
