//! The types that policy sees of a call's arguments.
//!
//! Owns the way from a JSON Schema to Cedar's types. What Cedar cannot type (unions, free keys,
//! tuples, `null`, nesting past a limit) has no type here and is named in `opaque` when a call
//! carries it. INVARIANT: a type is never narrower than the schema it was made from.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// How deep a schema is followed; deeper parts have no type.
const SHAPE_DEPTH_MAX: usize = 12;
/// How many sub-schemas are followed in all; a schema that refers to itself would have no end.
const SHAPE_NODES_MAX: usize = 1_000;

/// What Cedar is told about a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum EntityShape {
    /// `String`
    Text,
    /// `Long`
    Whole,
    /// `decimal`: any number that need not be whole.
    Number,
    /// `Bool`
    Flag,
    /// `Set`: a list, without order and repetition.
    List(Box<ShapeField>),
    /// A record.
    Record(ShapeFields),
    /// Nothing: it stays out of `args`.
    Untyped,
}

/// The shape of a value that may be `null` or missing.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ShapeField {
    /// The shape of the value.
    pub shape: EntityShape,
    /// Whether it is always there and never `null`.
    pub required: bool,
}

/// The fields of a record.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ShapeFields {
    /// The declared ones.
    pub known: BTreeMap<String, ShapeField>,
}

impl ShapeFields {
    /// The arguments of an operation. A schema that describes no object has no fields, so that
    /// every argument is opaque.
    pub fn of_schema(schema: &Value) -> Self {
        let mut reader = ShapeReader {
            root: schema,
            left: SHAPE_NODES_MAX,
        };
        match reader.shape(schema, 0).0 {
            EntityShape::Record(fields) => fields,
            _ => Self::default(),
        }
    }

    /// The Cedar type, as Cedar's JSON schema format writes it.
    pub fn cedar(&self) -> Value {
        let attributes: Map<String, Value> = self
            .known
            .iter()
            .filter_map(|(name, field)| {
                let mut ty = field.shape.cedar()?;
                if let Value::Object(map) = &mut ty {
                    map.insert("required".to_owned(), json!(field.required));
                }
                Some((name.clone(), ty))
            })
            .collect();
        json!({ "type": "Record", "attributes": attributes })
    }
}

impl EntityShape {
    fn cedar(&self) -> Option<Value> {
        Some(match self {
            Self::Text => json!({ "type": "String" }),
            Self::Whole => json!({ "type": "Long" }),
            Self::Number => json!({ "type": "Extension", "name": "decimal" }),
            Self::Flag => json!({ "type": "Boolean" }),
            Self::List(item) => json!({ "type": "Set", "element": item.shape.cedar()? }),
            Self::Record(fields) => fields.cedar(),
            Self::Untyped => return None,
        })
    }

    /// What a value of this shape is, in words.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Whole => "an integer",
            Self::Number => "a number",
            Self::Flag => "a boolean",
            Self::List(_) => "a list",
            Self::Record(_) => "an object",
            Self::Untyped => "a value",
        }
    }

    /// Whether every value of this shape is held without loss, so that it never makes an argument
    /// opaque. A record is not: its schema may allow further keys.
    pub fn is_exact(&self) -> bool {
        match self {
            Self::Text | Self::Whole | Self::Flag => true,
            Self::List(item) => item.required && item.shape.is_exact(),
            Self::Number | Self::Record(_) | Self::Untyped => false,
        }
    }
}

/// Reads a schema, with a bound on how much of it.
struct ShapeReader<'a> {
    root: &'a Value,
    left: usize,
}

impl ShapeReader<'_> {
    /// The shape of a schema, and whether it admits `null`.
    fn shape(&mut self, schema: &Value, depth: usize) -> (EntityShape, bool) {
        let untyped = (EntityShape::Untyped, true);
        let (Some(map), true) = (schema.as_object(), depth < SHAPE_DEPTH_MAX) else {
            return untyped;
        };
        let Some(left) = self.left.checked_sub(1) else {
            return untyped;
        };
        self.left = left;
        if let Some(target) = map.get("$ref").and_then(Value::as_str) {
            let found = target
                .strip_prefix('#')
                .and_then(|pointer| self.root.pointer(pointer));
            return found.map_or(untyped, |schema| self.shape(schema, depth + 1));
        }
        match map.get("type") {
            Some(Value::String(name)) => (self.of_type(name, map, depth), name == "null"),
            Some(Value::Array(names)) => {
                let others: Vec<&str> = names
                    .iter()
                    .filter_map(Value::as_str)
                    .filter(|name| *name != "null")
                    .collect();
                let nullable = others.len() < names.len();
                match others.as_slice() {
                    [only] => (self.of_type(only, map, depth), nullable),
                    _ => (EntityShape::Untyped, nullable),
                }
            }
            _ => self.without_type(map, depth),
        }
    }

    fn without_type(&mut self, map: &Map<String, Value>, depth: usize) -> (EntityShape, bool) {
        let branches = |name: &str| map.get(name).and_then(Value::as_array).map(Vec::as_slice);
        if let Some(branches) = branches("anyOf").or_else(|| branches("oneOf")) {
            return self.union(branches, depth);
        }
        match branches("allOf") {
            Some([only]) => self.shape(only, depth + 1),
            _ => shape_of_constants(map),
        }
    }

    fn union(&mut self, branches: &[Value], depth: usize) -> (EntityShape, bool) {
        let is_null = |schema: &&Value| schema.get("type").and_then(Value::as_str) == Some("null");
        let nullable = branches.iter().any(|schema| is_null(&schema));
        let mut others = branches.iter().filter(|schema| !is_null(schema));
        match (others.next(), others.next()) {
            (Some(only), None) => {
                let (shape, also) = self.shape(only, depth + 1);
                (shape, nullable || also)
            }
            _ => (EntityShape::Untyped, true),
        }
    }

    fn of_type(&mut self, name: &str, map: &Map<String, Value>, depth: usize) -> EntityShape {
        match name {
            "string" => EntityShape::Text,
            "integer" => EntityShape::Whole,
            "number" => EntityShape::Number,
            "boolean" => EntityShape::Flag,
            "array" if !map.contains_key("prefixItems") => match map.get("items") {
                Some(items) => {
                    let (shape, nullable) = self.shape(items, depth + 1);
                    match shape {
                        EntityShape::Untyped => EntityShape::Untyped,
                        shape => EntityShape::List(Box::new(ShapeField {
                            shape,
                            required: !nullable,
                        })),
                    }
                }
                None => EntityShape::Untyped,
            },
            "object" => self.object(map, depth),
            _ => EntityShape::Untyped,
        }
    }

    /// An object with declared fields is a record; one with free keys only has no type.
    fn object(&mut self, map: &Map<String, Value>, depth: usize) -> EntityShape {
        let Some(properties) = map.get("properties").and_then(Value::as_object) else {
            let closed = map.get("additionalProperties") == Some(&Value::Bool(false));
            return if closed {
                EntityShape::Record(ShapeFields::default())
            } else {
                EntityShape::Untyped
            };
        };
        let required: Vec<&str> = map
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let known = properties
            .iter()
            .map(|(name, schema)| {
                let (shape, nullable) = self.shape(schema, depth + 1);
                let required = required.contains(&name.as_str()) && !nullable;
                (name.clone(), ShapeField { shape, required })
            })
            .collect();
        EntityShape::Record(ShapeFields { known })
    }
}

/// A schema without `type`: the kind that all its constants have in common.
fn shape_of_constants(map: &Map<String, Value>) -> (EntityShape, bool) {
    let one = map.get("const").map(std::slice::from_ref);
    let all = one.or_else(|| map.get("enum").and_then(Value::as_array).map(Vec::as_slice));
    let Some(all) = all else {
        return (EntityShape::Untyped, true);
    };
    let nullable = all.iter().any(Value::is_null);
    let kinds: Vec<EntityShape> = all
        .iter()
        .filter(|v| !v.is_null())
        .map(shape_of_constant)
        .collect();
    match kinds.split_first() {
        Some((first, rest)) if rest.iter().all(|kind| kind == first) => (first.clone(), nullable),
        Some(_)
            if kinds
                .iter()
                .all(|k| matches!(k, EntityShape::Whole | EntityShape::Number)) =>
        {
            (EntityShape::Number, nullable)
        }
        _ => (EntityShape::Untyped, nullable),
    }
}

fn shape_of_constant(value: &Value) -> EntityShape {
    match value {
        Value::String(_) => EntityShape::Text,
        Value::Bool(_) => EntityShape::Flag,
        Value::Number(number) if number.is_i64() => EntityShape::Whole,
        Value::Number(_) => EntityShape::Number,
        _ => EntityShape::Untyped,
    }
}
