//! The lock: what is pinned, and what a difference is called.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::time::Duration;

use provost_plan::catalog::{Catalog, Effect, Idempotency, Operation};
use provost_plan::schema::Schema;
use provost_plan::source::Source;
use serde_json::json;

use super::{Drift, Lock};

fn operation(name: &str) -> Operation {
    Operation {
        name: name.to_owned(),
        description: "says \"hello\" \u{7f}\nto somebody".to_owned(),
        effect: Effect::External,
        tags: BTreeSet::from(["email".to_owned()]),
        input: Schema::compile(json!({ "type": "object" })).unwrap(),
        output: None,
        trusted: false,
        secret: false,
        accepts_secrets: false,
        content: BTreeSet::new(),
        idempotency: Idempotency::None,
        errors_no_effect: false,
        timeout: Duration::from_secs(30),
        max_bytes: 1_000,
        reconcile: None,
        preview: None,
        creates: None,
        values: std::collections::BTreeMap::new(),
        cost: None,
        endpoint: json!({ "url": "http://127.0.0.1/".repeat(20) }),
    }
}

fn lock_of(operations: impl IntoIterator<Item = Operation>) -> Lock {
    Lock::of(&Catalog::new(operations), std::collections::BTreeMap::new())
}

#[test]
fn the_text_is_stable_and_reads_back() {
    let lock = lock_of([operation("mail.send"), operation("a.b")]);
    let text = lock.to_text();
    assert_eq!(
        Lock::read(&Source::new("provost.lock", text.as_str())).unwrap(),
        lock
    );
    assert_eq!(lock.drift(&lock), []);
    let head: Vec<_> = text.lines().skip(2).take(8).collect();
    assert_eq!(head.first(), Some(&"schema = \"provost/lock/v1\""));
    assert!(
        text.contains("\n[tools.\"a.b\"]\ndigest = \"sha256:"),
        "{text}"
    );
    assert!(text.contains("\neffect = \"external\"\n"), "{text}");
    assert!(text.contains("\nendpoint = \"sha256:"), "{text}");
    assert!(text.contains("\ntimeout_ms = \"30000\"\n"), "{text}");
    assert!(
        text.contains(r#"description = "says \"hello\" \u007f\nto somebody""#),
        "{text}"
    );
}

#[test]
fn a_difference_names_the_tool_and_its_fields() {
    let then = lock_of([operation("mail.send"), operation("old.one")]);
    let mut changed = operation("mail.send");
    changed.effect = Effect::Read;
    changed.timeout = Duration::from_secs(60);
    let drift = then.drift(&lock_of([changed, operation("new.one")]));
    let fields = ["effect", "timeout_ms"].map(str::to_owned).to_vec();
    assert_eq!(
        drift,
        [
            Drift::Changed {
                tool: "mail.send".to_owned(),
                fields
            },
            Drift::New {
                tool: "new.one".to_owned()
            },
            Drift::Gone {
                tool: "old.one".to_owned()
            },
        ]
    );
}

#[test]
fn the_digest_decides_whatever_is_written_beside_it() {
    let now = lock_of([operation("mail.send")]);
    let text = now.to_text();
    let edited = text.replace("effect = \"external\"", "effect = \"read\"");
    let lock = Lock::read(&Source::new("provost.lock", edited.as_str())).unwrap();
    assert_eq!(lock.drift(&now), []);
    let digest = text
        .lines()
        .find(|line| line.starts_with("digest"))
        .unwrap();
    let other = text.replace(digest, &format!("digest = \"sha256:{}\"", "0".repeat(64)));
    let lock = Lock::read(&Source::new("provost.lock", other.as_str())).unwrap();
    let tool = "mail.send".to_owned();
    assert_eq!(
        lock.drift(&now),
        [Drift::Changed {
            tool,
            fields: Vec::new()
        }]
    );
}

#[test]
fn a_lock_that_is_none_says_why() {
    for (text, message) in [
        ("", "provost.lock needs the field `schema`"),
        (
            "schema = \"provost/lock/v9\"",
            "this version reads `provost/lock/v1`, not `provost/lock/v9`",
        ),
        (
            "schema = \"provost/lock/v1\"\ntool = {}",
            "provost.lock has no field `tool`",
        ),
        (
            "schema = \"provost/lock/v1\"\n[tools.\"a.b\"]\ndigest = \"1\"",
            "the tool `a.b` has no digest",
        ),
    ] {
        let found = Lock::read(&Source::new("provost.lock", text)).unwrap_err();
        let messages: Vec<_> = found
            .iter()
            .map(|finding| finding.message.as_str())
            .collect();
        assert_eq!(messages, [message]);
    }
}
