//! What an input schema declares of its arguments: which are needed, which are known.
//!
//! Owns reading the keywords at the top of a schema, and what is said of a field that it does not
//! name. Judges no value: that is the schema's own.
//! INVARIANT: an argument is said to be unknown only where the schema cannot mean it to be there.

use serde_json::{Value, json};

use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::{Key, Segment};
use crate::schema::{PathType, Schema};
use crate::source::Span;

/// The names of a schema.
pub(super) struct Declared<'s> {
    pub(super) required: Vec<&'s str>,
    pub(super) known: Vec<&'s str>,
    /// Whether it says by itself that further arguments may be there.
    pub(super) open: bool,
}

impl<'s> Declared<'s> {
    pub(super) fn of(input: &'s Schema) -> Self {
        let value = input.value();
        let names = |key: &str| -> Option<Vec<&'s str>> {
            match value.get(key)? {
                Value::Object(map) => Some(map.keys().map(String::as_str).collect()),
                Value::Array(names) => Some(names.iter().filter_map(Value::as_str).collect()),
                _ => None,
            }
        };
        let properties = names("properties");
        let additional = value.get("additionalProperties");
        let closed = additional == Some(&json!(false));
        let says_open = additional.is_some() && !closed
            || ["patternProperties", "$ref", "allOf", "anyOf", "oneOf"]
                .iter()
                .any(|key| value.get(key).is_some());
        Self {
            required: names("required").unwrap_or_default(),
            open: says_open || (properties.is_none() && !closed),
            known: properties.unwrap_or_default(),
        }
    }
}

/// The names that a schema has instead of `name`, if it is certain that it has no such field.
pub(super) fn unnamed(input: &Schema, name: &str) -> Option<Vec<String>> {
    match input.at(&[Segment::Field(name.to_owned())]) {
        PathType::Undeclared { known, .. } => Some(known),
        PathType::Absent { known, .. } if !known.is_empty() => Some(known),
        PathType::Absent { .. } | PathType::Known { .. } | PathType::Unknown { .. } => None,
    }
}

/// Whether a schema has no rule between fields: what every field fits, the whole fits.
pub(super) fn has_only_fields(schema: &Schema) -> bool {
    let plain = [
        "$comment",
        "$id",
        "$schema",
        "additionalProperties",
        "description",
        "examples",
        "properties",
        "required",
        "title",
        "type",
    ];
    let keys = schema.value().as_object();
    keys.is_some_and(|keys| keys.keys().all(|key| plain.contains(&key.as_str())))
}

/// Why a field that a schema does not name is refused: a tool drops it, or refuses it itself.
pub(super) const NOT_NAMED: &str = "the schema does not name it";

pub(super) fn cannot_stand(name: &Key, reason: &str, known: &[String]) -> Diagnostic {
    cannot_stand_at(name.span(), name, reason, known)
}

pub(super) fn cannot_stand_at(
    span: Span,
    name: &str,
    reason: &str,
    known: &[String],
) -> Diagnostic {
    let message = format!("`{name}` cannot stand here: {reason}");
    let finding = Diagnostic::new(Code::UnknownArgument, span, message);
    finding.did_you_mean(name, known.iter().map(String::as_str))
}
