//! What a path reads: the part of a schema that describes one place of a value.
//!
//! Owns the walk. Judges nothing: whether a read is guarded is `check::refs`'. INVARIANT: a path
//! is absent only if no value that fits the schema has anything there.

use jsonschema::canonical::{ArrayView, CanonicalSchema, CanonicalView, ObjectView};
use jsonschema::{JsonType, JsonTypeSet};
use serde_json::{Value, json};

use super::kinds::{Kinds, Type};
use crate::diagnostic::nearest;
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
    /// The schema names other fields, and does not say that there may be more.
    Undeclared {
        /// How many segments of the path can be read before it.
        depth: usize,
        /// The fields that it names.
        known: Vec<String>,
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
        let mut here = self.clone();
        let mut optional = None;
        for (depth, segment) in path.iter().enumerate() {
            match here.step(segment) {
                StepInto::Absent { reason, known } => {
                    return PathType::Absent {
                        reason,
                        depth,
                        known,
                    };
                }
                StepInto::Undeclared { known } => return PathType::Undeclared { depth, known },
                StepInto::Unknown => return PathType::Unknown { depth },
                StepInto::There {
                    ty,
                    optional: may_be_absent,
                } => {
                    if may_be_absent && optional.is_none() {
                        optional = Some(depth + 1);
                    }
                    here = ty;
                }
            }
        }
        if here.is_any() {
            return PathType::Unknown { depth: path.len() };
        }
        let nullable = here.kinds().meets(Kinds::NULL);
        PathType::Known {
            ty: here,
            optional,
            nullable,
        }
    }

    /// The places along `path` that may be absent although what leads to them is there.
    #[must_use]
    pub fn absences(&self, path: &[Segment]) -> Vec<Absence> {
        let mut absences = Vec::new();
        let mut here = self.clone();
        for (depth, segment) in path.iter().enumerate() {
            let absence = |why| Absence {
                depth: depth + 1,
                why,
            };
            match here.step(segment) {
                StepInto::Absent { .. } | StepInto::Unknown => break,
                StepInto::Undeclared { .. } => {
                    absences.push(absence(PathFault::Undeclared));
                    break;
                }
                StepInto::There { ty, optional } => {
                    if optional {
                        let rest = here.without_null().map(|here| here.step(segment));
                        let only_null = matches!(
                            rest,
                            Some(StepInto::There {
                                optional: false,
                                ..
                            })
                        );
                        absences.push(absence(if only_null {
                            PathFault::HolderNull
                        } else {
                            PathFault::Optional
                        }));
                    }
                    here = ty;
                }
            }
        }
        absences
    }

    /// The type of an item of a list, or of the key of a map that is walked.
    #[must_use]
    pub fn item(&self) -> Option<Self> {
        match self.step(&Segment::Any) {
            StepInto::There { ty, .. } => Some(ty),
            StepInto::Absent { .. } | StepInto::Undeclared { .. } | StepInto::Unknown => None,
        }
    }

    /// How many items its lists have, as a type of its own; none if it admits something else.
    #[must_use]
    pub fn sizes(&self) -> Option<Self> {
        let CanonicalView::Array(list) = self.schema.view() else {
            return None;
        };
        let least = list.min_items.map_or(json!(0), Value::Number);
        let mut sizes = json!({ "type": "integer", "minimum": least });
        if let (Some(most), Some(sizes)) = (list.max_items, sizes.as_object_mut()) {
            sizes.insert("maximum".to_owned(), Value::Number(most));
        }
        Some(Self::of_json(&sizes))
    }

    /// What one segment leads to, by what the schema admits and by what it names.
    fn step(&self, segment: &Segment) -> StepInto {
        let admitted = step(&self.schema, segment, 0);
        let Some(named) = &self.named else {
            return match admitted {
                Lookup::Absent { reason, known } => StepInto::Absent { reason, known },
                Lookup::Unknown => StepInto::Unknown,
                Lookup::There { schema, optional } => StepInto::There {
                    ty: Self::plain(schema),
                    optional,
                },
            };
        };
        match (admitted, step(named, segment, 0)) {
            (Lookup::Absent { reason, known }, _) => StepInto::Absent { reason, known },
            (_, Lookup::Absent { known, .. }) if !known.is_empty() => undeclared(segment, known),
            (Lookup::There { schema, optional }, found) => StepInto::There {
                ty: Self {
                    schema,
                    named: found.schema(),
                },
                optional,
            },
            // Why: one branch names the field and another does not say; it is there in some.
            (Lookup::Unknown, Lookup::There { schema, optional }) => StepInto::There {
                ty: Self {
                    named: Some(schema),
                    ..Self::any()
                },
                optional,
            },
            (Lookup::Unknown, _) => StepInto::Unknown,
        }
    }

    /// The type without its null, if it has one.
    pub(crate) fn without_null(&self) -> Option<Self> {
        if !self.kinds().meets(Kinds::NULL) {
            return None;
        }
        let rest = Self::of_kinds(Kinds::JSON.without(Kinds::NULL));
        Some(Self {
            schema: self.schema.intersect(&rest.schema).ok()?,
            named: match &self.named {
                Some(named) => named.intersect(&rest.schema).ok(),
                None => None,
            },
        })
    }
}

/// A field that a schema neither names nor says to be possible: the slip of a named one, or one
/// that nothing is known of.
fn undeclared(segment: &Segment, known: Vec<String>) -> StepInto {
    let given = match segment {
        Segment::Field(name) => name.as_str(),
        Segment::Index(_) | Segment::Any => return StepInto::Unknown,
    };
    if nearest(given, known.iter().map(String::as_str)).is_none() {
        return StepInto::Undeclared { known };
    }
    let reason = match known.len() {
        1..=8 => format!("the schema names only {}", quoted(&known)),
        count => format!("the schema names {count} other fields"),
    };
    StepInto::Absent { reason, known }
}

/// A place of a path that may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// How many segments lead to it.
    pub depth: usize,
    /// Why it may be absent.
    pub why: PathFault,
}

/// Why a place may be absent although what leads to it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathFault {
    /// The schema does not require it.
    Optional,
    /// What holds it may be null; otherwise it is there.
    HolderNull,
    /// The schema names other fields and not this one.
    Undeclared,
}

/// What one segment of a path leads to.
enum StepInto {
    Absent { reason: String, known: Vec<String> },
    Undeclared { known: Vec<String> },
    There { ty: Type, optional: bool },
    Unknown,
}

/// What one segment leads to.
enum Lookup {
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

impl Lookup {
    fn schema(self) -> Option<CanonicalSchema> {
        match self {
            Self::There { schema, .. } => Some(schema),
            Self::Absent { .. } | Self::Unknown => None,
        }
    }

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

fn step(schema: &CanonicalSchema, segment: &Segment, depth: usize) -> Lookup {
    if depth > DEPTH_MAX {
        return Lookup::Unknown;
    }
    match schema.view() {
        CanonicalView::True | CanonicalView::Raw(_) | CanonicalView::Not(_) => Lookup::Unknown,
        CanonicalView::False => Lookup::absent("nothing can be there"),
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
            .map_or(Lookup::Unknown, |target| step(&target, segment, depth + 1)),
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

fn not_there(what: &str, segment: &Segment) -> Lookup {
    Lookup::absent(match segment {
        Segment::Field(_) => format!("it is {what}, which has no fields"),
        Segment::Index(_) | Segment::Any => format!("it is {what}, which has no items"),
    })
}

fn of_types(set: JsonTypeSet, segment: &Segment) -> Lookup {
    let open = match segment {
        Segment::Field(_) => set.contains(JsonType::Object),
        Segment::Index(_) => set.contains(JsonType::Array),
        Segment::Any => set.contains(JsonType::Object) || set.contains(JsonType::Array),
    };
    if open {
        return Lookup::Unknown;
    }
    let what = set.iter().next().map_or("nothing", word);
    not_there(what, segment)
}

fn in_object(object: &ObjectView, segment: &Segment) -> Lookup {
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
        return Lookup::Absent { reason, known };
    }
    let optional = !object.required.contains(name);
    if let Some(schema) = object.properties.get(name) {
        return Lookup::there(schema.clone(), optional);
    }
    if !object.pattern_properties.is_empty() {
        return Lookup::Unknown;
    }
    match &object.additional_properties {
        Some(schema) => match Lookup::there(schema.clone(), optional) {
            Lookup::Absent { reason, .. } => Lookup::Absent {
                reason,
                known: known(),
            },
            found => found,
        },
        // Why: canonical forms leave a listed key out of `properties` if it may hold anything.
        None if object
            .property_names
            .as_ref()
            .and_then(known_names)
            .is_some() =>
        {
            Lookup::there(Type::any().schema, optional)
        }
        None => Lookup::Unknown,
    }
}

fn any_value(object: &ObjectView) -> Lookup {
    let closed = object
        .property_names
        .as_ref()
        .is_some_and(|names| known_names(names).is_some());
    if !closed && object.additional_properties.is_none() {
        return Lookup::Unknown;
    }
    let values = object
        .properties
        .values()
        .chain(object.pattern_properties.values())
        .chain(object.additional_properties.iter().filter(|_| !closed));
    match any(values.map(|schema| Lookup::there(schema.clone(), false))) {
        Lookup::There { schema, .. } => Lookup::There {
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
                .map_or(true, |both| !Type::plain(both).is_empty())
        }
    }
}

fn in_array(array: &ArrayView, segment: &Segment) -> Lookup {
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
            return Lookup::Unknown;
        }
        return any(items.map(|schema| Lookup::there(schema.clone(), false)));
    };
    if let Some(most) = number(&array.max_items)
        && index >= most
    {
        return Lookup::absent(format!("the list never has more than {most} items"));
    }
    let optional = number(&array.min_items).unwrap_or(0) <= index;
    match array.prefix_items.get(index).or(array.items.as_ref()) {
        Some(schema) => Lookup::there(schema.clone(), optional),
        None => Lookup::Unknown,
    }
}

fn in_values(values: &[Value], segment: &Segment) -> Lookup {
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
            .map(|value| Lookup::there(Type::of_value(value).schema, false)))
    }))
}

/// What one of several schemas leads to: absent if all are; optional if one is.
fn any(found: impl Iterator<Item = Lookup>) -> Lookup {
    let mut result: Option<Type> = None;
    let mut missing = None;
    let mut may_be_absent = false;
    let mut names = Vec::new();
    for found in found {
        match found {
            Lookup::Unknown => return Lookup::Unknown,
            Lookup::Absent { reason, known } => {
                names.extend(known);
                missing.get_or_insert(reason);
            }
            Lookup::There { schema, optional } => {
                may_be_absent |= optional;
                let ty = Type::plain(schema);
                result = Some(match result {
                    Some(so_far) => so_far.union(&ty),
                    None => ty,
                });
            }
        }
    }
    names.sort();
    names.dedup();
    match (result, missing) {
        (Some(ty), missing) => Lookup::There {
            schema: ty.schema,
            optional: may_be_absent || missing.is_some(),
        },
        (None, Some(reason)) => Lookup::Absent {
            reason,
            known: names,
        },
        (None, None) => Lookup::absent("nothing can be there"),
    }
}

/// What several schemas that all hold lead to: absent if one is.
fn all(found: impl Iterator<Item = Lookup>) -> Lookup {
    let mut result: Option<(CanonicalSchema, bool)> = None;
    for found in found {
        match found {
            Lookup::Unknown => {}
            absent @ Lookup::Absent { .. } => return absent,
            Lookup::There { schema, optional } => {
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
        Some((schema, optional)) => Lookup::there(schema, optional),
        None => Lookup::Unknown,
    }
}

#[cfg(test)]
mod tests;
