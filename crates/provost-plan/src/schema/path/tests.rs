//! What a path reads, over schemas as they are found.
#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::schema::Schema;
use serde_json::json;

fn read(schema: &Value, path: &str) -> String {
    read_of(&Type::of_json(schema), path)
}

fn read_of(ty: &Type, path: &str) -> String {
    let path: Vec<Segment> = path
        .split('.')
        .filter(|part| !part.is_empty())
        .map(|part| match part {
            "*" => Segment::Any,
            part => part
                .parse()
                .map_or_else(|_| Segment::Field(part.to_owned()), Segment::Index),
        })
        .collect();
    match ty.at(&path) {
        PathType::Absent { reason, depth, .. } => format!("absent at {depth}: {reason}"),
        PathType::Undeclared { depth, .. } => format!("undeclared at {depth}"),
        PathType::Unknown { depth } => format!("unknown from {depth}"),
        PathType::Known {
            ty,
            optional,
            nullable,
        } => {
            let optional = optional.map_or_else(String::new, |at| format!(" optional@{at}"));
            let nullable = if nullable { " nullable" } else { "" };
            format!("{}{optional}{nullable}", ty.kinds().words())
        }
    }
}

#[test]
fn paths_of_a_realistic_schema() {
    let schema = json!({
        "type": "object",
        "required": ["total", "rows", "pair", "owner"],
        "additionalProperties": false,
        "properties": {
            "total": {"type": "integer"},
            "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}},
            "first": {"$ref": "#/$defs/row"},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}],
                     "items": false, "minItems": 1},
            "owner": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/row"}]},
            "tags": {"type": "object", "additionalProperties": {"type": "boolean"}},
            "open": {"type": "object"},
            "anything": true,
        },
        "$defs": {"row": {"type": "object", "required": ["id"],
                          "properties": {"id": {"type": "string"},
                                         "note": {"type": ["string", "null"]}}}},
    });
    for (path, expected) in [
        ("", "a map"),
        ("total", "a whole number"),
        (
            "total.x",
            "absent at 1: it is a number, which has no fields",
        ),
        (
            "totl",
            "absent at 0: the schema allows only `anything`, `first`, `open`, `owner`, \
                  `pair`, `rows`, `tags`, `total`",
        ),
        ("rows", "a list"),
        ("rows.0.id", "a text optional@2"),
        ("rows.*.id", "a text"),
        ("rows.*.note", "a text or null optional@3 nullable"),
        ("rows.*.other", "unknown from 2"),
        ("rows.id", "absent at 1: it is a list, which has no fields"),
        ("first.id", "a text optional@1"),
        ("pair.0", "a text"),
        ("pair.1", "a number optional@2"),
        (
            "pair.2",
            "absent at 1: the list never has more than 2 items",
        ),
        ("owner", "a map or null nullable"),
        ("owner.id", "a text optional@2"),
        ("tags.x", "a boolean optional@1"),
        ("tags.*", "a boolean optional@1"),
        ("open.x", "unknown from 1"),
        ("anything", "unknown from 1"),
    ] {
        assert_eq!(read(&schema, path), expected, "{path}");
    }
}

#[test]
fn paths_of_unions_and_values() {
    let union = json!({"oneOf": [
        {"type": "object", "required": ["kind", "a"], "additionalProperties": false,
         "properties": {"kind": {"const": "x"}, "a": {"type": "string"}}},
        {"type": "object", "required": ["kind", "b"], "additionalProperties": false,
         "properties": {"kind": {"const": "y"}, "b": {"type": "number"}}}]});
    assert_eq!(read(&union, "kind"), "a text");
    assert_eq!(read(&union, "a"), "a text optional@1");
    assert!(read(&union, "c").starts_with("absent at 0"));
    let constant = json!({"const": {"a": [1, "x"]}});
    assert_eq!(read(&constant, "a.1"), "a text");
    assert_eq!(read(&constant, "a.*"), "a whole number or a text");
    assert!(read(&constant, "b").starts_with("absent"));
    assert_eq!(read(&json!(true), "a"), "unknown from 0");
    assert!(read(&json!(false), "a").starts_with("absent"));
    let tree = json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object",
        "properties": {"next": {"$ref": "#/$defs/n"}}}}});
    assert_eq!(read(&tree, "next.next.next"), "a map optional@1");
    assert!(Type::of_json(&json!({"type": "string"})).item().is_none());
    let item = Type::of_json(&json!({"type": "array", "items": {"type": "null"}})).item();
    assert_eq!(item.unwrap().kinds(), Kinds::NULL);
}

const PYDANTIC: &str = r##"{"type":"object","title":"SearchOutput","required":["hits"],
  "properties":{
    "hits":{"type":"array","items":{"$ref":"#/$defs/Hit"}},
    "best":{"anyOf":[{"$ref":"#/$defs/Hit"},{"type":"null"}],"default":null},
    "meta":{"type":"object","additionalProperties":true},
    "extra":{"type":"object"},
    "raw":{}},
  "$defs":{"Hit":{"type":"object","required":["id"],
                  "properties":{"id":{"type":"string"},"score":{"type":"number"}}}}}"##;

const COMPOSED: &str = r##"{"allOf":[{"$ref":"#/components/schemas/Base"},
    {"type":"object","required":["state"],"properties":{"state":{"enum":["open","closed"]}}}],
  "components":{"schemas":{
    "Base":{"type":"object","required":["id","user"],
      "properties":{"id":{"type":"integer"},
                    "user":{"oneOf":[{"$ref":"#/components/schemas/User"},{"type":"null"}]}}},
    "User":{"type":"object","required":["login"],"properties":{"login":{"type":"string"}}}}}}"##;

const KINDS: &str = r##"{"oneOf":[
  {"type":"object","required":["kind","a"],
   "properties":{"kind":{"const":"x"},"a":{"type":"string"}}},
  {"type":"object","required":["kind","b"],
   "properties":{"kind":{"const":"y"},"b":{"type":"number"}}}]}"##;

fn declared(schema: &str) -> Schema {
    Schema::compile(serde_json::from_str(schema).unwrap()).unwrap()
}

/// Schemas in the forms in which tool servers and OpenAPI documents write them.
#[test]
fn paths_of_schemas_that_do_not_say_whether_they_are_closed() {
    let (pydantic, composed, kinds) = (declared(PYDANTIC), declared(COMPOSED), declared(KINDS));
    let names = |names: &str| format!("the schema names only {names}");
    let of_page = names("`best`, `extra`, `hits`, `meta`, `raw`");
    for (schema, path, expected) in [
        (&pydantic, "hits.0.id", "a text optional@2"),
        (&pydantic, "hits.*.score", "a number optional@3"),
        (&pydantic, "hits.*.scoer", &names("`id`, `score`")),
        (&pydantic, "hits.*.author", "undeclared at 2"),
        (&pydantic, "hist", &of_page),
        (&pydantic, "total", "undeclared at 0"),
        (&pydantic, "best.id", "a text optional@1"),
        (&pydantic, "best.other", "undeclared at 1"),
        (&pydantic, "meta.x", "unknown from 1"),
        (&pydantic, "extra.x", "unknown from 1"),
        (&pydantic, "raw", "unknown from 1"),
        (&pydantic, "raw.x", "unknown from 1"),
        (&composed, "id", "a whole number"),
        (&composed, "state", "a text"),
        (&composed, "user.login", "a text optional@2"),
        (&composed, "user.name", "undeclared at 1"),
        (&composed, "stat", &names("`id`, `state`, `user`")),
        (&kinds, "kind", "a text"),
        (&kinds, "c", &names("`a`, `b`, `kind`")),
        (&kinds, "other", "undeclared at 0"),
    ] {
        let given = read_of(schema.ty(), path);
        assert!(given.ends_with(expected), "{path}: {given}");
    }
    let absent = |schema: &Schema, path: &str| -> Vec<PathFault> {
        let path = [Segment::Field(path.to_owned())];
        schema.ty().absences(&path).iter().map(|a| a.why).collect()
    };
    assert_eq!(absent(&kinds, "a"), [PathFault::Optional]);
    assert_eq!(absent(&kinds, "kind"), []);
    assert_eq!(absent(&pydantic, "raw"), [PathFault::Optional]);
    assert_eq!(absent(&pydantic, "total"), [PathFault::Undeclared]);
}
