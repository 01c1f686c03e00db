//! How many bytes a value of a type can have, written as canonical JSON.
//!
//! Owns the bound that prices what is sent. Never samples values. INVARIANT: no value of the type
//! is longer than the bound; where none is certain there is none.

use jsonschema::JsonType;
use jsonschema::canonical::{ArrayView, CanonicalSchema, CanonicalView, ObjectView, StringView};
use serde_json::{Number, Value};

use super::Type;
use crate::digest::canonical;

/// How deep a type is followed; a type that refers to itself ends here, without a bound.
const DEPTH_MAX: usize = 12;
/// The longest number in canonical form, such as `-1.7976931348623157e+308`.
const NUMBER_BYTES: u64 = 25;
/// The longest character in canonical form, such as `\u0001`.
const CHAR_BYTES: u64 = 6;
/// The quotes of a text, the brackets of a list or a map.
const PAIR_BYTES: u64 = 2;

impl Type {
    /// The most bytes that a value of this type has in canonical form, if that has a bound.
    #[must_use]
    pub fn bytes_max(&self) -> Option<u64> {
        bytes(self.canonical(), 0)
    }
}

/// The bytes of a value in canonical form.
#[must_use]
pub fn of_value(value: &Value) -> u64 {
    canonical(value).len() as u64
}

fn bytes(schema: &CanonicalSchema, depth: usize) -> Option<u64> {
    if depth > DEPTH_MAX {
        return None;
    }
    let largest = |branches: &[CanonicalSchema]| {
        let all: Option<Vec<u64>> = branches.iter().map(|b| bytes(b, depth + 1)).collect();
        all.map(|all| all.into_iter().max().unwrap_or(0))
    };
    match schema.view() {
        CanonicalView::MultiType(set) => {
            let all: Option<Vec<u64>> = set.iter().map(of_type).collect();
            all.map(|all| all.into_iter().max().unwrap_or(0))
        }
        CanonicalView::TypedGroup(group) => {
            let by_type = of_type(group.ty);
            by_type.or_else(|| bytes(&group.body, depth + 1))
        }
        CanonicalView::String(text) => of_text(&text),
        CanonicalView::Integer(_) | CanonicalView::Number(_) => Some(NUMBER_BYTES),
        CanonicalView::Array(list) => of_list(&list, depth),
        CanonicalView::Object(map) => of_map(&map, depth),
        CanonicalView::Const(value) => Some(of_value(&value)),
        CanonicalView::Enum(values) => Some(values.iter().map(of_value).max().unwrap_or(0)),
        CanonicalView::AllOf(parts) => parts.iter().filter_map(|p| bytes(p, depth + 1)).min(),
        CanonicalView::AnyOf(branches) | CanonicalView::OneOf(branches) => largest(&branches),
        CanonicalView::Reference(uri) => bytes(&schema.definition(&uri)?, depth + 1),
        CanonicalView::False => Some(0),
        CanonicalView::True | CanonicalView::Not(_) | CanonicalView::Raw(_) => None,
    }
}

fn of_type(ty: JsonType) -> Option<u64> {
    match ty {
        JsonType::Null => Some(4),
        JsonType::Boolean => Some(5),
        JsonType::Integer | JsonType::Number => Some(NUMBER_BYTES),
        JsonType::String | JsonType::Array | JsonType::Object => None,
    }
}

fn of_text(text: &StringView) -> Option<u64> {
    let longest = text.max_length.as_ref().and_then(Number::as_u64);
    let chars = longest.map(|max| max.saturating_mul(CHAR_BYTES));
    // Why: a pattern bounds a text only between its anchors.
    let of_pattern = text.patterns.iter().filter_map(|pattern| {
        use regex_syntax::hir::Look;
        let hir = regex_syntax::parse(pattern).ok()?;
        let properties = hir.properties();
        let anchored = properties.look_set_prefix().contains(Look::Start)
            && properties.look_set_suffix().contains(Look::End);
        let most = properties.maximum_len().filter(|_| anchored)? as u64;
        // Why: one byte of the text may be one character that is escaped.
        Some(most.saturating_mul(CHAR_BYTES))
    });
    let fixed = text
        .formats
        .iter()
        .filter_map(|format| match format.as_str() {
            "date" => Some(10),
            "uuid" => Some(36),
            "ipv4" => Some(15),
            _ => None,
        });
    let most = chars.into_iter().chain(of_pattern).chain(fixed).min()?;
    Some(most.saturating_add(PAIR_BYTES))
}

fn of_list(list: &ArrayView, depth: usize) -> Option<u64> {
    let most = list.max_items.as_ref().and_then(Number::as_u64);
    let heads = list.prefix_items.len() as u64;
    let rest = match most {
        Some(most) => most.saturating_sub(heads),
        None => match list.items.as_ref().map(CanonicalSchema::view) {
            Some(CanonicalView::False) => 0,
            _ => return None,
        },
    };
    let mut total = PAIR_BYTES;
    for head in &list.prefix_items {
        total = total
            .saturating_add(bytes(head, depth + 1)?)
            .saturating_add(1);
    }
    if rest > 0 {
        let item = bytes(list.items.as_ref()?, depth + 1)?.saturating_add(1);
        total = total.saturating_add(item.saturating_mul(rest));
    }
    Some(total)
}

fn of_map(map: &ObjectView, depth: usize) -> Option<u64> {
    if map.max_properties.as_ref().and_then(Number::as_u64) == Some(0) {
        return Some(PAIR_BYTES);
    }
    // Why: canonical forms say which keys there are in `property_names`, and leave a listed key
    // out of `properties` if it may hold anything.
    let keys: Vec<String> = match map.property_names.as_ref()?.view() {
        CanonicalView::Enum(keys) => keys
            .iter()
            .map(|key| key.as_str().map(str::to_owned))
            .collect::<Option<_>>()?,
        CanonicalView::Const(key) => vec![key.as_str()?.to_owned()],
        CanonicalView::False => Vec::new(),
        _ => return None,
    };
    let mut total = PAIR_BYTES;
    for key in keys {
        let value = bytes(map.properties.get(&key)?, depth + 1)?;
        let name = of_value(&Value::String(key));
        // A colon and a comma.
        total = total
            .saturating_add(name)
            .saturating_add(value)
            .saturating_add(2);
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_bounds_a_value() {
        let open = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
        let closed = json!({ "type": "object", "properties": { "n": { "type": "integer" } },
            "additionalProperties": false });
        for (schema, expected) in [
            (json!({ "type": "integer" }), Some(25)),
            (json!({ "type": ["boolean", "null"] }), Some(5)),
            (json!({ "enum": ["a", "bcd"] }), Some(5)),
            (json!({ "type": "string", "maxLength": 10 }), Some(62)),
            (json!({ "type": "string", "format": "uuid" }), Some(38)),
            (
                json!({ "type": "string", "pattern": "^[a-z]{3}$" }),
                Some(20),
            ),
            (json!({ "type": "string", "pattern": "[a-z]{3}" }), None),
            (json!({ "type": "string" }), None),
            (
                json!({ "type": "array", "items": { "type": "integer" }, "maxItems": 3 }),
                Some(80),
            ),
            (
                json!({ "type": "array", "items": { "type": "integer" } }),
                None,
            ),
            (json!({ "type": "array", "maxItems": 3 }), None),
            (closed, Some(32)),
            (open, None),
            (
                json!({ "type": "object", "properties": { "n": true },
                "additionalProperties": false }),
                None,
            ),
            (
                json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
                None,
            ),
            (
                json!({ "$ref": "#/$defs/n", "$defs": { "n": { "type": "null" } } }),
                Some(4),
            ),
            (json!({ "$ref": "#" }), None),
            (json!(true), None),
        ] {
            assert_eq!(Type::of_json(&schema).bytes_max(), expected, "{schema}");
        }
    }

    #[test]
    fn no_value_is_longer_than_its_bound() {
        for (schema, value) in [
            (
                json!({ "type": "string", "maxLength": 2 }),
                json!("\u{1}\u{2}"),
            ),
            (json!({ "type": "string", "maxLength": 2 }), json!("😀😀")),
            (
                json!({ "type": "number" }),
                json!(-1.797_693_134_862_315_7e308),
            ),
            (
                json!({ "type": "number" }),
                json!(-2.225_073_858_507_201_4e-308),
            ),
            (
                json!({ "type": "array", "items": { "type": "boolean" }, "maxItems": 2 }),
                json!([false, false]),
            ),
        ] {
            let most = Type::of_json(&schema).bytes_max();
            assert!(
                most.is_some_and(|most| of_value(&value) <= most),
                "{schema} {value}"
            );
        }
    }
}
