//! `schema`: the JSON Schemas of what provost reads and prints.
//!
//! Owns the list of them. Makes none: the schema of a plan is the plan language's. INVARIANT: an
//! object that `--json` prints has a schema here, named by its `schema` without `provost/` and the
//! version; a test runs every command.

use std::sync::LazyLock;

use clap::Args;
use provost_plan::diagnostic::nearest;
use provost_plan::plan::read::PLAN_JSON_SCHEMA;
use serde_json::{Map, Value, json};

use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Cell, Page, TextStyle};

/// What `--json` prints, object by object.
const OUTPUT: &str = include_str!("../../schemas/output.json");

/// The schema of a plan.
const PLAN: &str = "plan";

static SCHEMAS: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(OUTPUT).unwrap_or_default());

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// schema, such as `plan` or `run` [default: list all]
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// The name of every schema.
pub fn names() -> impl Iterator<Item = &'static str> {
    std::iter::once(PLAN).chain(SCHEMAS.keys().map(String::as_str))
}

/// Does it.
pub fn run(verb: &SchemaArgs) -> Result<Exit, Failure> {
    let Some(typed) = &verb.name else {
        output::data(&list().finish());
        return Ok(Exit::Done);
    };
    let name = typed.strip_prefix("provost/").unwrap_or(typed);
    let name = name.split_once("/v").map_or(name, |(name, _)| name);
    let found = match name {
        PLAN => serde_json::from_str(PLAN_JSON_SCHEMA).ok(),
        name => SCHEMAS.get(name).map(|schema| published(name, schema)),
    };
    let Some(schema) = found else {
        let hint = match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`provost schema` lists them".to_owned(),
        };
        return Err(Failure::usage(format!("there is no schema `{typed}`")).hint(hint));
    };
    output::json(&schema);
    Ok(Exit::Done)
}

/// The marker of an object: its name with its version, which is 1 unless its entry says another.
fn marker(name: &str, schema: &Value) -> String {
    let version = schema.get("version").and_then(Value::as_u64).unwrap_or(1);
    format!("provost/{name}/v{version}")
}

/// A schema with what is the same in each.
fn published(name: &str, schema: &Value) -> Value {
    let mut whole = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": marker(name, schema),
        "type": "object",
    });
    if let (Some(whole), Some(own)) = (whole.as_object_mut(), schema.as_object()) {
        whole.extend(own.clone());
        whole.remove("version");
        let marker = json!({ "const": marker(name, schema) });
        if let Some(properties) = whole.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert("schema".to_owned(), marker);
        }
        if let Some(required) = whole.get_mut("required").and_then(Value::as_array_mut) {
            required.insert(0, json!("schema"));
        }
    }
    whole
}

fn list() -> Page {
    let about = |name: &str| match SCHEMAS.get(name).and_then(|schema| schema.get("title")) {
        Some(Value::String(title)) => title.clone(),
        _ => "a plan".to_owned(),
    };
    let rows: Vec<Vec<Cell>> = names()
        .map(|name| {
            let name_cell = Cell::new(TextStyle::Strong, name);
            vec![name_cell, Cell::plain(about(name))]
        })
        .collect();
    let mut page = Page::new();
    page.table(0, &rows);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_whole() {
        assert!(SCHEMAS.len() > 20, "{}", SCHEMAS.len());
        for (name, schema) in &*SCHEMAS {
            let whole = published(name, schema);
            let required = whole.pointer("/required/0").and_then(Value::as_str);
            assert_eq!(required, Some("schema"), "{name}");
            let title = schema.get("title").and_then(Value::as_str);
            assert!(title.is_some_and(|title| !title.is_empty()), "{name}");
            let found = whole.pointer("/properties/schema/const");
            assert_eq!(found, Some(&json!(marker(name, schema))));
        }
    }
}
