//! Values of a JSON Schema, from a seed: what a simulated tool returns.
//!
//! Owns the guessing of values that stress a plan: empty lists, absent and null fields, zeros,
//! the ends of a range. Never says that a value fits: whoever uses one validates it. INVARIANT: a
//! schema and a stream of numbers give the same value on every machine, in whatever order its keys
//! are written.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::rng::Rng;

/// How deep a value nests.
const DEPTH_MAX: usize = 8;

/// A value that probably fits `schema`.
#[must_use]
pub fn sample(schema: &Value, rng: &mut Rng) -> Value {
    value(schema, schema, rng, 0)
}

fn value(schema: &Value, root: &Value, rng: &mut Rng, depth: usize) -> Value {
    let Value::Object(map) = schema else {
        return any(rng);
    };
    if depth > DEPTH_MAX {
        return Value::Null;
    }
    if let Some(target) = map.get("$ref").and_then(Value::as_str) {
        let pointer = target.trim_start_matches('#');
        return root
            .pointer(pointer)
            .map_or(Value::Null, |target| value(target, root, rng, depth + 1));
    }
    if let Some(value) = map.get("const") {
        return value.clone();
    }
    if let Some(values) = map.get("enum").and_then(Value::as_array) {
        return one_of(values, rng).cloned().unwrap_or_default();
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(branch) = map
            .get(key)
            .and_then(Value::as_array)
            .and_then(|branches| one_of(branches, rng))
        {
            return value(branch, root, rng, depth + 1);
        }
    }
    if let Some(parts) = map.get("allOf").and_then(Value::as_array) {
        return value(&merged(map, parts), root, rng, depth + 1);
    }
    match kind(map, rng).as_deref() {
        Some("object") => object(map, root, rng, depth),
        Some("array") => array(map, root, rng, depth),
        Some("string") => text(map, rng),
        Some("integer") => json!(integer(map, rng)),
        Some("number") => number(map, rng),
        Some("boolean") => json!(rng.permille(500)),
        Some("null") => Value::Null,
        _ => any(rng),
    }
}

fn any(rng: &mut Rng) -> Value {
    let values = [json!("text"), json!(0), Value::Null, json!({}), json!(true)];
    one_of(&values, rng).cloned().unwrap_or_default()
}

fn one_of<'v, T>(values: &'v [T], rng: &mut Rng) -> Option<&'v T> {
    let last = i64::try_from(values.len()).ok()?.checked_sub(1)?;
    values.get(usize::try_from(rng.between(0, last.max(0))).ok()?)
}

/// The type of the value: one of those named, `null` among them as often as the others.
fn kind(map: &Map<String, Value>, rng: &mut Rng) -> Option<String> {
    match map.get("type") {
        Some(Value::String(word)) => Some(word.clone()),
        Some(Value::Array(words)) => one_of(words, rng)?.as_str().map(str::to_owned),
        _ if map.contains_key("properties") => Some("object".to_owned()),
        _ if map.contains_key("items") => Some("array".to_owned()),
        _ => None,
    }
}

fn merged(map: &Map<String, Value>, parts: &[Value]) -> Value {
    let mut all = map.clone();
    all.remove("allOf");
    for part in parts.iter().filter_map(Value::as_object) {
        for (key, value) in part {
            match (all.get_mut(key), value) {
                (Some(Value::Object(known)), Value::Object(more)) => known.extend(more.clone()),
                (Some(Value::Array(known)), Value::Array(more)) if key == "required" => {
                    known.extend(more.iter().cloned());
                }
                _ => {
                    all.insert(key.clone(), value.clone());
                }
            }
        }
    }
    Value::Object(all)
}

fn object(map: &Map<String, Value>, root: &Value, rng: &mut Rng, depth: usize) -> Value {
    let required = map.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten();
    let required: BTreeSet<&str> = required.filter_map(Value::as_str).collect();
    let mut made = Map::new();
    let properties = map.get("properties").and_then(Value::as_object);
    // Why sorted: a map keeps the order it was written in, and that says nothing.
    let properties: BTreeMap<&String, &Value> = properties.into_iter().flatten().collect();
    for (name, schema) in properties {
        if required.contains(&name.as_str()) || rng.permille(500) {
            made.insert(name.clone(), value(schema, root, rng, depth + 1));
        }
    }
    for name in required {
        if !made.contains_key(name) {
            made.insert(name.to_owned(), any(rng));
        }
    }
    Value::Object(made)
}

fn array(map: &Map<String, Value>, root: &Value, rng: &mut Rng, depth: usize) -> Value {
    let bound = |key: &str| map.get(key).and_then(Value::as_i64);
    let least = bound("minItems").unwrap_or(0);
    let most = bound("maxItems").unwrap_or(least + 3).min(least + 3);
    let count = if rng.permille(250) {
        least
    } else {
        rng.between(least, most)
    };
    let item = map.get("items").unwrap_or(&Value::Null);
    (0..count)
        .map(|_| value(item, root, rng, depth + 1))
        .collect()
}

fn integer(map: &Map<String, Value>, rng: &mut Rng) -> i64 {
    let bound = |key: &str| map.get(key).and_then(Value::as_i64);
    let low = bound("minimum").or(bound("exclusiveMinimum").map(|at| at + 1));
    let high = bound("maximum").or(bound("exclusiveMaximum").map(|at| at - 1));
    let low = low.unwrap_or_else(|| high.map_or(0, |high| high - 20));
    let high = high.unwrap_or(low + 1_000);
    let near = (low + 10).min(high);
    match rng.between(0, 3) {
        0 => low,
        1 => rng.between(low, near),
        2 => high,
        _ => rng.between(low, high),
    }
}

fn number(map: &Map<String, Value>, rng: &mut Rng) -> Value {
    let low = map.get("minimum").and_then(Value::as_f64).unwrap_or(0.0);
    let high = map.get("maximum").and_then(Value::as_f64);
    let high = high.unwrap_or(low + 1_000.0);
    let part = f64::from(u16::try_from(rng.between(0, 1_000)).unwrap_or(0)) / 1_000.0;
    json!(low + (high - low) * part)
}

const WORDS: [&str; 6] = [
    "alpha",
    "beta gamma",
    "error: no route",
    "ok",
    "PAY-7",
    "weekly report",
];

fn text(map: &Map<String, Value>, rng: &mut Rng) -> Value {
    let number = rng.between(1, 28);
    if let Some(format) = map.get("format").and_then(Value::as_str) {
        let hex = rng.between(0x1000, 0xffff);
        let made = match format {
            "email" | "idn-email" => format!("person{number}@example.org"),
            "date" => format!("2026-02-{number:02}"),
            "date-time" => format!("2026-02-{number:02}T08:00:00Z"),
            "time" => "08:00:00Z".to_owned(),
            "uri" | "url" | "uri-reference" | "iri" => format!("https://example.org/{number}"),
            "uuid" => format!("6f1c5c6e-0000-4000-8000-00000000{hex:04x}"),
            "hostname" => format!("host{number}.example.org"),
            "ipv4" => format!("192.0.2.{number}"),
            "duration" => format!("P{number}D"),
            _ => String::new(),
        };
        if !made.is_empty() {
            return made.into();
        }
    }
    if let Some(pattern) = map.get("pattern").and_then(Value::as_str) {
        return super::pattern::matching(pattern, rng).into();
    }
    let length = |key: &str| {
        let length = map.get(key).and_then(Value::as_u64);
        length.and_then(|n| usize::try_from(n).ok())
    };
    let mut made = one_of(&WORDS, rng).copied().unwrap_or("x").to_owned();
    while made.chars().count() < length("minLength").unwrap_or(0).min(200) {
        made.push('x');
    }
    let most = length("maxLength").unwrap_or(usize::MAX);
    made.chars().take(most).collect::<String>().into()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use provost_plan::schema::Schema;

    use super::*;

    #[test]
    fn values_fit() {
        let schema = json!({
            "type": "object",
            "required": ["id", "at", "items", "kind", "owner"],
            "properties": {
                "id": { "type": "string", "pattern": "^[A-Z]{2,8}-[0-9]{1,6}$" },
                "at": { "type": "string", "format": "date-time" },
                "kind": { "enum": ["a", "b"] },
                "owner": { "type": ["string", "null"] },
                "items": { "type": "array", "items": { "$ref": "#/$defs/item" } },
                "share": { "type": "number", "minimum": 0, "maximum": 1 },
            },
            "additionalProperties": false,
            "$defs": { "item": { "type": "integer", "minimum": 3, "maximum": 5 } },
        });
        let compiled = Schema::compile(schema.clone()).unwrap();
        let mut rng = Rng::new(1, "sample");
        let mut seen = (false, false);
        for _ in 0..200 {
            let value = sample(&schema, &mut rng);
            assert!(compiled.admits(&value), "{value}");
            seen.0 |= value["items"] == json!([]);
            seen.1 |= value["owner"].is_null();
        }
        assert_eq!(seen, (true, true), "an empty list and a null occur");
    }
    #[test]
    fn the_order_of_keys_decides_nothing() {
        let written = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
        let one = r#"{"type": "object", "required": ["n", "total"],
            "properties": {"n": {"type": "integer"}, "total": {"type": "number"}}}"#;
        let two = r#"{"required": ["total", "n"],
            "properties": {"total": {"type": "number"}, "n": {"type": "integer"}},
            "type": "object"}"#;
        for seed in 0..100 {
            let of = |text: &str| sample(&written(text), &mut Rng::new(seed, "sample"));
            assert_eq!(of(one), of(two), "{seed}");
        }
    }
}
