//! The strict form of a reply: for decoders that constrain what a model writes.
//!
//! Owns a JSON Schema in the subset that every provider takes: closed objects, every key required,
//! null in place of what is absent, arguments as JSON in a text. The format of plans says more; a
//! model that is not constrained may use all of it. INVARIANT: what fits this schema is read by the
//! same reader as everything else.

use serde_json::{Value, json};

/// The schema.
#[must_use]
pub fn strict() -> Value {
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "array", "items": text });
    let maybe = json!({ "type": ["string", "null"] });
    let step = closed(&json!({
        "id": text,
        "description": text,
        "tool": text,
        "args": { "type": "string", "description": "the arguments: a JSON object, as a text" },
        "needs": texts,
        "when": maybe,
        "for_each": maybe,
        "max_items": { "type": ["integer", "null"] },
        "accept": texts,
        "on_failure": {
            "type": ["string", "null"],
            "enum": ["replan", "stop", "continue", "escalate", null],
        },
    }));
    let proof = closed(&json!({ "for": text, "check": text }));
    let claim = closed(&json!({ "text": text, "when": maybe, "cites": texts }));
    let plan = closed(&json!({
        "steps": { "type": "array", "items": step },
        "success": { "type": "array", "items": proof },
        "answer": { "type": "array", "items": claim },
    }));
    let question = closed(&json!({ "id": text, "text": text }));
    closed(&json!({
        "plan": { "anyOf": [plan, { "type": "null" }] },
        "because": maybe,
        "consult": texts,
        "questions": { "anyOf": [
            { "type": "array", "items": question },
            { "type": "null" },
        ] },
        "decline": maybe,
    }))
}

/// An object of exactly these fields.
fn closed(properties: &Value) -> Value {
    let names: Vec<&String> = properties
        .as_object()
        .into_iter()
        .flat_map(|p| p.keys())
        .collect();
    json!({
        "type": "object",
        "required": names,
        "properties": properties,
        "additionalProperties": false,
    })
}
