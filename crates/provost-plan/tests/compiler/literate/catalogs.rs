//! Catalogs of real servers: what a server lists of itself, and what an operator says of it.
//!
//! `corpus/catalogs/NAME.json` is a listing as it was published (an MCP `tools/list`, or operations
//! of an OpenAPI document in the same form); `NAME.yaml` beside it is the operator's part: `server`
//! (the prefix of the names), `source` and, for each operation, effect and the like.

use provost_plan::node::parse_yaml;
use serde_json::{Map, Value, json};

/// The operations of the catalogs named in `text`, one a line, in the short form of the corpus.
pub fn named(text: &str) -> Value {
    let mut operations = Map::new();
    for name in text.split_whitespace() {
        let operator = parse_yaml(&file(name, "yaml")).expect("a readable catalog");
        operations.extend(joined(name, &operator.to_value()));
    }
    Value::Object(operations)
}

fn file(name: &str, kind: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/catalogs");
    let path = format!("{root}/{name}.{kind}");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Each operation of the operator's file with the schemas that its server lists.
fn joined(name: &str, operator: &Value) -> Map<String, Value> {
    let listing: Value = serde_json::from_str(&file(name, "json")).expect("a listing");
    let tools = listing["tools"].as_array().expect("a list `tools`");
    let server = operator["server"].as_str().expect("`server`");
    let entries = operator["operations"].as_object().expect("`operations`");
    let join = |(local, entry): (&String, &Value)| {
        let listed = tools.iter().find(|tool| tool["name"] == json!(local));
        let listed = listed.unwrap_or_else(|| panic!("{name} does not list `{local}`"));
        let mut entry = entry.clone();
        entry["input"] = listed["inputSchema"].clone();
        entry["description"] = listed["description"].clone();
        let is_typed = entry.get("gives").is_some() || entry.get("output").is_some();
        if let (false, Some(output)) = (is_typed, listed.get("outputSchema")) {
            entry["output"] = output.clone();
        }
        (format!("{server}.{local}"), entry)
    };
    entries.iter().map(join).collect()
}
