//! Part of the pass `shape`: a `confirm` of what was so before the write.
//!
//! Owns what S715 says of a read that is made before a write and again by its `confirm`. What
//! excludes what is [`super::solve`]'s. INVARIANT: what is found asks for nothing that the guards
//! of the step do not say of the same read, with the same arguments, and no other write of that
//! server comes between; or of each item, by a field of one name with the same values.

use super::accepted::{AcceptedOutputs, held, output_of};
use super::solve::Solver;
use super::status::Statuses;
use super::written::answered;
use crate::check::Pass;
use crate::check::order::OrderNode;
use crate::check::scope::Site;
use crate::check::typing::TypedPlace;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::cases::{Case, Demand, both, cases};
use crate::expr::tree::{Access, Compare, Expr, ExprKind, WalkKind};
use crate::expr::{ArgTree, Root, Segment, Template, references_of};
use crate::plan::{CallRole, SideCall, Step, StepKind};
use crate::source::Span;

pub(super) fn run(pass: &Pass<'_>, accepted: &AcceptedOutputs, found: &mut Vec<Diagnostic>) {
    for node in pass.order.nodes() {
        let acts = node.is_call_of(|op| !op.effect.is_read());
        let is_said = found.iter().any(|one| {
            let of_step = one.step.as_deref() == Some(node.step.id.value.as_str());
            of_step && one.code == Code::HollowCondition
        });
        if node.step.for_each.is_some() {
            let own = Some(node.step).filter(|_| acts && !is_said);
            let finding = own.and_then(|step| unchanged_item(pass, accepted, step));
            found.extend(finding.or_else(|| own.and_then(|_| found_before(pass, node))));
        } else if let Some(confirm) = node.step.confirm.as_ref().filter(|_| acts) {
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
    let guard = guard.filter_map(|when| when.cases(true)).next();
    let site = Site::end();
    let before = Before {
        solver: Solver::knowing(pass, &site, Statuses::Before, Some(accepted)),
        held: held(pass.order.assertions(&write.id.value)).collect(),
        guard: guard.unwrap_or_else(|| vec![Case::new()]),
    };
    let output = output_of(read);
    let of_before = |part: &Expr| {
        Some(part.with(&|kind| match kind {
            ExprKind::Root(Root::Read) => Some(output.clone()),
            _ => None,
        }))
    };
    let span = before.says_all(confirm, &of_before)?;
    let label = "read before, and asked for by what the step waits for";
    Some(finding(write, span).related(read.id.span, label))
}

/// A `confirm` that asks of each item what the list was chosen by.
fn unchanged_item(pass: &Pass<'_>, accepted: &AcceptedOutputs, write: &Step) -> Option<Diagnostic> {
    let confirm = write.side_call(CallRole::Confirm)?;
    let read = pass.called(write, CallRole::Confirm)?;
    let list = write.for_each.as_ref()?.list.whole()?.ast();
    let ExprKind::Walk(walk) = &list.kind else {
        return None;
    };
    let chosen = walk
        .filter
        .as_ref()
        .filter(|_| walk.kind == WalkKind::Filter);
    let chosen = chosen?.about(walk.variable.id, &Root::Item);
    let site = Site::call(pass, write);
    let before = Before {
        solver: Solver::knowing(pass, &site, Statuses::Before, Some(accepted)),
        held: Case::new(),
        guard: cases(&chosen, true)?,
    };
    let is_same = |accesses: &[Access]| {
        let fields = accesses.iter().map(|access| match access {
            Access::Field(name) => Some(Segment::Field(name.clone())),
            Access::Index(_) => None,
        });
        let path: Vec<Segment> = fields.collect::<Option<_>>()?;
        let last = path.last()?.clone();
        let known = answered(read, &path)?;
        let TypedPlace::Typed(own) = pass.place(&site, &Root::Item, std::slice::from_ref(&last))
        else {
            return None;
        };
        let own = own.to_type().values();
        let is_same = own.len() == known.len() && own.iter().all(|value| known.contains(value));
        let Segment::Field(name) = last else {
            return None;
        };
        is_same.then_some(name)
    };
    let of_item = |part: &Expr| {
        let moved = part.with(&|kind| match kind {
            ExprKind::Path(base, accesses) if base.kind == ExprKind::Root(Root::Read) => {
                let item = Expr {
                    kind: ExprKind::Root(Root::Item),
                    span: base.span,
                };
                let name = is_same(accesses)?;
                Some(ExprKind::Path(Box::new(item), vec![Access::Field(name)]))
            }
            _ => None,
        });
        let is_left = references_of(&moved)
            .iter()
            .any(|read| read.root == Root::Read);
        (!is_left).then_some(moved)
    };
    let span = before.says_all(confirm, &of_item)?;
    Some(finding(write, span).related(list.span, "each item was chosen by it"))
}

/// A `confirm` that asks of the same read, made before, what each item was chosen by.
fn found_before(pass: &Pass<'_>, node: &OrderNode<'_>) -> Option<Diagnostic> {
    let write = node.step;
    let confirm = write.confirm.as_ref()?;
    let chosen = conditions(write.for_each.as_ref()?.list.whole()?.ast());
    let nodes = node.before.iter().filter_map(|at| pass.order.node(at));
    let mut reads = nodes.filter(|read| is_made_again(pass, read, node, confirm));
    reads.find_map(|read| {
        let output = output_of(read.step);
        let parts = confirm.accept.iter().map(|accept| accept.whole());
        let parts: Vec<_> = parts.collect::<Option<_>>()?;
        let mut parts = parts.into_iter().flat_map(|whole| whole.conjuncts());
        let is_so = |part: &Expr| {
            let moved = part.with(&|kind| match kind {
                ExprKind::Root(Root::Read) => Some(output.clone()),
                _ => None,
            });
            chosen.iter().any(|one| one.form() == moved.form())
        };
        let span = confirm.accept.first()?.span();
        parts.all(is_so).then(|| {
            let label = "read before, and each item was chosen by it";
            finding(write, span).related(read.step.id.span, label)
        })
    })
}

/// What each item of a list was chosen by, of the item.
fn conditions(mut list: &Expr) -> Vec<Expr> {
    let mut all = Vec::new();
    while let ExprKind::Walk(walk) = &list.kind
        && walk.kind == WalkKind::Filter
    {
        let chosen = walk.filter.iter();
        let chosen = chosen.map(|chosen| chosen.about(walk.variable.id, &Root::Item));
        all.extend(chosen.flat_map(|chosen| match chosen.kind {
            ExprKind::And(terms) => terms,
            _ => vec![chosen],
        }));
        list = &walk.list;
    }
    all
}

fn finding(write: &Step, span: Span) -> Diagnostic {
    let id = &write.id.value;
    let message = format!("the `confirm` of `{id}` asks for what is so before `{id}`");
    Diagnostic::new(Code::HollowCondition, span, message)
        .hint("ask for what the call changes")
        .step(id)
}

/// What is known before a write.
struct Before<'p, 'a> {
    solver: Solver<'p, 'a>,
    held: Case,
    guard: Vec<Case>,
}

impl Before<'_, '_> {
    /// Where a `confirm` asks for something, if all that it asks for is so: each part said of what
    /// was before, beside what only names the record.
    fn says_all(
        &self,
        confirm: &SideCall,
        of_before: &dyn Fn(&Expr) -> Option<Expr>,
    ) -> Option<Span> {
        let parts = confirm.accept.iter().map(|accept| accept.whole());
        let parts: Vec<_> = parts.collect::<Option<_>>()?;
        let parts = parts.into_iter().flat_map(|whole| whole.conjuncts());
        let asked = parts.filter(|part| !names_record(part, confirm));
        let asked: Vec<Expr> = asked.map(of_before).collect::<Option<_>>()?;
        let is_so = asked.iter().all(|part| self.says(part) == Some(true));
        let decides = asked.iter().any(|part| self.decides(part) == Some(true));
        let span = confirm.accept.first()?.span();
        (is_so && decides).then_some(span)
    }

    /// Whether a part cannot be false.
    fn says(&self, part: &Expr) -> Option<bool> {
        let otherwise = cases(part, false)?;
        let known = both(&otherwise, std::slice::from_ref(&self.held))?;
        let known = both(&known, &self.guard)?;
        Some(self.solver.never(&known).is_some())
    }

    /// Whether a part asks for something: what holds only because it was read before, does.
    fn decides(&self, part: &Expr) -> Option<bool> {
        let otherwise = cases(part, false)?;
        let mut all = otherwise.iter().flatten();
        let is_same = all.any(|(_, demand)| *demand == Demand::Nothing);
        Some(is_same || self.solver.never(&otherwise).is_none())
    }
}

/// Whether a part of a `confirm` asks only that what is read is what it was found by: a field that
/// is called like an argument of the read.
fn names_record(part: &Expr, confirm: &SideCall) -> bool {
    let ExprKind::Compare(Compare::Equal, left, right) = &part.kind else {
        return false;
    };
    let is_named = |expr: &Expr| match &expr.kind {
        ExprKind::Path(base, accesses) if base.kind == ExprKind::Root(Root::Read) => {
            let name = accesses.last().and_then(|access| match access {
                Access::Field(name) => confirm.args.get(name),
                Access::Index(_) => None,
            });
            name.is_some()
        }
        _ => false,
    };
    is_named(left) || is_named(right)
}
