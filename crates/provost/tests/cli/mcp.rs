//! Somebody else's agent over MCP: it lists, checks, submits and watches, and can do nothing else.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::interrupt::slow;
use super::workplace::{PLAN, Workplace};

/// A plan that writes what its author chose.
const WRITES: &str = r#"schema: provost/plan/v1
goal: { text: Write pay eve into orders.txt }
steps:
  - id: count
    tool: shop.orders
    args: { customer: "" }
  - id: note
    tool: notes.write
    args: { path: orders.txt, text: pay eve }
    accept: ["${ output.bytes > 0 }"]
success:
  - { for: goal, check: '${ steps.note.status == "succeeded" && steps.count.status == "succeeded" }' }
answer:
  - { text: The note is written., cites: [note] }
"#;

const GOALLESS: &str = r#"schema: provost/plan/v1
steps:
  - { id: count, tool: shop.orders, args: { customer: "" } }
answer: "${ steps.count.output.row.total } orders."
"#;

/// A client as the wire has it, without the library that the server uses.
struct Client {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    sent: u64,
    progress: Vec<Value>,
}

impl Client {
    fn of(place: &Workplace) -> Self {
        Self::named(place, "coder")
    }

    fn named(place: &Workplace, name: &str) -> Self {
        let mut command = place.command(&["mcp"]);
        command.stdin(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut client = Self {
            to: child.stdin.take(),
            from: BufReader::new(child.stdout.take().unwrap()),
            child,
            sent: 0,
            progress: Vec::new(),
        };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": name, "version": "1" },
        });
        let server = client.ask("initialize", &hello);
        assert_eq!(server["result"]["serverInfo"]["name"], "provost");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Value) {
        let to = self.to.as_mut().unwrap();
        writeln!(to, "{message}").unwrap();
        to.flush().unwrap();
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        loop {
            if let Some(answer) = self.heard(id) {
                return answer;
            }
        }
    }

    /// Sends a request; gives its id.
    fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.sent += 1;
        let id = self.sent;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The next message: the answer to request `id`, or `None` after a word of progress.
    fn heard(&mut self, id: u64) -> Option<Value> {
        let mut line = String::new();
        assert!(
            self.from.read_line(&mut line).unwrap() > 0,
            "the server ended"
        );
        assert_eq!(sim::canary::leaks(line.as_bytes()), [""; 0]);
        let message: Value = serde_json::from_str(&line).unwrap();
        if message["id"] == id {
            return Some(message);
        }
        assert_eq!(message["method"], "notifications/progress", "{message}");
        self.progress.push(message["params"].clone());
        None
    }

    /// What a tool gives: an `Err` if it says that it failed.
    fn call(&mut self, tool: &str, args: &Value) -> Result<Value, Value> {
        let meta = json!({ "progressToken": "t" });
        let params = json!({ "name": tool, "arguments": args, "_meta": meta });
        let answer = self.ask("tools/call", &params);
        let result = &answer["result"];
        let value = result["structuredContent"].clone();
        // Why: a client that reads text alone must see the same.
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), value);
        match result["isError"].as_bool() {
            Some(true) => Err(value),
            _ => Ok(value),
        }
    }

    fn submit(&mut self, plan: &str) -> (String, Value) {
        let args = json!({ "plan": plan, "wait_seconds": 60 });
        let run = self.call("submit_plan", &args).unwrap();
        (run["run"].as_str().unwrap().to_owned(), run)
    }

    /// The run's status once it is no more `status`.
    fn after(&mut self, run: &str, status: &str) -> Value {
        loop {
            let args = json!({ "run": run, "wait_seconds": 60 });
            let now = self.call("run_status", &args).unwrap();
            if now["status"] != status && now["status"] != "running" {
                return now;
            }
        }
    }

    /// Goes away; gives how the server ended, and its log.
    fn leave(mut self) -> (Option<i32>, String) {
        drop(self.to.take());
        let output = self.child.wait_with_output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), log)
    }
}

#[test]
fn the_list_is_closed_and_nothing_in_it_acts() {
    let place = Workplace::new();
    let mut client = Client::of(&place);
    let listed = client.ask("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "list_tools",
            "check_plan",
            "submit_plan",
            "run_status",
            "list_runs"
        ]
    );
    for tool in tools {
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
    }
    for other in ["approve", "answer", "settle", "notes.write", "tools_call"] {
        let refused = client.call(other, &json!({})).unwrap_err();
        assert_eq!(refused["error"], format!("there is no tool `{other}`"));
    }
    assert_eq!(client.leave().0, Some(0));
    assert!(place.run(&["runs"]).stdout.is_empty());
}

#[test]
fn operations_are_listed_as_planners_see_them_and_searched() {
    let place = Workplace::new();
    let mut client = Client::of(&place);
    let mut names = |args: Value| {
        let page = client.call("list_tools", &args).unwrap();
        let tools = page["tools"].as_array().unwrap().clone();
        let names: Vec<_> = tools.iter().map(|t| t["name"].clone()).collect();
        (json!(names), page["total"].clone(), page["after"].clone())
    };
    let all = json!(["notes.read", "notes.write", "shop.orders"]);
    assert_eq!(names(json!({})), (all, json!(3), Value::Null));
    let found = names(json!({ "query": "NOTES write" }));
    let ranked = json!(["notes.write", "notes.read"]);
    assert_eq!(found, (ranked, json!(2), Value::Null));
    let after = names(json!({ "query": "NOTES write", "after": "notes.write" }));
    assert_eq!(after, (json!(["notes.read"]), json!(2), Value::Null));
    let same = names(json!({ "query": "purchases" }));
    assert_eq!(same, (json!(["shop.orders"]), json!(1), Value::Null));
    let first = names(json!({ "limit": 2 }));
    let two = json!(["notes.read", "notes.write"]);
    assert_eq!(first, (two, json!(3), json!("notes.write")));
    let rest = names(json!({ "limit": 2, "after": "notes.write" }));
    assert_eq!(rest, (json!(["shop.orders"]), json!(3), Value::Null));
}

#[test]
fn the_language_can_be_read() {
    let place = Workplace::new();
    let mut client = Client::of(&place);
    let listed = client.ask("resources/list", &json!({}));
    for page in listed["result"]["resources"].as_array().unwrap() {
        let read = client.ask("resources/read", &json!({ "uri": page["uri"] }));
        let text = read["result"]["contents"][0]["text"].as_str().unwrap();
        assert!(text.contains("provost/plan/v1"), "{page}");
    }
    let none = client.ask("resources/read", &json!({ "uri": "file:///etc/passwd" }));
    assert!(none.get("result").is_none(), "{none}");
}

#[test]
fn a_check_says_what_is_wrong_and_begins_nothing() {
    let place = Workplace::new();
    let mut client = Client::of(&place);
    let good = client.call("check_plan", &json!({ "plan": PLAN })).unwrap();
    assert_eq!(good["ok"], true);
    let wrong = PLAN.replace("output.row.total", "output.row.totl");
    let found = client
        .call("check_plan", &json!({ "plan": wrong }))
        .unwrap();
    assert_eq!(found["ok"], false);
    let findings = found["findings"].as_array().unwrap();
    let finding = findings.iter().find(|f| f["severity"] == "error").unwrap();
    assert_eq!(finding["code"], "T204", "{found}");
    assert_eq!(finding["place"]["start"]["line"], 12, "{found}");
    let open = "subgoal: Find out more\n    tools: [shop.orders]\n    effect_max: read\n    \
                steps_max: 2\n    output: { type: string }\n";
    let open = PLAN.replace(
        "success:\n  - {",
        &format!("  - id: find\n    {open}success:\n  - {{"),
    );
    let unrefined = client.call("check_plan", &json!({ "plan": open })).unwrap();
    assert!(unrefined.to_string().contains("R116"), "{unrefined}");
    let refused = client.call("submit_plan", &json!({ "plan": wrong }));
    assert_eq!(refused.unwrap_err()["findings"], found["findings"]);
    for (args, error) in [
        (json!({}), "missing field `plan`"),
        (json!({ "plan": 3 }), "`/plan`"),
        (
            json!({ "plan": PLAN, "approve": true }),
            "unknown field `approve`",
        ),
        (json!({ "plan": GOALLESS }), "names no goal"),
    ] {
        let refused = client.call("submit_plan", &args).unwrap_err();
        assert!(refused.to_string().contains(error), "{refused}");
    }
    assert!(place.run(&["runs"]).stdout.is_empty());
}

#[test]
fn a_plan_of_plain_reads_runs_and_text_is_shown_by_name() {
    let place = Workplace::new();
    let mut client = Client::of(&place);
    let (_, run) = client.submit(PLAN);
    assert_eq!(run["status"], "succeeded", "{run}");
    assert_eq!(
        run["observations"]["count"]["output"]["row"],
        json!({
            "total": 3,
            "latest": { "ref": "steps.count.output.row.latest", "chars": 5 },
        })
    );
    let answer = run["ended"]["answer"][0]["spans"].as_array().unwrap();
    let answer: String = answer.iter().map(|s| s["text"].as_str().unwrap()).collect();
    assert_eq!(answer, "3 orders.");
    let again = client.submit(PLAN).1;
    assert_eq!(
        again["status"], "succeeded",
        "a finished run hinders nobody"
    );
}

#[test]
fn a_write_waits_for_a_person_who_sees_that_its_values_are_not_trusted() {
    let place = Workplace::new();
    let mut client = Client::of(&place);
    let (run, shown) = client.submit(WRITES);
    assert_eq!(shown["status"], "waiting_approval", "{shown}");
    assert_eq!(shown["waits_for"]["step"], "note");
    // Why: whoever has the digest can type the yes.
    assert!(!shown.to_string().contains("sha256:"), "{shown}");
    let card = place.run(&["approve", &run]).exits(2);
    let arguments: Vec<&str> = card
        .stderr
        .lines()
        .filter(|line| line.contains("argument") || line.contains("for ada"))
        .collect();
    assert_snapshot!(arguments.join("\n"), @r#"
    argument   path: "orders.txt"  (untrusted text)
    argument   text: "pay eve"  (untrusted text)
    planned by client coder, for ada
    "#);
    let same = client
        .call("submit_plan", &json!({ "plan": WRITES }))
        .unwrap_err();
    assert!(same.to_string().contains("the same goal"), "{same}");
    assert!(!place.path("notes/orders.txt").exists());

    let (run, card) = place.card();
    place.run(&["approve", &format!("{run}@{card}")]).exits(0);
    let ended = client.after(&run, "waiting_approval");
    assert_eq!(ended["status"], "succeeded", "{ended}");
    let note = std::fs::read_to_string(place.path("notes/orders.txt")).unwrap();
    assert_eq!(note, "pay eve");
}

/// The control is the same plan of a person: each value is theirs.
#[test]
fn a_yes_to_goal_values_only_refuses_what_a_client_brought() {
    let place = Workplace::new();
    let mut client = Client::of(&place);
    client.submit(WRITES);
    let (run, card) = place.card();
    let yes = format!("{run}@{card}");
    let approve = ["approve", &yes, "--only-goal-values"];
    let ran = place.run(&approve).exits(2);
    let said = "values come from no goal, answer or trusted output: ";
    assert!(ran.stderr.contains(said), "{ran}");
    assert!(!place.path("notes/orders.txt").exists());
    drop(client.leave());
    let place = Workplace::new();
    place.write("plan.yaml", WRITES);
    place.run(&["apply", "plan.yaml"]).exits(3);
    let (run, card) = place.card();
    let yes = format!("{run}@{card}");
    place.run(&["approve", &yes, "--only-goal-values"]).exits(0);
    assert!(place.path("notes/orders.txt").exists());
}

/// A call that takes longer than anybody waits is left to whoever takes its run up.
#[test]
fn a_server_that_is_told_to_end_does_so_though_a_call_hangs() {
    let place = slow("4000000000");
    let mut client = Client::of(&place);
    let begun = client
        .call("submit_plan", &json!({ "plan": PLAN }))
        .unwrap();
    let run = begun["run"].as_str().unwrap().to_owned();
    super::interrupt::until_it_runs(&place);
    let told = Instant::now();
    super::work::signal(&client.child, "-TERM");
    let ended = client.child.wait().unwrap();
    assert!(
        told.elapsed() < Duration::from_secs(20),
        "{:?}",
        told.elapsed()
    );
    assert_eq!(ended.code(), Some(0));
    assert_eq!(place.status(), "running");
    place.run(&["cancel", &run]).exits(0);
    assert_eq!(place.status(), "cancelled");
}

#[test]
fn the_same_plan_of_a_person_is_trusted() {
    let place = Workplace::new();
    place.write("plan.yaml", WRITES);
    place.run(&["apply", "plan.yaml"]).exits(3);
    let (run, _) = place.card();
    let card = place.run(&["approve", &run]).exits(2);
    assert!(!card.stderr.contains("untrusted"), "{card}");
}

#[test]
fn a_recorded_yes_is_driven_by_the_server_and_progress_is_told() {
    let place = Workplace::new();
    let mut client = Client::of(&place);
    let (run, _) = client.submit(WRITES);
    let (_, card) = place.card();
    let yes = format!("{run}@{card}");
    client.progress.clear();
    let watch = json!({
        "name": "run_status",
        "arguments": { "run": run, "wait_seconds": 60 },
        "_meta": { "progressToken": "t" },
    });
    let watching = client.request("tools/call", &watch);
    // Why before the yes: whoever begins to watch a run that has ended is told its end alone.
    assert_eq!(client.heard(watching), None);
    place.run(&["approve", &yes, "--record"]).exits(0);
    while client.heard(watching).is_none() {}
    let ended = client.after(&run, "waiting_approval");
    assert_eq!(ended["status"], "succeeded", "{ended}");
    let told = &client.progress[0];
    assert_eq!(told["progressToken"], "t", "{told}");
    assert_eq!(told["message"], "waiting_approval", "{told}");
    assert_eq!(told["total"], 2.0, "{told}");
}

#[test]
fn a_no_ends_it() {
    let place = Workplace::new();
    let mut client = Client::of(&place);
    let (run, _) = client.submit(WRITES);
    let (_, card) = place.card();
    let no = format!("{run}@{card}");
    place
        .run(&["reject", &no, "--reason", "not to eve"])
        .exits(0);
    let ended = client.after(&run, "waiting_approval");
    assert_eq!(ended["status"], "rejected", "{ended}");
    assert!(!place.path("notes/orders.txt").exists());
}

#[test]
fn policy_may_forbid_agents_what_it_permits_their_users() {
    let place = Workplace::new();
    place.write(
        "policies/agents.cedar",
        "@id(\"no-agents\")\nforbid (principal is Agent, action == Action::\"notes.write\", \
         resource);\n",
    );
    let mut client = Client::of(&place);
    let refused = client.call("submit_plan", &json!({ "plan": WRITES }));
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("no-agents"), "{refused}");
    place.write("plan.yaml", WRITES);
    place.run(&["apply", "plan.yaml"]).exits(3);
}

#[test]
fn only_the_runs_of_clients_are_driven() {
    let place = Workplace::new();
    let (person, card) = place.waiting();
    let yes = format!("{person}@{card}");
    place.run(&["approve", &yes, "--record"]).exits(0);
    let mut client = Client::of(&place);
    client.submit(PLAN);
    let state = client
        .call("run_status", &json!({ "run": person }))
        .unwrap();
    // Why running: the yes is recorded, and nobody goes on with it.
    assert_eq!(state["steps"]["note"]["status"], "ready", "{state}");
    assert!(!place.path("notes/orders.txt").exists());
    let open = client
        .call("list_runs", &json!({ "unfinished": true }))
        .unwrap();
    assert_eq!(open["runs"].as_array().unwrap().len(), 1, "{open}");
}

#[test]
fn what_a_client_leaves_behind_is_taken_up_by_the_next_server() {
    let place = slow("4000000");
    let mut client = Client::named(&place, "first \u{202e}one");
    let begun = client
        .call("submit_plan", &json!({ "plan": WRITES }))
        .unwrap();
    let run = begun["run"].as_str().unwrap().to_owned();
    super::interrupt::until_it_runs(&place);
    let (code, log) = client.leave();
    assert_eq!(code, Some(0), "{log}");
    let trace = place.run(&["trace", &run]);
    assert!(trace.stdout.contains("planner: client firstone"), "{trace}");
    let mut client = Client::of(&place);
    let now = client.after(&run, "planning");
    assert_eq!(now["status"], "waiting_approval", "{now}");
}

#[test]
fn a_line_without_end_ends_the_conversation() {
    let place = Workplace::new();
    let mut client = Client::of(&place);
    let long = "x".repeat(9 * 1024 * 1024);
    // Why ignored: the server closes its end while this is written.
    let _ = client.to.as_mut().unwrap().write_all(long.as_bytes());
    let (code, log) = client.leave();
    assert_eq!(code, Some(0));
    assert!(log.contains("a line that is too long"), "{log}");
}
