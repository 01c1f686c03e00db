#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use serde_json::{Value, json};

use super::*;

/// What judging costs where everything is walked.
fn cost(schema: &Value, value: &Value) -> Result<u64, Exceeded> {
    let work = Work::of(schema).map_err(|_| Exceeded)?;
    let purse = WorkBudget::of(1_000_000);
    work.walk(0, value, &purse, 0)?;
    Ok(1_000_000 - purse.left())
}

#[test]
fn the_shortcut_never_pays_less_than_the_walk() {
    for schema in [
        json!(true),
        json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": "^a{9}" } } }),
        json!({ "additionalProperties": { "items": { "enum": [1, 2, 3] } } }),
        json!({ "patternProperties": { "^[ab]{20}": { "$ref": "#/$defs/x" } },
                "$defs": { "x": { "anyOf": [{ "minLength": 3 }, { "type": "null" }] } } }),
        json!({ "prefixItems": [{ "const": "a" }], "items": { "format": "email" } }),
        json!({ "propertyNames": { "pattern": "^[a-z]{3,9}$" } }),
    ] {
        for value in [
            json!(null),
            json!("aaaaaaaaaaaaaaaaaaaaaaaaaa"),
            json!({ "a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbb": [1, 2] }),
            json!([["a", "bbbbbbbbbbbbbbbbbbb"], { "c": [1, null] }]),
        ] {
            let work = Work::of(&schema).unwrap();
            let paid = work.pay(&value, &WorkBudget::of(1_000_000)).unwrap();
            let walked = cost(&schema, &value).unwrap();
            assert!(work.each.is_some(), "{schema}");
            assert!(paid >= walked, "{schema} over {value}: {paid} < {walked}");
        }
    }
}

#[test]
fn what_is_left_over_is_judged_again() {
    let properties = json!({ "properties": { "a": { "type": "integer" } } });
    let plain = json!({ "allOf": [properties, properties] });
    let mut strict = plain.clone();
    strict["unevaluatedProperties"] = json!(false);
    let value = json!({ "a": 1 });
    let (plain, strict) = (
        cost(&plain, &value).unwrap(),
        cost(&strict, &value).unwrap(),
    );
    assert!(strict > 2 * plain, "{plain} and {strict}");
}

#[test]
fn names_of_definitions_are_found_however_they_are_written() {
    let dear: Vec<Value> = (0..80).map(|_| json!({ "type": "object" })).collect();
    for (reference, name) in [
        ("#/$defs/a%20b", "a b"),
        ("#/$defs/x~1y", "x/y"),
        ("#n", "z"),
    ] {
        let schema =
            json!({ "$ref": reference, "$defs": { name: { "$anchor": "n", "allOf": dear } } });
        assert_eq!(
            Work::of(&schema).unwrap().expansion(1_000),
            Some(82),
            "{reference}"
        );
    }
}
