//! Sums over a list that a condition bounds before a step goes over it.
//!
//! Owns the form in which a plan says so: `sum(LIST.map(x, x.FIELD)) <= N`, in an assertion that
//! holds the step back or in its own `when`. Reads no value. INVARIANT: a bound that is found is
//! no less than what the items add up to, whichever of them the step takes.

use serde_json::json;

use super::super::Pass;
use super::super::scope::Site;
use super::super::typing::type_of;
use crate::amount::Amount;
use crate::expr::tree::{Access, Compare, Expr, ExprKind, Function, Walk, WalkKind, sources};
use crate::expr::{ArgTree, Root, Segment, Template};
use crate::plan::Step;
use crate::schema::{Kinds, PathType, Type};

/// The most that an argument adds over all items, as a condition before the step says.
pub(super) fn of_list(pass: &Pass<'_>, step: &Step, tree: &ArgTree) -> Option<Amount> {
    let (each, ArgTree::Template(template)) = (step.for_each.as_ref()?, tree) else {
        return None;
    };
    let field = item_field(template)?;
    let lists = sources(each.list.whole()?.ast());
    let counts = |list: &&&Expr| is_of_counts(pass, step, list, field);
    let wholes: Vec<String> = lists
        .iter()
        .filter(counts)
        .map(|list| list.form())
        .collect();
    let own = step.when.iter();
    // Why not with `fresh`: what was read again nobody has asserted, and `when` is asked again.
    let asserted = step.fresh.is_none().then(|| {
        let before = pass.order.assertions(&step.id.value);
        let held = before.filter(|one| one.when.is_none() && !one.on_failure.may_go_on());
        held.filter_map(|one| Some(&one.assertion()?.condition))
    });
    let conditions = own.chain(asserted.into_iter().flatten());
    let terms = conditions.filter_map(Template::whole);
    let terms = terms.flat_map(|condition| condition.conjuncts());
    terms
        .filter_map(|term| bound_of(term, &wholes, field))
        .min()
}

/// Whether the field of every item is a whole number of zero or more. Why it must be: a part of a
/// list with numbers below zero may add up to more than the whole.
fn is_of_counts(pass: &Pass<'_>, step: &Step, list: &Expr, field: &str) -> bool {
    let site = Site::before(step);
    let names = |root: &Root, path: &[Segment]| pass.place(&site, root, path);
    let typed = type_of(list, &names, &mut Vec::new());
    let item = (!typed.is_reported()).then(|| typed.to_type().item());
    let field = [Segment::Field(field.to_owned())];
    let Some(PathType::Known { ty, .. }) = item.flatten().map(|item| item.at(&field)) else {
        return false;
    };
    let below = Type::of_json(&json!({ "type": "integer", "maximum": -1 }));
    ty.kinds() == Kinds::INTEGER && ty.never_fits(&below).is_some()
}

/// The number that a term holds the sum of a field below.
fn bound_of(term: &Expr, lists: &[String], field: &str) -> Option<Amount> {
    let ExprKind::Compare(operator, left, right) = &term.kind else {
        return None;
    };
    let (sum, number) = match operator {
        Compare::Less | Compare::LessEqual | Compare::Equal => (left, right),
        Compare::Greater | Compare::GreaterEqual => (right, left),
        _ => return None,
    };
    let ExprKind::Int(most) = number.kind else {
        return None;
    };
    let ExprKind::Call(Function::Sum, arguments) = &sum.kind else {
        return None;
    };
    let [
        Expr {
            kind: ExprKind::Walk(walk),
            ..
        },
    ] = arguments.as_slice()
    else {
        return None;
    };
    let is_of_field = walk.kind == WalkKind::Map && walk.filter.is_none() && reads(walk, field);
    let same = is_of_field && lists.contains(&walk.list.form());
    same.then(|| Amount::of_value(&most.into())).flatten()
}

/// Whether a walk makes of each item its field.
fn reads(walk: &Walk, field: &str) -> bool {
    let ExprKind::Path(base, accesses) = &walk.body.kind else {
        return false;
    };
    let of_item = matches!(&base.kind, ExprKind::Var(variable) if *variable == walk.variable);
    of_item && matches!(accesses.as_slice(), [Access::Field(name)] if name == field)
}

/// The field of the item that a template is.
fn item_field(template: &Template) -> Option<&str> {
    let (root, name) = template.whole()?.ast().field_of_root()?;
    (*root == Root::Item).then_some(name)
}
