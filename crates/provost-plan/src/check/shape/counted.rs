//! Part of the pass `shape`: proofs that count another list than the one that their step goes over.
//!
//! Owns S722. A step over a list answers with one output for each item, so a proof that compares
//! how many there are with the size of a list says which list is meant. INVARIANT: what is found
//! counts a list that is neither the step's, nor one that this was taken of by leaving out null,
//! nor made of one of them item by item.

use crate::check::Pass;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::Root;
use crate::expr::cases::asked;
use crate::expr::tree::{Compare, Expr, ExprKind, Function, Walk, WalkKind, sources};
use crate::plan::Step;

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    for proof in &pass.plan.success {
        let Some(check) = proof.check.whole() else {
            continue;
        };
        let mut other = None;
        look(pass, check.ast(), &mut other);
        let name = &proof.criterion.value;
        let more = check
            .conjuncts()
            .iter()
            .find_map(|part| miscounted(pass, part));
        let Some((step, list, message)) = other
            .map(|(step, list)| {
                let id = &step.id.value;
                let message =
                    format!("the proof of `{name}` counts another list than `{id}` goes over");
                (step, list, message)
            })
            .or(more.map(|(step, list)| {
                let id = &step.id.value;
                let message = format!(
                    "the proof of `{name}` wants another number of items than `{id}` goes over"
                );
                (step, list, message)
            }))
        else {
            continue;
        };
        let id = &step.id.value;
        let mut finding = Diagnostic::new(Code::OtherList, list.span, message)
            .label("counted here")
            .hint(format!(
                "count the list that `{id}` goes over, or go over this one"
            ))
            .step(id);
        if let Some(each) = &step.for_each {
            finding = finding.related(each.list.span(), "gone over here");
        }
        found.push(finding);
    }
}

/// A comparison of how often a step did something with the size of its own list, which is false
/// where it did it for each.
fn miscounted<'a>(pass: &Pass<'a>, part: &'a Expr) -> Option<(&'a Step, &'a Expr)> {
    let (part, truth) = match &part.kind {
        ExprKind::Not(refused) => (&**refused, false),
        _ => (part, true),
    };
    let ExprKind::Compare(operator, left, right) = &part.kind else {
        return None;
    };
    if !matches!(
        asked(*operator, truth),
        Compare::NotEqual | Compare::Less | Compare::Greater
    ) {
        return None;
    }
    let sides = [(left, right), (right, left)];
    sides.into_iter().find_map(|(outputs, list)| {
        let all = counted(outputs)?;
        let done = match &all.kind {
            ExprKind::Walk(walk) if walk.filter.as_ref().is_some_and(|f| is_not_null(walk, f)) => {
                &walk.list
            }
            _ => all,
        };
        let Some((Root::Step(id), "output")) = done.field_of_root() else {
            return None;
        };
        let step = pass.plan.step(id)?;
        let gone_over = as_long(step.for_each.as_ref()?.list.whole()?.ast());
        let list = counted(list)?;
        (as_long(list).form() == gone_over.form()).then_some((step, list))
    })
}

/// Whether a condition asks an item not to be null, and nothing else.
fn is_not_null(walk: &Walk, condition: &Expr) -> bool {
    let ExprKind::Compare(Compare::NotEqual, left, right) = &condition.kind else {
        return false;
    };
    let is_item = |side: &Expr| matches!(&side.kind, ExprKind::Var(own) if *own == walk.variable);
    let is_null = |side: &Expr| matches!(side.kind, ExprKind::Null);
    is_item(left) && is_null(right) || is_null(left) && is_item(right)
}

/// The first comparison of how often a step did something with the size of another list.
fn look<'a>(pass: &Pass<'a>, expr: &'a Expr, found: &mut Option<(&'a Step, &'a Expr)>) {
    if found.is_some() {
        return;
    }
    if let ExprKind::Compare(Compare::Equal, left, right) = &expr.kind {
        let sides = [(left, right), (right, left)];
        let judged = sides.into_iter().filter_map(|(outputs, list)| {
            let step = pass.plan.step(outputs_of(counted(outputs)?)?)?;
            let gone_over = step.for_each.as_ref()?.list.whole()?.ast();
            let list = counted(list)?;
            let form = as_long(list).form();
            // Why also what it was taken of with care alone: whoever counts all of them wants all
            // of them done, and of those that lack what the call needs none was to be left out.
            let taken_of = careful_sources(as_long(gone_over));
            let is_same = taken_of.iter().any(|one| as_long(one).form() == form);
            Some((!is_same).then_some((step, list)))
        });
        // Why none where one side is right: where both are outputs, one step may well go over
        // those of the other.
        let judged: Option<Vec<_>> = judged.collect();
        *found = judged.and_then(|all| all.into_iter().next());
    }
    for part in expr.children() {
        look(pass, part, found);
    }
}

/// The list that has as many items, of which this one was made item by item.
pub(super) fn as_long(mut list: &Expr) -> &Expr {
    loop {
        list = match &list.kind {
            ExprKind::Walk(walk) if walk.kind == WalkKind::Map && walk.filter.is_none() => {
                &walk.list
            }
            ExprKind::Call(Function::Sort | Function::Reverse, arguments) => {
                match arguments.first() {
                    Some(sorted) => sorted,
                    None => return list,
                }
            }
            _ => return list,
        };
    }
}

/// A list, and those that it was taken of as long as only null was left out.
fn careful_sources(list: &Expr) -> Vec<&Expr> {
    let mut all = Vec::new();
    for one in sources(list) {
        all.push(one);
        if let ExprKind::Walk(walk) = &one.kind
            && walk
                .filter
                .as_ref()
                .is_some_and(|filter| !is_careful(filter))
        {
            break;
        }
    }
    all
}

/// Whether a condition asks only that something is there.
pub(super) fn is_careful(condition: &Expr) -> bool {
    match &condition.kind {
        ExprKind::And(terms) | ExprKind::Or(terms) => terms.iter().all(is_careful),
        ExprKind::Not(inner) => is_careful(inner),
        ExprKind::Has(_) => true,
        ExprKind::Compare(_, left, right) => {
            let is_null = |side: &Expr| matches!(side.kind, ExprKind::Null);
            is_null(left) || is_null(right)
        }
        _ => false,
    }
}

/// The list whose size an expression is.
fn counted(expr: &Expr) -> Option<&Expr> {
    match &expr.kind {
        ExprKind::Call(Function::Size, arguments) => arguments.first(),
        _ => None,
    }
}

/// The step whose outputs a list is, or is taken of.
fn outputs_of(list: &Expr) -> Option<&str> {
    match sources(list).last()?.field_of_root() {
        Some((Root::Step(id), "output")) => Some(id),
        _ => None,
    }
}
