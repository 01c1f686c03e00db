//! The headless driver: what can move is driven, what waits is left alone, a signal drains it.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::interrupt::{slow, until_it_runs};
use super::workplace::{Ran, Workplace};

const IDLE: [&str; 2] = ["work", "--until-idle"];

/// How many events the journal holds.
fn events(place: &Workplace) -> i64 {
    let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
    journal
        .query_row("select count(*) from events", [], |row| row.get(0))
        .unwrap()
}

pub fn signal(child: &Child, name: &str) {
    let done = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(done.success());
}

#[test]
fn what_somebody_approved_is_driven_and_what_waits_is_left_alone() {
    let place = Workplace::new();
    assert!(place.run(&IDLE).exits(0).stderr.is_empty());
    let (run, card) = place.waiting();
    place
        .run(&["run", "Note the orders of grace", "--again"])
        .exits(3);
    let before = events(&place);
    let ran = place.run(&IDLE).exits(0);
    assert!(ran.raw_stderr.is_empty(), "{ran}");
    assert_eq!(events(&place), before, "a run that waits was taken up");

    let yes = format!("{run}@{card}");
    place.run(&["approve", &yes, "--record"]).exits(0);
    let ran = place.run(&IDLE).exits(0);
    let log = ran.stderr.replace(&run, "RUN");
    let lines: Vec<&str> = log
        .lines()
        .map(|line| line.split_once(" RUN ").unwrap().1)
        .collect();
    assert_eq!(
        lines,
        [
            "run RUN: resumed",
            "note: calls notes.write",
            "note: succeeded after TIME",
            "succeeded"
        ],
        "{ran}"
    );
    assert!(place.path("notes/orders.txt").exists());
}

/// Waits until a `work` process says that it works here.
pub fn until_it_works(place: &Workplace) {
    let begun = Instant::now();
    while place.run(&["work", "--check"]).code != Some(0) {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody works");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_monitor_is_told_at_once_whether_a_process_works_here() {
    let place = Workplace::new();
    let checked = || place.run(&["work", "--check"]);
    assert_eq!(checked().exits(3).raw_stdout, "");
    place.waiting();
    assert_eq!(checked().code, Some(3), "a run that waits is nobody");
    let mut worker = place.spawn(&["work"]);
    until_it_works(&place);
    let told = place.json(&["work", "--check", "--json"]);
    assert_eq!(told["processes"][0]["pid"], worker.id());
    assert!(
        told["processes"][0]["version"]
            .as_str()
            .unwrap()
            .contains('.')
    );
    worker.kill().unwrap();
    worker.wait().unwrap();
    // Nothing has to lapse: its lock went with it, and the file that it left behind says nothing.
    checked().exits(3);
    let owners = std::fs::read_dir(place.path(".provost/owners")).unwrap();
    assert_eq!(owners.count(), 1, "the control: the stale file is there");
}

#[test]
fn a_run_whose_process_was_killed_goes_on() {
    let place = slow("2000000");
    let mut child = place.spawn(&["run", "Count the orders of ada"]);
    until_it_runs(&place);
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = place.run(&IDLE).exits(0);
    assert!(ran.stderr.contains("interrupted calls: `count`"), "{ran}");
    assert_eq!(place.status(), "succeeded", "{ran}");
}

#[test]
fn a_run_that_another_process_drives_is_left_to_it() {
    let place = slow("6000000");
    let mut child = place.spawn(&["run", "Count the orders of ada"]);
    until_it_runs(&place);
    let ran = place.run(&IDLE).exits(0);
    assert!(ran.raw_stderr.is_empty(), "{ran}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_was_paused_stays_paused() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    place
        .run(&["pause", &run, "--reason", "not today"])
        .exits(0);
    let yes = format!("{run}@{card}");
    place.run(&["approve", &yes, "--record"]);
    place.run(&IDLE).exits(0);
    assert_eq!(place.status(), "paused");
    assert!(!place.path("notes/orders.txt").exists());
    // The control: once it is let go on, it is driven.
    place.run(&["resume", &run]);
    if place.status() == "waiting_approval" {
        place.run(&["approve", &yes, "--record"]).exits(0);
        place.run(&IDLE).exits(0);
    }
    assert_eq!(place.status(), "succeeded");
}

#[test]
fn a_card_that_lapsed_ends_its_run_without_anybody() {
    let place = Workplace::new();
    place.write(
        "policies/default.cedar",
        "permit (principal, action, resource);\n@id(\"writes\") @expires(\"1s\")\n\
         forbid (principal, action in Action::\"call\", resource)\n\
         when { !resource.attended && resource.effect == \"write\" };\n",
    );
    place.waiting();
    let worker = place.spawn(&["work"]);
    let begun = Instant::now();
    while place.status() == "waiting_approval" && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    signal(&worker, "-TERM");
    let ran = Ran::new(&worker.wait_with_output().unwrap(), &place.path(""));
    assert_eq!(
        (place.status().as_str(), ran.code),
        ("expired", Some(0)),
        "{ran}"
    );
}

const LAPSES: &str = r#"schema: provost/plan/v1
goal: { text: Note whose orders count, success: [ { id: noted, text: the note is written } ] }
steps:
  - id: whose
    question: { text: "Whose orders?", answer: { enum: [ada, grace] }, expires: 1s, default: grace }
  - id: note
    tool: notes.write
    args: { path: "whose.txt", text: "${ steps.whose.output }" }
    accept: ["${ output.bytes > 0 }"]
success:
  - { for: noted, check: '${ steps.note.status == "succeeded" }' }
answer: "${ steps.whose.output }"
"#;

/// No process waits for it: whoever works takes it up when it is due.
#[test]
fn a_question_that_lapsed_goes_on_by_its_default_without_anybody() {
    let place = Workplace::new();
    super::notify::tell(&place, "on = [\"expired\"]");
    place.write("plan.yaml", LAPSES);
    let shown = place.run(&["show", "plan.yaml"]).exits(0);
    insta::assert_snapshot!(shown.stdout, @r#"
    goal       Note whose orders count
    reach      a person's answer or its default → notes.write (write)
    plan       2 steps, 1 write, 1 question; 2 wait for a person
    at most    1 call, 3 attempts, 1 min 31 s without waits for people; cost not set
    requester  ada; solo workspace: the requester may also approve
    digest     sha256:DIGEST

    1  whose  asks   anyone who may approve: "Whose orders?", within 1s, without one it is "grace"
    2  note   write  notes.write, high risk, no undo
       to       path: "whose.txt"  ← literal
       with     text: steps.whose.output  ← answer or default of whose
       accept   output.bytes > 0
       asks     approval by one person (production-writes)
       limits   1 call, 3 attempts of 30s, then another plan; a lost reply needs a person

    proof      the note is written: steps.note.status == "succeeded"
    unchecked  how long people take to answer: note; the plans of up to 5 revisions; what tools do
               beyond their declared effect
    "#);
    let ran = place.run(&["apply", "plan.yaml"]).exits(3);
    insta::assert_snapshot!(ran, @r#"
    exit 3
    --- stdout
    question: Whose orders?
      asked by   step `whose`
      answer     one of ada, grace
      expires    at MOMENT, then it is "grace"
      run        RUN
      digest     sha256:DIGEST

    answer: provost answer RUN@CARD VALUE
    --- stderr
    run RUN: Note whose orders count
    solo workspace: the requester may also approve

    plan, revision 1: 2 steps, 1 write; approval needed for 1 step; 1 question
      1  whose  (question)   -      answer  from anyone who may approve within 1s, without one it is "grace"
      2  note   notes.write  write  ask     by production-writes

    question: Whose orders?
    "#);
    let (run, card) = place.card();
    let waits = place.json(&["show", &run, "--json"]);
    assert!(waits.pointer("/waits/0/expires").unwrap().is_string());
    let worker = place.spawn(&["work"]);
    let begun = Instant::now();
    while place.status() == "waiting_answer" && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    signal(&worker, "-TERM");
    let worked = Ran::new(&worker.wait_with_output().unwrap(), &place.path(""));
    assert_eq!(worked.code, Some(0), "{worked}");
    let told = super::notify::told(&place);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        (
            &told[0]["type"],
            &told[0]["data"]["step"],
            &told[0]["data"]["text"]
        ),
        (
            &"provost.expired".into(),
            &"whose".into(),
            &"nobody answered in time, and its default \"grace\" was taken: Whose orders?".into()
        )
    );
    let trace = place.run(&["trace", &run, "--planning"]).exits(0);
    assert!(
        trace
            .stdout
            .contains("question: expired, nobody answered in time"),
        "{trace}"
    );
    let late = place.run(&["answer", &format!("{run}@{card}"), "ada"]);
    insta::assert_snapshot!(late, @"
    exit 2
    --- stderr
    error: the question `sha256:DIGEST` expired: an answer counts no more

    hint: `provost show RUN` says what followed without an answer
    ");
    place.run(&["audit", "verify"]).exits(0);
}

#[test]
fn a_signal_drains_it() {
    let place = slow("6000000");
    let mut child = place.spawn(&["run", "Note the orders of ada"]);
    until_it_runs(&place);
    child.kill().unwrap();
    child.wait().unwrap();
    let worker = place.spawn(&["work"]);
    let begun = Instant::now();
    let resumed = || {
        let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
        let sql = "select count(*) from events where kind = 'AttemptStarted'";
        journal
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .unwrap()
            > 1
    };
    while !resumed() {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "it was not taken up"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(&worker, "-TERM");
    let ran = Ran::new(&worker.wait_with_output().unwrap(), &place.path(""));
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stderr.contains("count: succeeded"), "{ran}");
    assert!(!ran.stderr.contains("note: waits"), "{ran}");
    // The control: what was held back is due, and begins with whoever works next.
    place.run(&IDLE).exits(0);
    assert_eq!(place.status(), "waiting_approval");
}

/// The lines of a log that a process writes, as they come.
fn lines_of(log: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        let all = BufReader::new(log).lines().map_while(Result::ok);
        all.map_while(|line| sender.send(line).ok()).for_each(drop);
    });
    lines
}

/// Waits for a line with these words.
fn logged_until(log: &Receiver<String>, words: &str) {
    let mut all = Vec::new();
    while let Ok(line) = log.recv_timeout(Duration::from_secs(30)) {
        if line.contains(words) {
            return;
        }
        all.push(line);
    }
    panic!("no `{words}`: {all:#?}");
}

/// A worker goes on under files that changed, and under those of before where the new ones are
/// wrong. The control: what it begins is what a file says that was not there at its start.
#[test]
fn files_that_changed_are_read_anew() {
    let place = Workplace::new();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let every = |goal: &str| {
        let goal = format!("[schedule.count]\ngoal = \"{goal}\"\nevery = \"1s\"\n");
        place.write("provost.toml", format!("{config}\n{goal}"));
    };
    let mut worker = place.spawn(&["work"]);
    let log = lines_of(worker.stderr.take().unwrap());
    until_it_works(&place);
    assert_eq!(
        place.json(&["runs", "--json"])["runs"],
        serde_json::json!([])
    );
    every("Count the orders of ada");
    logged_until(&log, "the changed files are in force");
    logged_until(&log, "begun by schedule count");
    // Files that cannot be used leave those of before in force.
    place.write("policies/entities.json", "{ \"users\": ");
    let refused = "the changed files are refused, the files of before stay in force";
    logged_until(&log, refused);
    logged_until(&log, "begun by schedule count");
    place.write("policies/entities.json", r#"{ "users": { "ada": {} } }"#);
    every("Count the orders of grace");
    logged_until(&log, "the changed files are in force");
    let of = |goal: &str| place.json(&["runs", "--goal", goal, "--json"])["runs"].clone();
    let begun = Instant::now();
    while of("Count the orders of grace") == serde_json::json!([]) {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing began");
        logged_until(&log, "begun by schedule count");
    }
    signal(&worker, "-TERM");
    assert!(worker.wait().unwrap().success());
    place.run(&["audit", "verify"]).exits(0);
}
