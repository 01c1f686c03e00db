//! The scenarios that worlds play in: catalogs, policies, people.
//!
//! Owns a few sets of rules that differ in how long keys live, how long calls may take and what is
//! believed. Never changes one while a world runs. INVARIANT: a scenario is a function of its
//! number.

use std::sync::Arc;
use std::time::Duration;

use provost_plan::catalog::{
    Catalog, Cost, Effect, Idempotency, KeyCarrier, Operation, Reconcile, Tokens,
};
use provost_plan::money::Money;
use provost_plan::policy::{DEFAULT_POLICY, People, Policy, Principal, PrincipalKind};
use provost_plan::schema::Schema;
use provost_plan::source::Source;
use provost_run::admission::AdmissionRules;
use provost_run::machine::Rules;
use serde_json::{Value, json};

use crate::repeats::Rule;
use crate::rng::Rng;

/// For how long calls of other runs count, in milliseconds: longer than any world.
const REPEATS_MS: i64 = 1_000 * 86_400_000;

/// How many scenarios there are.
pub const SCENES: u64 = 6;

/// Who may ask, answer and approve.
pub const PEOPLE: [&str; 4] = ["ada", "bob", "dan", "eve"];

const LISTED: &str = r#"{ "users": { "ada": {}, "bob": {}, "dan": {}, "eve": {} } }"#;

const ASKS: &str = r#"
@id("pays") @quorum("2")
forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.tags.contains("money") };
@id("wipes") @expires("30m") @on_expiry("replan")
forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.effect == "destructive" };
@id("mails") @expires("1h") @on_expiry("fail")
forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.effect == "external" };
"#;

/// Nobody keeps or sets a thing twice, and a person is asked about a note that was put before.
const REPEATS: &str = r#"
@id("never-twice")
forbid (
  principal,
  action in [Action::"keep.hour", Action::"keep.brief", Action::"note.set"],
  resource
)
when { resource.repeats > 0 };
@id("asks-twice") @expires("1h") @on_expiry("fail")
forbid (principal, action in [Action::"note.put", Action::"note.found"], resource)
when { !resource.attended && resource.repeats > 0 };
"#;

/// What the policies of every scenario say of equal calls.
pub(super) fn rule(operation: &str) -> Rule {
    match operation {
        "keep.hour" | "keep.brief" | "note.set" => Rule::Forbids,
        "note.put" | "note.found" | "pay.send" | "disk.wipe" | "mail.send" | "mail.once" => {
            Rule::Asks
        }
        _ => Rule::Allows,
    }
}

/// The reads a plan may call.
pub const READS: [&str; 4] = ["look.fast", "look.slow", "look.leak", "model.ask"];
/// The writes a plan may call.
pub const WRITES: [&str; 9] = [
    "keep.hour",
    "keep.brief",
    "note.put",
    "note.set",
    "note.found",
    "mail.send",
    "mail.once",
    "pay.send",
    "disk.wipe",
];
/// The read that finds what `note.found` wrote.
pub const FIND: &str = "note.find";

/// The rules of a scenario.
///
/// # Errors
/// A sentence, if a schema or a policy does not load.
pub fn rules(number: u64) -> Result<Rules, String> {
    let catalog = Catalog::new(operations(number)?);
    let people = People::read(&Source::new("entities.json", LISTED));
    let people = people.map_err(|found| format!("{found:?}"))?;
    let texts = [
        Source::new("default.cedar", DEFAULT_POLICY),
        Source::new("asks.cedar", ASKS),
        Source::new("repeats.cedar", REPEATS),
    ];
    let policy = Policy::load(&catalog, &texts, &people).map_err(|found| format!("{found:?}"))?;
    Ok(Rules {
        catalog: Arc::new(catalog),
        policy: Arc::new(policy),
        admission: AdmissionRules {
            repeats_ms: REPEATS_MS,
            ..AdmissionRules::default()
        },
    })
}

/// A person of that name.
#[must_use]
pub fn person(name: &str) -> Principal {
    Principal {
        kind: PrincipalKind::User,
        id: name.to_owned(),
        groups: Default::default(),
    }
}

/// Somebody's agent.
#[must_use]
pub fn agent(name: &str) -> Principal {
    Principal {
        kind: PrincipalKind::Agent,
        ..person(name)
    }
}

fn operations(number: u64) -> Result<Vec<Operation>, String> {
    let mut rng = Rng::new(number, "scene");
    let key = |ttl_ms: u64| Idempotency::Key {
        carrier: KeyCarrier::Header("Idempotency-Key".to_owned()),
        ttl_ms,
    };
    let brief = 4_000 * (1 + rng.draw() % 5);
    let found = Reconcile {
        tool: FIND.to_owned(),
        args: json!({ "to": "${ args.to }", "place": "${ args.place }" }),
        landed: "${ output.done }".to_owned(),
        output: None,
        final_after_ms: 2_000 + rng.draw() % 60_000,
    };
    let price = |text: &str| Money::parse(text).map_err(|error| error.to_string());
    let money = Cost {
        money: Some(price("1.00")?),
        ..Cost::default()
    };
    let tokens = Cost {
        tokens_out: Some(Tokens {
            max: Some(100),
            price: None,
        }),
        ..Cost::default()
    };
    let mut all = vec![
        operation("look.fast", Effect::Read, Idempotency::Natural)?,
        operation("look.slow", Effect::Read, Idempotency::Natural)?,
        operation("look.leak", Effect::Egress, Idempotency::Natural)?,
        operation("model.ask", Effect::Read, Idempotency::Natural)?,
        operation(FIND, Effect::Read, Idempotency::Natural)?,
        operation("keep.hour", Effect::Write, key(3_600_000))?,
        operation("keep.brief", Effect::Write, key(brief))?,
        operation("note.put", Effect::Write, Idempotency::None)?,
        operation("note.set", Effect::Write, Idempotency::Natural)?,
        operation("note.found", Effect::Write, Idempotency::None)?,
        operation("mail.send", Effect::External, Idempotency::None)?,
        operation("mail.once", Effect::External, key(3_600_000))?,
        operation("pay.send", Effect::Write, Idempotency::None)?,
        operation("disk.wipe", Effect::Destructive, Idempotency::None)?,
    ];
    for operation in &mut all {
        operation.timeout = Duration::from_millis(1_000 + rng.draw() % 3 * 1_000);
        operation.trusted = rng.permille(600);
        match operation.name.as_str() {
            "note.found" => operation.reconcile = Some(found.clone()),
            "pay.send" => {
                operation.cost = Some(money.clone());
                operation.tags = ["money".to_owned()].into();
            }
            "model.ask" => operation.cost = Some(tokens.clone()),
            "look.slow" => operation.timeout = Duration::from_secs(8),
            _ => {}
        }
    }
    Ok(all)
}

fn operation(name: &str, effect: Effect, idempotency: Idempotency) -> Result<Operation, String> {
    let schema = |value: Value| Schema::compile(value).map_err(|error| error.to_string());
    let text = json!({ "type": "string" });
    Ok(Operation {
        name: name.to_owned(),
        description: "looks at or changes the simulated world".to_owned(),
        effect,
        tags: Default::default(),
        input: schema(json!({
            "type": "object",
            "properties": { "to": text, "place": text, "n": { "type": "integer" }, "text": text },
            "required": ["to"],
            "additionalProperties": false,
        }))?,
        output: Some(schema(json!({
            "type": "object",
            "properties": {
                "done": { "type": "boolean" },
                "total": { "type": "integer", "minimum": 0, "maximum": 9 },
                "items": {
                    "type": "array",
                    "maxItems": 3,
                    "items": { "type": "integer", "minimum": 0, "maximum": 9 },
                },
                "note": text,
            },
            "required": ["done", "total", "items"],
            "additionalProperties": false,
        }))?),
        trusted: false,
        secret: false,
        accepts_secrets: false,
        content: ["n".to_owned(), "text".to_owned()].into(),
        idempotency,
        errors_no_effect: false,
        timeout: Duration::from_secs(5),
        max_bytes: 10_000,
        reconcile: None,
        preview: None,
        creates: None,
        values: std::collections::BTreeMap::new(),
        cost: None,
        endpoint: json!({ "world": true }),
    })
}
