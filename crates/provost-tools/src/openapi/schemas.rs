//! The document and its schemas, each made to stand alone.
//!
//! Owns following references and turning the schemas of OpenAPI 3.0 into JSON Schema. INVARIANT: a
//! schema is never made to refuse what the document admits: what is cut off may be anything.

use std::collections::{BTreeSet, VecDeque};

use serde_json::{Map, Value, json};

use super::OpenApiError;

/// How many references in a row are followed to one part.
const HOPS_MAX: usize = 16;
/// How many references deep a schema is followed at most; less if it becomes too large.
const DEPTH_MAX: usize = 6;
/// Largest schema, in bytes; what is deeper is left open.
const SCHEMA_BYTES_MAX: usize = 64 * 1024;
/// What OpenAPI says beside JSON Schema, and what a plan has no use for.
const DROPPED: [&str; 9] = [
    "$id",
    "$schema",
    "discriminator",
    "example",
    "examples",
    "externalDocs",
    "readOnly",
    "writeOnly",
    "xml",
];

/// An OpenAPI document.
pub(super) struct ApiDocument<'d> {
    root: &'d Value,
    /// Whether its schemas are those of 3.0.
    old: bool,
}

impl<'d> ApiDocument<'d> {
    pub(super) fn of(root: &'d Value) -> Result<Self, OpenApiError> {
        let version = root.get("openapi").and_then(Value::as_str);
        let found = version.ok_or(OpenApiError::NotOpenApi)?;
        let old = found.starts_with("3.0");
        if !old && !found.starts_with("3.1") {
            let found = found.to_owned();
            return Err(OpenApiError::Version { found });
        }
        Ok(Self { root, old })
    }

    pub(super) fn root(&self) -> &'d Value {
        self.root
    }

    /// The first server, with the defaults of its variables.
    pub(super) fn server(&self) -> Option<String> {
        let server = self.root.get("servers")?.get(0)?;
        let mut url = server.get("url")?.as_str()?.to_owned();
        let variables = server.get("variables").and_then(Value::as_object);
        for (name, variable) in variables.into_iter().flatten() {
            let default = variable.get("default").and_then(Value::as_str)?;
            url = url.replace(&format!("{{{name}}}"), default);
        }
        let whole = url.starts_with("https://") || url.starts_with("http://");
        (whole && !url.contains('{')).then(|| url.trim_end_matches('/').to_owned())
    }

    /// The part that a value is or refers to.
    pub(super) fn resolve(&self, value: &'d Value) -> Result<&'d Value, String> {
        let mut here = value;
        for _ in 0..HOPS_MAX {
            match here.get("$ref").and_then(Value::as_str) {
                None => return Ok(here),
                Some(target) => here = self.at(target)?,
            }
        }
        Err("its references go round".to_owned())
    }

    fn at(&self, target: &str) -> Result<&'d Value, String> {
        let inside = target.strip_prefix('#');
        let inside = inside.ok_or_else(|| format!("`{target}` is in another document"))?;
        let found = self.root.pointer(inside);
        found.ok_or_else(|| format!("`{target}` is not in the document"))
    }

    /// The schema of these fields, as one that stands alone.
    pub(super) fn map_of(&self, fields: &[(String, &'d Value, bool)]) -> Value {
        self.smallest(|bundle| {
            let mut properties = Map::new();
            for (name, schema, _) in fields {
                properties.insert(name.clone(), bundle.take(schema, 0));
            }
            let required: Vec<&String> = fields.iter().filter(|f| f.2).map(|f| &f.0).collect();
            json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            })
        })
    }

    /// A schema as one that stands alone.
    pub(super) fn alone(&self, schema: &'d Value) -> Value {
        self.smallest(|bundle| bundle.take(schema, 0))
    }

    /// Follows references as deep as the size allows.
    fn smallest(&self, make: impl Fn(&mut SchemaBundle<'_, 'd>) -> Value) -> Value {
        let mut made = json!({});
        for depth in (0..=DEPTH_MAX).rev() {
            let mut bundle = SchemaBundle {
                document: self,
                depth_max: depth,
                named: BTreeSet::new(),
                pending: VecDeque::new(),
            };
            made = make(&mut bundle);
            let room = SCHEMA_BYTES_MAX.saturating_sub(made.to_string().len());
            let Some(defs) = bundle.finish(room) else {
                continue;
            };
            if let (false, Some(made)) = (defs.is_empty(), made.as_object_mut()) {
                made.insert("$defs".to_owned(), Value::Object(defs));
            }
            break;
        }
        made
    }
}

/// A schema in the making, with what it refers to.
struct SchemaBundle<'b, 'd> {
    document: &'b ApiDocument<'d>,
    depth_max: usize,
    named: BTreeSet<String>,
    pending: VecDeque<(String, &'d Value, usize)>,
}

impl<'d> SchemaBundle<'_, 'd> {
    /// What is referred to, unless it has more than so many bytes.
    fn finish(&mut self, room: usize) -> Option<Map<String, Value>> {
        let (mut defs, mut bytes) = (Map::new(), 0);
        while let Some((name, schema, depth)) = self.pending.pop_front() {
            let schema = self.take(schema, depth);
            bytes += name.len() + schema.to_string().len();
            if bytes > room {
                return None;
            }
            defs.insert(name, schema);
        }
        Some(defs)
    }

    fn take(&mut self, schema: &'d Value, depth: usize) -> Value {
        let Some(fields) = schema.as_object() else {
            return if schema.is_boolean() {
                schema.clone()
            } else {
                json!({})
            };
        };
        let mut made = Map::new();
        if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
            let referred = self.refer(target, depth);
            // Why: beside a reference, 3.0 says nothing.
            if self.document.old {
                return referred;
            }
            made.extend(referred.as_object().cloned().unwrap_or_default());
        }
        for (key, value) in fields {
            if DROPPED.contains(&key.as_str()) || key.starts_with("x-") || key == "$ref" {
                continue;
            }
            let taken = match (key.as_str(), value) {
                ("properties" | "patternProperties" | "$defs" | "dependentSchemas", _) => {
                    let inner = value.as_object().into_iter().flatten();
                    inner
                        .map(|(name, inner)| (name.clone(), self.take(inner, depth)))
                        .collect()
                }
                ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(parts)) => {
                    parts.iter().map(|part| self.take(part, depth)).collect()
                }
                (
                    "items"
                    | "additionalProperties"
                    | "not"
                    | "contains"
                    | "propertyNames"
                    | "if"
                    | "then"
                    | "else"
                    | "unevaluatedItems"
                    | "unevaluatedProperties",
                    _,
                ) => self.take(value, depth),
                _ => value.clone(),
            };
            made.insert(key.clone(), taken);
        }
        if self.document.old {
            modern(made)
        } else {
            Value::Object(made)
        }
    }

    fn refer(&mut self, target: &str, depth: usize) -> Value {
        let name: String = target
            .trim_start_matches("#/components/schemas/")
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || "._-".contains(c) {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        if !self.named.contains(&name) {
            let Ok(found) = self.document.at(target) else {
                return json!({});
            };
            if depth >= self.depth_max {
                return json!({});
            }
            self.named.insert(name.clone());
            self.pending.push_back((name.clone(), found, depth + 1));
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }
}

/// A schema of OpenAPI 3.0 as JSON Schema.
fn modern(mut made: Map<String, Value>) -> Value {
    for (bound, limit) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        match made.get(bound) {
            Some(Value::Bool(true)) => {
                if let Some(value) = made.remove(limit) {
                    made.insert(bound.to_owned(), value);
                } else {
                    made.remove(bound);
                }
            }
            Some(Value::Bool(false)) => {
                made.remove(bound);
            }
            _ => {}
        }
    }
    if made.remove("nullable") != Some(Value::Bool(true)) {
        return Value::Object(made);
    }
    match made.get_mut("type") {
        Some(Value::String(kind)) => {
            let kinds = json!([kind.clone(), "null"]);
            made.insert("type".to_owned(), kinds);
            if let Some(Value::Array(values)) = made.get_mut("enum") {
                values.push(Value::Null);
            }
            Value::Object(made)
        }
        _ => json!({ "anyOf": [made, { "type": "null" }] }),
    }
}
