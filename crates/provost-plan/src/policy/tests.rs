//! Verdict tables over the default policy and small ones of their own.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::time::Duration;

use super::*;
use crate::amount::Totals;
use crate::catalog::{Effect, Idempotency};
use crate::label::Integrity;
use crate::schema::Schema as JsonSchema;

mod approving;
mod asking;
mod closed;
mod comparing;
mod cost;
mod keeping;
mod loading;
mod partly;
mod repeats;
mod rights;
mod roles;
mod served;
mod surveying;
mod totals;
mod unasked;

/// An operation written as `name effect tag tag…`; its arguments are those of [`ARGS`].
pub(super) fn operation(line: &str) -> Operation {
    let mut words = line.split(' ');
    let name = words.next().unwrap().to_owned();
    let effect = words.next().unwrap_or("read");
    let (_, effect) = Effect::WORDS
        .into_iter()
        .find(|(word, _)| *word == effect)
        .unwrap();
    // Why only these: what a plan comes to is seen at every call, whether it counts or not.
    let counted: &[(&str, &str)] = match name.starts_with("bank.") {
        true => &[("spend", "amount"), ("weight", "price")],
        false => &[],
    };
    let counted = counted
        .iter()
        .map(|(of, arg)| ((*of).to_owned(), (*arg).to_owned()));
    Operation {
        name,
        description: String::new(),
        effect,
        tags: words.map(str::to_owned).collect(),
        input: JsonSchema::compile(serde_json::from_str(ARGS).unwrap()).unwrap(),
        output: None,
        trusted: false,
        secret: false,
        accepts_secrets: false,
        content: BTreeSet::from(["message".to_owned()]),
        idempotency: Idempotency::None,
        errors_no_effect: false,
        timeout: Duration::from_secs(1),
        max_bytes: 1000,
        reconcile: None,
        preview: None,
        creates: None,
        values: counted.collect(),
        cost: None,
        endpoint: Value::Null,
    }
}

/// The arguments of every operation in these tests.
const ARGS: &str = r#"{
    "type": "object",
    "properties": {
        "to": { "type": "string" },
        "amount": { "type": "integer" },
        "price": { "type": "number" },
        "urgent": { "type": "boolean" },
        "copies": { "type": "array", "items": { "type": "string" } },
        "order": {
            "type": "object",
            "properties": { "id": { "type": "string" }, "lines": { "type": "integer" } },
            "required": ["id"], "additionalProperties": false
        },
        "free": { "type": "object" },
        "either": { "type": ["string", "integer"] },
        "note": { "type": ["string", "null"] },
        "message": { "type": "string" }
    },
    "additionalProperties": false
}"#;

pub(super) const OPERATIONS: [&str; 14] = [
    "db.look read",
    "db.look_money read money production email permission",
    "web.get egress",
    "db.put write",
    "mail.queue write email",
    "bank.pay write money",
    "iam.grant write permission",
    "ci.deploy write deploy",
    "db.drop write delete",
    "db.put_live write production",
    "pager.notify external",
    "bank.wire external money",
    "disk.wipe destructive",
    "disk.wipe_live destructive production",
];

pub(super) fn catalog() -> Catalog {
    Catalog::new(OPERATIONS.map(operation))
}

/// Two people, one of them on call.
pub(super) fn people() -> People {
    let text = r#"{"users": {"ada": {"groups": ["oncall"]}, "bo": {"roles": ["finance"]}},
        "groups": ["boss"]}"#;
    People::read(&Source::new("entities.json", text)).unwrap()
}

/// The policy made of the texts, named `p0.cedar`, `p1.cedar`, …
pub(super) fn policy(texts: &[&str]) -> Policy {
    match load(texts) {
        Ok(policy) => policy,
        Err(lines) => panic!("does not load:\n{}", lines.join("\n")),
    }
}

pub(super) fn load(texts: &[&str]) -> Result<Policy, Vec<String>> {
    load_for(texts, &people())
}

pub(super) fn load_for(texts: &[&str], people: &People) -> Result<Policy, Vec<String>> {
    let sources: Vec<Source> = texts
        .iter()
        .enumerate()
        .map(|(n, text)| Source::new(format!("policies/p{n}.cedar"), *text))
        .collect();
    Policy::load(&catalog(), &sources, people).map_err(|findings| {
        findings
            .into_iter()
            .map(|(source, d)| {
                let marked = source
                    .text
                    .get(d.span.start..d.span.end)
                    .unwrap_or("?")
                    .to_owned();
                let hint = d.hint.map(|hint| format!(" [{hint}]")).unwrap_or_default();
                format!(
                    "{} {} `{marked}`: {}{hint}",
                    d.code,
                    load::base_name(&source),
                    d.message
                )
            })
            .collect()
    })
}

/// A call of an operation by name, with what is said of it.
pub(super) struct Case {
    pub(super) operation: Operation,
    pub(super) role: String,
    pub(super) principal: Principal,
    pub(super) args: Map<String, Value>,
    pub(super) unknown: BTreeSet<String>,
    pub(super) labels: BTreeMap<String, Label>,
    pub(super) control: Label,
    pub(super) inputs_validated: bool,
    pub(super) repeats: Option<u64>,
    pub(super) totals: Option<Totals>,
}

impl Case {
    /// A call with no arguments, by ada, trusted and validated.
    pub(super) fn call(name: &str) -> Self {
        let line = OPERATIONS
            .iter()
            .find(|line| line.split(' ').next() == Some(name))
            .unwrap();
        Self {
            operation: operation(line),
            role: String::new(),
            principal: people().principal("ada"),
            args: Map::new(),
            unknown: BTreeSet::new(),
            labels: BTreeMap::new(),
            control: Label::trusted(),
            inputs_validated: true,
            repeats: Some(0),
            totals: Some(Totals::new()),
        }
    }

    pub(super) fn arg(mut self, name: &str, value: Value, integrity: Integrity) -> Self {
        self.args.insert(name.to_owned(), value);
        self.labels.insert(
            name.to_owned(),
            Label {
                integrity,
                ..Label::default()
            },
        );
        self
    }

    pub(super) fn unknown(mut self, name: &str, integrity: Integrity) -> Self {
        self.unknown.insert(name.to_owned());
        self.labels.insert(
            name.to_owned(),
            Label {
                integrity,
                ..Label::default()
            },
        );
        self
    }

    pub(super) fn control(mut self, integrity: Integrity) -> Self {
        self.control = Label {
            integrity,
            ..Label::default()
        };
        self
    }

    pub(super) fn decide(&self, policy: &Policy) -> Verdict {
        policy.decide(&CallFacts {
            principal: &self.principal,
            operation: &self.operation,
            role: &self.role,
            args: &self.args,
            unknown: &self.unknown,
            labels: &self.labels,
            control: &self.control,
            inputs_validated: self.inputs_validated,
            values_from_goal: true,
            repeats: self.repeats,
            totals: self.totals.as_ref(),
        })
    }
}

/// A verdict on one line: `ask by a, b; quorum 2; if …; error …`.
pub(super) fn line(verdict: &Verdict) -> String {
    let mut text = verdict.decision.word().to_owned();
    if !verdict.policies.is_empty() {
        text += &format!(" by {}", verdict.policies.join(" "));
    }
    if let Some(condition) = &verdict.condition {
        text += &format!("; {condition}");
    }
    for error in &verdict.errors {
        text += &format!("; error: {error}");
    }
    text
}

/// The default policy: what DESIGN promises, operation by operation.
#[test]
fn the_default_policy_as_a_table() {
    let policy = policy(&[DEFAULT_POLICY]);
    let table = [
        ("db.look", "permit by plain-reads"),
        ("db.look_money", "permit by plain-reads"),
        ("web.get", "permit by calls"),
        ("db.put", "permit by calls"),
        ("mail.queue", "ask by outside-communication"),
        ("bank.pay", "ask by money"),
        ("iam.grant", "ask by permissions"),
        ("ci.deploy", "ask by deployments"),
        ("db.drop", "ask by deletions"),
        ("db.put_live", "ask by production-writes"),
        ("pager.notify", "ask by outside-communication"),
        ("bank.wire", "ask by money outside-communication"),
        ("disk.wipe", "ask by deletions"),
        ("disk.wipe_live", "ask by deletions production-writes"),
    ];
    for (name, expected) in table {
        let case = Case::call(name).arg("to", json!("x"), Integrity::Trusted);
        assert_eq!(line(&case.decide(&policy)), expected, "{name}");
    }
}

/// Labels: at a sink anything untrusted asks, in control only text does, content never.
#[test]
fn untrusted_values_ask_unless_it_is_a_plain_read() {
    use Integrity::{Data, Text, Trusted};
    let policy = policy(&[DEFAULT_POLICY]);
    let table = [
        ("db.put", "to", Trusted, Trusted, "permit by calls"),
        ("db.put", "to", Data, Trusted, "ask by untrusted-sink"),
        ("db.put", "to", Text, Trusted, "ask by untrusted-sink"),
        ("db.put", "message", Text, Trusted, "permit by calls"),
        ("db.put", "message", Text, Data, "permit by calls"),
        ("db.put", "message", Text, Text, "ask by untrusted-control"),
        (
            "db.put",
            "to",
            Text,
            Text,
            "ask by untrusted-control untrusted-sink",
        ),
        ("web.get", "to", Data, Trusted, "ask by untrusted-sink"),
        ("web.get", "message", Data, Text, "ask by untrusted-control"),
        ("db.look", "to", Text, Text, "permit by plain-reads"),
    ];
    for (name, arg, sink, control, expected) in table {
        let case = Case::call(name).arg(arg, json!("x"), sink).control(control);
        assert_eq!(
            line(&case.decide(&policy)),
            expected,
            "{name} {arg} {sink:?} {control:?}"
        );
    }
}

#[test]
fn nothing_external_before_its_inputs_are_validated() {
    let policy = policy(&[DEFAULT_POLICY]);
    let table = [
        ("pager.notify", "forbid by unvalidated-inputs"),
        ("bank.wire", "forbid by unvalidated-inputs"),
        ("db.put", "permit by calls"),
        ("db.look", "permit by plain-reads"),
    ];
    for (name, expected) in table {
        let case = Case {
            inputs_validated: false,
            ..Case::call(name)
        };
        assert_eq!(line(&case.decide(&policy)), expected, "{name}");
    }
}

#[test]
fn loading_is_per_text_and_people() {
    let base = policy(&[DEFAULT_POLICY]);
    assert_eq!(base.digest(), policy(&[DEFAULT_POLICY]).digest());
    let commented = format!("{DEFAULT_POLICY}\n// reviewed\n");
    assert_ne!(base.digest(), policy(&[&commented]).digest());
    let source = Source::new("elsewhere/p0.cedar", DEFAULT_POLICY);
    let others = Policy::load(
        &catalog(),
        std::slice::from_ref(&source),
        &People::default(),
    )
    .unwrap();
    assert_ne!(base.digest(), others.digest(), "people count");
    let same = Policy::load(&catalog(), &[source], &people()).unwrap();
    assert_eq!(base.digest(), same.digest(), "folders do not");
}

#[test]
fn the_schema_of_one_operation() {
    let catalog = Catalog::new([operation("pager.notify external")]);
    let source = Source::new("default.cedar", DEFAULT_POLICY);
    let policy = Policy::load(&catalog, &[source], &people()).unwrap();
    let value = policy.inner.schema_value.clone();
    let fragment = cedar_policy::SchemaFragment::from_json_value(value).unwrap();
    insta::assert_snapshot!(fragment.to_cedarschema().unwrap());
}
