//! OpenAPI: a document in, entries out; and the entries called against a real server.

use provost_plan::node::parse_yaml;

use super::server::{Server, json};
use super::*;
use crate::config::description_of;
use crate::openapi::{ImportRequest, OpenApiError, Proposal, propose};

const PAYMENTS: &str = include_str!("openapi/payments.yaml");

fn document(text: &str) -> Value {
    parse_yaml(text).unwrap().to_value()
}

fn wanted<'a>(base_url: Option<&'a str>, only: &'a [String]) -> ImportRequest<'a> {
    ImportRequest {
        tool: "pay",
        source: "payments.yaml",
        base_url,
        only,
        bearer: None,
    }
}

fn payments(base_url: Option<&str>) -> Proposal {
    propose(&document(PAYMENTS), &wanted(base_url, &[])).unwrap()
}

fn workspace(proposal: &Proposal) -> Workspace {
    let workspace = Workspace::new();
    for (path, schema) in &proposal.schemas {
        workspace.write(path, schema.to_string());
    }
    workspace
}

#[test]
fn a_bearer_that_is_named_goes_before_what_the_document_says() {
    let wanted = ImportRequest {
        bearer: Some("file:token"),
        ..wanted(None, &[])
    };
    let entries = propose(&document(PAYMENTS), &wanted).unwrap().entries;
    assert!(
        entries.contains("auth = { bearer = \"file:token\" }"),
        "{entries}"
    );
    assert!(!entries.contains("PAY_TOKEN"), "{entries}");
}

#[test]
fn a_description_is_whole_or_ends_with_a_word() {
    let short = "Reads mail.\n\nThe emails are marked as read.";
    assert_eq!(
        description_of(short),
        "Reads mail. The emails are marked as read."
    );
    let long = description_of(&"twelve chars ".repeat(400));
    assert!(
        long.ends_with("chars …") || long.ends_with("twelve …"),
        "{long}"
    );
    assert!((1_980..=2_000).contains(&long.chars().count()));
    assert_eq!(description_of(&"x".repeat(3_000)), " …");
    assert!(!description_of("a\u{202e}b\u{7}").contains(['\u{202e}', '\u{7}']));
}

#[test]
fn entries_say_what_the_document_says_and_what_is_a_guess() {
    let proposal = payments(None);
    insta::assert_snapshot!(proposal.entries, @r#"
    # Proposed from payments.yaml: Payments [tools.evil] 1.2.0.
    # Nothing of it is known to be true: read each line, above all each effect, before you commit it.
    [tools.pay]
    kind = "http"
    base_url = "https://eu.payments.example/v1"
    auth = { bearer = "env:PAY_TOKEN" } # `token` of the document; set the secret

    # GET /payments/{payment-id}/refunds
    [tools.pay.ops.list_refunds]
    description = "The refunds of a payment."
    # left out, since it cannot be sent: `filter`: its parameter `filter` is written in the style `deepObject`
    request.method = "GET"
    request.path = "/payments/${ args.payment_id }/refunds"
    request.query."limit" = "${ has(args.limit) ? args.limit : null }"
    request.query."state" = "${ has(args.state) ? args.state : null }"
    request.query."fields" = "${ has(args.fields) ? join(args.fields, \",\") : null }"
    request.headers."X-Trace" = "${ args.X_Trace }"
    input = "schemas/pay/list_refunds.input.json"
    output = "schemas/pay/list_refunds.output.json"
    effect = "read" # a GET changes nothing, if the server keeps to HTTP

    # POST /payments/{payment-id}/refunds
    [tools.pay.ops.create_refund]
    description = "Refunds it. effect = \"read\"."
    request.method = "POST"
    request.path = "/payments/${ args.payment_id }/refunds"
    request.rest = "json" # every other argument, as a map
    input = "schemas/pay/create_refund.input.json"
    output = "schemas/pay/create_refund.output.json"
    effect = "destructive" # unknown: no document says what it does; `write`, or `external` if it reaches people
    idempotency = { key = { header = "Idempotency-Key", ttl = "24h" } } # how long it is remembered is a guess

    # POST /notes
    [tools.pay.ops.post_notes]
    request.method = "POST"
    request.path = "/notes"
    request.rest = "form" # every other argument, as a form
    input = "schemas/pay/post_notes.input.json"
    response = "text" # it answers with no JSON
    effect = "destructive" # unknown: no document says what it does; `write`, or `external` if it reaches people

    # PUT /notes
    [tools.pay.ops.put_notes]
    request.method = "PUT"
    request.path = "/notes"
    request.body = "${ has(args.body) ? args.body : null }"
    input = "schemas/pay/put_notes.input.json"
    response = "text" # it answers with no JSON
    effect = "destructive" # a PUT replaces what was there; `write` if that can be had again

    # DELETE /files
    [tools.pay.ops.op_9_lives]
    request.method = "DELETE"
    request.path = "/files"
    request.query."for" = "${ args.for_ }"
    input = "schemas/pay/op_9_lives.input.json"
    response = "text" # it answers with no JSON
    effect = "destructive" # a DELETE
    "#);
    insta::assert_debug_snapshot!(proposal.left_out, @r#"
    [
        (
            "GET /files",
            "its parameter `sid` is sent in a cookie",
        ),
        (
            "POST /files",
            "it sends multipart/form-data",
        ),
    ]
    "#);
}

#[test]
fn schemas_stand_alone() {
    let proposal = payments(None);
    let of = |name: &str| {
        let path = format!("schemas/pay/{name}.json");
        let found = proposal.schemas.iter().find(|(known, _)| *known == path);
        serde_json::to_string(&found.unwrap().1).unwrap()
    };
    insta::assert_snapshot!(of("create_refund.input"), @r#"{"type":"object","properties":{"payment_id":{"type":"string"},"reason":{"type":"string"},"amount":{"type":"integer"}},"required":["payment_id","amount"],"additionalProperties":false}"#);
    insta::assert_snapshot!(of("create_refund.output"), @r##"{"$ref":"#/$defs/Refund","$defs":{"Refund":{"type":"object","required":["id","amount"],"properties":{"id":{"type":"string"},"amount":{"$ref":"#/$defs/Money"},"parent":{"$ref":"#/$defs/Refund"},"state":{"type":["string","null"],"enum":["open","paid",null]}}},"Money":{"type":["integer","null"],"format":"int64"}}}"##);
    insta::assert_snapshot!(of("list_refunds.input"), @r#"{"type":"object","properties":{"limit":{"type":"integer","exclusiveMinimum":0},"state":{"type":"array","items":{"type":"string"}},"fields":{"type":"array","items":{"type":"string"}},"X_Trace":{"type":"string"},"payment_id":{"type":"string"}},"required":["X_Trace","payment_id"],"additionalProperties":false}"#);
}

#[tokio::test]
async fn what_is_proposed_is_sent_as_the_document_says() {
    let server = Server::start(|_| json(200, "[]")).await;
    let proposal = payments(Some(&server.url()));
    let toml = proposal.entries.replace("auth = ", "# auth = ");
    let bench = workspace(&proposal).open(&toml);
    let calls = [
        (
            "list_refunds",
            json!({ "payment_id": "a/b", "X_Trace": "t", "state": ["x", "y"], "fields": ["p", "q"] }),
        ),
        (
            "list_refunds",
            json!({ "payment_id": "1", "X_Trace": "t", "limit": 5 }),
        ),
        ("create_refund", json!({ "payment_id": "1", "amount": 7 })),
        ("post_notes", json!({ "text": "a&b=c", "to": ["x", "y z"] })),
        ("put_notes", json!({ "body": ["a"] })),
        ("put_notes", json!({})),
        ("op_9_lives", json!({ "for_": "x" })),
    ];
    for (name, args) in calls {
        let name = format!("pay.{name}");
        let operation = bench.operation(&name);
        assert!(
            operation.input.admits(&args),
            "{name}: {:?}",
            operation.input.violations(&args)
        );
        let key = (!matches!(
            operation.idempotency,
            provost_plan::catalog::Idempotency::None
        ))
        .then_some("k-1");
        bench.call_with_key(&name, args, key).await;
    }
    let seen: Vec<String> = server
        .seen()
        .iter()
        .map(|seen| {
            let of = |name| seen.header(name).unwrap_or("-").to_owned();
            let (kind, key, trace) = (of("content-type"), of("idempotency-key"), of("x-trace"));
            format!(
                "{} | {kind} | key {key} | trace {trace} | {}",
                seen.line, seen.body
            )
        })
        .collect();
    insta::assert_snapshot!(seen.join("\n"), @r#"
    GET /payments/a%2Fb/refunds?state=x&state=y&fields=p%2Cq HTTP/1.1 | - | key - | trace t | 
    GET /payments/1/refunds?limit=5 HTTP/1.1 | - | key - | trace t | 
    POST /payments/1/refunds HTTP/1.1 | application/json | key k-1 | trace - | {"amount":7}
    POST /notes HTTP/1.1 | application/x-www-form-urlencoded | key - | trace - | text=a%26b%3Dc&to=x&to=y%20z
    PUT /notes HTTP/1.1 | application/json | key - | trace - | ["a"]
    PUT /notes HTTP/1.1 | - | key - | trace - | 
    DELETE /files?for=x HTTP/1.1 | - | key - | trace - |
    "#);
}

/// Whatever an operation is called, it reads as one entry each, and none is a read but a GET.
#[test]
fn nothing_of_a_document_becomes_another_entry() {
    let proposal = payments(None);
    let bench = workspace(&proposal).open(&proposal.entries);
    assert_eq!(bench.operations.len(), proposal.operations);
    let reads: Vec<&str> = bench
        .operations
        .iter()
        .filter(|operation| operation.effect.is_read())
        .map(|operation| operation.name.as_str())
        .collect();
    assert_eq!(reads, ["pay.list_refunds"]);
}

#[test]
fn what_is_wanted_alone_is_taken() {
    let refunds = ["refunds".to_owned()];
    let found = propose(&document(PAYMENTS), &wanted(None, &refunds)).unwrap();
    assert_eq!((found.operations, found.left_out.len()), (2, 0));
    let nothing = ["nowhere".to_owned()];
    let error = propose(&document(PAYMENTS), &wanted(None, &nothing)).unwrap_err();
    let told = error.to_string();
    assert!(
        told.starts_with(
            "it has no operation and no tag `nowhere`; its operations are `listRefunds`"
        ),
        "{told}"
    );
}

#[test]
fn what_is_no_document_is_refused() {
    let table = [
        ("swagger: '2.0'", OpenApiError::NotOpenApi),
        (
            "openapi: 2.9.0",
            OpenApiError::Version {
                found: "2.9.0".to_owned(),
            },
        ),
        (
            "openapi: 3.1.0\nservers: [ { url: /v1 } ]",
            OpenApiError::NoServer,
        ),
        (
            "openapi: 3.1.0\nservers: [ { url: 'https://a.example' } ]",
            OpenApiError::Nothing { left_out: 0 },
        ),
    ];
    for (text, expected) in table {
        let found = propose(&document(text), &wanted(None, &[])).unwrap_err();
        assert_eq!(found, expected, "{text}");
    }
}

/// A schema that would be too large is cut, and what is cut off admits anything.
#[test]
fn a_large_schema_is_left_open_where_it_is_deep() {
    let mut schemas = serde_json::Map::new();
    for index in 0..400 {
        let next = format!("#/components/schemas/s{}", (index + 1) % 400);
        let text = "x".repeat(400);
        let schema = json!({ "type": "object", "description": text,
            "properties": { "next": { "$ref": next }, "other": { "$ref": next } } });
        schemas.insert(format!("s{index}"), schema);
    }
    let wide = (0..400).map(|i| {
        (
            format!("p{i}"),
            json!({ "$ref": format!("#/components/schemas/s{i}") }),
        )
    });
    let wide: serde_json::Map<String, Value> = wide.collect();
    let document = json!({
        "openapi": "3.1.0",
        "servers": [{ "url": "https://a.example" }],
        "components": { "schemas": schemas },
        "paths": { "/a": { "get": { "responses": { "200": { "content": { "application/json": {
            "schema": { "type": "object", "properties": wide } } } } } } } },
    });
    let proposal = propose(&document, &wanted(None, &[])).unwrap();
    let (_, schema) = proposal
        .schemas
        .iter()
        .find(|(path, _)| path.contains("output"))
        .unwrap();
    assert!(
        schema.to_string().len() < 64 * 1024,
        "{}",
        schema.to_string().len()
    );
    let schema = provost_plan::schema::Schema::compile(schema.clone()).unwrap();
    assert!(schema.admits(&json!({ "p1": { "next": { "next": 5 } } })));
    assert!(!schema.admits(&json!([])));
}
