//! The label rule of expressions: how far a result may be believed.
//!
//! Owns the join over a tree. Which label a path of the scope has is the caller's word. INVARIANT:
//! only `==`, `!=` and `in` against literals, selection from a literal map and the length of a
//! walked list lower text to data; everything else joins what it reads.

use super::refs::{self, Bound};
use super::tree::{Access, Compare, Expr, ExprKind, Walk};
use super::{LabelOf, Reference, Root, Segment};
use crate::label::Label;

/// One labelling of one expression.
pub(super) struct Labelling<'a> {
    literals: &'a Label,
    of: &'a LabelOf<'a>,
    bound: Bound,
    /// Labels of variables that stand for no path.
    computed: Vec<(u32, Label)>,
}

impl<'a> Labelling<'a> {
    pub(super) fn new(literals: &'a Label, of: &'a LabelOf<'a>) -> Self {
        Self {
            literals,
            of,
            bound: Bound::new(),
            computed: Vec::new(),
        }
    }

    pub(super) fn label(&mut self, expr: &Expr) -> Label {
        if let Some(reference) = refs::reference(expr, &self.bound) {
            let label = (self.of)(&reference);
            return label.join(&self.inside(expr));
        }
        match &expr.kind {
            _ if expr.is_literal() => self.literals.clone(),
            ExprKind::Var(variable) => self
                .computed
                .iter()
                .rev()
                .find(|(id, _)| *id == variable.id)
                .map_or_else(Label::trusted, |(_, label)| label.clone()),
            ExprKind::Path(base, accesses) => self.selection(base, accesses),
            ExprKind::Compare(Compare::Equal | Compare::NotEqual | Compare::In, left, right)
                if left.is_literal() || right.is_literal() =>
            {
                self.label(left).join(&self.label(right)).lowered()
            }
            ExprKind::Walk(walk) => self.walk(walk),
            _ => self.join(&expr.children()),
        }
    }

    fn join(&mut self, parts: &[&Expr]) -> Label {
        parts.iter().fold(Label::trusted(), |label, part| {
            label.join(&self.label(part))
        })
    }

    /// What stands inside a path beside what it reads: computed positions and filters.
    fn inside(&mut self, expr: &Expr) -> Label {
        match &expr.kind {
            ExprKind::Root(_) | ExprKind::Var(_) => Label::trusted(),
            ExprKind::Walk(_) => self.length(expr),
            ExprKind::Has(path) => self.inside(path),
            ExprKind::Path(base, accesses) => {
                let base = self.inside(base);
                accesses.iter().fold(base, |label, access| match access {
                    Access::Index(index) if !index.is_literal() => label.join(&self.label(index)),
                    _ => label,
                })
            }
            _ => expr
                .children()
                .iter()
                .fold(Label::trusted(), |label, child| {
                    label.join(&self.inside(child))
                }),
        }
    }

    /// A selection from what is no path: from a literal map by an untrusted key, for one.
    fn selection(&mut self, base: &Expr, accesses: &[Access]) -> Label {
        let from_literal = base.is_literal();
        let held = self.label(base);
        accesses.iter().fold(held, |label, access| match access {
            Access::Field(_) => label,
            Access::Index(index) => {
                let index = self.label(index);
                label.join(&if from_literal { index.lowered() } else { index })
            }
        })
    }

    fn walk(&mut self, walk: &Walk) -> Label {
        let label = self.within(walk, |labelling, list| {
            list.join(&labelling.filter(walk))
                .join(&labelling.label(&walk.body))
        });
        self.computed.retain(|(id, _)| *id != walk.variable.id);
        label
    }

    fn filter(&mut self, walk: &Walk) -> Label {
        walk.filter
            .as_ref()
            .map_or_else(Label::trusted, |filter| self.label(filter))
    }

    /// Labels a part of a comprehension, given the label of how many items it walks.
    fn within(&mut self, walk: &Walk, part: impl FnOnce(&mut Self, Label) -> Label) -> Label {
        let list = if refs::resolve(&walk.list, &self.bound).is_some() {
            self.length(&walk.list)
        } else {
            let label = self.label(&walk.list);
            self.computed.push((walk.variable.id, label.clone()));
            label
        };
        refs::bind(walk, &mut self.bound);
        let label = part(self, list);
        self.bound.remove(&walk.variable.id);
        label
    }

    /// The label of the length of a list that stands in the scope. Why: only its length flows on
    /// by itself, and that is a number; its items flow where they are read.
    fn length(&mut self, list: &Expr) -> Label {
        match &list.kind {
            ExprKind::Walk(walk) => {
                self.within(walk, |labelling, list| list.join(&labelling.filter(walk)))
            }
            _ => {
                let read = refs::reference(list, &self.bound);
                let read = read.map_or_else(Label::trusted, |read| self.count(&read));
                read.join(&self.inside(list))
            }
        }
    }

    /// How many items a path holds: a number, but whether there are any hangs on what decided that
    /// the step runs, as its status does.
    fn count(&self, read: &Reference) -> Label {
        let count = (self.of)(read).lowered();
        if !matches!(read.root, Root::Step(_)) {
            return count;
        }
        let status = Reference {
            path: vec![Segment::Field("status".to_owned())],
            ..read.clone()
        };
        count.join(&(self.of)(&status))
    }
}
