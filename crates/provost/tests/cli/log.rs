//! The log: every line on stderr is a JSON object of its schema where that is asked for.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::json_contract::{Published, listed};
use super::workplace::{PLAN, Ran, Workplace};

/// The lines on stderr, each held to the published schema.
fn lines(published: &Published, ran: &Ran) -> Vec<Value> {
    let read = |line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}\n{ran}"));
    let lines: Vec<Value> = ran.raw_stderr.lines().map(read).collect();
    for line in &lines {
        assert_eq!(published.faults("log", line), [""; 0], "{line}");
    }
    lines
}

fn of_kind<'l>(lines: &'l [Value], kind: &str) -> &'l Value {
    let found = lines.iter().find(|line| line["kind"] == kind);
    found.unwrap_or_else(|| panic!("no {kind} in {lines:#?}"))
}

/// The first and the last line of a command.
fn ends(lines: &[Value]) -> [&Value; 2] {
    let (first, last) = (lines.first().unwrap(), lines.last().unwrap());
    assert_eq!(
        (&first["kind"], &last["kind"]),
        (&"begun".into(), &"ended".into())
    );
    [first, last]
}

#[test]
fn a_run_is_told_with_its_facts() {
    let place = Workplace::new();
    let published = Published::of(&place);
    place.waiting();
    let ran = place.run(&["run", "Count the orders of ada", "--log", "json", "--json"]);
    let lines = lines(&published, &ran.exits(0));
    let [first, last] = ends(&lines);
    let dir = place.path("").canonicalize().unwrap();
    let told = first["workspace"].as_str().unwrap();
    assert_eq!(std::path::Path::new(told).canonicalize().unwrap(), dir);
    assert_eq!(
        (&first["verb"], &first["user"], &first["waiting"]),
        (&"run".into(), &"ada".into(), &1.into())
    );
    assert!(first.get("commit").is_some(), "{first}");
    assert_eq!((&last["exit"], &last["level"]), (&0.into(), &"info".into()));

    // Every event has its line, in the order of the journal.
    let events: Vec<&Value> = lines
        .iter()
        .filter(|line| line.get("seq").is_some())
        .collect();
    let run = events[0]["run"].as_str().unwrap();
    let trace = place.json(&["trace", run, "--json"]);
    let all = |view: &str| trace[view].as_array().unwrap().len();
    assert_eq!(events.len(), all("planning") + all("execution"));
    for (seq, line) in (1..).zip(&events) {
        assert_eq!((&line["seq"], &line["run"]), (&json!(seq), &json!(run)));
    }
    let started = of_kind(&lines, "AttemptStarted");
    assert_eq!(
        ["step", "tool", "op", "attempt"].map(|name| &started[name]),
        [
            &json!("count"),
            &json!("shop"),
            &json!("shop.orders"),
            &json!(1)
        ]
    );
    let ended = of_kind(&lines, "AttemptEnded");
    assert_eq!(
        ["level", "op", "class", "landing"].map(|name| &ended[name]),
        [
            &json!("debug"),
            &json!("shop.orders"),
            &json!("ok"),
            &json!("happened")
        ]
    );
    assert!(ended["ms"].as_u64().unwrap() > 0, "{ended}");
    let settled = of_kind(&lines, "StepSettled");
    assert_eq!(
        (&settled["status"], &settled["level"]),
        (&"succeeded".into(), &"info".into())
    );
    assert!(settled["ms"].is_u64(), "{settled}");
    assert_eq!(of_kind(&lines, "RunEnded")["status"], "succeeded");
}

/// What goes wrong has its level, its class and its landing.
#[test]
fn what_fails_is_an_error_and_what_waits_a_warning() {
    let place = Workplace::new();
    let published = Published::of(&place);
    let ran = place
        .run(&["run", "Note the orders of ada", "--log=json"])
        .exits(3);
    let waits = lines(&published, &ran);
    assert_eq!(of_kind(&waits, "ApprovalRequested")["level"], "warn");
    assert_eq!(ends(&waits)[1]["level"], "warn");
    std::fs::remove_file(place.path("data/shop.db")).unwrap();
    let ran = place.run(&["apply", "plan.yaml", "--log", "json"]).exits(2);
    assert_eq!(of_kind(&lines(&published, &ran), "error")["level"], "error");
    place.write("plan.yaml", PLAN.replace("customer: \"\"", "customer: ada"));
    place.orders(&["ada"]);
    rusqlite::Connection::open(place.path("data/shop.db"))
        .unwrap()
        .execute_batch("drop table orders")
        .unwrap();
    let ran = place.run(&["apply", "plan.yaml", "--log", "json"]).exits(1);
    let failed = lines(&published, &ran);
    let settled = of_kind(&failed, "StepSettled");
    assert_eq!(
        (&settled["level"], &settled["status"]),
        (&"error".into(), &"failed".into())
    );
    assert!(settled["class"].is_string(), "{settled}");
    assert_eq!(
        (&ends(&failed)[1]["level"], &ends(&failed)[1]["exit"]),
        (&"error".into(), &1.into())
    );
}

#[test]
fn a_worker_without_anything_to_do_says_that_it_began_and_ended() {
    let place = Workplace::new();
    let published = Published::of(&place);
    let first = place.run(&["work", "--until-idle", "--json"]).exits(0);
    assert!(
        ends(&lines(&published, &first))[0]["waiting"].is_null(),
        "no journal yet"
    );
    for typed in [
        ["--json", "--until-idle"].as_slice(),
        &["--log", "json", "--until-idle"],
    ] {
        let ran = place.run(&[["work"].as_slice(), typed].concat()).exits(0);
        let lines = lines(&published, &ran);
        assert_eq!(lines.len(), 2, "{ran}");
        assert_eq!(ends(&lines)[0]["waiting"], 0);
    }
    // The control: for people it is silent.
    let ran = place
        .run(&["work", "--until-idle", "--log", "text"])
        .exits(0);
    assert_eq!(ran.raw_stderr, "");
}

#[test]
fn a_worker_tells_of_the_runs_it_drives() {
    let place = Workplace::new();
    let published = Published::of(&place);
    let (run, card) = place.waiting();
    let yes = format!("{run}@{card}");
    place.run(&["approve", &yes, "--record"]).exits(0);
    let ran = place.run(&["work", "--until-idle", "--json"]).exits(0);
    let lines = lines(&published, &ran);
    let inner = &lines[1..lines.len() - 1];
    assert!(
        inner.iter().all(|line| line["run"] == run.as_str()),
        "{ran}"
    );
    let last = inner.last().unwrap();
    assert_eq!(
        (&last["kind"], &last["text"]),
        (&"let_go".into(), &"succeeded".into())
    );
}

#[test]
fn no_command_writes_a_line_that_is_no_object() {
    let place = Workplace::new();
    let published = Published::of(&place);
    let mut seen = BTreeSet::new();
    for verb in listed(&place) {
        let ran = place
            .run(&[&verb, "--log", "json", "--no-such-option"])
            .exits(2);
        let told = lines(&published, &ran);
        assert_eq!(
            (told.len(), &told[0]["kind"]),
            (1, &"error".into()),
            "{ran}"
        );
    }
    for typed in [
        "init other",
        "check none.yaml",
        "plan Nothing",
        "tools lock",
        "doctor",
        "inbox",
        "explain R101",
        "-C nowhere work",
        "schedules",
        "audit verify",
        "settle zzzz note@4f1c --happened --reason seen",
        "key new --name ada -o key.json",
        "pause --tool shop --reason look",
        "prune --evidence-older 30d",
        "backup copy.db",
        "completions bash",
    ] {
        let words: Vec<&str> = typed.split(' ').chain(["--log", "json"]).collect();
        let ran = place.run(&words);
        let lines = lines(&published, &ran);
        let [first, last] = ends(&lines);
        assert_eq!(last["exit"].as_i64(), ran.code.map(i64::from), "{ran}");
        let is_failed = ran.code.is_some_and(|code| code > 0);
        assert_eq!(
            is_failed,
            lines.iter().any(|line| line["level"] == "error"),
            "{ran}"
        );
        seen.insert(first["verb"].as_str().unwrap().to_owned());
    }
    assert!(
        seen.contains("audit verify") && seen.len() == 16,
        "{seen:?}"
    );
}
