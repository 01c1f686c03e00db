//! MCP clients over HTTP: one door, whether planning is all that is offered or not.

use serde_json::{Value, json};
use sim::canary;

use super::served::{Answer, Served, note, team, token};

const VERSION: (&str, &str) = ("MCP-Protocol-Version", "2025-11-25");

/// What a request bears, and what it is answered with.
type Refused<'a> = (&'a [(&'a str, &'a str)], u16, &'a str);

/// One message of a client; its answer is what the last event of a stream says.
fn message(
    server: &Served,
    more: &[(&str, &str)],
    method: &str,
    params: &Value,
) -> (Answer, Value) {
    let mut message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
    if !method.starts_with("notifications/") {
        message["id"] = json!(1);
    }
    let heads = [
        ("Accept", "application/json, text/event-stream"),
        ("Content-Type", "application/json"),
    ];
    let heads = [&heads[..], more].concat();
    let answer = server.send("POST /mcp", &heads, &message.to_string());
    let events = answer.body.lines();
    let events = events.filter_map(|line| line.strip_prefix("data:"));
    let mut said = events.filter_map(|data| serde_json::from_str(data.trim()).ok());
    let said = said.next_back().unwrap_or_default();
    (answer, said)
}

/// A plan that writes a note of this name.
fn plan(name: &str) -> String {
    format!(
        r#"schema: provost/plan/v1
goal: {{ text: Write note-{name}.txt }}
steps:
  - id: note
    tool: notes.write
    args: {{ path: note-{name}.txt, text: written }}
success:
  - {{ for: goal, check: '${{ steps.note.status == "succeeded" }}' }}
answer:
  - {{ text: The note is written., cites: [note] }}
"#
    )
}

fn hello() -> Value {
    json!({
        "protocolVersion": VERSION.1, "capabilities": {},
        "clientInfo": { "name": "coder", "version": "1" },
    })
}

/// A client that shook hands.
struct Client<'s> {
    server: &'s Served,
    bearer: String,
    session: String,
}

impl<'s> Client<'s> {
    fn of(server: &'s Served, token: &str) -> Self {
        let bearer = format!("Bearer {token}");
        let heads = [("Host", server.host.as_str()), ("Authorization", &bearer)];
        let (answer, said) = message(server, &heads, "initialize", &hello());
        assert_eq!(
            said["result"]["serverInfo"]["name"], "provost",
            "{answer:?}"
        );
        let session = answer.heads["mcp-session-id"].clone();
        Self {
            server,
            bearer,
            session,
        }
    }

    fn ask(&self, bearer: &str, method: &str, params: &Value) -> (Answer, Value) {
        let heads = [
            ("Host", self.server.host.as_str()),
            ("Authorization", bearer),
            ("Mcp-Session-Id", self.session.as_str()),
            VERSION,
        ];
        message(self.server, &heads, method, params)
    }

    /// What a tool gives.
    fn call(&self, tool: &str, args: &Value) -> Value {
        let params = json!({ "name": tool, "arguments": args });
        let (answer, said) = self.ask(&self.bearer, "tools/call", &params);
        assert_eq!(answer.status, 200, "{answer:?}");
        said["result"].clone()
    }

    fn submit(&self, key: &str) -> String {
        let args = json!({ "plan": plan(key), "wait_seconds": 60 });
        let begun = self.call("submit_plan", &args);
        let run = &begun["structuredContent"]["run"];
        run.as_str().unwrap_or_else(|| panic!("{begun}")).to_owned()
    }

    /// The runs that it is told of.
    fn runs(&self) -> Vec<String> {
        let listed = self.call("list_runs", &json!({}));
        let runs = listed["structuredContent"]["runs"].as_array().unwrap();
        let ids = runs.iter().map(|run| run["run"].as_str().unwrap());
        ids.map(str::to_owned).collect()
    }
}

#[test]
fn both_servers_refuse_the_same_at_one_door() {
    let place = team();
    let of_robot = token(&place, "robot", "bo", &["--agent"]);
    let serve = Served::of(&place);
    let planning = Served::planning(&place);
    let cookie = serve.invited(&place, "ada");
    for (server, token) in [(&serve, of_robot.as_str()), (&planning, canary::TOKEN)] {
        let (host, port) = (
            server.host.as_str(),
            server.host.rsplit(':').next().unwrap(),
        );
        let right = format!("Bearer {token}");
        let (foreign, other) = (format!("evil.example:{port}"), format!("{right}x"));
        let (twice, basic) = (format!("Bearer  {token}"), format!("Basic {token}"));
        let own = format!("http://{host}");
        let known = ("Host", host);
        let with = ("Authorization", right.as_str());
        let refused: [Refused<'_>; 12] = [
            (&[("Host", &foreign), with], 421, "misdirected"),
            (&[("Host", &foreign)], 421, "misdirected"),
            (&[known], 401, "not-signed-in"),
            (&[known, ("Authorization", "Bearer")], 401, "not-signed-in"),
            (&[known, ("Authorization", &other)], 401, "not-signed-in"),
            (&[known, ("Authorization", &twice)], 401, "not-signed-in"),
            (&[known, ("Authorization", &basic)], 401, "not-signed-in"),
            (&[known, with, with], 401, "not-signed-in"),
            (&[known, ("Cookie", &cookie)], 401, "not-signed-in"),
            (&[known, ("Cookie", &cookie), with], 400, "two-logins"),
            (&[known, with, ("Origin", "null")], 403, "cross-site"),
            (&[known, with, ("Origin", &own)], 403, "cross-site"),
        ];
        for (heads, status, problem) in refused {
            let (answer, _) = message(server, heads, "initialize", &hello());
            let got = (answer.status, answer.problem());
            assert_eq!(got, (status, problem.to_owned()), "{heads:?}");
            let asks = answer.heads.get("www-authenticate");
            assert_eq!(
                asks.map(String::as_str),
                (status == 401).then_some("Bearer")
            );
        }
        for line in ["GET /mcp", "DELETE /mcp", "OPTIONS /mcp"] {
            assert_eq!(server.send(line, &[known], "").status, 401, "{line}");
        }
        // The control: the same request, as it should be.
        let (answer, _) = message(server, &[known, with], "initialize", &hello());
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    // Where planning is all that is offered, a token of the workspace is none.
    let robot = format!("Bearer {of_robot}");
    let heads = [("Host", planning.host.as_str()), ("Authorization", &robot)];
    assert_eq!(
        message(&planning, &heads, "initialize", &hello()).0.status,
        401
    );
}

#[test]
fn a_client_plans_for_the_agent_of_its_token_and_sees_no_other_run() {
    let place = team();
    let ada = token(&place, "ada", "ada", &[]);
    let robot = token(&place, "robot", "bo", &["--agent"]);
    let server = Served::of(&place);
    let of_people = server.begin(&ada, &note("people"));
    let (by_ada, by_robot) = (Client::of(&server, &ada), Client::of(&server, &robot));
    let run = by_robot.submit("robot");
    assert_eq!(by_robot.runs(), [run.as_str()]);
    // A person who plans so does it as an agent: what comes of it is no more trusted.
    let other = by_ada.submit("ada");
    assert_eq!(by_ada.runs(), [other.as_str()]);
    for hidden in [&of_people, &other] {
        let status = by_robot.call("run_status", &json!({ "run": hidden }));
        assert_eq!(status["isError"], true, "{status}");
        assert!(
            status.to_string().contains("there is no such run"),
            "{status}"
        );
    }
    let status = by_robot.call("run_status", &json!({ "run": run }));
    assert_eq!(status["structuredContent"]["status"], "waiting_approval");
    // The run is one of the workspace: its people see it and say yes, and this process drives it.
    let card = server.card(&ada, &run);
    let yes = json!({ "kind": "approve", "card": card });
    let statements = format!("POST /v1/runs/{run}/statements");
    assert_eq!(
        server.ask(&robot, &statements, &yes).is(403).problem(),
        "not-allowed"
    );
    server.ask(&ada, &statements, &yes).is(200);
    let args = json!({ "run": run, "wait_seconds": 60 });
    let mut status = by_robot.call("run_status", &args);
    while status["structuredContent"]["status"] == "running" {
        status = by_robot.call("run_status", &args);
    }
    assert_eq!(
        status["structuredContent"]["status"], "succeeded",
        "{status}"
    );
    // A session is its token's alone.
    let list = |bearer: &str| by_robot.ask(bearer, "tools/list", &json!({})).0.status;
    assert_eq!(list(&by_ada.bearer), 404);
    assert_eq!(list(&by_robot.bearer), 200);
    // A token that ended opens nothing, in a session that it began before.
    place.run(&["token", "revoke", "robot"]).exits(0);
    assert_eq!(list(&by_robot.bearer), 401);
    assert_eq!(server.end(), Some(0));
}
