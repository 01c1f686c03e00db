//! The planning server over HTTP: who gets in, under which name, and that nothing more is there.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sim::canary;

use super::workplace::{PLAN, Ran, Workplace};

/// A server in a process of its own.
pub struct Door {
    child: Child,
    port: u16,
}

/// What came back: the status, the head and the body.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Door {
    pub fn of(place: &Workplace, more: &[&str]) -> Self {
        let token = format!("file:{}", place.path(canary::TOKEN_FILE).display());
        let mut args = vec!["mcp", "--http", "127.0.0.1:0", "--token", &token];
        args.extend(more);
        let mut child = place.command(&args).spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on http://127.0.0.1:");
        let port = url.unwrap().strip_suffix("/mcp").unwrap().parse().unwrap();
        Self { child, port }
    }

    /// One request on a connection of its own.
    fn send(&self, line: &str, heads: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let mut head = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in heads {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        // Why ignored: a server that refuses need not read on.
        let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        let text = String::from_utf8(text).unwrap();
        assert_eq!(canary::leaks(text.as_bytes()), [""; 0]);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        let status = head.split(' ').nth(1).unwrap_or_default();
        Answer {
            status: status.parse().unwrap_or_default(),
            head: head.to_lowercase(),
            body: body.to_owned(),
        }
    }

    /// An `initialize` with these heads beside those that are always needed.
    fn knock(&self, path: &str, heads: &[(&str, &str)]) -> Answer {
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "coder", "version": "1" },
        } });
        let all = [&[ACCEPT, TYPE], heads].concat();
        self.send(&format!("POST {path}"), &all, &hello.to_string())
    }

    /// The session that an `initialize` with the token gives.
    fn shake_hands(&self) -> String {
        let (host, token) = (self.host(), bearer());
        let known = [("Host", host.as_str()), ("Authorization", token.as_str())];
        let hello = self.knock("/mcp", &known);
        assert_eq!(hello.status, 200, "{}{}", hello.head, hello.body);
        let mut lines = hello.head.lines();
        let session = lines.find_map(|line| line.strip_prefix("mcp-session-id: "));
        session.unwrap().to_owned()
    }

    /// A request of a session.
    fn ask(&self, session: &str, method: &str, params: &Value) -> Answer {
        let (host, token) = (self.host(), bearer());
        let heads = [
            ACCEPT,
            TYPE,
            ("Host", host.as_str()),
            ("Authorization", token.as_str()),
            ("Mcp-Session-Id", session),
            ("MCP-Protocol-Version", "2025-11-25"),
        ];
        let mut asked = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        if !method.starts_with("notifications/") {
            asked["id"] = json!(2);
        }
        self.send("POST /mcp", &heads, &asked.to_string())
    }

    /// What clients are given.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.host())
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Ends it as a service manager does; gives the exit code and the log.
    pub fn end(mut self) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        let told = std::process::Command::new("kill").arg(&id).status();
        assert!(told.unwrap().success());
        let mut log = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut log).unwrap();
        (self.child.wait().unwrap().code(), log)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // Why ignored: mostly it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const ACCEPT: (&str, &str) = ("Accept", "application/json, text/event-stream");
const TYPE: (&str, &str) = ("Content-Type", "application/json");

fn bearer() -> String {
    format!("Bearer {}", canary::TOKEN)
}

/// The answer among the events of a stream.
fn message(body: &str) -> Value {
    let events = body.lines().filter_map(|line| line.strip_prefix("data:"));
    let mut found = events.filter_map(|data| serde_json::from_str::<Value>(data.trim()).ok());
    found
        .next_back()
        .unwrap_or_else(|| panic!("no message in {body}"))
}

#[test]
fn who_sends_the_token_plans_and_can_do_nothing_else() {
    let place = Workplace::new();
    let door = Door::of(&place, &[]);
    let session = door.shake_hands();
    let ask = |method: &str, params: Value| door.ask(&session, method, &params);
    assert_eq!(ask("notifications/initialized", json!({})).status, 202);
    let listed = message(&ask("tools/list", json!({})).body);
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    let all = "list_tools check_plan submit_plan run_status list_runs";
    assert_eq!(names.join(" "), all);
    let call = |tool: &str, args: Value| {
        let answer = ask("tools/call", json!({ "name": tool, "arguments": args }));
        message(&answer.body)["result"].clone()
    };
    for other in ["approve", "answer", "settle", "notes.write"] {
        assert_eq!(call(other, json!({}))["isError"], true, "{other}");
    }
    let run = call("submit_plan", json!({ "plan": PLAN, "wait_seconds": 60 }));
    let run = &run["structuredContent"];
    assert_eq!(run["status"], "succeeded", "{run}");
    let trace = place.run(&["trace", run["run"].as_str().unwrap()]);
    assert!(trace.stdout.contains("planner: client coder"), "{trace}");
    assert_eq!(door.end().0, Some(0));
}

#[test]
fn without_the_token_nobody_is_heard() {
    let place = Workplace::new();
    let door = Door::of(&place, &[]);
    let (host, token) = (door.host(), canary::TOKEN);
    let most = token.get(..token.len() - 1).unwrap();
    for value in [
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        format!("Bearer {most}"),
        format!("Bearer {token}x"),
        format!("Bearer  {token}"),
        format!("Basic {token}"),
        token.to_owned(),
        format!("Bearer {}", token.to_uppercase()),
    ] {
        let heads = [("Host", host.as_str()), ("Authorization", value.as_str())];
        let answer = door.knock("/mcp", &heads);
        assert_eq!(answer.status, 401, "{value}");
        assert!(answer.head.contains("www-authenticate: bearer"), "{value}");
        // Nothing of the workspace, and not which version answers.
        let said: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(said["type"], "urn:provost:problem:not-signed-in");
        let fields = said.as_object().unwrap().keys().map(String::as_str);
        let fields: Vec<_> = fields.filter(|name| *name != "hint").collect();
        assert_eq!(fields, ["type", "title", "status", "detail"]);
    }
    let (once, host) = (bearer(), ("Host", host.as_str()));
    let right = ("Authorization", once.as_str());
    let twice = [host, ("Authorization", "Bearer no"), right];
    assert_eq!(door.knock("/mcp", &twice).status, 401);
    let in_the_address = format!("/mcp?token={token}");
    assert_eq!(door.knock(&in_the_address, &[host]).status, 401);
    for line in ["GET /mcp", "DELETE /mcp", "OPTIONS /mcp", "GET /"] {
        assert_eq!(door.send(line, &[host], "").status, 401, "{line}");
    }
    // The controls: with it one is heard, and only where MCP is spoken.
    assert_eq!(door.knock("/mcp", &[host, right]).status, 200);
    assert_eq!(door.knock("/", &[host, right]).status, 404);
    assert_eq!(door.end().0, Some(0));
}

/// A page in a browser that got hold of the token, or of a name that points here, is refused.
#[test]
fn a_foreign_name_or_origin_is_refused() {
    let place = Workplace::new();
    let door = Door::of(&place, &["--host", "planner.example"]);
    let (port, token) = (door.port, bearer());
    let known = ("Authorization", token.as_str());
    let named = |host: &str, origin: Option<&str>| {
        let mut heads = vec![known, ("Host", host)];
        heads.extend(origin.map(|origin| ("Origin", origin)));
        door.knock("/mcp", &heads).status
    };
    for host in ["localhost", "127.0.0.1", "[::1]", "planner.example"] {
        assert_eq!(named(&format!("{host}:{port}"), None), 200, "{host}");
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "10.0.0.1",
        "example",
    ] {
        assert_eq!(named(&format!("{host}:{port}"), None), 421, "{host}");
    }
    let own = format!("http://localhost:{port}");
    for origin in [
        "http://evil.example",
        "null",
        "http://planner.example",
        &own,
    ] {
        assert_eq!(named("localhost", Some(origin)), 403, "{origin}");
    }
    assert_eq!(door.end().0, Some(0));
}

#[test]
fn clients_and_what_they_send_are_bounded() {
    let place = Workplace::new();
    let door = Door::of(&place, &[]);
    let (host, token) = (door.host(), bearer());
    let known = [("Host", host.as_str()), ("Authorization", token.as_str())];
    let long = format!("\"{}\"", "x".repeat(9 * 1024 * 1024));
    let all = [&[ACCEPT, TYPE], &known[..]].concat();
    assert_eq!(door.send("POST /mcp", &all, &long).status, 413);
    assert_eq!(door.end().0, Some(0));
}

/// Who holds the token and shakes hands without end forgets their own sessions, and no other.
#[test]
fn handshakes_without_end_lock_nobody_out() {
    let place = Workplace::new();
    let door = Door::of(&place, &[]);
    let list = |session: &str| door.ask(session, "tools/list", &json!({})).status;
    let works = door.shake_hands();
    assert_eq!(
        door.ask(&works, "notifications/initialized", &json!({}))
            .status,
        202
    );
    assert_eq!((list(&works), list(&works)), (200, 200));
    let hands: Vec<String> = (0..70).map(|_| door.shake_hands()).collect();
    assert_eq!(list(&works), 200, "who works is remembered");
    assert_eq!(list(hands.last().unwrap()), 200, "and so is who came last");
    // The control: there is an end to what is remembered.
    assert_eq!(list(&hands[0]), 404);
    assert_eq!(door.end().0, Some(0));
}

#[test]
fn connections_that_say_nothing_keep_nobody_out() {
    let place = Workplace::new();
    let door = Door::of(&place, &[]);
    let silent = || TcpStream::connect(("127.0.0.1", door.port)).unwrap();
    let mut held: Vec<TcpStream> = (0..80).map(|_| silent()).collect();
    let begun = Instant::now();
    door.shake_hands();
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(10), "heard only after {took:?}");
    // The control: they are bounded, too. The one that was silent longest is sent away.
    held.extend((0..60).map(|_| silent()));
    let first = &mut held[0];
    first
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    assert_eq!(first.read(&mut [0]).unwrap(), 0);
    door.shake_hands();
    assert_eq!(door.end().0, Some(0));
}

#[test]
fn arguments_past_their_bounds_are_refused_and_nothing_stops() {
    let place = Workplace::new();
    let door = Door::of(&place, &[]);
    let session = door.shake_hands();
    let call = |tool: &str, args: Value| {
        let params = json!({ "name": tool, "arguments": args });
        message(&door.ask(&session, "tools/call", &params).body)["result"].clone()
    };
    for (tool, args, at) in [
        (
            "submit_plan",
            json!({ "plan": PLAN, "wait_seconds": u64::MAX }),
            "/wait_seconds",
        ),
        (
            "submit_plan",
            json!({ "plan": PLAN, "wait_seconds": 301 }),
            "/wait_seconds",
        ),
        (
            "run_status",
            json!({ "run": "a", "wait_seconds": u64::MAX }),
            "/wait_seconds",
        ),
        ("run_status", json!({ "run": "abcdefghijklm" }), "/run"),
        ("list_runs", json!({ "limit": 0 }), "/limit"),
        ("list_tools", json!({ "other": 1 }), "other"),
    ] {
        let answer = call(tool, args);
        let said = answer["structuredContent"]["error"].to_string();
        assert!(
            answer["isError"] == true && said.contains(at),
            "{tool}: {answer}"
        );
    }
    assert!(
        place.json(&["runs", "--json"])["runs"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    // The control: within them a run begins, and the server is the same.
    let run = call("submit_plan", json!({ "plan": PLAN, "wait_seconds": 300 }));
    assert_eq!(run["structuredContent"]["status"], "succeeded", "{run}");
    let (code, log) = door.end();
    assert!(code == Some(0) && !log.contains("panic"), "{log}");
}

/// What a command came to that must not serve. Why not only waited for: one that serves never ends.
fn ended(place: &Workplace, args: &[&str]) -> Ran {
    let mut child = place.command(args).spawn().unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ran::new(&child.wait_with_output().unwrap(), &place.path(""))
}

#[test]
fn a_token_is_named_and_never_written() {
    let place = Workplace::new();
    place.write("short", "secret");
    let short = format!("file:{}", place.path("short").display());
    let to_all = "0.0.0.0:0";
    let here = "127.0.0.1:0";
    let token = format!("file:{}", place.path(canary::TOKEN_FILE).display());
    for (args, said) in [
        (vec!["--http", here], "--token"),
        (vec!["--token", &token], "--http"),
        (
            vec!["--http", here, "--token", canary::TOKEN],
            "named by `env:NAME` or `file:PATH`, never written out",
        ),
        (
            vec!["--http", here, "--token", "env:NOBODY_SET_IT"],
            "`env:NOBODY_SET_IT` is not set",
        ),
        (vec!["--http", here, "--token", &short], "bytes"),
        (
            vec!["--http", to_all, "--token", &token],
            "can be reached from other machines",
        ),
    ] {
        let ran = ended(&place, &[&["mcp"], args.as_slice()].concat()).exits(2);
        assert!(ran.stderr.contains(said), "{said}\n{ran}");
    }
}
