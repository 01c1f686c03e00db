//! The plans that a scripted model says: those of the example's playbook, as a model would write
//! them.

use provost_plan::node::parse_yaml;
use serde_json::{Value, json};
use sim::model::Scripted;

const PLAYBOOK: &str = include_str!("../../../../examples/incident/playbooks/latency.yaml");

fn playbook() -> Value {
    let text = PLAYBOOK.replace("${ params.service }", "Payment API");
    parse_yaml(&text.replace("for: cause", "for: goal"))
        .unwrap()
        .to_value()
}

/// The first plan.
pub fn first() -> Value {
    let mut plan = playbook()["plan"].clone();
    plan.as_object_mut().unwrap().remove("schema");
    plan
}

/// The plan after nothing was found that failed.
pub fn second() -> Value {
    let (mut plan, rule) = (first(), playbook()["revise"][0].clone());
    for field in ["steps", "answer"] {
        let more = rule[field].as_array().unwrap().clone();
        plan[field].as_array_mut().unwrap().extend(more);
    }
    plan["success"] = rule["success"].clone();
    plan
}

/// The replies that come to the right end.
pub fn right() -> [Scripted; 2] {
    [
        Scripted::json(json!({ "plan": first(), "consult": ["errors"] })),
        Scripted::json(json!({ "plan": second(), "because": "nothing failed" })),
    ]
}

/// A plan that reads a step which is not there.
pub fn wrong() -> Value {
    let mut plan = first();
    plan["steps"][1]["args"]["service"] = json!("${ steps.nobody.output.row.id }");
    plan
}

/// The same plan as a constrained decoder has to write it: every key, null for nothing, arguments
/// as a text.
pub fn strict(plan: &Value) -> Value {
    let keys = [
        "id",
        "description",
        "tool",
        "args",
        "assert",
        "message",
        "needs",
        "when",
        "for_each",
        "max_items",
        "accept",
        "on_failure",
    ];
    let mut plan = plan.clone();
    let names = plan.get("let").map(Value::to_string);
    plan["let"] = names.map_or(Value::Null, Value::String);
    for step in plan["steps"].as_array_mut().unwrap() {
        for key in keys {
            let value = match (key, step.get(key)) {
                ("args", value) => json!(value.cloned().unwrap_or(json!({})).to_string()),
                (_, Some(value)) => value.clone(),
                ("needs" | "accept", None) => json!([]),
                (_, None) => Value::Null,
            };
            step[key] = value;
        }
    }
    for claim in plan["answer"].as_array_mut().unwrap() {
        for (key, nothing) in [("when", Value::Null), ("cites", json!([]))] {
            if claim.get(key).is_none() {
                claim[key] = nothing;
            }
        }
    }
    plan
}
