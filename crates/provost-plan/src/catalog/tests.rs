//! What the digest of an operation covers, and what may settle a doubt.
#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::money::Money;
use crate::plan::Limits;

fn operation(name: &str, effect: Effect) -> Operation {
    Operation {
        name: name.to_owned(),
        description: String::new(),
        effect,
        tags: BTreeSet::new(),
        input: Schema::compile(json!({})).unwrap(),
        output: None,
        trusted: false,
        secret: false,
        content: BTreeSet::new(),
        idempotency: Idempotency::None,
        errors_no_effect: false,
        timeout: Duration::from_secs(1),
        max_bytes: 1,
        reconcile: None,
        creates: None,
        cost: None,
        endpoint: Value::Null,
    }
}

fn reconcile(tool: &str, landed: &str) -> Reconcile {
    Reconcile {
        tool: tool.to_owned(),
        args: json!({ "key": "${ key }", "to": ["${ args.to }"] }),
        landed: landed.to_owned(),
        output: None,
        final_after_ms: 1,
    }
}

/// Locks, bundles and journals hold digests from before there were costs.
#[test]
fn what_is_not_declared_is_not_in_a_digest() {
    let plain = operation("pay.send", Effect::Write);
    let value = plain.value();
    assert!(value.get("cost").is_none() && value.get("reconcile").is_none());
    assert_eq!(value.as_object().unwrap().len(), 14);
    let mut priced = plain.clone();
    priced.cost = Some(Cost {
        money: Some(Money::from_millionths(1)),
        ..Cost::default()
    });
    let mut settled = plain.clone();
    settled.reconcile = Some(reconcile("pay.find", "${ output.found }"));
    let mut making = plain.clone();
    making.creates = Some(Creates {
        kind: "page".to_owned(),
        id: "${ output.id }".to_owned(),
    });
    assert_ne!(making.digest(), plain.digest());
    assert_ne!(priced.digest(), plain.digest());
    assert_ne!(settled.digest(), plain.digest());
    let limits = Limits::default().digest().to_string();
    let recorded = "sha256:d7bce18d8425ad18ce2a200fda77fe4d52adf49bc0c1abe78b5b6ec5102e9022";
    assert_eq!(limits, recorded, "the one in corpus/runs");
}

#[test]
fn only_a_plain_read_settles_a_doubt() {
    let catalog = Catalog::new([
        operation("pay.find", Effect::Read),
        operation("pay.ping", Effect::Egress),
    ]);
    let held = |tool: &str, landed: &str| {
        let result = reconcile(tool, landed).hold(&catalog);
        result
            .err()
            .map_or(String::new(), |error| error.to_string())
    };
    for (tool, landed, expected) in [
        ("pay.find", "${ output.found }", ""),
        ("pay.find", "${ output.id == args.id }", ""),
        (
            "pay.fnid",
            "${ output.found }",
            "`reconcile` reads `pay.fnid`, which the catalog does not hold",
        ),
        (
            "pay.ping",
            "${ output.found }",
            "`reconcile` reads `pay.ping`, which is no plain read",
        ),
        (
            "pay.find",
            "${ true }",
            "`landed` of `reconcile`: it is no expression over `output`",
        ),
        (
            "pay.find",
            "is ${ output.found }",
            "`landed` of `reconcile`: it is no expression over `output`",
        ),
        (
            "pay.find",
            "${ steps.a.status == output.a }",
            "`landed` of `reconcile`: `steps.a.status` is not in scope",
        ),
    ] {
        assert_eq!(held(tool, landed), expected, "{tool} {landed}");
    }
}

#[test]
fn what_a_call_makes_is_found_in_its_output() {
    let page = json!({
        "type": "object",
        "properties": { "id": { "type": ["string", "integer"] }, "at": { "type": "object" } },
        "additionalProperties": false,
    });
    let mut write = operation("pay.send", Effect::Write);
    write.output = Some(Schema::compile(page).unwrap());
    let creates = |id: &str| Creates {
        kind: "page".to_owned(),
        id: id.to_owned(),
    };
    for (id, expected) in [
        ("${ output.id }", ""),
        ("${ args.to }/${ output.id }", ""),
        (
            "${ output.no }",
            "`id` of `creates`: `output.no` is never there: the schema allows only `at`, `id`",
        ),
        (
            "${ output.at }",
            "`id` of `creates`: `output.at` is a map, not a text or an integer",
        ),
        ("${ key }", "`id` of `creates`: `key` is not in scope"),
        ("17", "`id` of `creates`: it reads nothing of `output`"),
    ] {
        let held = creates(id).hold(&write).err();
        assert_eq!(held.map_or(String::new(), |e| e.to_string()), expected);
    }
    let read = operation("pay.find", Effect::Read);
    assert_eq!(
        creates("${ output.id }").hold(&read),
        Err(CreatesError::Read)
    );
    let (args, output) = (json!({ "to": "ada" }), json!({ "id": 17, "at": {} }));
    for (id, expected) in [
        ("${ output.id }", Some(json!(17))),
        ("${ args.to }/${ output.id }", Some(json!("ada/17"))),
        ("${ output.at }", None),
        ("${ output.gone }", None),
    ] {
        assert_eq!(creates(id).id_of(&args, &output), expected, "{id}");
    }
}
