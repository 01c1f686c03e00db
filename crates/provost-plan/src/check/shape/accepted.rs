//! Part of the pass `shape`: what is known of the outputs of steps where something looks at them.
//!
//! Owns what `until` and `accept` say of a step's own output, what assertions say of those of
//! others, and how a condition is read part by part. Judges nothing: [`super::solve`] does.
//! INVARIANT: a demand holds of each output that is read, as far as the plan goes on to that place.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::check::Pass;
use crate::expr::cases::{Case, Demand, DemandSubject, cases, each};
use crate::expr::tree::{Access, Compare, Expr, ExprKind, WalkKind};
use crate::expr::{Root, Segment, Template};
use crate::plan::Step;
use crate::plan::subgoal::parent_of;
use crate::source::Span;

/// What holds of the output of each step that succeeded, by its `until` and `accept`; of every
/// item of a list, and of what is computed, by the text of its root.
pub(super) type AcceptedOutputs = BTreeMap<String, Case>;

/// The name under which it is known what holds of a root.
pub(super) fn key(root: &Root) -> Option<&str> {
    match root {
        Root::Step(name) | Root::Unknown(name) => Some(name),
        _ => None,
    }
}

/// What the `until` and `accept` of each step say of its output, where they say one thing.
pub(super) fn accepted(pass: &Pass<'_>) -> AcceptedOutputs {
    let mut all = AcceptedOutputs::new();
    for step in &pass.plan.steps {
        let id = Root::Step(step.id.value.clone());
        let output = output_of(step);
        // Why: of a list, each item was accepted by itself.
        let items = step.for_each.as_ref().map(|_| each(&part(output.clone())));
        let own = match &items {
            Some(Some(each)) => ExprKind::Root(each.clone()),
            Some(None) => continue,
            None => output,
        };
        let own = |kind: &ExprKind| match kind {
            ExprKind::Root(Root::Output) => Some(own.clone()),
            _ => None,
        };
        for accept in step.conditions().filter_map(Template::whole) {
            let Some(only) = only(cases(&accept.ast().with(&own), true)) else {
                continue;
            };
            // Why of a list its items alone: of what is computed of them, it has perhaps none.
            let demands = only.into_iter().filter(|(subject, _)| match &items {
                Some(each) => Some(&subject.root) == each.as_ref(),
                None => is_of(&subject.root, &id),
            });
            demands.for_each(|(subject, demand)| learn(&mut all, subject, demand));
        }
    }
    all
}

/// The output of a step, as an expression.
pub(super) fn output_of(step: &Step) -> ExprKind {
    let id = Root::Step(step.id.value.clone());
    ExprKind::Path(
        Box::new(part(ExprKind::Root(id))),
        vec![Access::Field("output".to_owned())],
    )
}

fn part(kind: ExprKind) -> Expr {
    Expr {
        kind,
        span: Span::default(),
    }
}

/// The one case of a condition, if it has no other.
pub(super) fn only(cases: Option<Vec<Case>>) -> Option<Case> {
    let mut cases = cases?;
    let only = cases.pop()?;
    cases.is_empty().then_some(only)
}

/// What a condition asks of single places, part by part, as far as one case says it.
pub(super) fn asked(
    condition: &Template,
) -> impl Iterator<Item = (Span, DemandSubject, Demand)> + '_ {
    let whole = condition.whole().into_iter();
    let single = whole
        .flat_map(|whole| whole.conjuncts())
        .filter_map(|part| Some((part.span, only(cases(part, true))?)));
    single.flat_map(|(span, case)| {
        case.into_iter()
            .map(move |(subject, demand)| (span, subject, demand))
    })
}

/// What is asked of a field that is called so: one of these values.
pub(super) struct AskedField {
    pub(super) span: Span,
    pub(super) path: Vec<Segment>,
    pub(super) name: String,
    pub(super) values: Vec<Value>,
}

/// What acceptances ask of fields of `about`, as far as they list the values. Why by the last name:
/// what a call answers lies in `row` where it is read.
pub(super) fn asked_fields(accepts: &[Template], about: &Root) -> Vec<AskedField> {
    let each = accepts.iter().flat_map(asked);
    let named = each.filter_map(|(span, subject, demand)| match subject.path.as_slice() {
        [.., Segment::Field(name)] if subject.root == *about && !subject.is_size => {
            Some(AskedField {
                span,
                name: name.clone(),
                values: asked_values(&demand)?,
                path: subject.path,
            })
        }
        _ => None,
    });
    named.collect()
}

/// The same of one item of a list of `about` that is there, beside what tells which item it is: a
/// field that has to equal what the plan computes.
pub(super) fn asked_items(accepts: &[Template], about: &Root) -> Vec<AskedField> {
    let wholes = accepts.iter().filter_map(Template::whole);
    let parts = wholes.flat_map(|whole| whole.conjuncts());
    parts.flat_map(|part| asked_of_item(part, about)).collect()
}

fn asked_of_item(part: &Expr, about: &Root) -> Vec<AskedField> {
    let Some((list, terms)) = item_terms(part, about) else {
        return Vec::new();
    };
    let is_key = |term: &Expr| match &term.kind {
        ExprKind::Compare(Compare::Equal, left, right) => !left.is_literal() && !right.is_literal(),
        _ => false,
    };
    if !terms.iter().any(is_key) {
        return Vec::new();
    }
    let single = terms
        .iter()
        .filter_map(|term| Some((term.span, only(cases(term, true))?)));
    let single = single.flat_map(|(span, case)| case.into_iter().map(move |one| (span, one)));
    let named = single.filter_map(|(span, (subject, demand))| match subject.path.as_slice() {
        [Segment::Field(name)] if subject.root == *about && !subject.is_size => {
            let path = list.iter().cloned().chain([Segment::Any]);
            Some(AskedField {
                span,
                name: name.clone(),
                values: asked_values(&demand)?,
                path: path.chain(subject.path.clone()).collect(),
            })
        }
        _ => None,
    });
    named.collect()
}

/// Where the list of an `exists` over something of `about` lies, and what is asked of its item,
/// which stands as `about` itself.
pub(super) fn item_terms(part: &Expr, about: &Root) -> Option<(Vec<Segment>, Vec<Expr>)> {
    let ExprKind::Walk(walk) = &part.kind else {
        return None;
    };
    let ExprKind::Path(base, accesses) = &walk.list.kind else {
        return None;
    };
    let is_own = walk.kind == WalkKind::Exists && base.kind == ExprKind::Root(about.clone());
    let fields = accesses.iter().map(|access| match access {
        Access::Field(name) => Some(Segment::Field(name.clone())),
        Access::Index(_) => None,
    });
    let list: Vec<Segment> = fields.collect::<Option<_>>().filter(|_| is_own)?;
    let body = walk.body.about(walk.variable.id, about);
    Some(match body.kind {
        ExprKind::And(terms) => (list, terms),
        _ => (list, vec![body]),
    })
}

/// The values that a demand asks for, if it lists them.
pub(super) fn asked_values(demand: &Demand) -> Option<Vec<Value>> {
    match demand {
        Demand::Compares(Compare::Equal, value) => Some(vec![value.clone()]),
        Demand::Among(values, true) => Some(values.clone()),
        _ => None,
    }
}

/// Whether a root is a step, or is computed of what it gave.
fn is_of(root: &Root, step: &Root) -> bool {
    let read = format!("({step}");
    root == step || matches!(root, Root::Unknown(text) if text.contains(&read))
}

fn learn(all: &mut AcceptedOutputs, subject: DemandSubject, demand: Demand) {
    if let Some(name) = key(&subject.root) {
        let known = all.entry(name.to_owned()).or_default();
        known.push((subject, demand));
    }
}

/// The same with what assertions say of outputs, where a run goes on only if they hold.
pub(super) fn asserted<'s>(
    accepted: &AcceptedOutputs,
    assertions: impl Iterator<Item = &'s Step>,
) -> AcceptedOutputs {
    let mut all = accepted.clone();
    held(assertions).for_each(|(subject, demand)| learn(&mut all, subject, demand));
    all
}

/// What assertions say, where a run goes on only if they hold, and as far as they say one thing.
pub(super) fn held<'s>(
    assertions: impl Iterator<Item = &'s Step>,
) -> impl Iterator<Item = (DemandSubject, Demand)> {
    holding(assertions)
        .filter_map(|asserted| only(asserted.whole()?.cases(true)))
        .flatten()
}

/// The conditions of assertions, where a run goes on only if they hold.
pub(super) fn holding<'s>(
    assertions: impl Iterator<Item = &'s Step>,
) -> impl Iterator<Item = &'s Template> {
    // Why not one that is skipped, or that the plan goes on without: it may not hold.
    let holding = assertions.filter(|step| step.when.is_none() && !step.on_failure.may_go_on());
    // Why not that of a subgoal: it is skipped with it.
    let holding = holding.filter(|step| parent_of(&step.id.value).is_none());
    holding.filter_map(|step| Some(&step.asserted()?.condition))
}
