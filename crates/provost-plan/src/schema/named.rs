//! Which fields a schema names, where it does not say whether there may be more.
//!
//! Owns the rule by which such a schema is read as closed: listings of tool servers and OpenAPI
//! documents name every field and hardly ever write `additionalProperties: false`. Used for reading
//! paths alone; whether a value fits is judged by the schema as it was written. INVARIANT: whatever
//! says that there may be more, or cannot be followed, stays open.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// How deep a schema is followed.
const DEPTH_MAX: usize = 64;

/// The schema with every map that names its fields closed; none if that changes nothing.
pub(super) fn closed(schema: &Value) -> Option<Value> {
    let mut closing = Closing {
        root: schema,
        closed: 0,
        lost: false,
    };
    let value = closing.node(schema, true, 0);
    (closing.closed > 0 && !closing.lost).then_some(value)
}

struct Closing<'s> {
    root: &'s Value,
    closed: usize,
    /// Whether something was met that a closed form would say wrongly.
    lost: bool,
}

/// What a schema says of the fields of a map.
enum Names {
    /// Others may be there.
    Open,
    /// These, and it does not say that others may be there.
    Known(BTreeSet<String>),
    /// Nothing.
    Silent,
}

impl Closing<'_> {
    /// The closed form of a schema; `whole` where no schema beside it adds fields.
    fn node(&mut self, schema: &Value, whole: bool, depth: usize) -> Value {
        let Value::Object(map) = schema else {
            return schema.clone();
        };
        if depth > DEPTH_MAX {
            self.lost = true;
            return schema.clone();
        }
        self.look(map, whole);
        let by_branch = whole && is_only_a_choice(map);
        let mut closed = Map::new();
        for (key, value) in map {
            let value = match key.as_str() {
                "properties" => self.each(value, true, depth),
                "$defs" | "definitions" => self.each(value, false, depth),
                "components" => self.components(value, depth),
                "items" | "prefixItems" | "additionalItems" => self.list(value, true, depth),
                "additionalProperties" => self.node(value, true, depth + 1),
                "anyOf" | "oneOf" => self.list(value, by_branch, depth),
                "allOf" | "then" | "else" => self.list(value, false, depth),
                _ => value.clone(),
            };
            closed.insert(key.clone(), value);
        }
        let is_closed = map.get("additionalProperties") == Some(&json!(false));
        if whole
            && !by_branch
            && !is_closed
            && let Names::Known(names) = self.names(schema, &mut BTreeSet::new(), depth)
        {
            self.closed += 1;
            closed.insert("propertyNames".to_owned(), json!({ "enum": names }));
        }
        Value::Object(closed)
    }

    /// Gives up where a reference leads to a place that is closed by itself but not here.
    fn look(&mut self, map: &Map<String, Value>, whole: bool) {
        let target = map.get("$ref").and_then(Value::as_str);
        let holders = ["#/$defs/", "#/definitions/", "#/components/schemas/"];
        let is_definition = |target: &str| holders.iter().any(|holder| target.starts_with(holder));
        let is_told = |target: &str| is_definition(target) || (target == "#" && whole);
        self.lost |= target.is_some_and(|target| !is_told(target));
        self.lost |= map.contains_key("$dynamicRef") || map.contains_key("$recursiveRef");
    }

    /// The shared schemas of an OpenAPI document that a schema was taken from.
    fn components(&mut self, value: &Value, depth: usize) -> Value {
        let mut value = value.clone();
        if let Some(schemas) = value.get_mut("schemas") {
            *schemas = self.each(schemas, false, depth);
        }
        value
    }

    fn each(&mut self, value: &Value, whole: bool, depth: usize) -> Value {
        let Value::Object(map) = value else {
            return value.clone();
        };
        let closed = map
            .iter()
            .map(|(name, value)| (name.clone(), self.node(value, whole, depth + 1)));
        Value::Object(closed.collect())
    }

    fn list(&mut self, value: &Value, whole: bool, depth: usize) -> Value {
        match value {
            Value::Array(items) => {
                let closed = items.iter().map(|item| self.node(item, whole, depth + 1));
                Value::Array(closed.collect())
            }
            other => self.node(other, whole, depth + 1),
        }
    }

    /// The fields that a schema, and all that holds beside it, names. `seen` are the references
    /// that were followed: each says what it says once.
    fn names(&self, schema: &Value, seen: &mut BTreeSet<String>, depth: usize) -> Names {
        let Value::Object(map) = schema else {
            return Names::Silent;
        };
        if depth > DEPTH_MAX || says_open(map) {
            return Names::Open;
        }
        if !admits_maps(map) {
            return Names::Silent;
        }
        let mut names: BTreeSet<String> = BTreeSet::new();
        let mut named = false;
        if let Some(Value::Object(properties)) = map.get("properties")
            && !properties.is_empty()
        {
            named = true;
            names.extend(properties.keys().cloned());
        }
        let required = map.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        names.extend(required.map(str::to_owned));
        let mut add = |found: Names| match found {
            Names::Open => true,
            Names::Known(more) => {
                named = true;
                names.extend(more);
                false
            }
            Names::Silent => false,
        };
        if let Some(target) = map.get("$ref").and_then(Value::as_str)
            && seen.insert(target.to_owned())
        {
            let Some(target) = self.resolve(target) else {
                return Names::Open;
            };
            if add(self.names(target, seen, depth + 1)) {
                return Names::Open;
            }
        }
        let several = |key: &str| map.get(key).and_then(Value::as_array).into_iter().flatten();
        for branch in several("allOf")
            .chain(map.get("then"))
            .chain(map.get("else"))
        {
            if add(self.names(branch, seen, depth + 1)) {
                return Names::Open;
            }
        }
        for branch in several("anyOf").chain(several("oneOf")) {
            let found = self.names(branch, seen, depth + 1);
            let open = matches!(found, Names::Silent) && admits_any_map(branch);
            if add(found) || open {
                return Names::Open;
            }
        }
        if named {
            Names::Known(names)
        } else {
            Names::Silent
        }
    }

    fn resolve(&self, target: &str) -> Option<&Value> {
        if target == "#" {
            return Some(self.root);
        }
        self.root.pointer(target.strip_prefix('#')?)
    }
}

/// Whether it says by itself that further fields may be there.
fn says_open(map: &Map<String, Value>) -> bool {
    let opens = |key: &str| map.get(key).is_some_and(|value| *value != json!(false));
    opens("additionalProperties")
        || opens("unevaluatedProperties")
        || ["patternProperties", "propertyNames", "dependentSchemas"]
            .iter()
            .any(|key| map.contains_key(*key))
}

fn admits_maps(map: &Map<String, Value>) -> bool {
    match map.get("type") {
        None => !map.contains_key("const") && !map.contains_key("enum"),
        Some(Value::String(word)) => word == "object",
        Some(Value::Array(words)) => words.contains(&json!("object")),
        Some(_) => true,
    }
}

/// Whether a branch that names no field lets any map through.
fn admits_any_map(branch: &Value) -> bool {
    match branch {
        Value::Object(map) => {
            admits_maps(map) && !map.contains_key("required") && !map.contains_key("$ref")
        }
        other => *other == json!(true),
    }
}

/// Whether a schema is nothing but a choice between others, which can be closed one by one.
fn is_only_a_choice(map: &Map<String, Value>) -> bool {
    let says = [
        "properties",
        "required",
        "$ref",
        "allOf",
        "if",
        "then",
        "else",
    ];
    let choices = ["anyOf", "oneOf"]
        .iter()
        .filter(|key| map.contains_key(**key));
    choices.count() == 1 && !says.iter().any(|key| map.contains_key(*key)) && !says_open(map)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::indexing_slicing, reason = "tests")]
    use super::*;

    #[test]
    fn what_names_its_fields_is_closed() {
        let text = json!({"type": "string"});
        let open = json!({"type": "object"});
        for schema in [
            json!({"type": "object", "additionalProperties": true, "properties": {"a": text}}),
            json!({"type": "object", "additionalProperties": text, "properties": {"a": text}}),
            json!({"type": "object", "patternProperties": {"^x": text}, "properties": {"a": text}}),
            json!({"type": "object", "additionalProperties": false, "properties": {"a": text}}),
            json!({"type": "object", "properties": {}}),
            json!({"type": "object"}),
            json!(true),
            json!({"anyOf": [open, {"type": "null"}]}),
            json!({"properties": {"a": text}, "anyOf": [open, {"required": ["b"]}]}),
            json!({"properties": {"a": text}, "allOf": [{"additionalProperties": true}]}),
            json!({"properties": {"a": {"$ref": "#/properties/b"}, "b": text}}),
            json!({"properties": {"a": text}, "$ref": "https://example.org/other.json"}),
        ] {
            assert_eq!(closed(&schema), None, "{schema}");
        }
        let names = |schema: Value| {
            let closed = closed(&schema).map(|closed| closed["propertyNames"]["enum"].clone());
            closed.unwrap_or_default()
        };
        let branch = |name: &str| json!({"type": "object", "properties": {name: text}});
        assert_eq!(names(branch("a")), json!(["a"]));
        let all =
            json!({"allOf": [{"$ref": "#/$defs/x"}, branch("b")], "$defs": {"x": branch("a")}});
        assert_eq!(names(all), json!(["a", "b"]));
        let mixed = json!({"properties": {"a": text}, "required": ["z"],
                           "oneOf": [branch("b"), {"required": ["a"]}, {"type": "null"}]});
        assert_eq!(names(mixed), json!(["a", "b", "z"]));
        let choice = json!({"anyOf": [branch("a"), {"type": "null"}]});
        assert_eq!(
            closed(&choice).unwrap_or_default()["anyOf"][0]["propertyNames"],
            json!({"enum": ["a"]})
        );
        let refers = json!({"type": "array", "items": {"$ref": "#/$defs/x"},
                            "$defs": {"x": branch("a")}});
        let closed = closed(&refers).unwrap_or_default();
        assert_eq!(closed["items"]["propertyNames"], json!({"enum": ["a"]}));
        assert_eq!(closed["$defs"]["x"].get("propertyNames"), None);
    }
}
