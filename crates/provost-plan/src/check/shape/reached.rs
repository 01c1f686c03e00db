//! Part of the pass `shape`: a statement that reaches nothing of what it is given.
//!
//! Owns what S724 says of a statement that changes only rows with a certain value in a column. The
//! guards of the step, or the choice of its list, want another value there. INVARIANT: the value
//! was read of the same table, and no other write of that server may come in between.

use serde_json::Value;

use super::accepted::asked;
use super::solve::meets;
use super::statement;
use super::vain::may_change;
use crate::catalog::Operation;
use crate::check::Pass;
use crate::check::graph::step_of;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::cases::{Case, DemandSubject, cases};
use crate::expr::tree::{Expr, ExprKind, WalkKind};
use crate::expr::{ArgTree, Root, Segment, references_of};
use crate::plan::{Step, StepKind};
use crate::source::Span;

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    for step in &pass.plan.steps {
        let StepKind::Tool { args, .. } = &step.kind else {
            continue;
        };
        let Some(operation) = pass.operation(step).filter(|op| !op.effect.is_read()) else {
            continue;
        };
        let write = Write {
            pass,
            step,
            operation,
            args,
        };
        let finding = match step.for_each.is_some() {
            true => write.of_items(),
            false => write.of_guards(),
        };
        found.extend(finding);
    }
}

struct Write<'p, 'a> {
    pass: &'p Pass<'a>,
    step: &'p Step,
    operation: &'p Operation,
    args: &'p ArgTree,
}

impl Write<'_, '_> {
    /// What is asked of a record before the call, which the statement does not choose.
    fn of_guards(&self) -> Option<Diagnostic> {
        let asserted = self.pass.order.assertions(&self.step.id.value);
        let asserted = asserted.filter_map(|held| Some(&held.assertion()?.condition));
        let mut all = self.step.when.iter().chain(asserted).flat_map(asked);
        all.find_map(|(span, subject, demand)| {
            let Root::Step(id) = &subject.root else {
                return None;
            };
            let read = self.pass.plan.step(id)?;
            let name = column(&subject)?;
            let chosen = self.chosen(read, name)?;
            let is_other = !meets(&chosen, &demand) && self.is_of_same(read);
            is_other.then(|| self.finding(span, name, &chosen))
        })
    }

    /// What is asked of each item of the list, which the statement does not choose.
    fn of_items(&self) -> Option<Diagnostic> {
        let each = self.step.for_each.as_ref()?;
        let mut list = each.list.whole()?.ast();
        let item = DemandSubject {
            root: Root::Item,
            path: Vec::new(),
            is_size: false,
        };
        let mut chosen: Vec<Expr> = Vec::new();
        while let ExprKind::Walk(walk) = &list.kind {
            // Why not behind a `map`: an item is another thing then.
            let filter = walk
                .filter
                .as_ref()
                .filter(|_| walk.kind == WalkKind::Filter)?;
            chosen.push(filter.about(walk.variable.id, &item.root));
            list = &walk.list;
        }
        let from = references_of(list).into_iter().next()?;
        let read = self.pass.plan.step(step_of(&from)?)?;
        let is_given = self.args.templates().into_iter().any(|template| {
            let mut read = template.references();
            read.any(|read| read.root == Root::Item)
        });
        if !is_given || !matches!(list.kind, ExprKind::Path(..)) {
            return None;
        }
        chosen.iter().find_map(|condition| {
            let all = cases(condition, true)?;
            let first = all.first()?.iter();
            let mut names = first.filter_map(|(subject, _)| match subject.root {
                Root::Item => column(subject),
                _ => None,
            });
            names.find_map(|name| {
                let chosen = self.chosen(read, name)?;
                let excludes = |case: &Case| {
                    let mut own = case.iter().filter(|(subject, _)| {
                        subject.root == Root::Item && column(subject) == Some(name)
                    });
                    own.any(|(_, demand)| !meets(&chosen, demand))
                };
                let is_other = all.iter().all(excludes);
                is_other.then(|| self.finding(condition.span, name, &chosen))
            })
        })
    }

    /// The value of a column by which the statement chooses, where a step reads the same table and
    /// nothing may change it in between.
    fn chosen(&self, read: &Step, name: &str) -> Option<Value> {
        let operation = self.pass.operation(read).filter(|op| op.effect.is_read())?;
        let chosen = statement::chooses(self.operation, operation);
        let (_, value) = chosen.into_iter().find(|(column, _)| column == name)?;
        (!may_change(self.pass, read, self.step)).then_some(value)
    }

    /// Whether a read is given what the call is given.
    fn is_of_same(&self, read: &Step) -> bool {
        let StepKind::Tool { args: asked, .. } = &read.kind else {
            return false;
        };
        let mut own = self.args.entries().iter();
        own.any(|(name, tree)| {
            let there = asked.get(name.as_str());
            there.is_some_and(|(_, other)| other.form() == tree.form())
        })
    }

    fn finding(&self, span: Span, name: &str, chosen: &Value) -> Diagnostic {
        let id = &self.step.id.value;
        let value = crate::digest::canonical(chosen);
        let message =
            format!("`{id}` changes only what has the `{name}` {value}, and runs where it has not");
        Diagnostic::new(Code::VainWrite, span, message)
            .related(self.step.id.span, "reaches nothing here")
            .hint(format!("ask for the `{name}` {value}"))
            .step(id)
    }
}

/// The field of a row, or of an item, that a subject is.
fn column(subject: &DemandSubject) -> Option<&str> {
    match subject.path.last() {
        Some(Segment::Field(name)) if !subject.is_size => Some(name),
        _ => None,
    }
}
