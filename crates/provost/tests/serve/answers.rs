//! Every JSON that a route answers with is of its schema, and the schemas say something: an answer
//! without one of its fields, or with one that nobody named, is none.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::served::{Answer, DOCUMENT, Served, contradictions, note, team, token};

/// What may say more than the document: a problem tells what helps, and a body is no answer.
const OPEN: [&str; 2] = ["Problem", "Statement"];

/// The schema of what an operation answers with under a status, by its name.
fn named(document: &Value, operation: &str, status: &str) -> Option<String> {
    let (method, path) = operation.split_once(' ')?;
    let operation = &document["paths"][path][method.to_lowercase()];
    let content = &operation["responses"][status]["content"]["application/json"];
    let name = content["schema"]["$ref"].as_str()?.rsplit('/').next()?;
    Some(name.to_owned())
}

/// Each operation that answers with JSON.
fn operations(document: &Value) -> BTreeSet<String> {
    let paths = document["paths"].as_object().unwrap();
    let all = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().keys();
        methods.map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    let is_json = |one: &String| {
        ["200", "201"]
            .iter()
            .any(|status| named(document, one, status).is_some())
    };
    all.filter(is_json).collect()
}

/// What of this answer's schema says nothing: a field that may be left out though it is required,
/// or any that may be added.
fn says_nothing(line: &str, name: &str, mut answer: Answer) -> Vec<String> {
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let schema = &document["components"]["schemas"][name];
    let whole = answer.json();
    let mut silent = Vec::new();
    let mut is_told = |without: &str, body: Value| {
        answer.body = body.to_string();
        if contradictions(line, &answer).is_empty() {
            silent.push(format!("{name}: {without}"));
        }
    };
    for field in schema["required"].as_array().unwrap() {
        let mut less = whole.clone();
        less.as_object_mut()
            .unwrap()
            .remove(field.as_str().unwrap());
        is_told(&format!("without {field}"), less);
    }
    let mut more = whole.clone();
    more["nobody_named_this"] = json!(1);
    is_told("with another field", more);
    silent
}

#[test]
fn every_answer_is_of_its_schema() {
    let place = team();
    let server = Served::of(&place);
    let [ada, bo, chi] = ["ada", "bo", "chi"].map(|name| token(&place, name, name, &[]));
    let spent = token(&place, "spent", "ada", &[]);
    let run = server.begin(&ada, &note("a"));
    let card = server.card(&ada, &run);
    let goal = json!({ "goal": "Count the orders of ada" });
    let yes = json!({ "kind": "approve", "card": card });
    let (none, stop) = (Value::Null, json!({ "reason": "x" }));
    let rows = [
        ("GET /healthz", "", &none),
        ("GET /readyz", "", &none),
        ("GET /v1/me", &*ada, &none),
        ("GET /v1/inbox", &ada, &none),
        ("GET /v1/inbox/count", &ada, &none),
        ("GET /v1/runs", &ada, &none),
        ("POST /v1/runs", &ada, &goal),
        ("POST /v1/checks", &ada, &json!({ "plan": "{}" })),
        ("POST /v1/runs/{run}/statements", &bo, &yes),
        ("GET /v1/runs/{run}", &ada, &none),
        ("GET /v1/runs/{run}/plan", &ada, &none),
        ("GET /v1/runs/{run}/diff?from=1&to=1", &ada, &none),
        ("GET /v1/runs/{run}/steps/{step}", &ada, &none),
        ("GET /v1/runs/{run}/steps/{step}/{item}", &ada, &none),
        ("GET /v1/runs/{run}/trace", &ada, &none),
        ("GET /v1/runs/{run}/why", &ada, &none),
        ("GET /v1/runs/{run}/events", &ada, &none),
        ("GET /v1/runs/{run}/cards/{digest}", &ada, &none),
        ("GET /v1/workspace", &ada, &none),
        ("POST /v1/workspace/reload", &chi, &none),
        ("GET /v1/tools", &ada, &none),
        ("GET /v1/playbooks", &ada, &none),
        ("PUT /v1/stops/{scope}/{name}", &ada, &stop),
        ("GET /v1/stops", &ada, &none),
        ("DELETE /v1/stops/{scope}/{name}", &ada, &none),
        ("GET /v1/sessions", &ada, &none),
        ("DELETE /v1/sessions", &ada, &none),
        ("GET /v1/tokens", &ada, &none),
        ("DELETE /v1/tokens/{token}", &ada, &none),
    ];
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let (mut asked, mut silent) = (BTreeSet::new(), Vec::new());
    for (route, who, body) in rows {
        let line = route
            .replace("{run}", &run)
            .replace("{step}", "note")
            .replace("{item}", "0")
            .replace("{digest}", &card)
            .replace("{scope}", "principal")
            .replace("{name}", "bo")
            .replace("{token}", "spent");
        let answer = server.ask(who, &line, body);
        let operation = route
            .split('?')
            .next()
            .unwrap()
            .replace("{token}", "{name}");
        let status = answer.status.to_string();
        let name = named(&document, &operation, &status);
        let name = name.unwrap_or_else(|| panic!("{operation} {status}: {answer:?}"));
        silent.extend(says_nothing(&line, &name, answer));
        asked.insert(operation);
        if route.ends_with("/statements") {
            server.until(&ada, &run, "succeeded");
        }
    }
    assert_eq!(silent, [""; 0]);
    assert_eq!(asked, operations(&document));
    // And a refusal is of the one schema of refusals.
    let refused = server.get(&spent, "/v1/me").is(401);
    assert_eq!(says_nothing_of_a_problem(refused), [""; 0]);
}

/// The same of a problem, which tells more than it must where that helps.
fn says_nothing_of_a_problem(mut refused: Answer) -> Vec<String> {
    let whole = refused.json();
    let fields = ["type", "title", "status", "detail"];
    let unsaid = fields.into_iter().filter(|field| {
        let mut less = whole.clone();
        less.as_object_mut().unwrap().remove(*field);
        refused.body = less.to_string();
        contradictions("GET /v1/me", &refused).is_empty()
    });
    unsaid.map(str::to_owned).collect()
}

/// Each object in a schema that names fields and takes others as well.
fn open_objects(place: &str, schema: &Value) -> Vec<String> {
    let named = schema.get("properties").is_some();
    let open = named && schema.get("additionalProperties") != Some(&Value::Bool(false));
    let inner = match schema {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| open_objects(&format!("{place}/{key}"), value))
            .collect(),
        Value::Array(list) => list
            .iter()
            .flat_map(|value| open_objects(place, value))
            .collect(),
        _ => Vec::new(),
    };
    { open.then(|| place.to_owned()) }
        .into_iter()
        .chain(inner)
        .collect()
}

#[test]
fn no_answer_holds_what_the_document_does_not_name() {
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let open = |schemas: &serde_json::Map<String, Value>| -> Vec<String> {
        let closed = schemas
            .iter()
            .filter(|(name, _)| !OPEN.contains(&name.as_str()));
        closed
            .flat_map(|(name, schema)| open_objects(name, schema))
            .collect()
    };
    assert_eq!(open(schemas), [""; 0]);
    // The control: one object deep in a schema that takes more.
    let mut opened = schemas.clone();
    opened["Diff"]["properties"]["line"]["additionalProperties"] = json!(true);
    assert_eq!(open(&opened), ["Diff/properties/line"]);
}

/// Findings with everything that one may have, and verdicts of each kind: all of it is described.
#[test]
fn what_a_check_finds_is_described_to_its_depth() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let plan = |tool: &str, reads: &str| {
        let text = format!("${{ string(steps.{reads}.output.row.total) }}");
        json!({
            "schema": "provost/plan/v1", "goal": { "text": "Note the orders" },
            "steps": [
                { "id": "count", "tool": tool, "args": { "customer": "ada" } },
                { "id": "note", "tool": "notes.write", "args": { "path": "a.txt", "text": text } },
            ],
            "success": [{ "for": "goal", "check": "${ steps.note.status == \"succeeded\" }" }],
            "answer": [{ "text": "The note is written.", "cites": ["note"] }],
        })
    };
    let check = |plan: &Value| {
        let asked = server.ask(&ada, "POST /v1/checks", &json!({ "plan": plan }));
        asked.is(200).json()
    };
    let good = check(&plan("shop.orders", "count"));
    assert_eq!(good["ok"], true, "{good}");
    let verdicts = &good["verdicts"];
    assert_eq!(verdicts["count"]["decision"], "permit", "{verdicts}");
    assert_eq!(verdicts["note"]["decision"], "ask", "{verdicts}");
    assert!(verdicts["note"]["ask"]["quorum"].is_u64(), "{verdicts}");
    let bad = check(&plan("shop.order", "counted"));
    assert_eq!(
        (&bad["ok"], &bad["verdicts"]),
        (&json!(false), &Value::Null)
    );
    let has = |field: &str| {
        let findings = bad["findings"].as_array().unwrap();
        findings.iter().any(|one| one.get(field).is_some())
    };
    assert!(["fix", "hint", "step"].into_iter().all(has), "{bad}");
    // And a plan that begins nothing says the same in its problem.
    let begun = json!({ "plan": plan("shop.order", "counted") });
    let refused = server.ask(&ada, "POST /v1/runs", &begun).is(422).json();
    assert_eq!(refused["check"]["findings"], bad["findings"]);
}
