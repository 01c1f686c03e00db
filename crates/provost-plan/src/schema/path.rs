//! What a path reads: the part of a schema that describes one place of a value.
//!
//! Owns the walk. Judges nothing: whether a read is guarded is `check::refs`'. INVARIANT: a path
//! is absent only if no value that fits the schema has anything there.

use jsonschema::canonical::{ArrayView, CanonicalSchema, CanonicalView, ObjectView};
use jsonschema::{JsonType, JsonTypeSet};
use serde_json::Value;

use super::kinds::{Kinds, Type};
use crate::expr::Segment;

/// How deep references are followed in one step of a path.
const DEPTH_MAX: usize = 16;

/// What is at a path of a value that fits a schema.
#[derive(Clone, Debug)]
pub enum PathType {
    /// Never anything.
    Absent {
        /// Why: `the schema has only the fields …`.
        reason: String,
        /// How many segments of the path can be read before it ends.
        depth: usize,
        /// The fields that are there instead.
        known: Vec<String>,
    },
    /// Something of a type.
    Known {
        /// The type.
        ty: Type,
        /// How many segments lead to the first place that may be absent, if one may.
        optional: Option<usize>,
        /// Whether it may be null.
        nullable: bool,
    },
    /// The schema does not say.
    Unknown {
        /// How many segments lead to the place from which on it does not.
        depth: usize,
    },
}

impl Type {
    /// What is at `path`.
    #[must_use]
    pub fn at(&self, path: &[Segment]) -> PathType {
        let mut here = self.schema.clone();
        let mut optional = None;
        for (depth, segment) in path.iter().enumerate() {
            match step(&here, segment, 0) {
                Found::Absent { reason, known } => {
                    return PathType::Absent {
                        reason,
                        depth,
                        known,
                    };
                }
                Found::Unknown => return PathType::Unknown { depth },
                Found::There {
                    schema,
                    optional: may_be_absent,
                } => {
                    if may_be_absent && optional.is_none() {
                        optional = Some(depth + 1);
                    }
                    here = schema;
                }
            }
        }
        let ty = Self { schema: here };
        if ty.is_any() {
            return PathType::Unknown { depth: path.len() };
        }
        let nullable = ty.kinds().meets(Kinds::NULL);
        PathType::Known {
            ty,
            optional,
            nullable,
        }
    }

    /// The places along `path` that may be absent although what leads to them is there.
    #[must_use]
    pub fn absences(&self, path: &[Segment]) -> Vec<Absence> {
        let mut absences = Vec::new();
        let mut here = self.schema.clone();
        for (depth, segment) in path.iter().enumerate() {
            let Found::There { schema, optional } = step(&here, segment, 0) else {
                break;
            };
            if optional {
                let if_null = without_null(&here).is_some_and(|here| {
                    matches!(
                        step(&here, segment, 0),
                        Found::There {
                            optional: false,
                            ..
                        }
                    )
                });
                let depth = depth + 1;
                absences.push(Absence { depth, if_null });
            }
            here = schema;
        }
        absences
    }

    /// The type of an item of a list, or of the key of a map that is walked.
    #[must_use]
    pub fn item(&self) -> Option<Self> {
        match step(&self.schema, &Segment::Any, 0) {
            Found::There { schema, .. } => Some(Self { schema }),
            Found::Absent { .. } | Found::Unknown => None,
        }
    }
}

/// A place of a path that may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// How many segments lead to it.
    pub depth: usize,
    /// Whether it is absent only if what holds it is null.
    pub if_null: bool,
}

/// A schema without its null, if it has one.
fn without_null(schema: &CanonicalSchema) -> Option<CanonicalSchema> {
    let ty = Type {
        schema: schema.clone(),
    };
    if !ty.kinds().meets(Kinds::NULL) {
        return None;
    }
    let rest = Type::of_kinds(Kinds::JSON.without(Kinds::NULL));
    schema.intersect(&rest.schema).ok()
}

/// What one segment leads to.
enum Found {
    Absent {
        reason: String,
        known: Vec<String>,
    },
    There {
        schema: CanonicalSchema,
        optional: bool,
    },
    Unknown,
}

impl Found {
    fn absent(reason: impl Into<String>) -> Self {
        Self::Absent {
            reason: reason.into(),
            known: Vec::new(),
        }
    }

    fn there(schema: CanonicalSchema, optional: bool) -> Self {
        if matches!(schema.view(), CanonicalView::False) {
            return Self::absent("the schema forbids it");
        }
        Self::There { schema, optional }
    }
}

fn step(schema: &CanonicalSchema, segment: &Segment, depth: usize) -> Found {
    if depth > DEPTH_MAX {
        return Found::Unknown;
    }
    match schema.view() {
        CanonicalView::True | CanonicalView::Raw(_) | CanonicalView::Not(_) => Found::Unknown,
        CanonicalView::False => Found::absent("nothing can be there"),
        CanonicalView::MultiType(set) => of_types(set, segment),
        CanonicalView::TypedGroup(group) => match (group.ty, segment) {
            (JsonType::Object, Segment::Field(_) | Segment::Any)
            | (JsonType::Array, Segment::Index(_) | Segment::Any) => {
                step(&group.body, segment, depth + 1)
            }
            (ty, segment) => not_there(word(ty), segment),
        },
        CanonicalView::Object(object) => in_object(&object, segment),
        CanonicalView::Array(array) => in_array(&array, segment),
        CanonicalView::String(_) => not_there("a text", segment),
        CanonicalView::Integer(_) | CanonicalView::Number(_) => not_there("a number", segment),
        CanonicalView::Const(value) => in_values(&[value], segment),
        CanonicalView::Enum(values) => in_values(&values, segment),
        CanonicalView::AnyOf(branches) | CanonicalView::OneOf(branches) => {
            any(branches.iter().map(|b| step(b, segment, depth + 1)))
        }
        CanonicalView::AllOf(branches) => all(branches.iter().map(|b| step(b, segment, depth + 1))),
        CanonicalView::Reference(uri) => schema
            .definition(&uri)
            .map_or(Found::Unknown, |target| step(&target, segment, depth + 1)),
    }
}

fn word(ty: JsonType) -> &'static str {
    match ty {
        JsonType::Null => "null",
        JsonType::Boolean => "a boolean",
        JsonType::Integer | JsonType::Number => "a number",
        JsonType::String => "a text",
        JsonType::Array => "a list",
        JsonType::Object => "a map",
    }
}

fn not_there(what: &str, segment: &Segment) -> Found {
    Found::absent(match segment {
        Segment::Field(_) => format!("it is {what}, which has no fields"),
        Segment::Index(_) | Segment::Any => format!("it is {what}, which has no items"),
    })
}

fn of_types(set: JsonTypeSet, segment: &Segment) -> Found {
    let open = match segment {
        Segment::Field(_) => set.contains(JsonType::Object),
        Segment::Index(_) => set.contains(JsonType::Array),
        Segment::Any => set.contains(JsonType::Object) || set.contains(JsonType::Array),
    };
    if open {
        return Found::Unknown;
    }
    let what = set.iter().next().map_or("nothing", word);
    not_there(what, segment)
}

fn in_object(object: &ObjectView, segment: &Segment) -> Found {
    let name = match segment {
        Segment::Field(name) => name,
        // A position in a map is never there; a computed key may be any of them.
        Segment::Index(_) => return not_there("a map", segment),
        Segment::Any => return any_value(object),
    };
    let known = || object.properties.keys().cloned().collect::<Vec<_>>();
    if let Some(names) = &object.property_names
        && !admits(names, &Value::String(name.clone()))
    {
        let known: Vec<String> = known_names(names).unwrap_or_else(known);
        let reason = match known.len() {
            0 => "the schema allows no fields here".to_owned(),
            1..=8 => format!("the schema allows only {}", quoted(&known)),
            count => format!("the schema allows only {count} other fields"),
        };
        return Found::Absent { reason, known };
    }
    let optional = !object.required.contains(name);
    if let Some(schema) = object.properties.get(name) {
        return Found::there(schema.clone(), optional);
    }
    if !object.pattern_properties.is_empty() {
        return Found::Unknown;
    }
    match &object.additional_properties {
        Some(schema) => match Found::there(schema.clone(), optional) {
            Found::Absent { reason, .. } => Found::Absent {
                reason,
                known: known(),
            },
            found => found,
        },
        None => Found::Unknown,
    }
}

fn any_value(object: &ObjectView) -> Found {
    let closed = object
        .property_names
        .as_ref()
        .is_some_and(|names| known_names(names).is_some());
    if !closed && object.additional_properties.is_none() {
        return Found::Unknown;
    }
    let values = object
        .properties
        .values()
        .chain(object.pattern_properties.values())
        .chain(object.additional_properties.iter().filter(|_| !closed));
    match any(values.map(|schema| Found::there(schema.clone(), false))) {
        Found::There { schema, .. } => Found::There {
            schema,
            optional: false,
        },
        found => found,
    }
}

/// The names a schema of keys admits, if it lists them.
fn known_names(names: &CanonicalSchema) -> Option<Vec<String>> {
    let values = match names.view() {
        CanonicalView::Enum(values) => values,
        CanonicalView::Const(value) => vec![value],
        CanonicalView::False => Vec::new(),
        _ => return None,
    };
    let names = values.iter().filter_map(Value::as_str).map(str::to_owned);
    Some(names.collect())
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Whether a schema of keys may admit a value; in doubt it may.
fn admits(schema: &CanonicalSchema, value: &Value) -> bool {
    match schema.view() {
        CanonicalView::Enum(values) => values.contains(value),
        CanonicalView::Const(only) => only == *value,
        CanonicalView::False => false,
        _ => {
            let value = Type::of_value(value).schema;
            schema
                .intersect(&value)
                .map_or(true, |both| !Type { schema: both }.is_empty())
        }
    }
}

fn in_array(array: &ArrayView, segment: &Segment) -> Found {
    let index = match segment {
        Segment::Field(_) => return not_there("a list", segment),
        Segment::Index(index) => Some(*index),
        Segment::Any => None,
    };
    let number = |bound: &Option<serde_json::Number>| {
        bound
            .as_ref()
            .and_then(serde_json::Number::as_u64)
            .and_then(|n| usize::try_from(n).ok())
    };
    let Some(index) = index else {
        let items = array.prefix_items.iter().chain(&array.items);
        if array.items.is_none() && number(&array.max_items).is_none() {
            return Found::Unknown;
        }
        return any(items.map(|schema| Found::there(schema.clone(), false)));
    };
    if let Some(most) = number(&array.max_items)
        && index >= most
    {
        return Found::absent(format!("the list never has more than {most} items"));
    }
    let optional = number(&array.min_items).unwrap_or(0) <= index;
    match array.prefix_items.get(index).or(array.items.as_ref()) {
        Some(schema) => Found::there(schema.clone(), optional),
        None => Found::Unknown,
    }
}

fn in_values(values: &[Value], segment: &Segment) -> Found {
    any(values.iter().map(|value| {
        let found: Vec<&Value> = match segment {
            Segment::Field(name) => value.get(name).into_iter().collect(),
            Segment::Index(index) => value.get(index).into_iter().collect(),
            Segment::Any => match value {
                Value::Array(items) => items.iter().collect(),
                Value::Object(map) => map.values().collect(),
                _ => Vec::new(),
            },
        };
        if found.is_empty() {
            return not_there("another value", segment);
        }
        any(found
            .into_iter()
            .map(|value| Found::there(Type::of_value(value).schema, false)))
    }))
}

/// What one of several schemas leads to: absent if all are; optional if one is.
fn any(found: impl Iterator<Item = Found>) -> Found {
    let mut result: Option<Type> = None;
    let mut missing = None;
    let mut may_be_absent = false;
    let mut names = Vec::new();
    for found in found {
        match found {
            Found::Unknown => return Found::Unknown,
            Found::Absent { reason, known } => {
                names.extend(known);
                missing.get_or_insert(reason);
            }
            Found::There { schema, optional } => {
                may_be_absent |= optional;
                let ty = Type { schema };
                result = Some(match result {
                    Some(so_far) => so_far.union(&ty),
                    None => ty,
                });
            }
        }
    }
    match (result, missing) {
        (Some(ty), missing) => Found::There {
            schema: ty.schema,
            optional: may_be_absent || missing.is_some(),
        },
        (None, Some(reason)) => Found::Absent {
            reason,
            known: names,
        },
        (None, None) => Found::absent("nothing can be there"),
    }
}

/// What several schemas that all hold lead to: absent if one is.
fn all(found: impl Iterator<Item = Found>) -> Found {
    let mut result: Option<(CanonicalSchema, bool)> = None;
    for found in found {
        match found {
            Found::Unknown => {}
            absent @ Found::Absent { .. } => return absent,
            Found::There { schema, optional } => {
                result = Some(match result {
                    Some((so_far, other)) => (
                        so_far.intersect(&schema).unwrap_or(so_far),
                        other && optional,
                    ),
                    None => (schema, optional),
                });
            }
        }
    }
    match result {
        Some((schema, optional)) => Found::there(schema, optional),
        None => Found::Unknown,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use serde_json::json;

    fn read(schema: &Value, path: &str) -> String {
        let path: Vec<Segment> = path
            .split('.')
            .filter(|part| !part.is_empty())
            .map(|part| match part {
                "*" => Segment::Any,
                part => part
                    .parse()
                    .map_or_else(|_| Segment::Field(part.to_owned()), Segment::Index),
            })
            .collect();
        match Type::of_json(schema).at(&path) {
            PathType::Absent { reason, depth, .. } => format!("absent at {depth}: {reason}"),
            PathType::Unknown { depth } => format!("unknown from {depth}"),
            PathType::Known {
                ty,
                optional,
                nullable,
            } => {
                let optional = optional.map_or_else(String::new, |at| format!(" optional@{at}"));
                let nullable = if nullable { " nullable" } else { "" };
                format!("{}{optional}{nullable}", ty.kinds().words())
            }
        }
    }

    #[test]
    fn paths_of_a_realistic_schema() {
        let schema = json!({
            "type": "object",
            "required": ["total", "rows", "pair", "owner"],
            "additionalProperties": false,
            "properties": {
                "total": {"type": "integer"},
                "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}},
                "first": {"$ref": "#/$defs/row"},
                "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}],
                         "items": false, "minItems": 1},
                "owner": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/row"}]},
                "tags": {"type": "object", "additionalProperties": {"type": "boolean"}},
                "open": {"type": "object"},
                "anything": true,
            },
            "$defs": {"row": {"type": "object", "required": ["id"],
                              "properties": {"id": {"type": "string"},
                                             "note": {"type": ["string", "null"]}}}},
        });
        for (path, expected) in [
            ("", "a map"),
            ("total", "a whole number"),
            (
                "total.x",
                "absent at 1: it is a number, which has no fields",
            ),
            (
                "totl",
                "absent at 0: the schema allows only `anything`, `first`, `open`, `owner`, \
                      `pair`, `rows`, `tags`, `total`",
            ),
            ("rows", "a list"),
            ("rows.0.id", "a text optional@2"),
            ("rows.*.id", "a text"),
            ("rows.*.note", "a text or null optional@3 nullable"),
            ("rows.*.other", "unknown from 2"),
            ("rows.id", "absent at 1: it is a list, which has no fields"),
            ("first.id", "a text optional@1"),
            ("pair.0", "a text"),
            ("pair.1", "a number optional@2"),
            (
                "pair.2",
                "absent at 1: the list never has more than 2 items",
            ),
            ("owner", "a map or null nullable"),
            ("owner.id", "a text optional@2"),
            ("tags.x", "a boolean optional@1"),
            ("tags.*", "a boolean optional@1"),
            ("open.x", "unknown from 1"),
            ("anything", "unknown from 0"),
        ] {
            assert_eq!(read(&schema, path), expected, "{path}");
        }
    }

    #[test]
    fn paths_of_unions_and_values() {
        let union = json!({"oneOf": [
            {"type": "object", "required": ["kind", "a"], "additionalProperties": false,
             "properties": {"kind": {"const": "x"}, "a": {"type": "string"}}},
            {"type": "object", "required": ["kind", "b"], "additionalProperties": false,
             "properties": {"kind": {"const": "y"}, "b": {"type": "number"}}}]});
        assert_eq!(read(&union, "kind"), "a text");
        assert_eq!(read(&union, "a"), "a text optional@1");
        assert!(read(&union, "c").starts_with("absent at 0"));
        let constant = json!({"const": {"a": [1, "x"]}});
        assert_eq!(read(&constant, "a.1"), "a text");
        assert_eq!(read(&constant, "a.*"), "a whole number or a text");
        assert!(read(&constant, "b").starts_with("absent"));
        assert_eq!(read(&json!(true), "a"), "unknown from 0");
        assert!(read(&json!(false), "a").starts_with("absent"));
        let tree = json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object",
            "properties": {"next": {"$ref": "#/$defs/n"}}}}});
        assert_eq!(read(&tree, "next.next.next"), "a map optional@1");
        assert!(Type::of_json(&json!({"type": "string"})).item().is_none());
        let item = Type::of_json(&json!({"type": "array", "items": {"type": "null"}})).item();
        assert_eq!(item.unwrap().kinds(), Kinds::NULL);
    }
}
