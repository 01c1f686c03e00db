//! Plans of any length, and the terms they are checked under: for the benchmark and for shapes.
//!
//! Owns a catalog of forty operations and a plan that uses all that the language has. INVARIANT:
//! a plan made here is a function of its length, and has no errors under the default policy.
#![allow(dead_code, reason = "each program uses a part of it")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_plan::catalog::{Catalog, Effect, Idempotency, KeyCarrier, Operation};
use provost_plan::check::{Checked, Draft, Origin, RevisionBase, Terms, check};
use provost_plan::label::Label;
use provost_plan::plan::read::read_plan;
use provost_plan::plan::{Goal, Limits, Plan};
use provost_plan::policy::{DEFAULT_POLICY, People, Policy, Principal, PrincipalKind};
use provost_plan::schema::Schema;
use provost_plan::source::Source;
use serde_json::{Value, json};

/// The servers of the catalog; each has the same five operations.
pub const SERVERS: [&str; 8] = [
    "billing", "crm", "docs", "hr", "infra", "shop", "support", "wiki",
];

/// The goal of every plan made here.
pub const GOAL: &str = "Look after open records of project PAY and tell ops@example.org";

/// An operation; everything that does not matter here is as a plain one has it.
pub fn operation(name: &str, effect: Effect, input: Value, output: Option<Value>) -> Operation {
    let schema = |value| Schema::compile(value).expect("a schema");
    Operation {
        name: name.to_owned(),
        description: String::new(),
        effect,
        tags: BTreeSet::new(),
        input: schema(input),
        output: output.map(schema),
        trusted: false,
        secret: false,
        accepts_secrets: false,
        content: BTreeSet::new(),
        idempotency: Idempotency::Key {
            carrier: KeyCarrier::Header("Idempotency-Key".to_owned()),
            ttl_ms: 86_400_000,
        },
        errors_no_effect: false,
        timeout: Duration::from_secs(30),
        max_bytes: 1 << 20,
        reconcile: None,
        preview: None,
        creates: None,
        values: BTreeMap::new(),
        cost: None,
        endpoint: Value::Null,
    }
}

/// A closed map.
pub fn closed(required: &[&str], properties: &Value) -> Value {
    json!({ "type": "object", "required": required, "properties": properties,
            "additionalProperties": false })
}

fn record() -> Value {
    let owner = closed(
        &["name", "mail"],
        &json!({ "name": { "type": "string" }, "mail": { "type": "string", "format": "email" } }),
    );
    closed(
        &["id", "state", "amount", "owner"],
        &json!({
            "id": { "type": "string", "pattern": "^[A-Z]{2,8}-[0-9]{1,6}$" },
            "state": { "enum": ["open", "waiting", "closed"] },
            "amount": { "type": "number", "minimum": 0 },
            "owner": owner,
            "due": { "type": "string", "format": "date" },
        }),
    )
}

/// The five operations of a server.
fn operations(server: &str) -> [Operation; 5] {
    let named = |name: &str| format!("{server}.{name}");
    let text = json!({ "type": "string" });
    let id = json!({ "type": "string", "pattern": "^[A-Z]{2,8}-[0-9]{1,6}$" });
    let listed = closed(
        &["total", "items"],
        &json!({ "total": { "type": "integer", "minimum": 0 },
                 "items": { "type": "array", "items": record() } }),
    );
    let query = closed(
        &["project"],
        &json!({ "project": text, "limit": { "type": "integer", "minimum": 1, "maximum": 100 } }),
    );
    let change = closed(
        &["id", "state"],
        &json!({ "id": id, "state": { "enum": ["open", "waiting", "closed"] }, "note": text }),
    );
    let message = closed(
        &["to", "text"],
        &json!({ "to": { "type": "string", "format": "email" }, "text": text,
                 "urgency": { "enum": ["low", "high"] } }),
    );
    let done = || Some(closed(&["ok"], &json!({ "ok": { "type": "boolean" } })));
    let with_content = |mut operation: Operation, content: &str| {
        operation.content.insert(content.to_owned());
        operation
    };
    let page = closed(&["code"], &json!({ "code": { "type": "integer" } }));
    [
        operation(&named("list"), Effect::Read, query, Some(listed)),
        operation(
            &named("get"),
            Effect::Read,
            closed(&["id"], &json!({ "id": id })),
            Some(record()),
        ),
        operation(
            &named("fetch"),
            Effect::Egress,
            closed(&["url"], &json!({ "url": text })),
            Some(page),
        ),
        with_content(
            operation(&named("update"), Effect::Write, change, done()),
            "note",
        ),
        with_content(
            operation(&named("notify"), Effect::External, message, done()),
            "text",
        ),
    ]
}

/// The catalog of forty operations.
pub fn catalog() -> Catalog {
    Catalog::new(SERVERS.iter().flat_map(|server| operations(server)))
}

/// Terms over a catalog and a policy, with limits that no plan of these passes.
pub fn terms_of(catalog: Catalog, policy: &str) -> Terms {
    let people = People::read(&Source::new("entities.json", r#"{"users": {"ada": {}}}"#));
    let people = people.expect("people");
    let sources = [Source::new("default.cedar", policy)];
    let policy = Policy::load(&catalog, &sources, &people).expect("the policy loads");
    Terms {
        catalog: Arc::new(catalog),
        policy: Arc::new(policy),
        principal: Principal {
            kind: PrincipalKind::User,
            id: "ada".to_owned(),
            groups: BTreeSet::new(),
        },
        limits: Limits {
            steps: 1_000,
            calls: 1_000_000,
            attempts: 1_000_000,
            wall_ms: u64::MAX,
            ..Limits::default()
        },
        goal: Goal::of_text(GOAL),
    }
}

/// The catalog of forty operations under the default policy.
pub fn terms() -> Terms {
    terms_of(catalog(), DEFAULT_POLICY)
}

/// The text of a plan of `steps` steps, in groups of ten that rest on each other.
pub fn plan_text(steps: usize) -> String {
    let mut text = String::from("schema: provost/plan/v1\nsteps:\n");
    for at in 0..steps {
        step(&mut text, at / 10, at % 10);
    }
    text.push_str("success:\n");
    text.push_str("  - { for: goal, check: '${ steps.list_0.status == \"succeeded\" }' }\n");
    text.push_str("answer:\n");
    for group in 0..steps / 10 {
        let _ = writeln!(
            text,
            "  - {{ when: '${{ steps.tell_{group}.status == \"succeeded\" }}', \
             text: \"${{ steps.list_{group}.output.total }} records seen.\", \
             cites: [tell_{group}] }}"
        );
    }
    text
}

/// One step; `g` is the group, and a group reads the one before it.
fn step(text: &mut String, g: usize, at: usize) {
    let server = SERVERS[g % SERVERS.len()];
    let before = g.checked_sub(1);
    let written = match at {
        0 => {
            let needs = before.map_or(String::new(), |b| format!("    needs: [mail_{b}]\n"));
            format!(
                "  - id: list_{g}\n    description: List the open records of group {g}\n    \
                 tool: {server}.list\n    args: {{ project: PAY{g}, limit: 20 }}\n{needs}"
            )
        }
        1 => format!(
            "  - id: each_{g}\n    tool: {server}.get\n    \
             for_each: ${{ steps.list_{g}.output.items }}\n    max_items: 20\n    \
             args: {{ id: '${{ item.id }}' }}\n    \
             accept: ['${{ output.amount >= 0.0 }}']\n"
        ),
        2 => format!(
            "  - id: main_{g}\n    tool: {server}.get\n    args: {{ id: PAY-{g} }}\n    \
             retry: {{ attempts: 3, backoff: 2s }}\n"
        ),
        3 => {
            let page = before.map_or("start".to_owned(), |b| {
                format!("${{ steps.main_{b}.output.id }}")
            });
            format!(
                "  - id: page_{g}\n    tool: {server}.fetch\n    \
                 args: {{ url: \"https://status.example.org/{g}/{page}\" }}\n"
            )
        }
        4 => format!(
            "  - id: hold_{g}\n    tool: {server}.update\n    \
             when: ${{ steps.list_{g}.output.total > 3 && steps.page_{g}.output.code == 200 }}\n    \
             args:\n      id: ${{ steps.main_{g}.output.id }}\n      state: waiting\n      \
             note: \"${{ steps.list_{g}.output.total }} open, of \
             ${{ steps.main_{g}.output.owner.name }}\"\n    accept: ['${{ output.ok }}']\n"
        ),
        5 => format!(
            "  - id: over_{g}\n    tool: {server}.list\n    \
             args: {{ project: '${{ steps.main_{g}.output.owner.name }}' }}\n    \
             on_failure: continue\n"
        ),
        6 => format!(
            "  - id: close_{g}\n    tool: {server}.update\n    needs: [hold_{g}]\n    args:\n      \
             id: ${{ steps.main_{g}.output.id }}\n      \
             state: '${{ steps.main_{g}.output.amount > 100.0 ? \"open\" : \"closed\" }}'\n    \
             accept: ['${{ output.ok == true }}']\n"
        ),
        7 => format!(
            "  - id: sum_{g}\n    tool: {server}.list\n    args:\n      project: PAY\n      \
             limit: '${{ steps.list_{g}.output.total > 100 ? 100 : 20 }}'\n    \
             needs: [close_{g}]\n"
        ),
        8 => format!(
            "  - id: tell_{g}\n    tool: {server}.notify\n    args:\n      \
             to: ops@example.org\n      text: \"${{ steps.sum_{g}.output.total }} left, \
             ${{ size(steps.sum_{g}.output.items) }} shown\"\n      urgency: low\n    \
             accept: ['${{ output.ok }}']\n"
        ),
        _ => format!(
            "  - id: mail_{g}\n    tool: {server}.notify\n    needs: [tell_{g}]\n    \
             when: ${{ steps.over_{g}.status == \"succeeded\" \
             && steps.over_{g}.output.total > 0 }}\n    args:\n      \
             to: ${{ steps.main_{g}.output.owner.mail }}\n      \
             text: \"Project {g} has ${{ steps.over_{g}.output.total }}\"\n    \
             accept: ['${{ output.ok }}']\n"
        ),
    };
    text.push_str(&written);
}

/// A text as a source.
pub fn source(text: &str) -> Source {
    Source::new("plan.yaml", text)
}

/// Reads and checks a text that has no error of form.
pub fn checked(text: &str, terms: &Terms) -> Checked {
    let plan = read_plan(&source(text)).unwrap_or_else(|found| panic!("{found:?}"));
    check_plan(plan, terms)
}

/// Checks a plan that a person supplies.
pub fn check_plan(plan: Plan, terms: &Terms) -> Checked {
    let origin = Origin {
        author: "file plan.yaml".to_owned(),
        literals: Label::trusted(),
        control: Label::trusted(),
    };
    let base = RevisionBase {
        revision: 1,
        ..RevisionBase::default()
    };
    check(
        Draft {
            plan: plan.into(),
            origin,
        },
        terms,
        &base,
    )
}

/// What this thread has spent on a processor, where the system says so: on a machine that others
/// use as well a clock on the wall says little. It is exact to some milliseconds, hence batches.
pub fn spent() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(
        text.split_whitespace().next()?.parse().ok()?,
    ))
}

/// How long it took since then, on a processor if that is known.
pub fn since(cpu: Option<Duration>, wall: Instant) -> Duration {
    match (cpu, spent()) {
        (Some(began), Some(ended)) => ended.saturating_sub(began),
        _ => wall.elapsed(),
    }
}
