//! Comparisons of the items of a list with numbers that they never reach.
//!
//! Owns the finding; what a name reads is a condition's business, see `shape`. INVARIANT: what is
//! found holds for no item that fits its schema.

use serde_json::{Value, json};

use super::{Exact, Typed, Typing};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::tree::{Compare, Expr, ExprKind};
use crate::schema::{Kinds, Type};
use crate::source::Span;

impl Typing<'_, '_> {
    /// A comparison of an item with a number that its schema excludes; what a name reads is a
    /// condition's business, see `shape`.
    pub(super) fn out_of_range(
        &mut self,
        operator: Compare,
        (left, a): (&Expr, &Typed),
        (right, b): (&Expr, &Typed),
        span: Span,
    ) {
        let is_of_item = |expr: &Expr| match &expr.kind {
            ExprKind::Var(_) => true,
            ExprKind::Path(base, _) => matches!(base.kind, ExprKind::Var(_)),
            _ => false,
        };
        let (item, number, bound) = match (&a.exact, &b.exact) {
            (Exact::Type(item), Exact::Value(number @ Value::Number(_))) if is_of_item(left) => {
                let bound = match operator {
                    Compare::Less => "exclusiveMaximum",
                    Compare::LessEqual => "maximum",
                    Compare::Greater => "exclusiveMinimum",
                    _ => "minimum",
                };
                (item, number, bound)
            }
            (Exact::Value(number @ Value::Number(_)), Exact::Type(item)) if is_of_item(right) => {
                let bound = match operator {
                    Compare::Less => "exclusiveMinimum",
                    Compare::LessEqual => "minimum",
                    Compare::Greater => "exclusiveMaximum",
                    _ => "maximum",
                };
                (item, number, bound)
            }
            _ => return,
        };
        let asked = Type::of_json(&json!({ "type": "number", bound: number }));
        if item.kinds().within(Kinds::NUMBER | Kinds::NULL) && item.never_fits(&asked).is_some() {
            let symbol = operator.symbol();
            let message =
                format!("`{symbol}` never holds here: no item is on that side of {number}");
            self.found.push(
                Diagnostic::new(Code::ConstantGuard, span, message)
                    .hint("look at the unit and the sign of the number"),
            );
        }
    }
}
