//! Which schemas close a value, so that it can carry no instructions.
//!
//! Owns the rule by which untrusted output is `data` and not `text`. INVARIANT: a type is closed
//! only if every string in every value of it is one of a known set or form.

use jsonschema::JsonType;
use jsonschema::canonical::{CanonicalSchema, CanonicalView, ObjectView, StringView};
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use crate::schema::Type;

/// How deep a type is followed.
const DEPTH_MAX: usize = 12;
/// Longest text that a pattern may admit and still close it, in characters.
const PATTERN_CHARS_MAX: u64 = 64;

/// Whether no value of this type holds free text.
pub(crate) fn is_closed(ty: &Type) -> bool {
    closed(ty.canonical(), 0)
}

fn closed(schema: &CanonicalSchema, depth: usize) -> bool {
    if depth > DEPTH_MAX {
        return false;
    }
    let each = |branches: &[CanonicalSchema]| branches.iter().all(|b| closed(b, depth + 1));
    match schema.view() {
        CanonicalView::Integer(_)
        | CanonicalView::Number(_)
        | CanonicalView::Const(_)
        | CanonicalView::Enum(_)
        | CanonicalView::False => true,
        CanonicalView::MultiType(set) => set.iter().all(is_scalar),
        CanonicalView::TypedGroup(group) => is_scalar(group.ty) || closed(&group.body, depth + 1),
        CanonicalView::String(text) => closes(&text),
        CanonicalView::Array(array) => {
            let rest = match (&array.items, &array.max_items) {
                (Some(items), _) => closed(items, depth + 1),
                (None, Some(max)) => max
                    .as_u64()
                    .is_some_and(|max| max <= array.prefix_items.len() as u64),
                (None, None) => false,
            };
            rest && each(&array.prefix_items)
        }
        CanonicalView::Object(object) => {
            has_known_keys(&object) && object.properties.values().all(|v| closed(v, depth + 1))
        }
        CanonicalView::AnyOf(branches) | CanonicalView::OneOf(branches) => each(&branches),
        CanonicalView::AllOf(branches) => branches.iter().any(|b| closed(b, depth + 1)),
        CanonicalView::Reference(uri) => schema
            .definition(&uri)
            .is_some_and(|target| closed(&target, depth + 1)),
        CanonicalView::True | CanonicalView::Not(_) | CanonicalView::Raw(_) => false,
    }
}

fn is_scalar(ty: JsonType) -> bool {
    matches!(
        ty,
        JsonType::Null | JsonType::Boolean | JsonType::Integer | JsonType::Number
    )
}

/// Whether every key is one of a list: the keys of an open map are text themselves.
fn has_known_keys(object: &ObjectView) -> bool {
    let listed = object.property_names.as_ref().is_some_and(|names| {
        matches!(
            names.view(),
            CanonicalView::Enum(_) | CanonicalView::Const(_) | CanonicalView::False
        )
    });
    let none = object
        .max_properties
        .as_ref()
        .and_then(serde_json::Number::as_u64)
        == Some(0);
    // Why: canonical forms leave a listed key out of `properties` if it may hold anything.
    let all_typed = object
        .property_names
        .as_ref()
        .is_none_or(|names| match names.view() {
            CanonicalView::Enum(keys) => keys
                .iter()
                .filter_map(|key| key.as_str())
                .all(|key| object.properties.contains_key(key)),
            CanonicalView::Const(key) => key
                .as_str()
                .is_some_and(|key| object.properties.contains_key(key)),
            _ => true,
        });
    (listed && all_typed) || none
}

fn closes(text: &StringView) -> bool {
    let known = [
        "uuid",
        "date",
        "date-time",
        "time",
        "duration",
        "ipv4",
        "ipv6",
    ];
    if text
        .formats
        .iter()
        .any(|format| known.contains(&format.as_str()))
    {
        return true;
    }
    let longest = text
        .max_length
        .as_ref()
        .and_then(serde_json::Number::as_u64);
    text.patterns
        .iter()
        .any(|pattern| closes_pattern(pattern, longest.is_some_and(|max| max <= PATTERN_CHARS_MAX)))
}

/// Whether a pattern is anchored, admits no space and no more than 64 characters.
fn closes_pattern(pattern: &str, is_short: bool) -> bool {
    let Ok(hir) = regex_syntax::parse(pattern) else {
        return false;
    };
    let properties = hir.properties();
    let anchored = properties.look_set_prefix().contains(Look::Start)
        && properties.look_set_suffix().contains(Look::End);
    let short = is_short
        || properties
            .maximum_len()
            .is_some_and(|max| max as u64 <= PATTERN_CHARS_MAX);
    anchored && short && !admits_space(&hir)
}

fn admits_space(hir: &Hir) -> bool {
    let is_space = |c: char| c.is_whitespace() || c.is_control();
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => false,
        HirKind::Literal(literal) => String::from_utf8_lossy(&literal.0).chars().any(is_space),
        // Why: a class as wide as the letters of all scripts can spell whatever it likes, and a
        // range is walked only if it is small.
        HirKind::Class(Class::Unicode(class)) => class
            .ranges()
            .iter()
            .any(|range| range.len() > 256 || (range.start()..=range.end()).any(is_space)),
        HirKind::Class(Class::Bytes(_)) => true,
        HirKind::Repetition(repetition) => admits_space(&repetition.sub),
        HirKind::Capture(capture) => admits_space(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(admits_space),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn label(schema: &Value) -> &'static str {
        if is_closed(&Type::of_json(schema)) {
            "data"
        } else {
            "text"
        }
    }

    #[test]
    fn what_closes_a_value() {
        let item = json!({"type": "object", "additionalProperties": false,
                          "properties": {"n": {"type": "integer"}}});
        for (expected, schema) in [
            ("data", json!({"type": "integer"})),
            ("data", json!({"type": ["number", "null", "boolean"]})),
            ("data", json!({"enum": ["a", "b"]})),
            ("data", json!({"const": "a b c"})),
            ("data", json!({"type": "string", "format": "uuid"})),
            ("data", json!({"type": "string", "format": "date-time"})),
            (
                "data",
                json!({"type": "string", "pattern": "^[A-Z]{2,8}-[0-9]{1,6}$"}),
            ),
            (
                "data",
                json!({"type": "string", "pattern": "^[a-z]+$", "maxLength": 64}),
            ),
            ("data", json!({"type": "array", "items": item})),
            ("data", item.clone()),
            ("text", json!({"type": "string"})),
            ("text", json!({"type": "string", "maxLength": 3})),
            ("text", json!({"type": "string", "format": "email"})),
            ("text", json!({"type": "string", "pattern": "^[a-z]+$"})),
            ("text", json!({"type": "string", "pattern": "[a-z]{3}"})),
            ("text", json!({"type": "string", "pattern": "^[a-z ]{3}$"})),
            ("text", json!({"type": "string", "pattern": "^.{1,8}$"})),
            (
                "text",
                json!({"type": "string", "pattern": "^[a-z]{1,65}$"}),
            ),
            ("text", json!({"type": ["string", "integer"]})),
            ("text", json!({"type": "array"})),
            (
                "text",
                json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
            ),
            (
                "text",
                json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            ),
            (
                "text",
                json!({"type": "object", "properties": {"n": true},
                            "additionalProperties": false}),
            ),
            ("text", json!(true)),
        ] {
            assert_eq!(label(&schema), expected, "{schema}");
        }
    }
}
