//! The strict form of a reply: for decoders that constrain what a model writes.
//!
//! Owns a JSON Schema in the subset that every provider takes: closed objects, every key required,
//! null in place of what is absent, arguments as JSON in a text. The format of plans says more; a
//! model that is not constrained may use all of it. INVARIANT: what fits this schema is read by the
//! same reader as everything else.

use provost_plan::plan::request::PlanningMode;
use serde_json::{Value, json};

/// The schema, for planning in this mode: in `single` without what only subgoals have.
#[must_use]
pub fn strict(mode: Option<PlanningMode>) -> Value {
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "array", "items": text });
    let maybe = json!({ "type": ["string", "null"] });
    let mut fields = json!({
        "id": text,
        "description": text,
        "tool": maybe,
        "args": {
            "type": ["string", "null"],
            "description": "the arguments: a JSON object, as a text",
        },
        "assert": maybe,
        "message": maybe,
        "needs": texts,
        "when": maybe,
        "for_each": maybe,
        "max_items": { "type": ["integer", "null"] },
        "accept": texts,
        "on_failure": {
            "type": ["string", "null"],
            "enum": ["replan", "stop", "continue", "escalate", null],
        },
    });
    if let (None | Some(PlanningMode::Iterative), Some(fields)) = (mode, fields.as_object_mut()) {
        let of_subgoal = subgoal(&maybe, &texts);
        fields.extend(of_subgoal.as_object().cloned().unwrap_or_default());
    }
    let step = closed(&fields);
    let proof = closed(&json!({ "for": text, "check": text }));
    let claim = closed(&json!({ "text": text, "when": maybe, "cites": texts }));
    let plan = closed(&json!({
        "let": {
            "type": ["string", "null"],
            "description": "names of expressions: a JSON object, as a text",
        },
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

/// The fields of a subgoal.
fn subgoal(maybe: &Value, texts: &Value) -> Value {
    json!({
        "subgoal": maybe,
        "tools": texts,
        "effect_max": {
            "type": ["string", "null"],
            "enum": ["read", "egress", "write", "external", "destructive", null],
        },
        "steps_max": { "type": ["integer", "null"] },
        "output": {
            "type": ["string", "null"],
            "description": "what a subgoal comes to: a JSON Schema, as a text",
        },
        "result": maybe,
    })
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
