//! Schemas that are valid at first sight.
//!
//! Owns the few keywords that most schemas are made of, with what the meta-schema of draft 2020-12
//! demands of their values: a process that judges no value need not compile that meta-schema, which
//! takes longer than all else that opens a small workspace. INVARIANT: a plain schema is valid and
//! compiles; one that is not plain may be valid too, and is for the meta-schema to judge.

use std::collections::BTreeSet;

use jsonschema::JsonType;
use serde_json::Value;

/// The draft, where a schema names it.
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Whether a schema consists of such keywords alone, each with a value that it may have.
pub(super) fn is_plain(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.iter().all(|(keyword, value)| match keyword.as_str() {
            "$schema" => value == DRAFT,
            _ => is_keyword(keyword, value),
        }),
        _ => schema.is_boolean(),
    }
}

/// Whether a schema inside another is plain: it names no draft.
fn is_plain_inside(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map
            .iter()
            .all(|(keyword, value)| is_keyword(keyword, value)),
        _ => schema.is_boolean(),
    }
}

fn is_keyword(keyword: &str, value: &Value) -> bool {
    let every = |list: &Value, fits: fn(&Value) -> bool| {
        list.as_array().is_some_and(|items| items.iter().all(fits))
    };
    let is_filled = || value.as_array().is_some_and(|items| !items.is_empty());
    // Why neither `pattern` nor `$ref`: what they name may not compile or not be there.
    match keyword {
        "type" => is_type(value) || is_filled() && every(value, is_type) && is_unique(value),
        "properties" => value
            .as_object()
            .is_some_and(|map| map.values().all(is_plain_inside)),
        "additionalProperties" | "items" | "not" => is_plain_inside(value),
        "allOf" | "anyOf" | "oneOf" => is_filled() && every(value, is_plain_inside),
        "required" => every(value, Value::is_string) && is_unique(value),
        "enum" | "examples" => value.is_array(),
        "const" | "default" => true,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            value.is_u64()
        }
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
        "format" | "title" | "description" => value.is_string(),
        _ => false,
    }
}

fn is_type(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|name| name.parse::<JsonType>().is_ok())
}

/// Whether a list holds texts alone, none of them twice.
fn is_unique(list: &Value) -> bool {
    let mut seen = BTreeSet::new();
    let mut texts = list.as_array().into_iter().flatten();
    texts.all(|item| item.as_str().is_some_and(|text| seen.insert(text)))
}
