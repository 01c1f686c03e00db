//! The resource of a step: what was sent, what came, who said yes; and nothing of it for whoever is
//! shown no values, and nothing that is secret for anybody.

use serde_json::{Value, json};

use super::served::{Served, note, team, token};
use super::workplace::Workplace;

/// A plan that reads for each customer, and says nothing of what it read.
const EACH: &str = r#"schema: provost/plan/v1
goal: { text: Look what each customer ordered }
steps:
  - id: each
    tool: shop.orders
    for_each: '${ ["ada", "grace"] }'
    args: { customer: "${ item }" }
success:
  - { for: goal, check: '${ steps.each.status == "succeeded" }' }
answer:
  - { text: Looked., cites: [each] }
"#;

fn step(server: &Served, token: &str, run: &str, step: &str) -> Value {
    let path = format!("/v1/runs/{run}/steps/{step}");
    server.get(token, &path).is(200).json()
}

/// The run of a plan, once it is over.
fn ran(server: &Served, token: &str, plan: &str) -> String {
    let wanted = json!({ "plan": plan, "again": true });
    let begun = server.ask(token, "POST /v1/runs", &wanted).is(201).json();
    let run = begun["run"].as_str().unwrap().to_owned();
    server.until(token, &run, "succeeded");
    run
}

/// What a resource says beside what was planned.
const VALUES: [&str; 4] = ["output", "label", "evidence", "cited_by"];

#[test]
fn a_step_tells_what_was_sent_what_came_and_who_said_yes() {
    let place = team();
    let server = Served::of(&place);
    let [ada, bo] = ["ada", "bo"].map(|name| token(&place, name, name, &[]));
    let run = server.begin(&ada, &note("a"));
    let card = server.card(&ada, &run);
    let waits = step(&server, &ada, &run, "note");
    assert_eq!(waits["attempts"], json!([]));
    assert_eq!(
        waits["cards"],
        json!([{ "digest": card, "open": true, "approved_by": [] }])
    );
    assert_eq!(waits.get("output"), None, "{waits}");
    let yes = json!({ "kind": "approve", "card": card });
    let to = format!("POST /v1/runs/{run}/statements");
    server.ask(&bo, &to, &yes).is(200);
    server.until(&ada, &run, "succeeded");
    let noted = step(&server, &ada, &run, "note");
    let attempt = &noted["attempts"][0];
    assert_eq!(noted["attempts"].as_array().unwrap().len(), 1, "{noted}");
    let sent = json!({ "path": "note-a.txt", "text": "2 orders" });
    for (name, expected) in [
        ("operation", json!("notes.write")),
        ("purpose", json!("effect")),
        ("args", sent),
        ("approval", json!(card)),
        ("class", json!("ok")),
        ("landing", json!("happened")),
    ] {
        assert_eq!(attempt[name], expected, "{name}: {noted}");
    }
    assert!(attempt["began_ms"].as_i64() <= attempt["ended_ms"].as_i64());
    assert_eq!(
        noted["cards"],
        json!([{ "digest": card, "open": false, "approved_by": ["bo"] }])
    );
    assert_eq!(noted["hidden"], Value::Null);
    assert_eq!(noted["output"]["path"], "note-a.txt", "{noted}");
    assert_eq!(noted["label"]["integrity"], "text", "{noted}");
    // What is cited is what is kept, and can be fetched.
    let text = &noted["cited_by"][0]["spans"][0]["text"];
    assert_eq!(text, "The note is written.", "{noted}");
    let evidence = attempt["evidence"].as_str().unwrap();
    assert_eq!(
        noted["evidence"],
        json!([{ "digest": evidence, "secret": false }])
    );
    server
        .get(&ada, &format!("/v1/evidence/{evidence}?run={run}"))
        .is(200);
    // The controls: another step of the run has its own, and one that is none is not there.
    let count = step(&server, &ada, &run, "count");
    assert_eq!(count["output"]["row"]["total"], 2, "{count}");
    assert_eq!(
        (&count["cards"], &count["cited_by"]),
        (&json!([]), &json!([]))
    );
    server
        .get(&ada, &format!("/v1/runs/{run}/steps/nothing"))
        .is(404);
}

#[test]
fn an_item_has_its_own_calls_and_output() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let run = ran(&server, &ada, EACH);
    let all = step(&server, &ada, &run, "each");
    assert_eq!((&all["items"], &all["item"]), (&json!(2), &Value::Null));
    assert_eq!(all["attempts"].as_array().unwrap().len(), 2, "{all}");
    for (number, customer, total) in [(0, "ada", 2), (1, "grace", 1)] {
        let item = step(&server, &ada, &run, &format!("each/{number}"));
        assert_eq!(item["item"], number, "{item}");
        assert_eq!(item["status"], "succeeded", "{item}");
        assert_eq!(item["output"]["row"]["total"], total, "{item}");
        assert_eq!(item["output"], all["output"][number], "{item}");
        let calls = item["attempts"].as_array().unwrap();
        assert_eq!(calls.len(), 1, "{item}");
        assert_eq!(calls[0]["args"]["customer"], customer, "{item}");
        assert_eq!(item["evidence"].as_array().unwrap().len(), 1, "{item}");
        assert_eq!(item["cited_by"].as_array().unwrap().len(), 1, "{item}");
    }
    for strange in ["2", "-1", "x", "18446744073709551616"] {
        let path = format!("/v1/runs/{run}/steps/each/{strange}");
        assert_eq!(server.get(&ada, &path).is(404).problem(), "not-found");
    }
}

#[test]
fn whoever_is_shown_no_values_is_told_why() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let robot = token(&place, "robot", "ada", &["--agent"]);
    let run = ran(&server, &robot, EACH);
    for path in ["each", "each/1"] {
        let told = step(&server, &robot, &run, path);
        assert!(
            told["hidden"].as_str().unwrap().contains("reveal"),
            "{told}"
        );
        for name in VALUES {
            assert_eq!(told.get(name), None, "{name}: {told}");
        }
        let attempt = &told["attempts"][0];
        assert_eq!(attempt["class"], "ok", "{told}");
        for name in ["args", "message", "evidence"] {
            assert_eq!(attempt.get(name), None, "{name}: {told}");
        }
        // The control: who asked for the run of that agent is shown them.
        let of_ada = step(&server, &ada, &run, path);
        assert_eq!(of_ada["hidden"], Value::Null);
        for name in VALUES {
            assert!(!of_ada[name].is_null(), "{name}: {of_ada}");
        }
    }
}

/// The step of [`EACH`] and its first item, where the tool may give secrets.
fn looked(place: &Workplace) -> [Value; 2] {
    let server = Served::of(place);
    let ada = token(place, "ada", "ada", &[]);
    let run = ran(&server, &ada, EACH);
    ["each", "each/0"].map(|path| step(&server, &ada, &run, path))
}

#[test]
fn what_is_secret_says_so_in_its_place() {
    let place = team();
    place.edit(
        "provost.toml",
        "single = true\n",
        "single = true\nsecret = true\n",
    );
    for secret in looked(&place) {
        assert_eq!(secret["output"], json!({ "secret": true }), "{secret}");
        assert_eq!(secret["label"]["secret"], true, "{secret}");
        let evidence = secret["evidence"].as_array().unwrap();
        assert!(!evidence.is_empty(), "{secret}");
        assert!(evidence.iter().all(|one| one["secret"] == true), "{secret}");
        assert!(!secret.to_string().contains("latest"), "{secret}");
    }
    // The control: of a tool that gives none, they are there.
    for open in looked(&team()) {
        assert!(open["output"].to_string().contains("latest"), "{open}");
        assert_eq!(open["evidence"][0]["secret"], false, "{open}");
    }
}
