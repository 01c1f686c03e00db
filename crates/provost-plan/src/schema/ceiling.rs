//! The largest number that a type admits.
//!
//! Owns the bound that a counted value is summed by. Never samples values. INVARIANT: no number of
//! the type is larger than the bound; where none is certain there is none.

use jsonschema::JsonType;
use jsonschema::canonical::{CanonicalSchema, CanonicalView};
use serde_json::{Number, Value};

use super::Type;
use crate::amount::Amount;

/// How deep a type is followed; a type that refers to itself ends here, without a bound.
const DEPTH_MAX: usize = 12;

impl Type {
    /// The most that a value of this type adds to a sum, if that has a bound; what is no number
    /// adds nothing.
    #[must_use]
    pub fn amount_max(&self) -> Option<Amount> {
        ceiling(self.canonical(), 0)
    }
}

fn ceiling(schema: &CanonicalSchema, depth: usize) -> Option<Amount> {
    if depth > DEPTH_MAX {
        return None;
    }
    let largest = |branches: &[CanonicalSchema]| {
        let all: Option<Vec<Amount>> = branches.iter().map(|b| ceiling(b, depth + 1)).collect();
        all.map(|all| all.into_iter().max().unwrap_or_default())
    };
    let of_value = |value: &Value| match value {
        Value::Number(number) => Amount::of_number(number),
        _ => Some(Amount::ZERO),
    };
    let up_to = |most: Option<Number>| Amount::of_number(&most?);
    match schema.view() {
        CanonicalView::MultiType(set) => {
            let all: Option<Vec<Amount>> = set.iter().map(of_type).collect();
            all.map(|all| all.into_iter().max().unwrap_or_default())
        }
        CanonicalView::TypedGroup(group) => {
            let by_type = of_type(group.ty);
            by_type.or_else(|| ceiling(&group.body, depth + 1))
        }
        CanonicalView::Integer(number) => up_to(number.maximum),
        CanonicalView::Number(number) => up_to(number.maximum),
        CanonicalView::Const(value) => of_value(&value),
        CanonicalView::Enum(values) => {
            let all: Option<Vec<Amount>> = values.iter().map(of_value).collect();
            all.map(|all| all.into_iter().max().unwrap_or_default())
        }
        CanonicalView::AllOf(parts) => parts.iter().filter_map(|p| ceiling(p, depth + 1)).min(),
        CanonicalView::AnyOf(branches) | CanonicalView::OneOf(branches) => largest(&branches),
        CanonicalView::Reference(uri) => ceiling(&schema.definition(&uri)?, depth + 1),
        CanonicalView::False
        | CanonicalView::String(_)
        | CanonicalView::Array(_)
        | CanonicalView::Object(_) => Some(Amount::ZERO),
        CanonicalView::True | CanonicalView::Not(_) | CanonicalView::Raw(_) => None,
    }
}

fn of_type(ty: JsonType) -> Option<Amount> {
    match ty {
        JsonType::Integer | JsonType::Number => None,
        _ => Some(Amount::ZERO),
    }
}
