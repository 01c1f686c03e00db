//! The catalog of a help desk: lists, tickets, refunds, notes, pages.
//!
//! Owns what each operation answers of a world, honestly. Never errs: what errs is a fault.

use provost_plan::catalog::Effect;
use provost_run::machine::Rules;
use provost_run::outcome::{Class, Landing, Reply};
use serde_json::{Value, json};

use super::rules::{self, Entry, KeptRules, Moved};
use super::stage::{World, ok};

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The rules of the desk.
pub(super) fn desk_rules(moved: Moved) -> Result<Rules, String> {
    static KEPT: KeptRules = KeptRules::new();
    KEPT.get(moved, || rules::rules(entries(), moved))
}

fn entries() -> Vec<Entry> {
    let text = || json!({ "type": "string" });
    let done = || object(&json!({ "done": { "type": "boolean" } }), &["done"]);
    let listed = object(
        &json!({
            "total": { "type": "integer", "minimum": 0 },
            "ids": { "type": "array", "maxItems": 5, "items": text() },
        }),
        &["total", "ids"],
    );
    let ticket = object(
        &json!({ "id": text(), "amount": { "type": "integer" }, "state": text() }),
        &["id", "amount", "state"],
    );
    vec![
        Entry {
            name: "desk.list",
            effect: Effect::Read,
            input: object(&json!({ "project": text() }), &["project"]),
            output: listed,
        },
        Entry {
            name: "desk.get",
            effect: Effect::Read,
            input: object(&json!({ "id": text() }), &["id"]),
            output: ticket,
        },
        Entry {
            name: "desk.left",
            effect: Effect::Read,
            input: object(&json!({ "id": text() }), &["id"]),
            output: object(&json!({ "left": { "type": "integer" } }), &["left"]),
        },
        Entry {
            name: "desk.note",
            effect: Effect::Write,
            input: object(&json!({ "id": text(), "text": text() }), &["id"]),
            output: done(),
        },
        Entry {
            name: "pay.refund",
            effect: Effect::External,
            input: object(
                &json!({ "id": text(), "amount": { "type": "integer", "minimum": 1 } }),
                &["id", "amount"],
            ),
            output: done(),
        },
        Entry {
            name: "page.send",
            effect: Effect::External,
            input: object(&json!({ "to": text(), "text": text() }), &["to"]),
            output: done(),
        },
        Entry {
            name: "vault.open",
            effect: Effect::Read,
            input: object(&json!({ "id": text() }), &["id"]),
            output: done(),
        },
    ]
}

/// What the desk answers of a world.
pub(super) fn desk_answers(operation: &str, args: &Value, world: &mut World) -> Reply {
    let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
    let missing = || Reply::failed(Class::NotFound, Landing::None, "no such ticket");
    match operation {
        "desk.list" => {
            let project = text("project");
            let open = world.iter().filter(|(_, one)| {
                one.get("project") == Some(&json!(project))
                    && one.get("state") == Some(&json!("open"))
            });
            let ids: Vec<&String> = open.map(|(id, _)| id).collect();
            ok(json!({ "total": ids.len(), "ids": ids }))
        }
        "desk.get" => match world.get(text("id")) {
            Some(one) => ok(json!({
                "id": text("id"),
                "amount": one.get("amount"),
                "state": one.get("state"),
            })),
            None => missing(),
        },
        "desk.left" => match world.get(text("id")) {
            Some(one) => ok(json!({ "left": one.get("amount") })),
            None => missing(),
        },
        "desk.note" if !world.contains_key(text("id")) => missing(),
        "desk.note" if text("text").len() > 20 => Reply::failed(
            Class::InvalidArguments,
            Landing::None,
            "the text is too long",
        ),
        "pay.refund" => {
            let Some(one) = world.get_mut(text("id")) else {
                return missing();
            };
            let left = one.get("amount").and_then(Value::as_i64).unwrap_or(0);
            let wanted = args.get("amount").and_then(Value::as_i64).unwrap_or(0);
            if wanted > left {
                return Reply::failed(Class::Conflict, Landing::None, "more than is left");
            }
            if let Some(one) = one.as_object_mut() {
                one.insert("amount".to_owned(), json!(left - wanted));
            }
            ok(json!({ "done": true }))
        }
        _ => ok(json!({ "done": true })),
    }
}
