//! Part of the pass `shape`: a `confirm` of what was so before the write.
//!
//! Owns what S715 says of a read that is made before a write and again by its `confirm`. What
//! excludes what is [`super::solve`]'s. INVARIANT: what is found asks for nothing that the guards
//! of the step do not say of the same read, with the same arguments, and no other write of that
//! server comes between.

use super::accepted::{AcceptedOutputs, held, only, output_of};
use super::solve::{Assume, Solver};
use super::status::Statuses;
use crate::check::Pass;
use crate::check::order::OrderNode;
use crate::check::scope::Site;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::cases::{Case, both, cases};
use crate::expr::tree::ExprKind;
use crate::expr::{ArgTree, Root, Template};
use crate::plan::{CallRole, SideCall, Step, StepKind};

pub(super) fn run(pass: &Pass<'_>, accepted: &AcceptedOutputs, found: &mut Vec<Diagnostic>) {
    for node in pass.order.nodes() {
        let acts = node.is_call_of(|op| !op.effect.is_read()) && node.step.for_each.is_none();
        if let Some(confirm) = node.step.confirm.as_ref().filter(|_| acts) {
            let nodes = node.before.iter().filter_map(|at| pass.order.node(at));
            let mut reads = nodes.filter(|read| is_made_again(pass, read, node, confirm));
            found.extend(reads.find_map(|read| unchanged(pass, accepted, (read.step, node.step))));
        }
    }
}

/// Whether a `confirm` makes a read again that nothing but the write can have changed.
fn is_made_again(
    pass: &Pass<'_>,
    read: &OrderNode<'_>,
    write: &OrderNode<'_>,
    confirm: &SideCall,
) -> bool {
    let StepKind::Tool { tool, args } = &read.step.kind else {
        return false;
    };
    let is_plain = read.is_call_of(|op| op.effect.is_read()) && read.step.for_each.is_none();
    if !is_plain || tool.value != confirm.tool.value || !are_same(pass, args, &confirm.args) {
        return false;
    }
    let server = read.operation.map(|op| op.server());
    let id = |node: &OrderNode<'_>| node.step.id.value.clone();
    !pass.order.nodes().iter().any(|other| {
        let acts = other.is_call_of(|op| !op.effect.is_read() && Some(op.server()) == server);
        let is_before = pass.order.is_before(&id(other), &id(read));
        let is_after = pass.order.is_before(&id(write), &id(other));
        acts && id(other) != id(write) && !is_before && !is_after
    })
}

fn are_same(pass: &Pass<'_>, one: &ArgTree, other: &ArgTree) -> bool {
    let value = |tree: &ArgTree| pass.fixed_tree(tree);
    one.entries().len() == other.entries().len()
        && one.entries().iter().all(|(name, own)| {
            other.get(name).is_some_and(|(_, again)| {
                own.form() == again.form() || value(own).is_some() && value(own) == value(again)
            })
        })
}

fn unchanged(
    pass: &Pass<'_>,
    accepted: &AcceptedOutputs,
    (read, write): (&Step, &Step),
) -> Option<Diagnostic> {
    let confirm = write.side_call(CallRole::Confirm)?;
    let guard = write.when.iter().filter_map(Template::whole);
    let guard = guard.filter_map(|when| only(when.cases(true))).flatten();
    let known: Case = held(pass.order.assertions(&write.id.value))
        .chain(guard)
        .collect();
    let site = Site::end();
    let solver = Solver {
        pass,
        site: &site,
        statuses: Statuses::Before,
        trust: Assume::Everything,
        accepted: Some(accepted),
    };
    let before = output_of(read);
    let of_before = |kind: &ExprKind| match kind {
        ExprKind::Root(Root::Read) => Some(before.clone()),
        _ => None,
    };
    let is_so = |accept: &Template| {
        let whole = accept.whole()?.ast().with(&of_before);
        let otherwise = cases(&whole, false)?;
        let decides = solver.never(&otherwise).is_none();
        let known = both(&otherwise, std::slice::from_ref(&known))?;
        Some(decides && solver.never(&known).is_some())
    };
    let mut all = confirm.accept.iter();
    if confirm.accept.is_empty() || !all.all(|accept| is_so(accept) == Some(true)) {
        return None;
    }
    let id = &write.id.value;
    let message = format!("the `confirm` of `{id}` asks for what is so before `{id}`");
    let span = confirm.accept.first()?.span();
    Some(
        Diagnostic::new(Code::HollowCondition, span, message)
            .related(
                read.id.span,
                "read before, and asked for by what the step waits for",
            )
            .hint("ask for what the call changes")
            .step(id),
    )
}
