//! Part of the pass `shape`: what takes its time, where the plan itself waits for it later.
//!
//! Owns what S726 says of a write that is followed by a poll: that its own `accept` or `confirm`
//! wants at once what the poll waits for, or that another write does not wait for the poll.
//! INVARIANT: the poll looks at what the write was given or answered, and it waits for one of
//! several states that the place can have.

use std::collections::BTreeMap;

use serde_json::Value;

use super::accepted::{AskedField, asked, asked_fields};
use super::solve::meets;
use super::written::answered;
use crate::catalog::Operation;
use crate::check::Pass;
use crate::check::graph::step_of;
use crate::check::order::OrderNode;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::cases::Demand;
use crate::expr::tree::{Compare, Expr, ExprKind};
use crate::expr::{ArgTree, Root, Segment, Template};
use crate::plan::{CallRole, Proof, Step, StepKind};
use crate::schema::PathType;

/// Most writes before a poll that are looked at.
const WRITES_MAX: usize = 16;

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    let polls = pass.order.nodes().iter().filter(|node| {
        node.step.until.is_some()
            && node.step.for_each.is_none()
            && node.is_call_of(|op| op.effect.is_read())
    });
    let mut followed: BTreeMap<&str, Poll<'_, '_>> = BTreeMap::new();
    for node in polls {
        if let Some(write) = begun_by(pass, node) {
            let poll = Poll { pass, node, write };
            found.extend(poll.wanted_at_once());
            followed.insert(&node.step.id.value, poll);
        }
    }
    if followed.is_empty() {
        return;
    }
    let proofs = pass.plan.success.iter();
    found.extend(proofs.filter_map(|proof| tied(pass, &followed, proof)));
    found.extend(followed.values().filter_map(Poll::overtaken));
}

/// The last write before a poll that was given what the poll is given, or answered it.
fn begun_by<'p, 'a>(pass: &'p Pass<'a>, poll: &OrderNode<'a>) -> Option<&'p OrderNode<'a>> {
    let asked = args(poll.step).filter(|asked| !asked.entries().is_empty())?;
    // Why the places first: of many writes only the nearest are looked at.
    let places: Vec<usize> = poll.before.iter().collect();
    let before = places.iter().rev().filter_map(|at| pass.order.node(*at));
    let server = poll.operation.map(Operation::server);
    let writes = before.filter(|node| {
        let acts = node.is_call_of(|op| !op.effect.is_read() && Some(op.server()) == server);
        acts && node.step.for_each.is_none()
    });
    let is_of = |write: &&OrderNode<'_>| {
        let own = Root::Step(write.step.id.value.clone());
        let given = args(write.step);
        asked.entries().iter().all(|(name, tree)| {
            let mut read = tree.templates().into_iter().flat_map(Template::references);
            let is_answered = read.any(|read| read.root == own);
            let own = given.and_then(|given| given.get(name.as_str()));
            is_answered || own.is_some_and(|(_, own)| are_equal(pass, own, tree))
        })
    };
    writes.take(WRITES_MAX).find(is_of)
}

fn args(step: &Step) -> Option<&ArgTree> {
    match &step.kind {
        StepKind::Tool { args, .. } => Some(args),
        _ => None,
    }
}

fn are_equal(pass: &Pass<'_>, one: &ArgTree, other: &ArgTree) -> bool {
    let value = pass.fixed_tree(one);
    one.form() == other.form() || value.is_some() && value == pass.fixed_tree(other)
}

/// A poll, and the write that has begun what it waits for.
struct Poll<'p, 'a> {
    pass: &'p Pass<'a>,
    node: &'p OrderNode<'a>,
    write: &'p OrderNode<'a>,
}

impl Poll<'_, '_> {
    /// An `accept` or a `confirm` of the write that asks for no state but those that the poll waits
    /// for, although there are others before.
    fn wanted_at_once(&self) -> Option<Diagnostic> {
        let until = &self.node.step.until.as_ref()?.condition;
        let waits = asked(until).filter_map(|(_, subject, demand)| {
            let is_field = subject.root == Root::Output && !subject.is_size;
            let is_state = matches!(demand, Demand::Compares(..) | Demand::Among(..));
            (is_field && is_state).then_some((subject.path, demand))
        });
        let waits: Vec<(Vec<Segment>, Demand)> = waits.collect();
        let read = self.node.operation?;
        let step = self.write.step;
        let accepted = asked_fields(&step.accept, &Root::Output);
        let by_accept = accepted.iter().find(|one| self.is_early(one, &waits));
        let confirm = step.confirm.as_ref();
        let called = self.pass.called(step, CallRole::Confirm);
        let is_poll = called.is_some_and(|called| called.name == read.name);
        let confirmed = confirm.filter(|_| is_poll);
        let confirmed = confirmed.map(|confirm| asked_fields(&confirm.accept, &Root::Read));
        let by_confirm = confirmed.iter().flatten().find(|one| {
            let mut own = waits.iter().filter(|(path, _)| *path == one.path);
            own.any(|(_, demand)| is_waited_for(one, demand, answered(read, &one.path).as_deref()))
        });
        let (asked, field) = match (by_accept, by_confirm) {
            (Some(asked), _) => (asked, "accept"),
            (None, Some(asked)) => (asked, "confirm"),
            (None, None) => return None,
        };
        let (id, poll) = (&step.id.value, &self.node.step.id.value);
        let message = format!(
            "the `{field}` of `{id}` wants at once the `{}` that `{poll}` waits for",
            asked.name
        );
        Some(
            Diagnostic::new(Code::UnwaitedState, asked.span, message)
                .related(self.node.step.id.span, "waits for it")
                .hint(format!("ask for it in `accept` of `{poll}` alone"))
                .step(id),
        )
    }

    /// Whether the answer of the write has a field like that of the poll, with the same states, and
    /// is to have one that the poll waits for.
    fn is_early(&self, one: &AskedField, waits: &[(Vec<Segment>, Demand)]) -> bool {
        let (Some(own), Some(read)) = (self.write.operation, self.node.operation) else {
            return false;
        };
        let known = answered(own, &one.path);
        let is_given = args(self.write.step).is_some_and(|args| args.get(&one.name).is_some());
        let mut like = waits.iter().filter(|(path, _)| {
            let is_same = path.last() == one.path.last();
            let there = answered(read, path);
            is_same
                && known.is_some()
                && there.as_ref().map(Vec::len) == known.as_ref().map(Vec::len)
        });
        !is_given && like.any(|(_, demand)| is_waited_for(one, demand, known.as_deref()))
    }

    /// A call of the write's own tool, given another word, that waits for the write and not for the
    /// poll.
    fn overtaken(&self) -> Option<Diagnostic> {
        let (write, poll) = (self.write.step, self.node.step);
        let tool = &write.tool()?.value;
        let given = args(write)?;
        let later = self.write.after.iter();
        let mut later = later.filter_map(|at| self.pass.order.node(at));
        let other = later.find(|later| {
            let step = later.step;
            let is_same = step.tool().is_some_and(|own| own.value == *tool);
            let reads = step.when.iter().flat_map(Template::references);
            let waits = reads.filter_map(step_of).any(|id| id == write.id.value);
            let has_other = || {
                args(step).is_some_and(|args| {
                    let mut entries = args.entries().iter();
                    entries.any(|(name, tree)| self.is_other_word(name.as_str(), tree, given))
                })
            };
            is_same
                && waits
                && !self.pass.order.is_settled(&poll.id.value, &step.id.value)
                && has_other()
        })?;
        let (id, poll_id) = (&other.step.id.value, &poll.id.value);
        let message = format!(
            "`{id}` runs as soon as `{}` has answered, while `{poll_id}` waits for what that began",
            write.id.value
        );
        let when = other.step.when.as_ref().map(Template::span)?;
        Some(
            Diagnostic::new(Code::UnwaitedState, when, message)
                .related(poll.id.span, "waits for it")
                .hint(format!("ask in `when` for `steps.{poll_id}.status`"))
                .step(id),
        )
    }

    /// Whether an argument takes a few words, and is given another one than the write.
    fn is_other_word(&self, name: &str, tree: &ArgTree, given: &ArgTree) -> bool {
        let Some(operation) = self.write.operation else {
            return false;
        };
        let field = [Segment::Field(name.to_owned())];
        let is_worded = matches!(operation.input.ty().at(&field),
            PathType::Known { ty, .. } if ty.values().len() > 1);
        let value = |tree: &ArgTree| self.pass.fixed_tree(tree);
        let own = given.get(name).and_then(|(_, own)| value(own));
        is_worded && own.is_some() && value(tree).is_some() && own != value(tree)
    }
}

/// Whether each value that is asked for is one that is waited for, and the place has others.
fn is_waited_for(one: &AskedField, demand: &Demand, known: Option<&[Value]>) -> bool {
    let is_end = |value: &Value| meets(value, demand);
    let is_choice = |known: &[Value]| known.len() > 2 && !known.iter().all(is_end);
    known.is_some_and(is_choice) && one.values.iter().all(is_end)
}

/// A proof that wants a write where a poll succeeded and nowhere else, although the write does not
/// wait for the poll.
fn tied(
    pass: &Pass<'_>,
    followed: &BTreeMap<&str, Poll<'_, '_>>,
    proof: &Proof,
) -> Option<Diagnostic> {
    let parts = proof.check.whole()?.conjuncts().iter();
    let mut pairs = parts.filter_map(|part| match &part.kind {
        ExprKind::Compare(Compare::Equal, left, right) => {
            Some((succeeded(left)?, succeeded(right)?))
        }
        _ => None,
    });
    pairs.find_map(|(one, two)| {
        let sides = [(one, two), (two, one)];
        let (poll, other) = sides
            .into_iter()
            .find_map(|(poll, other)| Some((followed.get(poll)?, other)))?;
        let step = pass.plan.step(other)?;
        let acts = pass.operation(step).is_some_and(|op| !op.effect.is_read());
        let write = &poll.write.step.id.value;
        let poll_id = &poll.node.step.id.value;
        let is_beside =
            acts && pass.order.is_before(write, other) && !pass.order.is_settled(poll_id, other);
        let when = step.when.as_ref().filter(|_| is_beside)?;
        let message = format!(
            "`{other}` runs as soon as `{write}` has answered, and the proof of `{}` ties it to \
             `{poll_id}`, which waits for what that began",
            proof.criterion.value
        );
        Some(
            Diagnostic::new(Code::UnwaitedState, when.span(), message)
                .related(poll.node.step.id.span, "waits for it")
                .hint(format!("ask in `when` for `steps.{poll_id}.status`"))
                .step(other),
        )
    })
}

/// The step of which an expression asks that it succeeded.
fn succeeded(expr: &Expr) -> Option<&str> {
    let ExprKind::Compare(Compare::Equal, left, right) = &expr.kind else {
        return None;
    };
    let (Root::Step(id), "status") = left.field_of_root()? else {
        return None;
    };
    (right.kind == ExprKind::Text("succeeded".to_owned())).then_some(id)
}
