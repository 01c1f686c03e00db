//! The terms that fuzzed plans are checked under.
//!
//! Owns a small catalog with one operation of each effect, under the default policy. INVARIANT:
//! made once for each thread, so that a target spends its time on its input.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use provost_plan::catalog::{Catalog, Effect, Idempotency, KeyCarrier, Operation};
use provost_plan::check::Terms;
use provost_plan::plan::{Goal, Limits};
use provost_plan::policy::{DEFAULT_POLICY, People, Policy, Principal, PrincipalKind};
use provost_plan::schema::Schema;
use provost_plan::source::Source;
use serde_json::{Value, json};

thread_local! {
    static TERMS: Option<Rc<Terms>> = make(DEFAULT_POLICY).map(Rc::new);
}

/// The terms with the default policy.
#[must_use]
pub fn default_terms() -> Option<Rc<Terms>> {
    TERMS.with(Clone::clone)
}

/// The people that policies know.
#[must_use]
pub fn people() -> Option<People> {
    let text = r#"{"users": {"ada": {"groups": ["oncall"]}, "bob": {}}}"#;
    People::read(&Source::new("entities.json", text)).ok()
}

/// The catalog.
#[must_use]
pub fn catalog() -> Catalog {
    Catalog::new(operations().into_iter().flatten())
}

fn make(policy: &str) -> Option<Terms> {
    let catalog = catalog();
    let sources = [Source::new("default.cedar", policy)];
    let policy = Policy::load(&catalog, &sources, &people()?).ok()?;
    Some(Terms {
        catalog: Arc::new(catalog),
        policy: Arc::new(policy),
        principal: principal(),
        limits: Limits::default(),
        goal: Goal::of_text("Tell ada@example.org about PAY-7"),
    })
}

/// Who every call is for.
#[must_use]
pub fn principal() -> Principal {
    Principal {
        kind: PrincipalKind::User,
        id: "ada".to_owned(),
        groups: BTreeSet::new(),
    }
}

fn operations() -> Vec<Option<Operation>> {
    let text = json!({ "type": "string" });
    let count = json!({ "type": "integer", "minimum": 0 });
    let id = json!({ "type": "string", "pattern": "^[A-Z]{2,8}-[0-9]{1,6}$" });
    let item = closed(
        &json!({ "id": id, "subject": text, "owner": { "type": ["string", "null"] },
                 "due": { "type": "string", "format": "date" } }),
    );
    vec![
        operation(
            "tickets.count",
            Effect::Read,
            closed(&json!({ "project": text })),
            closed(&json!({ "total": count })),
        ),
        operation(
            "tickets.list",
            Effect::Read,
            json!({ "type": "object", "additionalProperties": false, "required": ["project"],
                    "properties": { "project": text,
                                    "limit": { "type": "integer", "maximum": 100 } } }),
            closed(&json!({ "total": count, "items": { "type": "array", "items": item } })),
        ),
        operation(
            "tickets.close",
            Effect::Write,
            closed(&json!({ "id": id, "note": text })),
            closed(&json!({ "closed": { "type": "boolean" } })),
        ),
        operation(
            "pager.notify",
            Effect::External,
            closed(&json!({ "message": text, "urgency": { "enum": ["low", "high"] } })),
            closed(&json!({ "delivered": { "type": "boolean" } })),
        ),
        operation(
            "config.sla_threshold",
            Effect::Read,
            closed(&json!({})),
            closed(&json!({ "max": count })),
        ),
        operation(
            "web.fetch",
            Effect::Egress,
            closed(&json!({ "url": text })),
            json!(true),
        ),
        operation(
            "db.delete",
            Effect::Destructive,
            json!({ "type": "object", "properties": { "id": text, "set": { "type": "object" } } }),
            closed(&json!({ "rows": count })),
        ),
    ]
}

fn closed(properties: &Value) -> Value {
    let names: Vec<&String> = properties
        .as_object()
        .map_or(Vec::new(), |map| map.keys().collect());
    json!({ "type": "object", "required": names, "properties": properties,
            "additionalProperties": false })
}

fn operation(name: &str, effect: Effect, input: Value, output: Value) -> Option<Operation> {
    Some(Operation {
        name: name.to_owned(),
        description: String::new(),
        effect,
        tags: BTreeSet::new(),
        input: Schema::compile(input).ok()?,
        output: Some(Schema::compile(output).ok()?),
        trusted: effect == Effect::External,
        secret: false,
        accepts_secrets: false,
        content: BTreeSet::from(["message".to_owned(), "note".to_owned()]),
        idempotency: if effect == Effect::External {
            Idempotency::Key {
                carrier: KeyCarrier::Header("Idempotency-Key".to_owned()),
                ttl_ms: 86_400_000,
            }
        } else {
            Idempotency::None
        },
        errors_no_effect: false,
        timeout: Duration::from_secs(30),
        max_bytes: 1 << 20,
        reconcile: None,
        preview: None,
        creates: None,
        values: std::collections::BTreeMap::new(),
        cost: None,
        endpoint: Value::Null,
    })
}
