//! How large whole numbers can be, and comparisons with numbers that the items of a list never
//! reach.
//!
//! Owns the ranges of sums and of the least and largest, and the finding; what a name reads is a
//! condition's business, see `shape`. INVARIANT: no value that an expression comes to is outside of
//! its range, and what is found holds for no item that fits its schema.

use jsonschema::canonical::CanonicalView;
use serde_json::{Map, Number, Value, json};

use super::{Exact, Typed, Typing};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::tree::{Access, Arith, Compare, Expr, ExprKind, Variable};
use crate::schema::{Kinds, Type};
use crate::source::Span;

/// The least and the largest of some whole numbers, as far as they are known.
#[derive(Clone, Copy)]
pub(super) struct Range {
    least: Option<i64>,
    most: Option<i64>,
}

impl Range {
    /// The range of a value; none if it may be something else than a whole number.
    pub(super) fn of(typed: &Typed) -> Option<Self> {
        if typed.kinds != Kinds::INTEGER {
            return None;
        }
        let whole = |number: Option<Number>| number.and_then(|number| number.as_i64());
        let of_values = |values: &[Value]| {
            let all: Option<Vec<i64>> = values.iter().map(Value::as_i64).collect();
            let all = all.unwrap_or_default();
            let (least, most) = (all.iter().min().copied(), all.iter().max().copied());
            Self { least, most }
        };
        Some(match &typed.exact {
            Exact::Value(value) => of_values(std::slice::from_ref(value)),
            Exact::Type(ty) => match ty.canonical().view() {
                CanonicalView::Integer(view) => Self {
                    least: whole(view.minimum),
                    most: whole(view.maximum),
                },
                CanonicalView::Const(value) => of_values(&[value]),
                CanonicalView::Enum(values) => of_values(&values),
                _ => of_values(&[]),
            },
            Exact::Kinds | Exact::Reported => of_values(&[]),
        })
    }

    /// The range of a sum or a difference. Why nothing beyond the largest number: it fails there.
    fn of_chain(self, operator: Arith, other: Self) -> Option<Self> {
        let both = |a: Option<i64>, b: Option<i64>, of: fn(i64, i64) -> Option<i64>| of(a?, b?);
        match operator {
            Arith::Add => Some(Self {
                least: both(self.least, other.least, i64::checked_add),
                most: both(self.most, other.most, i64::checked_add),
            }),
            Arith::Subtract => Some(Self {
                least: both(self.least, other.most, i64::checked_sub),
                most: both(self.most, other.least, i64::checked_sub),
            }),
            Arith::Multiply | Arith::Divide | Arith::Remainder => None,
        }
    }

    /// The range of the least, or of the largest, of some numbers.
    fn of_extreme(is_least: bool, all: &[Self]) -> Self {
        let leasts = all.iter().map(|range| range.least);
        let mosts = all.iter().map(|range| range.most);
        // Why so: the least is no larger than any, and as large as the least of all bounds.
        if is_least {
            let every: Option<Vec<i64>> = leasts.collect();
            let least = every.and_then(|all| all.into_iter().min());
            let most = mosts.flatten().min();
            Self { least, most }
        } else {
            let every: Option<Vec<i64>> = mosts.collect();
            let most = every.and_then(|all| all.into_iter().max());
            let least = leasts.flatten().max();
            Self { least, most }
        }
    }

    fn typed(self) -> Typed {
        let bounds = [("minimum", self.least), ("maximum", self.most)];
        let bounds: Map<String, Value> = bounds
            .into_iter()
            .filter_map(|(key, bound)| Some((key.to_owned(), bound?.into())))
            .collect();
        if bounds.is_empty() {
            return Typed::of(Kinds::INTEGER);
        }
        let mut schema = bounds;
        schema.insert("type".to_owned(), "integer".into());
        Typed::ty(Type::of_json(&Value::Object(schema)))
    }
}

/// The field of a variable that a term bounds, by which keyword and number.
fn bounded(variable: &Variable, term: &Expr) -> Option<(String, &'static str, Value)> {
    let ExprKind::Compare(operator, left, right) = &term.kind else {
        return None;
    };
    let field = |expr: &Expr| match &expr.kind {
        ExprKind::Path(base, accesses) => match (&base.kind, accesses.as_slice()) {
            (ExprKind::Var(base), [Access::Field(name)]) if base == variable => Some(name.clone()),
            _ => None,
        },
        _ => None,
    };
    let number = |expr: &Expr| match expr.kind {
        ExprKind::Int(number) => Some(Value::from(number)),
        _ => None,
    };
    let (field, number, is_left) = match (field(left), field(right)) {
        (Some(field), None) => (field, number(right)?, true),
        (None, Some(field)) => (field, number(left)?, false),
        _ => return None,
    };
    let bound = match (operator, is_left) {
        (Compare::Less, true) | (Compare::Greater, false) => "exclusiveMaximum",
        (Compare::LessEqual, true) | (Compare::GreaterEqual, false) => "maximum",
        (Compare::Greater, true) | (Compare::Less, false) => "exclusiveMinimum",
        (Compare::GreaterEqual, true) | (Compare::LessEqual, false) => "minimum",
        _ => return None,
    };
    Some((field, bound, number))
}

/// The type of `left operator right` if both are whole numbers of which something is known.
pub(super) fn of_chain(operator: Arith, left: &Typed, right: &Typed) -> Option<Typed> {
    let range = Range::of(left)?.of_chain(operator, Range::of(right)?)?;
    Some(range.typed())
}

/// The type of the least or the largest of two numbers or more.
pub(super) fn of_extreme(is_least: bool, all: &[Typed]) -> Option<Typed> {
    let all: Option<Vec<Range>> = all.iter().map(Range::of).collect();
    all.map(|all| Range::of_extreme(is_least, &all).typed())
}

impl Typing<'_, '_> {
    /// What an item is of which a condition holds, where that bounds a field of it.
    pub(super) fn filtered(&self, variable: &Variable, condition: &Expr) -> Option<Typed> {
        let Exact::Type(item) = &self.variables.get(&variable.id)?.exact else {
            return None;
        };
        let terms = match &condition.kind {
            ExprKind::And(terms) => terms.as_slice(),
            _ => std::slice::from_ref(condition),
        };
        let mut fields: Map<String, Value> = Map::new();
        for (field, bound, number) in terms.iter().filter_map(|term| bounded(variable, term)) {
            let schema = fields.entry(field).or_insert_with(|| json!({}));
            if let Some(map) = schema.as_object_mut() {
                map.entry(bound).or_insert(number);
            }
        }
        if fields.is_empty() {
            return None;
        }
        let more = Type::of_json(&json!({ "properties": fields }));
        // Why not of none: that no item is chosen is found elsewhere, once.
        let chosen = item.both(&more).filter(|chosen| !chosen.is_empty());
        chosen.map(Typed::ty)
    }

    /// Whether a whole number is compared with a written number that is none, which is reported.
    pub(super) fn fraction(
        &mut self,
        (left, a): (&Expr, Kinds),
        (right, b): (&Expr, Kinds),
    ) -> bool {
        let is_fraction = |expr: &Expr| match expr.kind {
            ExprKind::Double(number) => number.fract() != 0.0,
            _ => false,
        };
        let whole = |kinds: Kinds| !kinds.is_empty() && kinds.within(Kinds::INTEGER | Kinds::NULL);
        let written = match (is_fraction(left), is_fraction(right)) {
            (true, false) if whole(b) => left,
            (false, true) if whole(a) => right,
            _ => return false,
        };
        let message = "a whole number is compared with a fraction";
        self.found.push(
            Diagnostic::new(Code::FractionOfWhole, written.span, message)
                .label("no whole number is this")
                .hint(
                    "look at the unit of the value: a percentage is no share, cents are no euros",
                ),
        );
        true
    }

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
