//! Sums over a list that a condition bounds before a step goes over it.
//!
//! Owns the form in which a plan says so: `sum(LIST.map(x, x.FIELD)) <= N`, in an assertion that
//! holds the step back or in its own `when`. Of values it reads parameters alone. INVARIANT: a
//! bound that is found is no less than what the items add up to, whichever of them the step takes,
//! but for the rounding of fractions: less than a millionth an item.

use serde_json::{Value, json};

use super::super::Pass;
use super::super::scope::Site;
use super::super::typing::type_of;
use crate::amount::Amount;
use crate::expr::cases::{asked, mirrored};
use crate::expr::tree::{Access, Compare, Expr, ExprKind, Function, Walk, WalkKind, sources};
use crate::expr::{ArgTree, Fact, Root, Segment, Template};
use crate::plan::Step;
use crate::schema::{Kinds, PathType, Type};

/// The most that an argument adds over all items, as a condition before the step says.
pub(super) fn of_list(pass: &Pass<'_>, step: &Step, tree: &ArgTree) -> Option<Amount> {
    let (each, ArgTree::Template(template)) = (step.for_each.as_ref()?, tree) else {
        return None;
    };
    let field = item_field(template)?;
    let lists = sources(each.list.whole()?.ast());
    let known = lists.into_iter().filter_map(|list| {
        let is_whole = is_of_whole(pass, step, list, field)?;
        Some((list.form(), is_whole))
    });
    let known: Vec<(String, bool)> = known.collect();
    let terms = conditions(pass, step)
        .into_iter()
        .filter_map(Template::whole);
    let terms = terms.flat_map(|condition| condition.conjuncts());
    terms
        .filter_map(|term| bound_of(pass, term, &known, field))
        .min()
}

/// What holds where a step runs: its own `when`, and what is asserted before it.
fn conditions<'p>(pass: &'p Pass<'_>, step: &'p Step) -> Vec<&'p Template> {
    let own = step.when.iter();
    // Why not with `fresh`: what was read again nobody has asserted, and `when` is asked again.
    if step.fresh.is_some() {
        return own.collect();
    }
    let facts = own.clone().flat_map(Template::facts_if_true);
    let succeeded = facts.filter_map(|fact| match fact {
        Fact::Status { step, words } if words.iter().all(|word| word == "succeeded") => Some(step),
        _ => None,
    });
    let succeeded = succeeded.filter_map(|id| pass.plan.step(&id));
    let before = pass.order.assertions(&step.id.value);
    let held = before.filter(|one| one.when.is_none() && !one.on_failure.may_go_on());
    let asserting = held.chain(succeeded);
    let asserted = asserting.filter_map(|one| Some(&one.assertion()?.condition));
    own.chain(asserted).collect()
}

/// Whether the field of every item is a whole number; nothing unless it is a number of zero or
/// more. Why it must be: a part of a list with numbers below zero may add up to more than all.
fn is_of_whole(pass: &Pass<'_>, step: &Step, list: &Expr, field: &str) -> Option<bool> {
    let site = Site::before(step);
    let names = |root: &Root, path: &[Segment]| pass.place(&site, root, path);
    let typed = type_of(list, &names, &mut Vec::new());
    let item = (!typed.is_reported()).then(|| typed.to_type().item());
    let field = [Segment::Field(field.to_owned())];
    let Some(PathType::Known { ty, .. }) = item.flatten().map(|item| item.at(&field)) else {
        return None;
    };
    let below = Type::of_json(&json!({ "type": "number", "exclusiveMaximum": 0 }));
    let counts = ty.kinds().within(Kinds::NUMBER | Kinds::INTEGER);
    let is_known = counts && ty.never_fits(&below).is_some();
    is_known.then(|| ty.kinds() == Kinds::INTEGER)
}

/// The number that a term holds the sum of a field below.
fn bound_of(pass: &Pass<'_>, term: &Expr, lists: &[(String, bool)], field: &str) -> Option<Amount> {
    let (term, truth) = match &term.kind {
        ExprKind::Not(refused) => (&**refused, false),
        _ => (term, true),
    };
    let ExprKind::Compare(operator, left, right) = &term.kind else {
        return None;
    };
    let operator = asked(*operator, truth);
    let sides = [(left, operator, right), (right, mirrored(operator), left)];
    sides.into_iter().find_map(|(sum, operator, most)| {
        let bounds = matches!(
            operator,
            Compare::Less | Compare::LessEqual | Compare::Equal
        );
        let is_whole = sum_of(sum, lists, field).filter(|_| bounds)?;
        let most = value(pass, most)?;
        let is_exact = is_whole || most.as_f64().is_some_and(|most| most <= FRACTIONS_MAX);
        is_exact.then(|| Amount::of_value(&most)).flatten()
    })
}

/// Largest sum of fractions whose rounding stays below a millionth an item.
const FRACTIONS_MAX: f64 = 1e9;

/// A number that is known before the run.
fn value(pass: &Pass<'_>, expr: &Expr) -> Option<Value> {
    match &expr.kind {
        ExprKind::Int(number) => Some((*number).into()),
        ExprKind::Double(number) => Some((*number).into()),
        _ => {
            let (root, name) = expr.field_of_root()?;
            let is_known = *root == Root::Params && pass.open.params.is_none();
            pass.params.get(name).filter(|_| is_known).cloned()
        }
    }
}

/// Whether what it adds up is whole, if it is the sum of the field over all items of a list.
fn sum_of(expr: &Expr, lists: &[(String, bool)], field: &str) -> Option<bool> {
    let ExprKind::Call(Function::Sum, arguments) = &expr.kind else {
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
    let form = walk.list.form();
    let mut known = lists
        .iter()
        .filter(|(list, _)| is_of_field && *list == form);
    known.next().map(|(_, is_whole)| *is_whole)
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
