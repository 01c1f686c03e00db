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
        accepts_secrets: false,
        content: BTreeSet::new(),
        idempotency: Idempotency::None,
        errors_no_effect: false,
        timeout: Duration::from_secs(1),
        max_bytes: 1,
        reconcile: None,
        preview: None,
        creates: None,
        values: BTreeMap::new(),
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

#[test]
fn only_a_plain_read_of_what_the_call_says_is_shown() {
    let schema = |value: Value| Schema::compile(value).unwrap();
    let text = json!({ "type": "string" });
    let mut call = operation("pay.refund", Effect::External);
    call.input = schema(json!({
        "type": "object",
        "properties": { "to": text, "cents": { "type": "integer" } },
        "additionalProperties": false,
    }));
    let mut find = operation("crm.find", Effect::Read);
    find.input = schema(json!({
        "type": "object",
        "properties": { "id": text, "full": { "type": "boolean" } },
        "required": ["id"],
        "additionalProperties": false,
    }));
    let mut secret = operation("crm.key", Effect::Read);
    secret.secret = true;
    let mut priced = operation("crm.model", Effect::Read);
    priced.cost = Some(Cost {
        tokens_out: Some(Tokens::default()),
        ..Cost::default()
    });
    let touch = operation("crm.touch", Effect::Write);
    let catalog = Catalog::new([find.clone(), secret, priced, touch]);
    let held = |tool: &str, args: &str| {
        let args = serde_json::from_str(args).unwrap();
        let tool = tool.to_owned();
        let held = Preview { tool, args }.hold(&call, &catalog);
        held.err().map_or(String::new(), |error| error.to_string())
    };
    let shown: Vec<String> = [
        ("crm.find", r#"{ "id": "${ args.to }", "full": true }"#),
        ("crm.find", r#"{ "id": "cus ${ args.cents }" }"#),
        ("crm.find", r#"{ "id": "cus_81" }"#),
        ("crm.fnid", "{}"),
        ("crm.touch", "{}"),
        ("crm.key", "{}"),
        ("crm.model", "{}"),
        ("crm.find", r#"{ "id": "${ args.cents }" }"#),
        ("crm.find", r#"{ "id": "${ args.no }" }"#),
        ("crm.find", r#"{ "id": "${ key }" }"#),
        ("crm.find", r#"{ "id": "${ args.to", "full": true }"#),
        ("crm.find", r#"{ "full": "${ args.to }" }"#),
        ("crm.find", r#"{ "id": "${ args.to }", "full": 7 }"#),
        ("crm.find", r#"{ "id": "${ args.to }", "name": "x" }"#),
        ("crm.find", r#"{ "id": 7 }"#),
    ]
    .into_iter()
    .map(|(tool, args)| format!("{tool} {args}: {}", held(tool, args)))
    .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    crm.find { "id": "${ args.to }", "full": true }: 
    crm.find { "id": "cus ${ args.cents }" }: 
    crm.find { "id": "cus_81" }: 
    crm.fnid {}: `preview` reads `crm.fnid`, which the catalog does not hold
    crm.touch {}: `preview` reads `crm.touch`, which is no plain read
    crm.key {}: `preview` reads `crm.key`, whose output is secret
    crm.model {}: `preview` reads `crm.model`, which has a `cost`: what is asked about would pay for it
    crm.find { "id": "${ args.cents }" }: `args` of `preview`: `id` never fits: it is a whole number, and a text is needed
    crm.find { "id": "${ args.no }" }: `args` of `preview`: `args.no` is never there: the schema allows only `cents`, `to` (did you mean `to`?)
    crm.find { "id": "${ key }" }: `args` of `preview`: `key` is not in scope
    crm.find { "id": "${ args.to", "full": true }: `args` of `preview`: the expression is not closed: no `}` stands behind it
    crm.find { "full": "${ args.to }" }: `args` of `preview`: `id` is missing
    crm.find { "id": "${ args.to }", "full": 7 }: `args` of `preview`: `full` never fits: it is a whole number, and a boolean is needed
    crm.find { "id": "${ args.to }", "name": "x" }: `args` of `preview`: the read has no argument `name`
    crm.find { "id": 7 }: `args` of `preview`: argument `/id`: value is not of type "string"
    "#);
    let preview = Preview {
        tool: "crm.find".to_owned(),
        args: json!({ "id": "${ args.to }" }),
    };
    assert_eq!(preview.hold(&find, &catalog), Err(PreviewError::OfRead));
    let asked = preview.request(&json!({ "to": "cus_81", "cents": 4000 }));
    assert_eq!(asked, Ok(json!({ "id": "cus_81" })));
    assert!(preview.request(&json!({})).is_err(), "nobody is named");
    let plain = call.digest();
    call.preview = Some(preview);
    assert_ne!(
        call.digest(),
        plain,
        "an approval does not outlive a change of it"
    );
}
