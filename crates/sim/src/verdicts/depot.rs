//! The catalog of a depot: shelves, parcels, labels, trucks. Kept apart while rules were written.
//!
//! Owns what each operation answers of a world, honestly. Never errs: what errs is a fault.

use provost_plan::catalog::Effect;
use provost_run::machine::Rules;
use provost_run::outcome::{Class, Landing, Reply};
use serde_json::{Value, json};

use super::rules::{self, Entry, KeptRules, Moved};
use super::stage::{World, ok};

/// The rules of the depot.
pub(super) fn depot_rules(moved: Moved) -> Result<Rules, String> {
    static KEPT: KeptRules = KeptRules::new();
    KEPT.get(moved, || rules::rules(entries(), moved))
}

fn entries() -> Vec<Entry> {
    let map = |properties: Value, required: Value| {
        let kind = "object";
        json!({ "type": kind, "properties": properties, "required": required })
    };
    let word = json!({ "type": "string", "maxLength": 40 });
    let made = map(json!({ "ok": { "type": "boolean" } }), json!(["ok"]));
    vec![
        Entry {
            name: "shelf.search",
            effect: Effect::Read,
            input: map(json!({ "area": word }), json!(["area"])),
            output: map(
                json!({ "found": { "type": "array", "maxItems": 4, "items": word } }),
                json!(["found"]),
            ),
        },
        Entry {
            name: "parcel.weigh",
            effect: Effect::Read,
            input: map(json!({ "code": word }), json!(["code"])),
            output: map(json!({ "grams": { "type": "integer" } }), json!(["grams"])),
        },
        Entry {
            name: "label.print",
            effect: Effect::Write,
            input: map(json!({ "code": word, "text": word }), json!(["code"])),
            output: made.clone(),
        },
        Entry {
            name: "truck.load",
            effect: Effect::External,
            input: map(
                json!({ "code": word, "amount": { "type": "integer", "minimum": 1 } }),
                json!(["code", "amount"]),
            ),
            output: made.clone(),
        },
        Entry {
            name: "vault.open",
            effect: Effect::Read,
            input: map(json!({ "code": word }), json!(["code"])),
            output: made,
        },
    ]
}

/// What the depot answers of a world.
pub(super) fn depot_answers(operation: &str, args: &Value, world: &mut World) -> Reply {
    let code = args.get("code").and_then(Value::as_str).unwrap_or_default();
    let none = || Reply::failed(Class::NotFound, Landing::None, "unknown code");
    match operation {
        "shelf.search" => {
            let area = args.get("area");
            let here = world.iter().filter(|(_, one)| {
                one.get("project") == area && one.get("state") == Some(&json!("open"))
            });
            let found: Vec<&String> = here.map(|(code, _)| code).collect();
            ok(json!({ "found": found }))
        }
        _ if !world.contains_key(code) => none(),
        "parcel.weigh" => {
            let one = world.get(code);
            ok(json!({ "grams": one.and_then(|one| one.get("amount")) }))
        }
        "label.print"
            if args
                .get("text")
                .and_then(Value::as_str)
                .is_some_and(|t| t.len() > 20) =>
        {
            Reply::failed(
                Class::InvalidArguments,
                Landing::None,
                "does not fit on the label",
            )
        }
        _ => ok(json!({ "ok": true })),
    }
}
