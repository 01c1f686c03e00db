//! The tools of the scripted server, as it lists them.

use serde_json::{Value, json};

/// Every tool.
pub(super) fn listed() -> Vec<Value> {
    let line = json!({ "line": { "type": "string" } });
    let sum = json!({
        "type": "object", "required": ["sum"], "properties": { "sum": { "type": "integer" } },
    });
    let mut tools = vec![
        json!({
            "name": "add", "title": "Add", "description": "Adds two numbers",
            "inputSchema": {
                "type": "object", "required": ["a", "b"],
                "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
            },
            "outputSchema": sum,
            "annotations": { "readOnlyHint": true, "openWorldHint": false },
        }),
        json!({
            "name": "count", "description": "Counts what took place",
            "inputSchema": { "type": "object" },
            "outputSchema": sum,
            "annotations": { "readOnlyHint": true, "openWorldHint": false },
        }),
        tool(
            "echo",
            "Says it back",
            &json!({ "text": { "type": "string" } }),
        ),
        tool("append", "Lets a line take place", &line),
        json!({
            "name": "append_keyed", "description": "Lets a line take place once a key",
            "inputSchema": {
                "type": "object", "required": ["line"],
                "properties": { "line": { "type": "string" }, "key": { "type": "string" } },
            },
            "annotations": { "readOnlyHint": false, "destructiveHint": false,
                "idempotentHint": true },
        }),
    ];
    let faulty = FAULTY
        .iter()
        .map(|(name, description)| tool(name, description, &line));
    tools.extend(faulty);
    for name in ["lie", "bare"] {
        let mut tool = tool(name, "Answers against its own schema", &line);
        tool["outputSchema"] = sum.clone();
        tools.push(tool);
    }
    tools
}

/// What goes wrong when it is called, and how.
const FAULTY: [(&str, &str); 18] = [
    ("die", "Lets a line take place and ends without a word"),
    ("die_first", "Ends at once"),
    ("hang", "Lets a line take place and never answers"),
    ("hang_first", "Never answers"),
    ("fail", "Says that it failed with the words of the line"),
    (
        "fail_after",
        "Lets a line take place and says that it failed",
    ),
    ("refuse", "Refuses with the error code of the line"),
    ("garbage", "Answers with what is no message"),
    (
        "two_things",
        "Lets a line take place and says two things under one name",
    ),
    ("mistake", "Answers with what is no result"),
    ("huge", "Answers with as many bytes as the line says"),
    ("leak", "Says the value of the variable that the line names"),
    ("ask", "Asks a person first"),
    ("want", "Wants to be told something first"),
    ("sample", "Asks for a model"),
    (
        "slow",
        "Takes as many milliseconds as the line says, and tells how far it is",
    ),
    ("change", "Makes another tool another"),
    ("mixed", "Answers with a text, an image and a resource"),
];

fn tool(name: &str, description: &str, properties: &Value) -> Value {
    let names: Vec<&String> = properties
        .as_object()
        .into_iter()
        .flat_map(|p| p.keys())
        .collect();
    json!({
        "name": name, "description": description,
        "inputSchema": { "type": "object", "required": names, "properties": properties },
    })
}
