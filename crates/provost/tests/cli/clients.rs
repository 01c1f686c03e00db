//! MCP clients that others wrote, against the planning server: `scripts/full clients` installs them.
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use sim::canary::TOKEN;

use super::mcp_http::Door;
use super::workplace::Workplace;

/// A plan that writes, and so waits for a person.
const WRITES: &str = r#"schema: provost/plan/v1
goal: { text: Write hello into a note }
steps:
  - id: note
    tool: notes.write
    args: { path: hello.txt, text: hello }
    accept: ["${ output.bytes > 0 }"]
success:
  - { for: goal, check: '${ steps.note.status == "succeeded" }' }
answer:
  - { text: The note is written., cites: [note] }
"#;

/// Where the clients were installed.
fn installed() -> PathBuf {
    // Why no default: what is not installed fails.
    std::env::var_os("PROVOST_CLIENTS").unwrap().into()
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}\n{log}");
    text
}

/// What the Python client does at the server that it starts, or at the one behind a door.
fn the_python_client_follows(door: Option<(&Door, &Workplace)>) {
    let own = Workplace::new();
    let place = door.map_or(&own, |(_, place)| place);
    place.write("plan.yaml", WRITES);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/follow.py");
    let mut command = Command::new(installed().join("venv/bin/python"));
    command.arg(script).arg(env!("CARGO_BIN_EXE_provost"));
    command.arg(place.path("")).arg(place.path("plan.yaml"));
    if let Some((door, _)) = door {
        command.arg(door.url()).env("MCP_TOKEN", TOKEN);
    }
    let text = output(&mut command);
    print!("python client: {text}");
    let facts: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(
        facts,
        [
            "tools list_tools check_plan submit_plan run_status list_runs",
            "wrong False ['T204']",
            "right True",
            "submitted waiting_approval note",
            "ended succeeded",
        ]
    );
    let note = std::fs::read_to_string(place.path("notes/hello.txt")).unwrap();
    assert_eq!(note, "hello");
}

#[test]
#[ignore = "needs the Python client: scripts/full clients"]
fn the_python_client_checks_submits_and_follows() {
    the_python_client_follows(None);
}

#[test]
#[ignore = "needs the Python client: scripts/full clients"]
fn the_python_client_does_the_same_over_http() {
    let place = Workplace::new();
    let door = Door::of(&place, &[]);
    the_python_client_follows(Some((&door, &place)));
    assert_eq!(door.end().0, Some(0));
}

/// What the inspector's command line gets out of a tool of the server that `target` names.
fn inspected(target: &[String], tool: &str, args: &[&str]) -> Value {
    let mut command = Command::new(installed().join("node_modules/.bin/mcp-inspector"));
    command.arg("--cli").args(target);
    command.args(["--method", "tools/call", "--tool-name", tool]);
    for arg in args {
        command.args(["--tool-arg", arg]);
    }
    let answer: Value = serde_json::from_str(&output(&mut command)).unwrap();
    answer["structuredContent"].clone()
}

fn the_inspector_follows(place: &Workplace, target: &[String]) {
    let call = |tool: &str, args: &[&str]| inspected(target, tool, args);
    let plan = format!("plan={WRITES}");
    assert_eq!(call("check_plan", &[&plan])["ok"], true);
    let run = call("submit_plan", &[&plan, "wait_seconds=60"]);
    assert_eq!(run["status"], "waiting_approval", "{run}");
    let (id, card) = place.card();
    place
        .run(&["approve", &format!("{id}@{card}"), "--record"])
        .exits(0);
    // Why a word alone: the server that begins now takes the run up, and the inspector waits for it.
    let id = format!("run={id}");
    let mut now = call("run_status", &[&id, "wait_seconds=60"]);
    while now["status"] == "running" || now["status"] == "waiting_approval" {
        now = call("run_status", &[&id, "wait_seconds=60"]);
    }
    assert_eq!(now["status"], "succeeded", "{now}");
    println!("inspector: checked, submitted, followed to its end");
}

#[test]
#[ignore = "needs the inspector: scripts/full clients"]
fn the_inspector_checks_submits_and_follows() {
    let place = Workplace::new();
    let workspace = place.path("").to_str().unwrap().to_owned();
    let server = [env!("CARGO_BIN_EXE_provost"), "-C", &workspace, "mcp"];
    the_inspector_follows(&place, &server.map(str::to_owned));
}

#[test]
#[ignore = "needs the inspector: scripts/full clients"]
fn the_inspector_does_the_same_over_http() {
    let place = Workplace::new();
    let door = Door::of(&place, &[]);
    let token = format!("Authorization: Bearer {TOKEN}");
    let target = [door.url(), "--transport".to_owned(), "http".to_owned()];
    let target = [&target[..], &["--header".to_owned(), token]].concat();
    the_inspector_follows(&place, &target);
    assert_eq!(door.end().0, Some(0));
}
