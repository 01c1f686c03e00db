//! Every route, for everybody: allowed, or the exact problem. A route without a row fails.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::served::{Served, note, team, token};

const DOCUMENT: &str = include_str!("../../../provost-server/openapi.json");

/// A route, a body, and what nobody, an unlisted person, who asked, an approver and an agent get.
type Row = (&'static str, Value, [u16; 5]);

fn rows() -> Vec<Row> {
    let none = || Value::Null;
    let everybody = [200, 200, 200, 200, 200];
    let listed = [401, 403, 200, 200, 200];
    let people = [401, 403, 200, 200, 403];
    let seen = [401, 403, 200, 200, 404];
    let values = [401, 403, 200, 200, 403];
    vec![
        ("GET /healthz", none(), everybody.map(|_| 200)),
        ("GET /readyz", none(), everybody.map(|_| 200)),
        ("GET /openapi.json", none(), everybody.map(|_| 200)),
        ("GET /v1/me", none(), listed),
        ("GET /v1/inbox", none(), listed),
        ("GET /v1/inbox/count", none(), listed),
        ("GET /v1/runs", none(), listed),
        (
            "POST /v1/runs",
            json!({ "goal": "Count the orders of ada", "again": true }),
            [401, 403, 201, 201, 201],
        ),
        ("POST /v1/checks", json!({ "plan": "{}" }), listed),
        ("GET /v1/runs/{run}", none(), seen),
        ("GET /v1/runs/{run}/plan", none(), seen),
        ("GET /v1/runs/{run}/diff?from=1&to=1", none(), values),
        ("GET /v1/runs/{run}/steps/{step}", none(), seen),
        ("GET /v1/runs/{run}/trace", none(), values),
        ("GET /v1/runs/{run}/why", none(), values),
        ("GET /v1/runs/{run}/events", none(), values),
        ("GET /v1/runs/{run}/cards/{digest}", none(), values),
        // Why last: the approver's yes closes the card.
        (
            "POST /v1/runs/{run}/statements",
            json!({ "kind": "approve", "card": "{digest}" }),
            [401, 403, 403, 200, 404],
        ),
        ("GET /v1/workspace", none(), listed),
        ("GET /v1/tools", none(), listed),
        ("GET /v1/playbooks", none(), listed),
        ("GET /v1/evidence/{evidence}?run={run}", none(), values),
        ("GET /v1/tokens", none(), listed),
        (
            "DELETE /v1/tokens/{name}",
            none(),
            [401, 403, 404, 404, 403],
        ),
        ("GET /v1/stops", none(), listed),
        (
            "PUT /v1/stops/{scope}/{name}",
            json!({ "reason": "x" }),
            people,
        ),
        ("DELETE /v1/stops/{scope}/{name}", none(), people),
        ("GET /v1/sessions", none(), listed),
        ("DELETE /v1/sessions", none(), people),
    ]
}

/// Routes that a test of their own asks.
const ELSEWHERE: [&str; 1] = ["GET /v1/events"];

#[test]
fn every_route_lets_in_whom_it_should() {
    let place = team();
    let ada = token(&place, "ada", "ada", &[]);
    let bo = token(&place, "bo", "bo", &[]);
    let agent = token(&place, "robot", "bo", &["--agent"]);
    let people = json!({ "ada": {}, "bo": {}, "chi": {}, "eve": {} });
    place.people(people.as_object().unwrap());
    let eve = token(&place, "eve", "eve", &[]);
    let people = json!({ "ada": {}, "bo": {}, "chi": {} });
    place.people(people.as_object().unwrap());
    let server = Served::of(&place);
    let run = server.begin(&ada, &note("a"));
    let card = server.card(&ada, &run);
    let events = server.get(&ada, &format!("/v1/runs/{run}/events?limit=200"));
    let events = events.is(200).json().to_string();
    let evidence = events.split("\"evidence\":\"").nth(1).unwrap();
    let evidence = evidence.split('"').next().unwrap();
    let fill = |text: &str| {
        text.replace("{evidence}", evidence)
            .replace("{run}", &run)
            .replace("{step}", "note")
            .replace("{digest}", &card)
            .replace("{scope}", "principal")
            .replace("{name}", "mallory")
    };
    for (route, body, expected) in rows() {
        let line = fill(route);
        let body: Value = serde_json::from_str(&fill(&body.to_string())).unwrap();
        let tokens = ["", &eve, &ada, &bo, &agent];
        let got = tokens.map(|token| server.ask(token, &line, &body).status);
        assert_eq!(got, expected, "{route}");
    }
}

/// What a document describes, as the table of routes would have it.
fn described(document: &str) -> BTreeSet<(String, bool)> {
    let document: Value = serde_json::from_str(document).unwrap();
    let paths = document["paths"].as_object().unwrap().iter();
    let operations = paths.flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(move |(method, operation)| {
            let is_open = operation.get("security").is_some();
            (format!("{} {path}", method.to_uppercase()), is_open)
        })
    });
    operations.collect()
}

#[test]
fn the_document_describes_every_route_and_no_other() {
    let routes = provost_server::listed().into_iter();
    let routed = routes.map(|route| (format!("{} {}", route.method, route.path), route.is_open));
    let routed: BTreeSet<(String, bool)> = routed.collect();
    assert_eq!(described(DOCUMENT), routed);
    // The controls: a route that is left out shows, and one that is said to be open.
    let without = DOCUMENT.replace("\"/v1/me\"", "\"/v1/you\"");
    assert_ne!(described(&without), routed);
    let opened = DOCUMENT.replacen("\"security\": []", "\"x\": []", 1);
    assert_ne!(described(&opened), routed);
}

#[test]
fn no_route_is_without_a_row() {
    let routes: BTreeSet<String> = described(DOCUMENT).into_iter().map(|row| row.0).collect();
    let rows = rows();
    let asked = rows.iter().map(|(route, ..)| *route).chain(ELSEWHERE);
    let path = |route: &str| {
        route
            .split('?')
            .next()
            .unwrap()
            .replace("{evidence}", "{digest}")
    };
    let asked: BTreeSet<String> = asked.map(path).collect();
    assert_eq!(routes, asked);
}
