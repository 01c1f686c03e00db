//! A small catalog and the rules over it.

use provost_plan::catalog::Reconcile;
use provost_run::admission::AdmissionRules;

use super::*;

pub const PEOPLE: &str =
    r#"{ "users": { "ada": {}, "bob": {}, "eve": {}, "cem": {}, "dee": {} } }"#;

/// A reading with numbers, a flag, words and free text.
fn reading() -> Value {
    json!({
        "type": "object",
        "properties": {
            "total": { "type": "integer" },
            "ok": { "type": "boolean" },
            "note": { "type": "string" },
            "names": { "type": "array", "items": { "type": "string" } },
        },
        "required": ["total"],
        "additionalProperties": false,
    })
}

fn sent() -> Value {
    json!({
        "type": "object",
        "properties": { "id": { "type": "string" }, "done": { "type": "boolean" } },
        "required": ["done"],
        "additionalProperties": false,
    })
}

fn operation(name: &str, effect: Effect, idempotency: Idempotency, output: Value) -> Operation {
    let input = json!({
        "type": "object",
        "properties": {
            "to": { "type": "string" },
            "text": { "type": "string" },
            "count": { "type": "integer" },
        },
        "additionalProperties": false,
    });
    Operation {
        name: name.to_owned(),
        description: "for tests".to_owned(),
        effect,
        tags: Default::default(),
        input: Schema::compile(input).unwrap(),
        output: Some(Schema::compile(output).unwrap()),
        trusted: false,
        secret: false,
        accepts_secrets: false,
        content: ["text".to_owned()].into(),
        idempotency,
        errors_no_effect: false,
        timeout: Duration::from_secs(5),
        max_bytes: 10_000,
        reconcile: None,
        preview: None,
        creates: None,
        values: Default::default(),
        cost: None,
        endpoint: Value::Null,
    }
}

fn operations() -> [Operation; 5] {
    let key = Idempotency::Key {
        carrier: KeyCarrier::Header("K".to_owned()),
        ttl_ms: 60_000,
    };
    [
        operation("look.up", Effect::Read, Idempotency::Natural, reading()),
        operation("note.put", Effect::Write, Idempotency::None, sent()),
        operation("page.send", Effect::Write, key, sent()),
        operation("mail.send", Effect::External, Idempotency::None, sent()),
        operation("disk.wipe", Effect::Destructive, Idempotency::None, sent()),
    ]
}

/// The rules of a workspace of several people under this policy.
pub fn rules(policy: &str) -> Rules {
    rules_of(&[Source::new("test.cedar", policy)], PEOPLE, |_| {})
}

/// The rules of `Case::new`, with a changed catalog.
pub fn rules_with(change: impl Fn(&mut Operation)) -> Rules {
    let sources = [
        Source::new("default.cedar", DEFAULT_POLICY),
        Source::new(SOLO_FILE, SOLO_POLICY),
    ];
    rules_of(&sources, PEOPLE, change)
}

/// The rules of `Case::new`, where `look.up` says what became of `note.put`: see [`asked_about`].
pub fn reconciled() -> Rules {
    rules_with(asked_about)
}

/// `note.put` is asked about by `look.up`, and what it says is final after half a minute.
pub fn asked_about(operation: &mut Operation) {
    if operation.name == "note.put" {
        operation.reconcile = Some(Reconcile {
            tool: "look.up".to_owned(),
            args: json!({ "to": "${ args.to }" }),
            landed: "${ output.total > 0 }".to_owned(),
            output: Some("${ {'done': output.ok} }".to_owned()),
            final_after_ms: 30_000,
        });
    }
}

/// The rules of `Case::new`, with the role `clerk` over these tools.
pub fn rules_in_role(tools: &[&str]) -> Rules {
    let rules = rules_with(|_| {});
    let role = Role {
        name: "clerk".to_owned(),
        description: String::new(),
        tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
    };
    let catalog = Catalog::clone(&rules.catalog).with_roles([role]);
    Rules {
        catalog: Arc::new(catalog),
        ..rules
    }
}

/// The rules of these policies and people.
pub fn rules_of(policies: &[Source], people: &str, change: impl Fn(&mut Operation)) -> Rules {
    let mut operations = operations();
    operations.iter_mut().for_each(change);
    let catalog = Catalog::new(operations);
    let people = People::read(&Source::new("entities.json", people)).unwrap();
    let policy = Policy::load(&catalog, policies, &people).unwrap();
    Rules {
        catalog: Arc::new(catalog),
        policy: Arc::new(policy),
        admission: AdmissionRules::default(),
    }
}
