//! Which schemas load: those that the meta-schema of the draft admits and that compile, whether their
//! validator is made at once or when a value is judged first.

use jsonschema::Draft;
use provost_plan::schema::Schema;
use serde_json::{Value, json};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

const KEYWORDS: &[&str] = &[
    "$schema",
    "$ref",
    "$id",
    "$defs",
    "$anchor",
    "$comment",
    "$vocabulary",
    "type",
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "contains",
    "minContains",
    "not",
    "if",
    "then",
    "allOf",
    "anyOf",
    "oneOf",
    "required",
    "dependentRequired",
    "dependentSchemas",
    "enum",
    "const",
    "default",
    "examples",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "uniqueItems",
    "deprecated",
    "readOnly",
    "writeOnly",
    "pattern",
    "format",
    "title",
    "description",
    "unevaluatedItems",
    "contentSchema",
    "definitions",
    "x-own",
];

/// Values of every kind that some keyword takes, and those next to them.
fn values() -> Vec<Value> {
    let text = json!({ "type": "string" });
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(3),
        json!(-1),
        json!(1.5),
        json!(2.0),
        json!(1e300),
        json!(u64::MAX),
        json!(""),
        json!("string"),
        json!("text"),
        json!("email"),
        json!("["),
        json!("#/$defs/a"),
        json!(DRAFT),
        json!("http://json-schema.org/draft-07/schema#"),
        json!([]),
        json!(["string"]),
        json!(["string", "null"]),
        json!(["string", "string"]),
        json!(["string", 1]),
        json!([{}]),
        json!([text, true]),
        json!([text, 1]),
        json!([{ "type": "text" }]),
        json!({}),
        json!({ "a": text, "b": false }),
        json!({ "a": { "type": 1 } }),
        json!({ "a": 1 }),
        json!({ "a": [text] }),
        json!({ "type": "text" }),
        json!({ "type": "object", "properties": { "a": { "minLength": -1 } } }),
        json!({ "$schema": DRAFT }),
        json!({ "pattern": "[" }),
    ]
}

/// What is wrong with a schema by the draft alone.
fn fault(schema: &Value) -> Option<String> {
    let made = jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .offline()
        .build(schema);
    made.err()
        .map(|error| format!("the JSON Schema does not load: {error}"))
}

#[test]
fn a_schema_loads_exactly_if_the_draft_admits_it() {
    let (mut loaded, mut refused) = (0, 0);
    for outer in ["", "properties", "items", "anyOf"] {
        for keyword in KEYWORDS {
            for value in values() {
                let inner = json!({ *keyword: value });
                let schema = match outer {
                    "" => inner,
                    "properties" => json!({ "properties": { "a": inner } }),
                    "anyOf" => json!({ "anyOf": [true, inner] }),
                    _ => json!({ outer: inner }),
                };
                let made = Schema::compile(schema.clone());
                let reason = made.as_ref().err().map(ToString::to_string);
                // Why: that it has no end is said of a schema before it is compiled.
                let is_endless = reason
                    .as_ref()
                    .is_some_and(|why| why.contains("without end"));
                assert!(
                    is_endless || reason == fault(&schema),
                    "{schema}: {reason:?}"
                );
                match made {
                    Ok(_) => loaded += 1,
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(
        loaded > 500 && refused > 500,
        "{loaded} loaded, {refused} refused"
    );
}

#[test]
fn a_schema_that_loads_judges_values() {
    let schema = json!({
        "type": "object",
        "required": ["to"],
        "properties": { "to": { "type": "string", "format": "email", "maxLength": 20 } },
        "additionalProperties": false,
    });
    let heavy: serde_json::Map<_, _> = (0..600).map(|n| (format!("p{n}"), json!({}))).collect();
    let heavy = json!({ "allOf": [schema, { "properties": heavy }] });
    for schema in [schema, heavy] {
        let made = Schema::compile(schema).unwrap();
        assert!(made.admits(&json!({ "to": "ops@example.org" })));
        for wrong in [
            json!({}),
            json!({ "to": "ops" }),
            json!({ "to": 1 }),
            json!([]),
        ] {
            assert!(!made.admits(&wrong), "{wrong}");
            assert!(!made.violations(&wrong).is_empty(), "{wrong}");
        }
    }
}
