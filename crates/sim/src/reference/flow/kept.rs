//! What is left of a label where only a closed kind is left of the value.
//!
//! Owns the second reading of one rule: how many there are, whether something is there, a number, a
//! flag, a time, one of the plan's own words. INVARIANT: what a search in a text chose stays text.

use provost_plan::expr::Root;
use provost_plan::expr::tree::{Access, Expr, ExprKind, Function};

use super::{Bound, Flow, Made, Tag, lowered};

impl Flow<'_> {
    /// The label of a side of `<`: the numbers in a sum that the plan writes out say no words.
    pub(super) fn ordered(&self, expr: &Expr, bound: &Bound<'_>) -> Tag {
        match &expr.kind {
            ExprKind::Int(_) | ExprKind::Double(_) => lowered(self.literal(None)),
            ExprKind::Negate(_) | ExprKind::Chain(..) => {
                let parts = expr.children().into_iter();
                let parts = parts.map(|part| self.ordered(part, bound));
                parts.fold(Tag::TRUSTED, Tag::worse)
            }
            _ => self.label(expr, bound),
        }
    }

    /// The label of a length: of the list alone, with what its filter says.
    pub(super) fn counted(&self, expr: &Expr, bound: &Bound<'_>) -> Tag {
        match (&expr.kind, self.made(expr, bound)) {
            (ExprKind::Walk(_), Made::List(count, _)) => count,
            _ => self.kept(expr, bound),
        }
    }

    /// What is left of a label where only a number, a flag, a time or one of the plan's own words
    /// is left of the value. What a search in a text chose stays text.
    pub(super) fn kept(&self, expr: &Expr, bound: &Bound<'_>) -> Tag {
        let all = |parts: Vec<&Expr>| {
            let kept = parts.into_iter().map(|part| self.kept(part, bound));
            kept.fold(Tag::TRUSTED, Tag::worse)
        };
        match &expr.kind {
            _ if expr.is_literal() => lowered(self.literal(None)),
            ExprKind::Choice(test, yes, no) => {
                self.label(test, bound).worse(all(vec![&**yes, &**no]))
            }
            ExprKind::Root(_) | ExprKind::Var(_) => lowered(self.label(expr, bound)),
            ExprKind::Path(base, accesses) => {
                let indices = accesses.iter().filter_map(|access| match access {
                    Access::Index(index) => Some(index),
                    Access::Field(_) => None,
                });
                let mut tag = lowered(self.label(expr, bound)).worse(all(indices.collect()));
                if let ExprKind::Root(Root::Step(id)) = &base.kind {
                    let status = Access::Field("status".to_owned());
                    tag = tag.worse(self.step(id, Some(&status)).whole());
                } else if matches!(base.kind, ExprKind::Walk(_)) {
                    tag = tag.worse(self.counted(base, bound));
                }
                tag
            }
            ExprKind::Walk(walk) => match self.made(expr, bound) {
                Made::List(count, _) => {
                    let list = self.made(&walk.list, bound);
                    let item = list.item();
                    let mut inner = bound.clone();
                    inner.push((walk.variable.id, &item));
                    count.worse(self.kept(&walk.body, &inner))
                }
                flag => flag.whole(),
            },
            ExprKind::Call(Function::First, arguments) => match arguments.first() {
                Some(list) => lowered(self.label(expr, bound)).worse(self.counted(list, bound)),
                None => Tag::TRUSTED,
            },
            ExprKind::List(_) | ExprKind::Map(_) | ExprKind::Chain(..) | ExprKind::Negate(_) => {
                all(expr.children())
            }
            ExprKind::Call(
                Function::Contains
                | Function::StartsWith
                | Function::EndsWith
                | Function::Matches
                | Function::Capture
                | Function::CharAt
                | Function::IndexOf
                | Function::JsonParse
                | Function::LastIndexOf
                | Function::Replace
                | Function::Split
                | Function::Substring
                | Function::Size,
                _,
            ) => self.label(expr, bound),
            ExprKind::Call(..) => all(expr.children()),
            _ => self.label(expr, bound),
        }
    }
}
