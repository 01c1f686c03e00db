//! The first Ctrl-C lets calls settle; a process that is gone leaves a run to take up.

use std::time::{Duration, Instant};

use super::workplace::{Ran, Workplace};

/// A query that runs for a long time.
pub const SLOW: &str = "with recursive n(i) as (select 1 union all select i + 1 from n where i < LIMIT) \
                    select count(*) as total, 'x' as latest from n where :customer = :customer";

pub fn slow(limit: &str) -> Workplace {
    let place = Workplace::new();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let from = config.find("select count(*)").unwrap();
    let to = config.find("\"\"\"\nsingle").unwrap();
    let query = config.get(from..to).unwrap().to_owned();
    place.edit(
        "provost.toml",
        &query,
        &format!("{}\n", SLOW.replace("LIMIT", limit)),
    );
    place
}

fn interrupt(child: &std::process::Child) {
    let id = child.id().to_string();
    let done = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status()
        .unwrap();
    assert!(done.success());
}

/// Waits until the newest run has a call in flight.
pub fn until_it_runs(place: &Workplace) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(20) {
        let runs = place.run(&["runs", "--json"]);
        if runs.raw_stdout.contains("\"running\"") {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("the run did not begin");
}

#[test]
fn the_first_interrupt_lets_the_call_settle_and_names_the_command() {
    let place = slow("4000000");
    let child = place.spawn(&["run", "Note the orders of ada"]);
    until_it_runs(&place);
    interrupt(&child);
    let ran = Ran::new(&child.wait_with_output().unwrap(), &place.path(""));
    assert_eq!(ran.code, Some(3), "{ran}");
    assert!(ran.stderr.contains("count: succeeded"), "{ran}");
    assert!(
        ran.stderr
            .contains("halted; go on with: provost resume RUN"),
        "{ran}"
    );
    assert!(!ran.stderr.contains("note: waits"), "{ran}");
}

#[test]
fn the_second_interrupt_ends_at_once() {
    let place = slow("4000000000");
    let child = place.spawn(&["run", "Count the orders of ada"]);
    until_it_runs(&place);
    interrupt(&child);
    std::thread::sleep(Duration::from_millis(100));
    interrupt(&child);
    let begun = Instant::now();
    let ran = Ran::new(&child.wait_with_output().unwrap(), &place.path(""));
    assert_eq!(ran.code, Some(130), "{ran}");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_run_that_another_process_drives_is_left_to_it() {
    let place = slow("4000000000");
    let mut child = place.spawn(&["run", "Count the orders of ada"]);
    until_it_runs(&place);
    let runs = place.json(&["runs", "--json"]);
    let run = runs.pointer("/runs/0/id").unwrap().as_str().unwrap();
    let ran = place.run(&["resume", run]);
    let nobody = || {
        let shown = place.run(&["show", run]).exits(0);
        shown.stdout.contains("no process drives it\n")
    };
    let told = || {
        let listed = place.run(&["runs"]).exits(0);
        let inbox = place.run(&["inbox"]).exits(0);
        [listed, inbox].map(|ran| ran.stdout.contains("no process drives it"))
    };
    assert!(!nobody());
    assert_eq!(told(), [false, false]);
    place.run(&["inbox", "--check"]).exits(0);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(nobody());
    assert_eq!(told(), [true, true]);
    let checked = place.run(&["inbox", "--check"]).exits(3);
    assert!(
        checked.stderr.contains("1 run without a process"),
        "{checked}"
    );
    let inbox = place.json(&["inbox", "--json"]);
    let command = format!("provost resume {run}");
    assert_eq!(inbox["undriven"][0]["command"], command.as_str());
    assert_eq!(place.json(&["runs", "--json"])["runs"][0]["undriven"], true);
    let early = place.run(&["settle", run, "count", "--happened", "--reason", "seen"]);
    let early = early.exits(2);
    assert!(early.stderr.contains("nothing is in doubt yet"), "{early}");
    assert!(early.raw_stderr.contains(&command), "{early}");
    assert_eq!(ran.code, Some(2), "{ran}");
    let said = format!("run `{run}` is driven by another process");
    assert!(ran.raw_stderr.contains(&said), "{ran}");
    // The control: once that process is gone, the run can be ended by another.
    place.run(&["cancel", run]).exits(0);
}
