//! A tool as its server lists it, and what of it is pinned.
//!
//! Owns the identity of a definition: name, title, description, schemas and annotations, whatever
//! order they come in. Never believes a word of it. INVARIANT: two definitions have one digest
//! only if they mean the same: what a JSON Schema does not order does not count.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::digest::{Digest, Domain, canonical, normalize};
use serde_json::{Map, Value, json};

/// The fields of a definition that are pinned, as MCP names them.
pub const FIELDS: [&str; 5] = [
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
];
/// The keywords whose lists are sets.
const SETS: [&str; 3] = ["required", "enum", "type"];
/// The keywords that hold schemas by name.
const NAMED: [&str; 6] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
];
/// The keywords that hold one schema.
const ONE: [&str; 12] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contains",
    "propertyNames",
    "contentSchema",
    "not",
    "if",
    "then",
    "else",
];
/// The keywords that hold a list of schemas, and whether its order means nothing.
const LISTED: [(&str, bool); 4] = [
    ("anyOf", true),
    ("oneOf", true),
    ("allOf", true),
    ("prefixItems", false),
];

/// The keywords that say something to readers and hold no value to anything.
const WORDS: [&str; 5] = ["title", "description", "$comment", "examples", "default"];

/// The formats of texts that need a zone, which many servers leave out.
const ZONED: [&str; 2] = ["date-time", "time"];

/// One tool of a server, as the server describes it and `provost.lock` pins it.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    fields: BTreeMap<&'static str, Value>,
    digest: Digest,
}

/// A definition that cannot be pinned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the definition of `{tool}` cannot be pinned: {reason}")]
pub struct DefinitionError {
    tool: String,
    reason: String,
}

impl Definition {
    /// The definition of `tool`, from its fields as MCP names them; others are left out.
    ///
    /// # Errors
    /// [`DefinitionError`] if a number in it is too large to be told from its neighbour.
    pub fn new(tool: &str, given: &Map<String, Value>) -> Result<Self, DefinitionError> {
        let mut fields = BTreeMap::new();
        for name in FIELDS {
            let Some(value) = given.get(name).filter(|value| !value.is_null()) else {
                continue;
            };
            let value = normalize(value.clone()).map_err(|error| DefinitionError {
                tool: tool.to_owned(),
                reason: error.to_string(),
            })?;
            fields.insert(name, value);
        }
        let ordered: Map<String, Value> = fields
            .iter()
            .map(|(name, value)| {
                let value = match *name {
                    "inputSchema" | "outputSchema" => ordered(value),
                    _ => value.clone(),
                };
                ((*name).to_owned(), value)
            })
            .collect();
        let digest = Digest::of_value(Domain::Tool, &json!({ "mcp": tool, "fields": ordered }));
        Ok(Self { fields, digest })
    }

    /// The digest of its fields: two definitions are equal exactly if theirs are.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The fields it has, as MCP names them.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.fields.iter().map(|(name, value)| (*name, value))
    }

    /// The value of one field, by its name in MCP.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.fields.get(name)
    }

    /// A schema of it as provost uses it: without what the server says in it to whoever reads, as
    /// planners read schemas, and without the formats that it may not keep.
    ///
    /// Why: a call whose output is refused for its format has had its effect. Many servers say
    /// `date-time` of texts without a zone, of what they give and of what they take.
    #[must_use]
    pub fn schema(&self, field: &str) -> Option<Value> {
        let gives = field == "outputSchema";
        let is_kept = |format: &str| !gives && !ZONED.contains(&format);
        self.field(field).map(|schema| binding(schema, &is_kept))
    }

    /// What the server says the tool is for.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.field("description").and_then(Value::as_str)
    }

    /// A hint of the server about the tool; nothing rests on it.
    #[must_use]
    pub fn hint(&self, name: &str) -> Option<bool> {
        self.field("annotations")?.get(name)?.as_bool()
    }

    /// The fields in which another differs from it.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let same = |name: &&'static str| {
            let of = |one: &Self| one.field(name).map(ordered);
            of(self) == of(other)
        };
        FIELDS.into_iter().filter(|name| !same(name)).collect()
    }

    /// Where one of these fields differs, from the top down.
    #[must_use]
    pub fn changes(&self, other: &Self, field: &str) -> Vec<DefinitionChange> {
        let of = |one: &Self| one.field(field).map(ordered);
        compare("", of(self).as_ref(), of(other).as_ref())
    }
}

/// Where one field of a definition differs from the same of another.
#[derive(Clone, Debug, PartialEq)]
pub struct DefinitionChange {
    /// A JSON pointer into the field; empty for the field itself.
    pub path: String,
    /// What stands here.
    pub before: Option<Value>,
    /// What stands in the other.
    pub after: Option<Value>,
}

/// Collects where two values differ, as deep as both have the same form.
fn compare(path: &str, one: Option<&Value>, other: Option<&Value>) -> Vec<DefinitionChange> {
    match (one, other) {
        (one, other) if one == other => Vec::new(),
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            let each = names.into_iter().flat_map(|name| {
                let escaped = name.replace('~', "~0").replace('/', "~1");
                let path = format!("{path}/{escaped}");
                compare(&path, one.get(name), other.get(name))
            });
            each.collect()
        }
        (one, other) => vec![DefinitionChange {
            path: path.to_owned(),
            before: one.cloned(),
            after: other.cloned(),
        }],
    }
}

/// What of a schema binds: no prose, and of formats those that are kept.
fn binding(schema: &Value, is_kept: &dyn Fn(&str) -> bool) -> Value {
    let each = |one: &Value| binding(one, is_kept);
    let Value::Object(map) = schema else {
        return schema.clone();
    };
    let entry = |(name, value): (&String, &Value)| {
        let listed = name == "items" || LISTED.iter().any(|(keyword, _)| keyword == name);
        let value = match value {
            Value::Array(items) if listed => items.iter().map(each).collect(),
            Value::Object(named) if NAMED.contains(&name.as_str()) => {
                let each = named.iter().map(|(k, v)| (k.clone(), each(v)));
                Value::Object(each.collect())
            }
            Value::Object(_) if ONE.contains(&name.as_str()) => each(value),
            other => other.clone(),
        };
        (name.clone(), value)
    };
    let kept = map.iter().filter(|(name, value)| match name.as_str() {
        "format" => value.as_str().is_some_and(is_kept),
        word => !WORDS.contains(&word),
    });
    Value::Object(kept.map(entry).collect())
}

/// A schema with its sets in order. Outside schemas nothing is a set.
fn ordered(schema: &Value) -> Value {
    let Value::Object(map) = schema else {
        return schema.clone();
    };
    let entry = |(name, value): (&String, &Value)| (name.clone(), keyword(name, value));
    Value::Object(map.iter().map(entry).collect())
}

fn keyword(name: &str, value: &Value) -> Value {
    let each = |items: &[Value]| items.iter().map(ordered).collect::<Vec<_>>();
    let listed = LISTED.iter().find(|(keyword, _)| *keyword == name);
    match (value, listed) {
        (Value::Array(items), Some((_, true))) => sorted(each(items)),
        (Value::Array(items), _) if SETS.contains(&name) => sorted(items.clone()),
        (Value::Array(items), _) if listed.is_some() || name == "items" => {
            Value::Array(each(items))
        }
        (Value::Object(map), _) if name == "dependentRequired" => {
            let set = |value: &Value| match value {
                Value::Array(items) => sorted(items.clone()),
                other => other.clone(),
            };
            Value::Object(map.iter().map(|(k, v)| (k.clone(), set(v))).collect())
        }
        (Value::Object(map), _) if NAMED.contains(&name) => {
            Value::Object(map.iter().map(|(k, v)| (k.clone(), ordered(v))).collect())
        }
        (Value::Object(_), _) if ONE.contains(&name) => ordered(value),
        _ => value.clone(),
    }
}

fn sorted(mut items: Vec<Value>) -> Value {
    items.sort_by_cached_key(canonical);
    Value::Array(items)
}

/// The tools of one server, as the server lists them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The version of the protocol that it speaks.
    pub protocol: String,
    /// What it calls itself, and its version.
    pub server: String,
    /// The definitions of its tools, by the name of the tool.
    pub tools: BTreeMap<String, Definition>,
    /// Tools of it that nothing uses, with their digests.
    pub unused: BTreeMap<String, Digest>,
}

impl Listing {
    /// The same listing with whole definitions of the `used` tools and digests of the others.
    #[must_use]
    pub fn pinned(mut self, used: &BTreeSet<&str>) -> Self {
        let (kept, rest): (BTreeMap<_, _>, BTreeMap<_, _>) = self
            .tools
            .into_iter()
            .partition(|(name, _)| used.contains(name.as_str()));
        self.tools = kept;
        let rest = rest.into_iter().map(|(name, one)| (name, one.digest()));
        self.unused.extend(rest);
        self
    }
}

/// What is known of the MCP servers of a workspace, before any of them is started.
#[derive(Clone, Debug, Default)]
pub struct Listings {
    servers: BTreeMap<String, Listing>,
    lenient: bool,
}

impl Listings {
    /// What these servers list. An operation that uses another tool is refused.
    #[must_use]
    pub fn new(servers: BTreeMap<String, Listing>) -> Self {
        Self {
            servers,
            lenient: false,
        }
    }

    /// The same for a workspace that is only inspected: an operation may use any tool.
    #[must_use]
    pub fn lenient(self) -> Self {
        Self {
            lenient: true,
            ..self
        }
    }

    /// The tools that the server called `server` lists, if it is known.
    #[must_use]
    pub fn of(&self, server: &str) -> Option<&Listing> {
        self.servers.get(server)
    }

    /// Whether an operation may use a tool that is not known.
    #[must_use]
    pub fn is_lenient(&self) -> bool {
        self.lenient
    }
}
