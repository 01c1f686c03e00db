//! Part of S718: whether the plan leads from one value to another.
//!
//! Owns the question for a value that a call is given and the one that its acceptance asks for: a
//! step was given the one and answered the other, or a condition compares them. Reports nothing.
//! INVARIANT: where something leads from one to the other, they may be equal, and nothing is found.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Asked, any_part, paths, reads, sent};
use crate::check::Pass;
use crate::check::graph::all_templates;
use crate::expr::cases::constant;
use crate::expr::tree::{Expr, ExprKind};
use crate::expr::{ArgTree, Key, Root, Template};
use crate::plan::{Step, StepKind};

/// Whether two values that the plan computes are of two places which nothing leads to one another
/// from: neither is read of a call that is given the other, and no condition compares them.
pub(super) fn is_other(pass: &Pass<'_>, given: &Expr, asked: &Asked<'_>) -> bool {
    let is_place = |expr: &Expr| match &expr.kind {
        ExprKind::Path(base, _) => matches!(base.kind, ExprKind::Root(Root::Step(_))),
        ExprKind::Chain(first, rest) => {
            matches!(first.kind, ExprKind::Path(..))
                && rest.iter().all(|(_, part)| part.is_literal())
        }
        _ => false,
    };
    if !is_place(given) || !is_place(asked.value) || paths(given) == paths(asked.value) {
        return false;
    }
    let steps = |of: &Expr| -> Vec<String> {
        let ids = pass.plan.steps.iter().map(|step| &step.id.value);
        let read =
            ids.filter(|id| reads(of, &|root| matches!(root, Root::Step(step) if step == *id)));
        read.cloned().collect()
    };
    let (ours, theirs) = (steps(given), steps(asked.value));
    // Why: what a person answers is not computed of what they were shown.
    let is_answer = |id: &str| {
        let step = pass.plan.step(id);
        step.is_some_and(|step| matches!(step.kind, StepKind::Question { .. }))
    };
    let leads = |from: &[String], to: &[String]| {
        let mut all = from
            .iter()
            .flat_map(|one| to.iter().map(move |two| (one, two)));
        all.any(|(one, two)| one != two && pass.order.is_before(two, one) && !is_answer(one))
    };
    let compared = |one: &Expr| {
        let forms = (given.form(), asked.value.form());
        matches!(&one.kind, ExprKind::Compare(_, a, b)
            if (a.form(), b.form()) == forms || (b.form(), a.form()) == forms)
    };
    let mut all = all_templates(pass.plan).flat_map(Template::expressions);
    !leads(&ours, &theirs)
        && !leads(&theirs, &ours)
        && !all.any(|whole| any_part(whole.ast(), &compared))
}

/// Whether a parameter is asked for, although nothing that the given value is computed of was found
/// by it, and no condition compares the two.
pub(super) fn is_other_param(pass: &Pass<'_>, given: &Expr, asked: &Asked<'_>) -> bool {
    let is_step = |root: &Root| matches!(root, Root::Step(_));
    let form = asked.value.form();
    let has = |whole: &Expr| paths(whole).contains(&form);
    if asked.param().is_none() || !reads(given, &is_step) || has(given) {
        return false;
    }
    let leads = |step: &Step| {
        let mut all = step
            .templates()
            .into_iter()
            .flat_map(|(_, of)| of.expressions());
        all.any(|whole| has(whole.ast()))
    };
    let mut open: Vec<&str> = Vec::new();
    let ids = pass.plan.steps.iter().map(|step| step.id.value.as_str());
    open.extend(ids.filter(|id| reads(given, &|root| *root == Root::Step((*id).to_owned()))));
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if seen.insert(id) {
            if pass.plan.step(id).is_none_or(leads) {
                return false;
            }
            let before = pass.graph.reads.get(id).into_iter().flatten();
            open.extend(before.map(String::as_str));
        }
    }
    let given = given.form();
    let compared = |one: &Expr| {
        matches!(&one.kind, ExprKind::Compare(_, a, b)
            if [a.form(), b.form()].contains(&given) && (has(a) || has(b)))
    };
    let mut all = all_templates(pass.plan).flat_map(Template::expressions);
    !all.any(|whole| any_part(whole.ast(), &compared))
}

/// Whether one of two values is what a call answered that was given the other by that name.
pub(super) fn are_linked(pass: &Pass<'_>, given: &Expr, asked: &Asked<'_>) -> bool {
    let answers = |from: &Expr, form: &str| {
        let calls = pass.plan.steps.iter().filter(|step| {
            let id = step.id.value.as_str();
            reads(from, &|root| matches!(root, Root::Step(read) if read == id))
        });
        calls.into_iter().any(|step| match &step.kind {
            StepKind::Tool { args, .. } => args.get(asked.name).is_some_and(|(_, own)| match own {
                ArgTree::Template(own) => own.whole().is_some_and(|own| own.ast().form() == form),
                _ => false,
            }),
            _ => false,
        })
    };
    answers(asked.value, &given.form()) || answers(given, &asked.value.form())
}

/// Whether a step that is asked for was given this value by that name, or a condition compares what
/// it answered with what is given.
pub(super) fn is_known_of(
    pass: &Pass<'_>,
    entry: &(Key, ArgTree),
    value: &Value,
    asked: &Asked<'_>,
) -> bool {
    let id_of = |root: &Root, id: &str| matches!(root, Root::Step(read) if read == id);
    let was_given = pass.plan.steps.iter().any(|step| match &step.kind {
        StepKind::Tool { args, .. } if reads(asked.value, &|root| id_of(root, &step.id.value)) => {
            let own = args.get(asked.name);
            own.and_then(|own| sent(pass, own)).as_ref() == Some(value)
        }
        _ => false,
    });
    let given = match &entry.1 {
        ArgTree::Template(given) => given.whole().map(|given| given.ast().form()),
        _ => None,
    };
    let form = asked.value.form();
    let is_given =
        |side: &Expr| Some(side.form()) == given || constant(side).as_ref() == Some(value);
    let compared = |one: &Expr| {
        matches!(&one.kind, ExprKind::Compare(_, a, b)
            if a.form() == form && is_given(b) || b.form() == form && is_given(a))
    };
    let mut all = all_templates(pass.plan).flat_map(Template::expressions);
    was_given || all.any(|whole| any_part(whole.ast(), &compared))
}
