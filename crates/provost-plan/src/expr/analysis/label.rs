//! The label rule of expressions: how far a result may be believed.
//!
//! Owns the join over a tree, and the one rule of what makes data of text: where no more is left
//! of it than how many there are or whether it is there (`size`, `has`), a number, a flag or a time
//! that is read from it, or which of the words that the plan writes out it is as a whole (`==`,
//! `!=`, `in`, a key of a literal map). What is left carries no words. A search in a text
//! (`contains` …), a piece of one (`split` …) and the order of texts stay text. Which label a path
//! of the scope has is the caller's word. INVARIANT: how a guard is spelt does not change its
//! label.

use super::refs::{self, BoundName};
use crate::expr::tree::{Access, Compare, Expr, ExprKind, Function, Walk, WalkKind};
use crate::expr::{LabelOf, Reference, Root, Segment};
use crate::label::Label;

/// One labelling of one expression.
pub(in crate::expr) struct Labelling<'a> {
    literals: &'a Label,
    of: &'a LabelOf<'a>,
    bound: BoundName,
    /// Labels of variables that stand for no path.
    computed: Vec<(u32, Label)>,
}

impl<'a> Labelling<'a> {
    pub(in crate::expr) fn new(literals: &'a Label, of: &'a LabelOf<'a>) -> Self {
        Self {
            literals,
            of,
            bound: BoundName::new(),
            computed: Vec::new(),
        }
    }

    pub(in crate::expr) fn label(&mut self, expr: &Expr) -> Label {
        if let ExprKind::Has(path) = &expr.kind {
            return self.closed(path);
        }
        if let Some(reference) = refs::reference(expr, &self.bound) {
            let label = (self.of)(&reference);
            return label.join(&self.inside(expr));
        }
        match &expr.kind {
            ExprKind::Bool(_) => self.literals.clone().lowered(),
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
                self.closed(left).join(&self.closed(right))
            }
            ExprKind::Compare(_, left, right) => self.operand(left).join(&self.operand(right)),
            ExprKind::Call(Function::Size, arguments) => arguments
                .first()
                .map_or_else(Label::trusted, |counted| self.length(counted)),
            ExprKind::Call(function, arguments) if closes(*function) => {
                arguments.iter().fold(Label::trusted(), |label, argument| {
                    label.join(&self.closed(argument))
                })
            }
            ExprKind::Walk(walk) => self.walk(walk),
            _ => self.join(&expr.children()),
        }
    }

    /// The label of what is compared by order: a number that the plan writes out carries no words.
    fn operand(&mut self, expr: &Expr) -> Label {
        match expr.kind {
            ExprKind::Int(_) | ExprKind::Double(_) => self.literals.clone().lowered(),
            ExprKind::Negate(_) | ExprKind::Chain(..) => expr
                .children()
                .iter()
                .fold(Label::trusted(), |label, part| {
                    label.join(&self.operand(part))
                }),
            _ => self.label(expr),
        }
    }

    /// The label of what is left of a value where only a closed kind is left of it. Why not just
    /// lower it: what chose the value may be a search in a text, and that stays what it is.
    fn closed(&mut self, expr: &Expr) -> Label {
        if let ExprKind::Walk(walk) = &expr.kind {
            return match walk.kind {
                WalkKind::All | WalkKind::Exists | WalkKind::ExistsOne => self.label(expr),
                WalkKind::Map | WalkKind::Filter => self.walk_of(walk, Self::closed),
            };
        }
        if let Some(read) = refs::reference(expr, &self.bound) {
            return self
                .count(&read)
                .join(&self.within_path(expr, Self::closed));
        }
        match &expr.kind {
            _ if expr.is_literal() => self.literals.clone().lowered(),
            ExprKind::Choice(test, yes, no) => {
                let chosen = self.closed(yes).join(&self.closed(no));
                self.label(test).join(&chosen)
            }
            ExprKind::List(items) => self.join_closed(&items.iter().collect::<Vec<_>>()),
            ExprKind::Map(_) | ExprKind::Path(..) | ExprKind::Chain(..) | ExprKind::Negate(_) => {
                self.join_closed(&expr.children())
            }
            ExprKind::Call(function, _)
                if !function.looks_into_text() && *function != Function::Size =>
            {
                self.join_closed(&expr.children())
            }
            ExprKind::Var(_) => self.label(expr).lowered(),
            _ => self.label(expr),
        }
    }

    fn join_closed(&mut self, parts: &[&Expr]) -> Label {
        parts.iter().fold(Label::trusted(), |label, part| {
            label.join(&self.closed(part))
        })
    }

    fn join(&mut self, parts: &[&Expr]) -> Label {
        parts.iter().fold(Label::trusted(), |label, part| {
            label.join(&self.label(part))
        })
    }

    /// What stands inside a path beside what it reads: computed positions and filters.
    fn inside(&mut self, expr: &Expr) -> Label {
        self.within_path(expr, Self::label)
    }

    /// The same, of whose positions so much is taken.
    fn within_path(&mut self, expr: &Expr, of: fn(&mut Self, &Expr) -> Label) -> Label {
        match &expr.kind {
            ExprKind::Root(_) | ExprKind::Var(_) => Label::trusted(),
            ExprKind::Walk(_) => self.length(expr),
            ExprKind::Has(path) => self.within_path(path, of),
            ExprKind::Path(base, accesses) => {
                let base = self.within_path(base, of);
                accesses.iter().fold(base, |label, access| match access {
                    Access::Index(index) if !index.is_literal() => label.join(&of(self, index)),
                    _ => label,
                })
            }
            _ => expr
                .children()
                .iter()
                .fold(Label::trusted(), |label, child| {
                    label.join(&self.within_path(child, of))
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
        self.walk_of(walk, Self::label)
    }

    /// The label of a comprehension of whose items so much is taken.
    fn walk_of(&mut self, walk: &Walk, of: impl FnOnce(&mut Self, &Expr) -> Label) -> Label {
        let label = self.within(walk, |labelling, list| {
            let body = of(labelling, &walk.body);
            list.join(&labelling.filter(walk)).join(&body)
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
    fn within<T>(&mut self, walk: &Walk, part: impl FnOnce(&mut Self, Label) -> T) -> T {
        let count = if refs::resolve(&walk.list, &self.bound).is_some() {
            self.length(&walk.list)
        } else {
            let (count, items) = self.list(&walk.list);
            self.computed.push((walk.variable.id, items));
            count
        };
        refs::bind(walk, &mut self.bound);
        let labelled = part(self, count);
        self.bound.remove(&walk.variable.id);
        labelled
    }

    /// The labels of how many items there are in a list that stands in no scope, and of the items.
    /// Why both at once: lists of lists would be looked at twice on every level.
    fn list(&mut self, list: &Expr) -> (Label, Label) {
        match &list.kind {
            ExprKind::List(_) => {
                let items = self.label(list);
                (items.clone().lowered(), items)
            }
            ExprKind::Walk(walk) if matches!(walk.kind, WalkKind::Map | WalkKind::Filter) => {
                let (count, items) = self.within(walk, |labelling, count| {
                    let count = count.join(&labelling.filter(walk));
                    (count, labelling.label(&walk.body))
                });
                self.computed.retain(|(id, _)| *id != walk.variable.id);
                (count.clone(), count.join(&items))
            }
            _ => {
                let label = self.label(list);
                (label.clone(), label)
            }
        }
    }

    /// The label of how many there are of what is counted. Why: only its length flows on by itself,
    /// and that is a number; its items flow where they are read.
    fn length(&mut self, counted: &Expr) -> Label {
        match &counted.kind {
            ExprKind::Walk(walk) if matches!(walk.kind, WalkKind::Map | WalkKind::Filter) => {
                let label = self.within(walk, |labelling, list| list.join(&labelling.filter(walk)));
                self.computed.retain(|(id, _)| *id != walk.variable.id);
                label
            }
            _ => match refs::reference(counted, &self.bound) {
                Some(read) => self.count(&read).join(&self.inside(counted)),
                None => self.closed(counted),
            },
        }
    }

    /// What a closed kind keeps of a path, such as how many items it holds: whether it is there at
    /// all hangs on what decided that the step runs, as its status does.
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

/// Whether a function gives a number, a flag or a time, whatever it is given.
fn closes(function: Function) -> bool {
    matches!(
        function,
        Function::Int
            | Function::Double
            | Function::Bool
            | Function::Type
            | Function::Timestamp
            | Function::Duration
    )
}
