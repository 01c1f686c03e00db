//! What the clock begins, and what is begun for somebody else to execute.

use std::io::{BufRead as _, BufReader};
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::Value;

use super::notify;
use super::work::signal;
use super::workplace::Workplace;

fn scheduled(table: &str) -> Workplace {
    let place = Workplace::new();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", format!("{config}\n{table}"));
    place
}

fn until(what: &str, is: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn count(place: &Workplace, args: &[&str]) -> usize {
    let runs = place.json(args);
    runs["runs"].as_array().unwrap().len()
}

#[test]
fn the_clock_begins_runs_while_a_process_works() {
    let place = scheduled(
        "[schedule.count]\ngoal = \"Count the orders of ada\"\nevery = \"1s\"\n\
         [schedule.morning]\ngoal = \"Sing\"\ncron = \"0 9 * * 1-5\"\ntimezone = \"Europe/Berlin\"\n\
         on_overlap = \"queue\"\n",
    );
    let ran = place.run(&["schedules"]).exits(0);
    let next = ran.stdout.lines().filter(|line| line.contains(" next "));
    let next: Vec<&str> = next.map(str::trim).collect();
    assert_eq!(next[0], "next  1s after a process first works", "{ran}");
    // A moment of the calendar is known whether or not a process works.
    assert_eq!(next[1], "next  MOMENT", "{ran}");
    let listed = place.json(&["schedules", "--json"]);
    let (next, working) = (&listed["schedules"][1]["next"], &listed["working"]);
    assert!(next.is_string(), "{listed}");
    assert_eq!(
        (working, &listed["schedules"][0]["next"]),
        (&Value::Bool(false), &Value::Null)
    );
    assert!(
        ran.stdout.contains("but   no playbook matches the goal"),
        "{ran}"
    );
    let nobody = "no process works here, so none of these begins: `provost work`";
    assert!(ran.stdout.contains(nobody), "{ran}");
    let child = place.spawn(&["work", "--json"]);
    let done = ["runs", "--status", "succeeded", "--json"];
    until("no second run", || count(&place, &done) >= 2);
    let ran = place.run(&["schedules"]).exits(0);
    assert!(!ran.stdout.contains("no process works here"), "{ran}");
    signal(&child, "-TERM");
    let ran = child.wait_with_output().unwrap();
    assert!(ran.status.success());
    let log = String::from_utf8(ran.stderr).unwrap();
    assert!(log.contains("begun by schedule count"), "{log}");
    let listed = place.json(&["schedules", "--json"]);
    let first = &listed["schedules"][0];
    assert_eq!(first["last_status"], "succeeded", "{listed}");
    let second = &listed["schedules"][1];
    assert!(
        second["trouble"].as_str().unwrap().contains("no playbook"),
        "{listed}"
    );
    // What was due once does not begin by itself: it is said again when nobody works any more.
    let ran = place.run(&["schedules"]).exits(0);
    assert!(ran.stdout.contains(nobody), "{ran}");
}

/// The night's run that never began is told as one that failed is, once for its moment, however
/// often it is tried. The controls: who wants to hear of approvals alone hears nothing of it, and
/// neither does anybody of a schedule that begins.
#[test]
fn a_schedule_that_cannot_begin_its_run_is_told_once() {
    let told = |goal: &str, on: &str, word: &str| {
        let table = format!("[schedule.night]\ngoal = \"{goal}\"\nevery = \"1s\"\n");
        let place = scheduled(&table);
        notify::tell(&place, on);
        let mut child = place.spawn(&["work"]);
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        // Twice: what is tried again is told once all the same.
        let mut said = lines
            .map_while(Result::ok)
            .filter(|line| line.contains(word));
        assert!(said.nth(1).is_some(), "{goal}: {word}");
        signal(&child, "-TERM");
        said.by_ref().for_each(drop);
        assert!(child.wait().unwrap().success());
        // Who is ended while somebody is told tells it again; the next one tells what is left.
        let child = place.spawn(&["work", "--until-idle"]);
        assert!(child.wait_with_output().unwrap().status.success());
        let all = notify::told(&place);
        let of_schedule = |one: &Value| one["data"]["about"]["kind"] == "schedule";
        all.into_iter().filter(of_schedule).collect::<Vec<_>>()
    };
    let failing = "cannot begin a run, retrying";
    let all = told("Sing", "", failing);
    assert_eq!(all.len(), 1, "{all:?}");
    let one = &all[0];
    assert_eq!(one["type"], "provost.failed");
    assert_eq!(one["data"]["about"]["which"], "night");
    assert_eq!(one["data"]["goal"], "Sing");
    assert_eq!(one["data"]["command"], "provost schedules");
    let text = one["data"]["text"].as_str().unwrap();
    let said = "schedule night could not begin its run: no playbook matches the goal";
    assert!(text.starts_with(said), "{text}");
    assert_eq!(told("Sing", "on = [\"ended\"]", failing).len(), 1);
    assert!(told("Sing", "on = [\"waiting\"]", failing).is_empty());
    assert!(told("Count the orders of ada", "", "begun by schedule night").is_empty());
}

/// A goal that leaves a value out begins runs that wait for a person, night after night.
#[test]
fn a_goal_that_leaves_a_value_out_is_said_before_the_first_run() {
    let trouble = |goal: &str| {
        let place = scheduled(&format!(
            "[schedule.a]\ngoal = \"{goal}\"\ncron = \"0 2 * * *\"\n"
        ));
        place.json(&["schedules", "--json"])["schedules"][0]["trouble"].clone()
    };
    let said = trouble("Count the orders of");
    let wait = "so every run would wait for a person";
    assert!(
        said.as_str().is_some_and(|said| said.ends_with(wait)),
        "{said}"
    );
    assert_eq!(trouble("Count the orders of ada"), Value::Null);
}

#[test]
fn what_a_schedule_lacks_is_said() {
    let place = scheduled(
        "[schedule.a]\ngoal = \"x\"\n[schedule.b]\ngoal = \"x\"\ncron = \"61 * * * *\"\n\
         [schedule.c]\ngoal = \"x\"\nevery = \"100ms\"\n[schedule.d]\ngoal = \"x\"\n\
         cron = \"0 0 30 2 *\"\n",
    );
    assert_snapshot!(place.run(&["schedules"]), @r#"
    exit 2
    --- stderr
    error[W801]: `[schedule.a]` needs `every` or `cron`
      --> provost.toml:29:1
       |
    29 | [schedule.a]
       | ^^^^^^^^^^^^

    error[W801]: `61` cannot be the minute of `cron`
      --> provost.toml:33:8
       |
    33 | cron = "61 * * * *"
       |        ^^^^^^^^^^^^

    error[W801]: `every` must be at least 1 s
      --> provost.toml:36:9
       |
    36 | every = "100ms"
       |         ^^^^^^^

    error[W801]: `cron` names a moment that never comes
      --> provost.toml:39:8
       |
    39 | cron = "0 0 30 2 *"
       |        ^^^^^^^^^^^^

    error: the workspace cannot be used: 4 findings in provost.toml

    hint: `provost explain W801` tells more
    "#);
}

#[test]
fn a_detached_run_is_executed_by_whoever_works() {
    let place = Workplace::new();
    let ran = place
        .run(&["run", "--detach", "Count the orders of ada"])
        .exits(0);
    let run = ran.raw_stdout.trim().to_owned();
    assert_eq!(run.len(), 12, "{ran}");
    assert_snapshot!(ran.stderr.replace(&run, "RUN"), @"begun; `provost work` executes it, `provost show RUN` tells how far it is");
    assert_eq!(place.status(), "planning");
    place.run(&["work", "--until-idle"]).exits(0);
    assert_eq!(place.status(), "succeeded");
    // A goal that waits is not begun twice.
    place
        .run(&["run", "--detach", "Note the orders of ada"])
        .exits(0);
    place
        .run(&["run", "--detach", "Note the orders of ada"])
        .exits(2);
}

#[test]
fn runs_are_found_by_what_they_are() {
    let place = Workplace::new();
    place.run(&["run", "Count the orders of ada"]).exits(0);
    place.waiting();
    let found = |args: &[&str]| {
        let mut all = vec!["runs", "--json"];
        all.extend(args);
        count(&place, &all)
    };
    for (args, wanted) in [
        (&["--status", "succeeded"][..], 1),
        (&["--status", "waiting-approval"], 1),
        (
            &["--status", "succeeded", "--status", "waiting_approval"],
            2,
        ),
        (&["--status", "failed"], 0),
        (&["--since", "1h"], 2),
        (&["--since", "0s"], 0),
        (&["--playbook", "count"], 1),
        (&["--playbook", "counts"], 0),
        (&["--requester", "ada"], 2),
        (&["--requester", "bo"], 0),
        (&["--goal", "NOTE the"], 1),
        (&["--goal", "orders", "--playbook", "note"], 1),
    ] {
        assert_eq!(found(args), wanted, "{args:?}");
    }
    assert_snapshot!(place.run(&["runs", "--status", "failed"]), @r"
    exit 0
    --- stderr
    no run is like that
    ");
    assert_snapshot!(place.run(&["runs", "--status", "late"]), @r"
    exit 2
    --- stderr
    error: invalid value 'late' for '--status <STATUS>': there is no such status; it is one of planning, waiting_approval, waiting_answer, running, paused, in_doubt, succeeded, failed, rejected, expired, refused, cancelled, undone, partly_undone, undo_failed

    For more information, try '--help'.
    ");
    // A row of an older version says less; its events tell the rest.
    let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
    journal
        .execute("update runs set summary = '{\"revision\":1}'", [])
        .unwrap();
    assert_eq!(found(&["--requester", "ada", "--playbook", "count"]), 1);
}

#[test]
fn a_watched_listing_tells_of_each_change() {
    let place = Workplace::new();
    let mut watcher = place.spawn(&["runs", "--watch", "--json", "--goal", "note"]);
    let mut told = BufReader::new(watcher.stdout.take().unwrap()).lines();
    let mut until = |status: &str| loop {
        let line: Value = serde_json::from_str(&told.next().unwrap().unwrap()).unwrap();
        assert_eq!(line["goal"], "Note the orders of ada");
        if line["status"] == status {
            break;
        }
    };
    let (run, card) = place.waiting();
    until("waiting_approval");
    place.run(&["run", "Count the orders of ada"]).exits(0);
    place.run(&["approve", &format!("{run}@{card}")]).exits(0);
    until("succeeded");
    signal(&watcher, "-INT");
    assert!(watcher.wait().unwrap().success());
}
