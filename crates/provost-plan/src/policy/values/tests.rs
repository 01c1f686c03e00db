#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;

fn number(text: &str) -> String {
    let number: Number = serde_json::from_str(text).unwrap();
    let (text, exact) = decimal_of(&number).unwrap();
    format!("{text} {exact}")
}

#[test]
fn numbers_are_decimals_and_say_when_they_are_not_exact() {
    let table = [
        ("0", "0.0 true"),
        ("-0.0", "-0.0 true"),
        ("5", "5.0 true"),
        ("1.5", "1.5 true"),
        ("0.1234", "0.1234 true"),
        ("0.12345", "0.1235 false"),
        ("-0.00004", "-0.0000 false"),
        ("500.00001", "500.0000 false"),
        ("1e-7", "0.0000 false"),
        ("1e14", "100000000000000.0 true"),
        ("922337203685477", "922337203685477.0 true"),
        ("922337203685478", "922337203685477.0 false"),
        ("-1e300", "-922337203685477.0 false"),
        ("9007199254740992", "922337203685477.0 false"),
    ];
    for (text, expected) in table {
        assert_eq!(number(text), expected, "{text}");
        let decimal = number(text).split(' ').next().unwrap().to_owned();
        let cedar = cedar_policy::RestrictedExpression::new_decimal(&decimal);
        let pairs = [("n".to_owned(), cedar)];
        assert!(
            cedar_policy::Context::from_pairs(pairs).is_ok(),
            "{decimal}"
        );
    }
}

/// Each kind of schema: the type policy sees, and what of a value stays out.
#[test]
fn what_cedar_cannot_type_is_named() {
    let table = [
        (json!({"type": "string"}), json!("x"), "String", ""),
        (json!({"enum": ["a", "b"]}), json!("a"), "String", ""),
        (json!({"const": 3}), json!(3), "Long", ""),
        (json!({"enum": [1, 2.5]}), json!(1), "decimal", ""),
        (json!({"enum": ["a", 1]}), json!("a"), "-", "x"),
        (json!({"enum": ["a", null]}), json!(null), "String?", ""),
        (
            json!({"type": ["string", "null"]}),
            json!(null),
            "String?",
            "",
        ),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            json!(1),
            "Long?",
            "",
        ),
        (
            json!({"oneOf": [{"type": "integer"}, {"type": "string"}]}),
            json!(1),
            "-",
            "x",
        ),
        (
            json!({"allOf": [{"type": "boolean"}]}),
            json!(true),
            "Boolean",
            "",
        ),
        (json!({"$ref": "#/$defs/id"}), json!("x"), "String", ""),
        (json!({"$ref": "#/$defs/loop"}), json!("x"), "-", "x"),
        (json!({"$ref": "https://other.test/"}), json!("x"), "-", "x"),
        (json!({}), json!(1), "-", "x"),
        (json!(true), json!(1), "-", "x"),
        (json!({"type": "null"}), json!(null), "-", "x"),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            json!(["a"]),
            "Set",
            "",
        ),
        (
            json!({"type": "array", "items": {"type": ["string", "null"]}}),
            json!(["a"]),
            "Set",
            "",
        ),
        (
            json!({"type": "array", "items": {"type": ["string", "null"]}}),
            json!(["a", null]),
            "Set",
            "x[]",
        ),
        (
            json!({"type": "array", "items": {"type": "number"}}),
            json!([0.12345]),
            "Set",
            "x[]",
        ),
        (json!({"type": "array"}), json!([1]), "-", "x"),
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}]}),
            json!(["a"]),
            "-",
            "x",
        ),
        (json!({"type": "object"}), json!({"k": 1}), "-", "x"),
        (
            json!({"type": "object", "additionalProperties": false}),
            json!({}),
            "Record",
            "",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
            json!({"a": "b", "c": {"d": 1}}),
            "Record",
            "x.c",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": ["string", "integer"]}}}),
            json!({"a": "b"}),
            "Record",
            "x.a",
        ),
    ];
    for (schema, value, ty, opaque) in table {
        let args = json!({
            "type": "object", "properties": { "x": schema }, "required": ["x"],
            "$defs": { "id": {"type": "string"}, "loop": {"$ref": "#/$defs/loop"} },
        });
        let fields = ShapeFields::of_schema(&args);
        let cedar = fields.cedar();
        let field = cedar.pointer("/attributes/x");
        let optional = field.and_then(|f| f.get("required")) == Some(&json!(false));
        let name = field
            .and_then(|f| f.get("name").or(f.get("type")))
            .and_then(Value::as_str);
        let found = format!("{}{}", name.unwrap_or("-"), if optional { "?" } else { "" });
        assert_eq!(found, ty, "{schema}");
        let map = json!({ "x": value });
        let mut named = BTreeSet::new();
        let typed = fields_of(&fields, map.as_object().unwrap().iter(), "", &mut named).unwrap();
        let names: Vec<&str> = named.iter().map(String::as_str).collect();
        assert_eq!(names.join(" "), opaque, "{schema} {value}");
        // What is not typed is named or null: nothing vanishes.
        assert!(
            typed.contains_key("x") || !named.is_empty() || value.is_null(),
            "{schema}"
        );
    }
}

/// A schema that refers to itself many times over is followed for a while, and no further.
#[test]
fn a_schema_without_end_is_cut() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let properties: serde_json::Map<String, Value> = names
        .iter()
        .map(|name| ((*name).to_owned(), json!({"$ref": "#"})))
        .collect();
    let fields = ShapeFields::of_schema(&json!({ "type": "object", "properties": properties }));
    let text = fields.cedar().to_string();
    assert!(text.len() < 200_000, "{}", text.len());
    let mut opaque = BTreeSet::new();
    let mut value = json!({});
    for _ in 0..20 {
        value = json!({ "a": value });
    }
    fields_of(&fields, value.as_object().unwrap().iter(), "", &mut opaque).unwrap();
    assert_eq!(opaque.len(), 1, "{opaque:?}");
}
