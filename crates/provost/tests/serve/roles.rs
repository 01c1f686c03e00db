//! Every route, for everybody: allowed, or the exact problem. A route without a row fails.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use provost_server::problem::ProblemKind;
use serde_json::{Value, json};

use super::served::{Served, note, team, token};
use super::workplace::Workplace;

const DOCUMENT: &str = include_str!("../../../provost-server/openapi.json");

/// Who asks, in the order in which they do: who approves comes last, because a yes closes the card.
const WHO: [&str; 8] = [
    "nobody",
    "unlisted",
    "listed",
    "requester",
    "agent",
    "agent elsewhere",
    "operator",
    "approver",
];

/// What a request brings.
enum Body {
    None,
    Json(Value),
    Form(&'static str),
}

/// A route, a body, and what each gets.
struct Row(&'static str, Body, [&'static str; 8]);

const OK: &str = "200";
const NOBODY: &str = "401 not-signed-in";
const UNLISTED: &str = "403 unlisted";
const NOT: &str = "403 not-allowed";
const GONE: &str = "404 not-found";

/// The same for all who are listed.
const fn listed(got: &'static str) -> [&'static str; 8] {
    [NOBODY, UNLISTED, got, got, got, got, got, got]
}

/// For people alone.
const fn people(got: &'static str) -> [&'static str; 8] {
    [NOBODY, UNLISTED, got, got, NOT, NOT, got, got]
}

/// A run, for people and for the agent that began it.
const SEEN: [&str; 8] = [NOBODY, UNLISTED, OK, OK, OK, GONE, OK, OK];
/// What tools gave in it: for people.
const VALUES: [&str; 8] = [NOBODY, UNLISTED, OK, OK, NOT, GONE, OK, OK];
/// For the group `operators`.
const GOVERN: [&str; 8] = [NOBODY, UNLISTED, NOT, NOT, NOT, NOT, OK, NOT];
/// For who approves: the stop is theirs, because they placed it last.
const APPROVER: [&str; 8] = [NOBODY, UNLISTED, NOT, NOT, NOT, NOT, NOT, OK];
/// A page: nobody is sent to sign in.
const PAGE: [&str; 8] = ["303", UNLISTED, OK, OK, NOT, NOT, OK, OK];

fn of_programs() -> Vec<Row> {
    let goal = json!({ "goal": "Count the orders of ada", "again": true });
    vec![
        Row("GET /healthz", Body::None, [OK; 8]),
        Row("GET /readyz", Body::None, [OK; 8]),
        Row("GET /openapi.json", Body::None, [OK; 8]),
        Row("GET /v1/me", Body::None, listed(OK)),
        Row("GET /v1/inbox", Body::None, listed(OK)),
        Row("GET /v1/inbox/count", Body::None, listed(OK)),
        Row("GET /v1/runs", Body::None, listed(OK)),
        Row("POST /v1/runs", Body::Json(goal), listed("201")),
        Row(
            "POST /v1/checks",
            Body::Json(json!({ "plan": "{}" })),
            listed(OK),
        ),
        Row("GET /v1/runs/{run}", Body::None, SEEN),
        Row("GET /v1/runs/{run}/plan", Body::None, SEEN),
        Row(
            "GET /v1/runs/{run}/diff?from=1&to=1",
            Body::None,
            people(OK),
        ),
        Row("GET /v1/runs/{run}/steps/{step}", Body::None, SEEN),
        Row("GET /v1/runs/{run}/steps/{step}/{item}", Body::None, SEEN),
        Row("GET /v1/runs/{run}/trace", Body::None, VALUES),
        Row("GET /v1/runs/{run}/why", Body::None, VALUES),
        Row("GET /v1/runs/{run}/events", Body::None, VALUES),
        Row("GET /v1/runs/{run}/cards/{digest}", Body::None, people(OK)),
        Row("GET /v1/evidence/{evidence}?run={run}", Body::None, VALUES),
        Row("GET /v1/events", Body::None, listed(OK)),
        Row("GET /v1/workspace", Body::None, listed(OK)),
        Row("POST /v1/workspace/reload", Body::None, GOVERN),
        Row("GET /v1/tools", Body::None, listed(OK)),
        Row("GET /v1/playbooks", Body::None, listed(OK)),
        Row("GET /v1/tokens", Body::None, listed(OK)),
        Row("GET /v1/tokens?all=true", Body::None, GOVERN),
        Row("DELETE /v1/tokens/{name}", Body::None, people(GONE)),
        Row("GET /v1/stops", Body::None, listed(OK)),
        Row(
            "PUT /v1/stops/{scope}/{name}",
            Body::Json(json!({ "reason": "x" })),
            people(OK),
        ),
        Row("DELETE /v1/stops/{scope}/{name}", Body::None, APPROVER),
        Row("GET /v1/sessions", Body::None, listed(OK)),
        Row("GET /v1/sessions?all=true", Body::None, GOVERN),
        Row("GET /v1/sessions?person=ada", Body::None, GOVERN),
        Row("DELETE /v1/sessions?all=true", Body::None, GOVERN),
        Row("DELETE /v1/sessions", Body::None, people(OK)),
        Row("POST /mcp", Body::Json(hello()), listed(OK)),
    ]
}

fn hello() -> Value {
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": { "name": "roles", "version": "1" },
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

/// A yes by a form: of a run of its own, whose card it closes.
const BY_FORM: &str = "POST /runs/{run}/statements";

/// Pages and doors.
fn of_browsers() -> Vec<Row> {
    let see_other = ["303", UNLISTED, "303", "303", NOT, NOT, "303", "303"];
    vec![
        Row("GET /assets/{hash}/{name}", Body::None, [GONE; 8]),
        Row("GET /login", Body::None, [OK; 8]),
        Row("GET /login/link", Body::None, ["303"; 8]),
        Row(
            "POST /login/link",
            Body::Form("code=nonsense"),
            ["403 link-spent"; 8],
        ),
        Row("GET /login/oidc", Body::None, [GONE; 8]),
        Row("GET /login/oidc/back", Body::None, ["422 unfit"; 8]),
        Row("GET /", Body::None, PAGE),
        Row("GET /runs", Body::None, PAGE),
        Row(
            "POST /runs",
            Body::Form("goal=Count+the+orders+of+bo&again=true"),
            see_other,
        ),
        Row("GET /runs/new", Body::None, PAGE),
        Row("GET /runs/{run}", Body::None, PAGE),
        Row("GET /runs/{run}/amend", Body::None, PAGE),
        Row("GET /runs/{run}/steps/{step}", Body::None, PAGE),
        Row("GET /runs/{run}/cards/{digest}", Body::None, PAGE),
        Row("GET /runs/{run}/plan", Body::None, PAGE),
        Row("GET /runs/{run}/revisions/{number}", Body::None, PAGE),
        Row("GET /runs/{run}/trace", Body::None, PAGE),
        Row("GET /runs/{run}/why", Body::None, PAGE),
        Row("GET /tools", Body::None, PAGE),
        Row("GET /people", Body::None, PAGE),
        Row("GET /me", Body::None, PAGE),
        Row(
            "POST /people",
            Body::Form("person=mallory"),
            ["303", UNLISTED, NOT, NOT, NOT, NOT, "303", NOT],
        ),
        // What changes nothing that stands is refused to all alike; who may amend is told elsewhere.
        Row(
            "POST /runs/{run}/amend",
            Body::Form("revision=9&reason=x"),
            ["303", UNLISTED, "409", "409", NOT, NOT, "409", "409"],
        ),
        // Who may not see the run is told so where this leads.
        Row("GET /runs/{run}/statements", Body::None, see_other),
        Row(
            BY_FORM,
            Body::Form("kind=approve&card={digest}"),
            ["303", UNLISTED, NOT, NOT, NOT, NOT, NOT, "303"],
        ),
        Row("POST /logout", Body::None, see_other_of_all()),
    ]
}

/// To sign out is no page: an agent's token has no session to end, and is sent on as well.
const fn see_other_of_all() -> [&'static str; 8] {
    ["303", UNLISTED, "303", "303", "303", "303", "303", "303"]
}

/// What a statement gets, of a card that is open.
fn of_statements() -> Vec<Row> {
    vec![Row(
        "POST /v1/runs/{run}/statements",
        Body::Json(json!({ "kind": "approve", "card": "{digest}" })),
        [NOBODY, UNLISTED, NOT, NOT, NOT, GONE, NOT, OK],
    )]
}

/// A run that waits for a yes, as addresses name it.
struct Waiting {
    run: String,
    card: String,
    evidence: String,
}

impl Waiting {
    fn begun(server: &Served, by: &str, reader: &str, name: &str) -> Self {
        let run = server.begin(by, &note(name));
        let card = server.card(reader, &run);
        let path = format!("/v1/runs/{run}/events?limit=200");
        let events = server.get(reader, &path).is(200).json().to_string();
        let evidence = events.split("\"evidence\":\"").nth(1).unwrap();
        let evidence = evidence.split('"').next().unwrap().to_owned();
        Self {
            run,
            card,
            evidence,
        }
    }

    fn fill(&self, text: &str) -> String {
        text.replace("{evidence}", &self.evidence)
            .replace("{run}", &self.run)
            .replace("{step}", "note")
            .replace("{item}", "0")
            .replace("{digest}", &self.card)
            .replace("{scope}", "tool")
            .replace("{name}", "shop")
            .replace("{number}", "1")
            .replace("{hash}", "0")
    }
}

/// Asks, and says what came: the status, and the problem's name.
fn got(server: &Served, token: &str, line: &str, body: &str, form: bool) -> String {
    if line.starts_with("GET /v1/events") {
        return stream(server, token);
    }
    let bearer = format!("Bearer {token}");
    let mut heads = vec![("Host", server.host.as_str())];
    if !token.is_empty() {
        heads.push(("Authorization", &bearer));
    }
    let media = match form {
        true => "application/x-www-form-urlencoded",
        false => "application/json",
    };
    heads.push(("Content-Type", media));
    if line == "POST /mcp" {
        heads.push(("Accept", "application/json, text/event-stream"));
    } else {
        heads.push(("Sec-Fetch-Site", "same-origin"));
    }
    let answer = server.send(line, &heads, body);
    if line.split(' ').nth(1).unwrap().starts_with("/v1/") {
        let faults = super::served::contradictions(line, &answer);
        assert_eq!(faults, [""; 0], "{line}: {answer:?}");
    }
    let status = answer.status.to_string();
    let media = answer.heads.get("content-type").cloned();
    match media.unwrap_or_default() {
        media if media.contains("problem+json") => format!("{status} {}", answer.problem()),
        media if media.contains("html") && answer.status >= 400 => named(&status, &answer.body),
        _ => status,
    }
}

/// The problem that a page tells of by its title; only the status of a form that is shown again.
fn named(status: &str, page: &str) -> String {
    let told = |kind: &&ProblemKind| page.contains(&format!("<h1>{}</h1>", kind.title()));
    match ProblemKind::ALL.iter().find(told) {
        Some(kind) => format!("{status} {}", kind.name()),
        None => status.to_owned(),
    }
}

/// A stream has no end: its first line, and of a refusal the rest.
fn stream(server: &Served, token: &str) -> String {
    let mut stream = TcpStream::connect(&server.host).unwrap();
    let host = &server.host;
    let bearer = match token.is_empty() {
        true => String::new(),
        false => format!("Authorization: Bearer {token}\r\n"),
    };
    let head =
        format!("GET /v1/events HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{bearer}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut line = [0; 12];
    stream.read_exact(&mut line).unwrap();
    let status = String::from_utf8_lossy(&line[9..]).into_owned();
    if status == OK {
        return status;
    }
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    let body: Value = serde_json::from_str(rest.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let kind = body["type"].as_str().unwrap();
    format!(
        "{status} {}",
        kind.trim_start_matches("urn:provost:problem:")
    )
}

/// A team in which bo alone approves, and its tokens in the order of [`WHO`].
fn cast() -> (Workplace, [String; 8]) {
    let place = team();
    let people = |more: Value| {
        let mut all = json!({
            "ada": {}, "bo": { "groups": ["approvers"] }, "chi": {},
            "olga": { "groups": ["operators"] },
        });
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        place.people(all.as_object().unwrap());
    };
    place.write("policies/approvers.cedar", APPROVERS);
    people(json!({ "eve": {} }));
    let eve = token(&place, "eve", "eve", &[]);
    people(json!({}));
    let of = |name: &str, person: &str, more: &[&str]| token(&place, name, person, more);
    let tokens = [
        String::new(),
        eve,
        of("chi", "chi", &[]),
        of("ada", "ada", &[]),
        of("robot", "bo", &["--agent"]),
        of("drone", "chi", &["--agent"]),
        of("olga", "olga", &[]),
        of("bo", "bo", &[]),
    ];
    (place, tokens)
}

const APPROVERS: &str = r#"
@id("approvers-approve") forbid (principal, action == Action::"approve", resource)
unless { principal in Group::"approvers" };
"#;

#[test]
fn every_route_lets_in_whom_it_should() {
    let (place, tokens) = cast();
    let server = Served::of(&place);
    let (ada, bo, robot) = (&tokens[3], &tokens[7], &tokens[4]);
    let of_ada = Waiting::begun(&server, ada, bo, "ada");
    let of_form = Waiting::begun(&server, ada, bo, "form");
    let of_robot = Waiting::begun(&server, robot, ada, "robot");
    let mut wrong = Vec::new();
    // Why last: a yes closes the card that pages show.
    let rows = of_programs().into_iter().chain(of_browsers());
    for Row(route, body, expected) in rows.chain(of_statements()) {
        for ((token, who), expected) in tokens.iter().zip(WHO).zip(expected) {
            let run = match who {
                "agent" => &of_robot,
                _ if route == BY_FORM => &of_form,
                _ => &of_ada,
            };
            let line = run.fill(route);
            let (text, form) = match &body {
                Body::None => (String::new(), false),
                Body::Json(value) => (run.fill(&value.to_string()), false),
                Body::Form(text) => (run.fill(text), true),
            };
            let got = got(&server, token, &line, &text, form);
            if got != expected {
                wrong.push(format!("{route} {who}: {got}, not {expected}"));
            }
        }
    }
    assert_eq!(wrong, [""; 0], "{}", wrong.join("\n"));
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
    let rows = of_programs().into_iter().chain(of_statements());
    let rows = rows.chain(of_browsers()).map(|Row(route, ..)| route);
    let path = |route: &str| {
        let path = route.split('?').next().unwrap();
        path.replace("{evidence}", "{digest}")
    };
    let asked: BTreeSet<String> = rows.map(path).collect();
    let routes: BTreeSet<String> = provost_server::routed().into_iter().collect();
    assert_eq!(asked, routes);
}
