//! Who may answer, settle, amend, stop and resume, by the policies of a workspace of several people.

use std::io::Read as _;
use std::net::TcpListener;
use std::sync::mpsc;

use insta::assert_snapshot;

use super::workplace::{Ran, Workplace};

const OPERATORS: &str = r#"@id("operators-speak")
permit (principal in Group::"operators", action in [Action::"answer", Action::"settle",
    Action::"amend", Action::"stop", Action::"resume"], resource);
"#;

const PEOPLE: &str = r#"{ "users": { "ada": {}, "bo": {}, "olga": { "groups": ["operators"] } } }"#;

/// A workspace of several people, in which operators alone speak to runs; `ada` asks.
fn several() -> Workplace {
    let place = Workplace::new();
    std::fs::remove_file(place.path("policies/solo.cedar")).unwrap();
    std::fs::remove_file(place.path("policies/statements.cedar")).unwrap();
    place.write("policies/operators.cedar", OPERATORS);
    place.write("policies/entities.json", PEOPLE);
    place
}

/// The same command as somebody else.
fn by(place: &Workplace, who: &str, args: &[&str]) -> Ran {
    place.edit(
        "provost.toml",
        "user = \"ada\"",
        &format!("user = \"{who}\""),
    );
    let ran = place.run(args);
    place.edit(
        "provost.toml",
        &format!("user = \"{who}\""),
        "user = \"ada\"",
    );
    ran
}

/// Who is listed and lacks the right is refused with the action and the policy, a stranger as one,
/// and whoever has the right is heard.
fn judged(place: &Workplace, action: &str, args: &[&str], heard: i32) {
    let stops = || {
        let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
        let sql = "select (select count(*) from stops), (select count(*) from events)";
        let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, u64>(0)?, row.get::<_, u64>(1)?));
        journal.query_row(sql, [], row).unwrap()
    };
    let before = stops();
    let refused = by(place, "bo", args).exits(2);
    let why = format!("`bo` may not {action}: policy lets only others (operators-speak)");
    assert!(refused.stderr.contains(&why), "{args:?} {refused}");
    let refused = by(place, "mallory", args).exits(2);
    let why = format!("`mallory` may not {action}: `mallory` is not listed");
    assert!(refused.stderr.contains(&why), "{args:?} {refused}");
    assert_eq!(stops(), before, "{args:?}: a refusal leaves nothing behind");
    by(place, "olga", args).exits(heard);
}

/// A run of ada's that waits for an answer, and the digits of its question.
fn asking(place: &Workplace) -> (String, String) {
    place.run(&["run", "Ask whose orders count"]).exits(3);
    place.card()
}

#[test]
fn who_may_not_answer_is_refused_by_name_of_the_policy() {
    let place = several();
    let (run, digits) = asking(&place);
    judged(
        &place,
        "answer",
        &["answer", &format!("{run}@{digits}"), "ada"],
        0,
    );
    assert_eq!(place.status(), "succeeded");
}

#[test]
fn who_may_not_amend_is_refused_by_name_of_the_policy() {
    let place = several();
    let (run, _) = asking(&place);
    let amend = [
        "amend",
        &run,
        "--goal",
        "Count the orders of ada",
        "--reason",
        "known",
        "--record",
    ];
    judged(&place, "amend", &amend, 0);
    let undo = ["cancel", &run, "--undo"];
    judged(&place, "amend", &undo, 0);
}

#[test]
fn who_may_not_stop_or_resume_is_refused_by_name_of_the_policy() {
    let place = several();
    let (run, _) = asking(&place);
    judged(&place, "stop", &["pause", &run, "--reason", "wait"], 0);
    assert_eq!(place.status(), "paused");
    judged(&place, "resume", &["resume", &run, "--record"], 0);
    assert_eq!(place.status(), "waiting_answer");
    judged(&place, "stop", &["cancel", &run], 0);
    assert_eq!(place.status(), "cancelled");
}

const RING: &str = r#"
schema: provost/plan/v1
goal: { text: Ring the bell }
steps:
  - { id: ring, tool: bell.ring, args: { tone: low } }
success:
  - { for: goal, check: '${ steps.ring.status == "succeeded" }' }
answer: "It rang."
"#;

/// Adds a bell that takes a request, says so, and hangs up once it is told to.
fn with_bell(place: &Workplace) -> (mpsc::Receiver<()>, mpsc::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let ((rang, rings), (hang_up, told)) = (mpsc::channel(), mpsc::channel::<()>());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut bytes = [0; 512];
            let _ = stream.as_ref().unwrap().read(&mut bytes).unwrap();
            let _ = rang.send(());
            let _ = told.recv();
        }
    });
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let bell = format!(
        r#"{config}
[tools.bell]
kind = "http"
base_url = "http://{address}"
[tools.bell.ops.ring]
request = {{ method = "POST", path = "/ring", body = {{ tone = "${{ args.tone }}" }} }}
input = {{ type = "object", properties = {{ tone = {{ type = "string" }} }}, required = ["tone"] }}
output = {{ type = "object", properties = {{ rung = {{ type = "boolean" }} }}, required = ["rung"] }}
effect = "write"
"#
    );
    place.write("provost.toml", bell);
    place.write("ring.yaml", RING);
    (rings, hang_up)
}

#[test]
fn who_may_not_settle_is_refused_by_name_of_the_policy() {
    let place = several();
    let (_rings, hang_up) = with_bell(&place);
    hang_up.send(()).unwrap();
    place.run(&["apply", "ring.yaml"]).exits(4);
    let inbox = place.run(&["inbox"]).exits(0).raw_stdout;
    let at = inbox.find("settle ").unwrap();
    let words: Vec<&str> = inbox[at..].split_whitespace().take(3).collect();
    let settle = [
        words[0],
        words[1],
        words[2],
        "--happened",
        "--reason",
        "I heard it",
    ];
    judged(&place, "settle", &settle, 0);
    assert_eq!(place.status(), "succeeded");
}

/// While a process drives the run, a word is posted to it: it is judged before, and by the same.
#[test]
fn a_process_that_drives_the_run_is_not_told_what_policy_forbids() {
    let place = several();
    let (rings, hang_up) = with_bell(&place);
    let child = place.spawn(&["apply", "ring.yaml"]);
    rings.recv().unwrap();
    let runs = place.json(&["runs", "--json"]);
    let run = runs["runs"][0]["id"].as_str().unwrap();
    judged(&place, "stop", &["pause", run, "--reason", "wait"], 0);
    judged(&place, "stop", &["cancel", run], 0);
    hang_up.send(()).unwrap();
    child.wait_with_output().unwrap();
    assert_eq!(place.status(), "cancelled");
}

/// A workspace whose policies name none of it goes on as before; a new one has a file that does.
#[test]
fn what_no_policy_names_is_decided_by_built_in_rules() {
    let place = several();
    std::fs::remove_file(place.path("policies/operators.cedar")).unwrap();
    let (run, digits) = asking(&place);
    let answer = ["answer", &format!("{run}@{digits}"), "ada"];
    place.run(&answer).exits(0);
    let init = Workplace::empty();
    init.run(&["init"]).exits(0);
    let text = std::fs::read(init.path("policies/statements.cedar")).unwrap();
    place.write("policies/statements.cedar", text);
    let (run, digits) = asking(&place);
    let answer = ["answer", &format!("{run}@{digits}"), "ada"];
    assert_snapshot!(place.run(&answer), @r"
    exit 2
    --- stderr
    error: `ada` may not answer: policy lets only others (answer-if-approver, answer-if-named)

    hint: another person must do it: `provost policy check` names the policies about it
    ");
    by(&place, "bo", &answer).exits(0);
}

/// The check names the policies that decide, also where only ours do.
#[test]
fn a_check_says_who_decides_what_people_say() {
    let place = several();
    place.write(
        "policies/operators.cedar",
        r#"@id("bo-stops-nothing") forbid (principal == User::"bo", action == Action::"stop", resource);
@id("operators-settle") permit (principal in Group::"operators", action == Action::"settle", resource);
"#,
    );
    let checked = place.run(&["policy", "check"]).exits(0);
    let from = checked.stdout.find("action  ").unwrap();
    let lines: Vec<&str> = checked.stdout[from..].lines().take(10).collect();
    assert_snapshot!(lines.join("\n"), @r"
    action  policies
    answer  provost:answer-if-named, provost:answer-if-requester-or-approver
    settle  operators-settle
    amend   provost:amend-if-requester-or-approver
    stop    bo-stops-nothing, provost:stop-if-listed
    resume  provost:resume-if-stopper-requester-or-approver
    see     provost:see-if-listed, provost:see-if-own
    reveal  provost:reveal-if-listed
    begin   provost:begin-if-listed
    govern  provost:govern-if-operator
    ");
    let seen = place.json(&["policy", "check", "--json"]);
    assert_eq!(
        seen["statements"]["settle"],
        serde_json::json!(["operators-settle"])
    );
    place.write(
        "policies/tests/people.yaml",
        r#"schema: provost/policy-test/v1
cases:
  - { name: operators settle, by: olga, may: settle, call: notes.write, expect: permit, because: [operators-settle] }
  - { name: others do not, by: bo, may: settle, call: notes.write, expect: forbid }
  - { name: bo stops nothing, by: bo, may: stop, expect: forbid, because: [bo-stops-nothing] }
  - { name: others stop, by: ada, may: stop, expect: permit }
"#,
    );
    assert_snapshot!(place.run(&["policy", "test"]), @r"
    exit 0
    --- stdout
    policies/tests/people.yaml
      ok  operators settle  settle notes.write  permit  operators-settle
      ok  others do not     settle notes.write  forbid  operators-settle
      ok  bo stops nothing  stop                forbid  bo-stops-nothing
      ok  others stop       stop                permit  provost:stop-if-listed

    ok: 4 cases
    ");
    place.edit(
        "policies/operators.cedar",
        "Action::\"stop\"",
        "Action::\"stopp\"",
    );
    let refused = place.run(&["policy", "check"]).exits(2);
    assert!(
        refused.stderr.contains("did you mean `Action::\"stop\"`?"),
        "{refused}"
    );
}

/// One person is everybody there, and the groups that a policy names do not keep them from it.
#[test]
fn in_a_solo_workspace_no_policy_is_looked_at() {
    let place = Workplace::new();
    place.write("policies/operators.cedar", OPERATORS);
    place.write("policies/entities.json", PEOPLE);
    let (run, _) = asking(&place);
    place.run(&["pause", &run, "--reason", "wait"]).exits(0);
    place.run(&["resume", &run, "--record"]).exits(0);
    place.run(&["cancel", &run]).exits(0);
    let checked = place.run(&["policy", "check"]);
    assert!(
        checked.stdout.contains("any local user (solo.cedar)"),
        "{checked}"
    );
}
