//! Part of the pass `shape`: a proof of what was before a write, which the write's own work denies.
//!
//! Owns what S716 says of proofs that can hold only where a write has nothing to do, and of those
//! that want of all items what the guards of the write want of one. INVARIANT: proof and guard are
//! about the same values, read before the write, of the server that the write changes.

use serde_json::json;

use super::accepted::{AcceptedOutputs, asserted};
use super::agree::finding;
use super::solve::Solver;
use super::status::Statuses;
use crate::check::Pass;
use crate::check::graph::step_of;
use crate::check::order::OrderNode;
use crate::check::scope::Site;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::cases::{Case, Demand, DemandSubject, both, cases};
use crate::expr::tree::{Access, Compare, Expr, ExprKind, Function, Walk, WalkKind};
use crate::expr::{Root, Segment, references_of};
use crate::plan::{CallRole, Proof, Step};

pub(super) fn run(pass: &Pass<'_>, accepted: &AcceptedOutputs, found: &mut Vec<Diagnostic>) {
    let end = Site::end();
    let held = asserted(accepted, pass.plan.steps.iter());
    let solver = Solver::knowing(pass, &end, Statuses::End, Some(&held));
    let acts = |node: &&OrderNode<'_>| node.is_call_of(|op| !op.effect.is_read());
    let writes: Vec<&OrderNode<'_>> = pass.order.nodes().iter().filter(acts).collect();
    let all: Vec<Diagnostic> = pass
        .plan
        .success
        .iter()
        .filter_map(|proof| {
            let mut all = writes.iter();
            all.find_map(|write| {
                let step = write.step;
                let (id, name) = (&step.id.value, &proof.criterion.value);
                let idle = || is_idle(&solver, proof, write) || gives_none(pass, proof, step);
                let message = if idle() {
                    format!("the proof of `{name}` holds only where `{id}` has nothing to do")
                } else if wants_all(pass, proof, step) {
                    format!("`{id}` runs as soon as one item is as the proof of `{name}` wants all")
                } else {
                    return None;
                };
                let is_said = found
                    .iter()
                    .any(|one| one.code == Code::AgainstProof && one.step.as_ref() == Some(id));
                (!is_said).then(|| finding(proof, step, message))
            })
        })
        .collect();
    found.extend(all);
}

/// Whether a proof holds in no run in which a write does something.
fn is_idle(solver: &Solver<'_, '_>, proof: &Proof, write: &OrderNode<'_>) -> bool {
    let judged = || {
        let step = write.step;
        let works = match &step.for_each {
            Some(each) => {
                let list = each.list.whole()?.ast();
                let is_own = reads_own(solver.pass, write, list);
                has_item(list).filter(|_| is_own)?
            }
            None => {
                let is_of_before = reads_before(solver.pass, write, proof);
                step.when
                    .as_ref()
                    .filter(|_| is_of_before)?
                    .whole()?
                    .cases(true)?
            }
        };
        let status = DemandSubject {
            root: Root::Step(step.id.value.clone()),
            path: vec![Segment::Field("status".to_owned())],
            is_size: false,
        };
        let done = Demand::Compares(Compare::Equal, json!("succeeded"));
        let done: Case = vec![(status, done)];
        let holds = both(&proof.check.whole()?.cases(true)?, &[done])?;
        let never = |cases: &[Case]| solver.never(cases).is_some();
        Some(never(&both(&holds, &works)?) && !never(&holds) && !never(&works))
    };
    judged() == Some(true)
}

/// Whether a list was read, before a write, of the server that the write changes.
fn reads_own(pass: &Pass<'_>, write: &OrderNode<'_>, list: &Expr) -> bool {
    let server = write.operation.map(|op| op.server());
    references_of(list).iter().filter_map(step_of).any(|id| {
        let step = pass.plan.step(id);
        let operation = step.and_then(|step| pass.operation(step));
        operation.is_some_and(|op| op.effect.is_read() && Some(op.server()) == server)
    })
}

/// Whether a proof looks at nothing but what was before a write, and at what the write changes.
fn reads_before(pass: &Pass<'_>, write: &OrderNode<'_>, proof: &Proof) -> bool {
    let read = proof.check.references().filter_map(step_of);
    let mut read = read.peekable();
    let own = &write.step.id.value;
    let is_own = proof
        .check
        .whole()
        .is_some_and(|whole| reads_own(pass, write, whole.ast()));
    read.peek().is_some() && is_own && read.all(|id| pass.order.is_before(id, own))
}

/// The cases in which a list has an item.
fn has_item(list: &Expr) -> Option<Vec<Case>> {
    let of = |kind: ExprKind| Expr {
        kind,
        span: list.span,
    };
    let list = counted(list);
    let size = of(ExprKind::Call(Function::Size, vec![list.clone()]));
    let zero = Box::new(of(ExprKind::Int(0)));
    let some = of(ExprKind::Compare(Compare::Greater, Box::new(size), zero));
    let some = cases(&some, true)?;
    let chosen = match &list.kind {
        ExprKind::Walk(walk) if walk.kind == WalkKind::Filter => walk.filter.clone(),
        _ => None,
    };
    let (Some(chosen), ExprKind::Walk(walk)) = (chosen, &list.kind) else {
        return Some(some);
    };
    let there = of(ExprKind::Walk(Box::new(Walk {
        kind: WalkKind::Exists,
        filter: None,
        body: chosen,
        ..(**walk).clone()
    })));
    both(&some, &cases(&there, true)?)
}

/// The list that has as many items as another: without what is only computed of each, or sorted.
fn counted(list: &Expr) -> &Expr {
    match &list.kind {
        ExprKind::Call(Function::Sort | Function::Reverse | Function::Distinct, arguments) => {
            arguments.first().map_or(list, counted)
        }
        ExprKind::Walk(walk) if walk.kind == WalkKind::Map && walk.filter.is_none() => {
            counted(&walk.list)
        }
        _ => list,
    }
}

/// The list of which all that is gone over was chosen.
fn chosen_of(list: &Expr) -> &Expr {
    match &counted(list).kind {
        ExprKind::Walk(walk) => chosen_of(&walk.list),
        _ => counted(list),
    }
}

/// Whether a proof says that no item of a list is one that the write was made for, although these
/// come from that list.
fn gives_none(pass: &Pass<'_>, proof: &Proof, write: &Step) -> bool {
    let parts = proof.check.whole().into_iter();
    let mut parts = parts.flat_map(|whole| whole.conjuncts());
    parts.any(|part| {
        let ExprKind::Not(inner) = &part.kind else {
            return false;
        };
        let ExprKind::Walk(outer) = &inner.kind else {
            return false;
        };
        let ExprKind::Walk(walk) = &outer.body.kind else {
            return false;
        };
        let is_any = |walk: &Walk| walk.kind == WalkKind::Exists;
        let own = Root::Step(write.id.value.clone());
        let is_own = |list: &Expr| list.field_of_root() == Some((&own, "output"));
        let (asked, done) = if is_own(chosen_of(&walk.list)) {
            (&outer.list, walk)
        } else if is_own(chosen_of(&outer.list)) {
            (&walk.list, outer)
        } else {
            return false;
        };
        let names = same_field(&walk.body, outer.variable.id, walk.variable.id);
        let given = |name: &str| {
            let (_, args) = write.call(CallRole::Own)?;
            let (_, tree) = args.get(name)?;
            let templates = tree.templates();
            let field = templates.first()?.whole()?.ast().field_of_root()?;
            Some(field == (&Root::Item, name))
        };
        is_any(outer)
            && is_any(done)
            && names.is_some_and(|name| given(name) == Some(true))
            && comes_from(pass, write, &chosen_of(asked).form())
    })
}

/// The field of both items that a condition holds against each other, by one name.
fn same_field(condition: &Expr, one: u32, other: u32) -> Option<&str> {
    let parts = match &condition.kind {
        ExprKind::And(terms) => terms.as_slice(),
        _ => std::slice::from_ref(condition),
    };
    parts.iter().find_map(|part| {
        let ExprKind::Compare(Compare::Equal, left, right) = &part.kind else {
            return None;
        };
        let ((left, name), (right, again)) = (field_of_item(left)?, field_of_item(right)?);
        let is_both = (left, right) == (one, other) || (left, right) == (other, one);
        (is_both && name == again).then_some(name)
    })
}

/// The variable whose field an expression is, and the field.
fn field_of_item(expr: &Expr) -> Option<(u32, &str)> {
    let ExprKind::Path(base, accesses) = &expr.kind else {
        return None;
    };
    match (&base.kind, accesses.as_slice()) {
        (ExprKind::Var(own), [Access::Field(name)]) => Some((own.id, name)),
        _ => None,
    }
}

/// How many steps are followed that each go over what the one before gave.
const CHAIN_MAX: usize = 4;

/// Whether a step goes over what was chosen of a list, or over what was read for each of it.
fn comes_from(pass: &Pass<'_>, step: &Step, list: &str) -> bool {
    let mut here = Some(step);
    for _ in 0..CHAIN_MAX {
        let each = here.and_then(|step| step.for_each.as_ref());
        let Some(own) = each.and_then(|each| each.list.whole()) else {
            return false;
        };
        let own = chosen_of(own.ast());
        if own.form() == list {
            return true;
        }
        here = match own.field_of_root() {
            Some((Root::Step(id), "output")) => pass.plan.step(id),
            _ => None,
        };
    }
    false
}

/// Whether the guards of a write want of one item what a proof wants of all.
fn wants_all(pass: &Pass<'_>, proof: &Proof, write: &Step) -> bool {
    let asked = proof.check.whole().into_iter();
    let asked = asked.flat_map(|whole| whole.conjuncts());
    let all: Vec<(String, String)> = asked
        .filter_map(|part| walked(part, WalkKind::All))
        .collect();
    if all.is_empty() {
        return false;
    }
    let assertions = pass.order.assertions(&write.id.value);
    let held = assertions.filter_map(|step| Some(&step.asserted()?.condition));
    let guards = held.chain(&write.when).filter_map(|guard| guard.whole());
    let guards: Vec<&Expr> = guards.flat_map(|whole| whole.conjuncts()).collect();
    let has = |wanted: &(String, String), kind| {
        let mut own = guards.iter().filter_map(|part| walked(part, kind));
        own.any(|one| one == *wanted)
    };
    all.iter()
        .any(|wanted| has(wanted, WalkKind::Exists) && !has(wanted, WalkKind::All))
}

/// The list and the condition of a comprehension of a kind.
fn walked(part: &Expr, kind: WalkKind) -> Option<(String, String)> {
    match &part.kind {
        ExprKind::Walk(walk) if walk.kind == kind => {
            let body = walk.body.about(walk.variable.id, &Root::Item);
            Some((walk.list.form(), body.form()))
        }
        _ => None,
    }
}
