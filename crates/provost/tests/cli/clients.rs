//! MCP clients that others wrote, against the planning server: `scripts/full clients` installs them.
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

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

#[test]
#[ignore = "needs the Python client: scripts/full clients"]
fn the_python_client_checks_submits_and_follows() {
    let place = Workplace::new();
    place.write("plan.yaml", WRITES);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/follow.py");
    let mut command = Command::new(installed().join("venv/bin/python"));
    command.arg(script).arg(env!("CARGO_BIN_EXE_provost"));
    command.arg(place.path("")).arg(place.path("plan.yaml"));
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
#[ignore = "needs the inspector: scripts/full clients"]
fn the_inspector_checks_submits_and_follows() {
    let place = Workplace::new();
    let inspector = installed().join("node_modules/.bin/mcp-inspector");
    let call = |tool: &str, args: &[&str]| -> Value {
        let mut command = Command::new(&inspector);
        command.args(["--cli", env!("CARGO_BIN_EXE_provost"), "-C"]);
        command.arg(place.path("")).args(["mcp", "--method"]);
        command.args(["tools/call", "--tool-name", tool]);
        for arg in args {
            command.args(["--tool-arg", arg]);
        }
        let answer: Value = serde_json::from_str(&output(&mut command)).unwrap();
        answer["structuredContent"].clone()
    };
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
