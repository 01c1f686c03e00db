//! `kill -9` at random moments of both examples, then `resume`: the same answer, nothing that
//! ended is repeated, one page.

use std::collections::BTreeMap;

use crate::pager::pages;
use crate::stage::{Stage, count, moment};
use sim::incident::{Variant, generate};
use sim::world::Local;

const SLA: &str = "Page the on-call engineer if open PAY tickets exceed the SLA threshold";

/// Attempts that began after an attempt of the same slot had ended well.
fn repeated(stage: &Stage) -> Vec<String> {
    let journal = stage.journal();
    let mut rows = journal
        .prepare("select kind, payload from events where kind like 'Attempt%' order by run, seq")
        .unwrap();
    let events: Vec<(String, String)> = rows
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut ended: BTreeMap<String, bool> = BTreeMap::new();
    let mut repeated = Vec::new();
    for (kind, payload) in events {
        let payload: serde_json::Value = serde_json::from_str(&payload).unwrap();
        let slot = payload["slot"].to_string();
        if kind == "AttemptEnded" {
            ended.insert(slot, payload["class"] == "ok");
        } else if ended.get(&slot) == Some(&true) {
            repeated.push(slot);
        }
    }
    repeated
}

/// Kills the command after a moment. True if it was still running.
fn killed(stage: &Stage, args: &[&str], seed: u64, within_ms: u64) -> bool {
    let mut child = stage.spawn(args);
    std::thread::sleep(moment(seed, within_ms));
    let running = child.try_wait().unwrap().is_none();
    let _ = child.kill();
    child.wait().unwrap();
    running
}

fn answer(stdout: &str) -> String {
    let from = stdout.find("rose from").unwrap_or(0);
    stdout[from..].lines().take(3).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_investigation_survives_being_killed() {
    let dataset = generate(&Variant::base()).unwrap();
    let whole = Stage::of("incident", false);
    dataset.write(&whole.data()).unwrap();
    let begun = std::time::Instant::now();
    let reference = whole.run(&["run", &dataset.goal]).exits(0);
    let takes_ms = u64::try_from(begun.elapsed().as_millis()).unwrap().max(10);
    let mut interrupted = 0;
    for seed in 0..u64::from(count(5)) {
        let stage = Stage::of("incident", false);
        dataset.write(&stage.data()).unwrap();
        let running = killed(&stage, &["run", &dataset.goal], seed, takes_ms);
        let ran = match stage.only_run() {
            Some(run) => stage.run(&["resume", &run]),
            None => stage.run(&["run", &dataset.goal]),
        };
        interrupted += u64::from(running);
        let shown = stage.only_run().map(|run| stage.run(&["show", &run]));
        let said = if ran.stdout.contains("rose from") {
            &ran.stdout
        } else {
            &shown.as_ref().unwrap().stdout
        };
        assert_eq!(
            answer(said),
            answer(&reference.stdout),
            "seed {seed}\n{}",
            ran.all()
        );
        assert_eq!(repeated(&stage), Vec::<String>::new(), "seed {seed}");
    }
    println!("killed while running: {interrupted}");
    assert!(
        interrupted > 0,
        "no kill came in time to interrupt anything"
    );
}

#[test]
fn the_page_is_sent_once_however_often_it_is_killed() {
    let mut interrupted = 0;
    for seed in 0..u64::from(count(5)) {
        let stage = Stage::of("sla", true);
        let state = tempfile::tempdir().unwrap();
        let world = Local::start(&state.path().join("world.json")).unwrap();
        let url = world.url().to_owned();
        stage.edit("provost.toml", |text| {
            text.replace("http://127.0.0.1:4517", &url)
        });
        interrupted += u64::from(killed(&stage, &["run", SLA], seed, 400));
        let ran = match stage.only_run() {
            Some(run) => stage.run(&["resume", &run]),
            None => stage.run(&["run", SLA]),
        };
        let command = ran.exits(3).printed_command("approve");
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let skip = if words[0] == "-C" { 2 } else { 0 };
        interrupted += u64::from(killed(&stage, &words[skip..], seed + 1_000, 400));
        let run = stage.only_run().unwrap();
        let mut status = status(&stage);
        if status == "waiting_approval" {
            stage.run(&words[skip..]).exits(0);
        } else if status != "succeeded" {
            stage.run(&["resume", &run]).exits(0);
        }
        status = self::status(&stage);
        assert_eq!(status, "succeeded", "seed {seed}");
        assert_eq!(pages(&world), 1, "seed {seed}");
        assert_eq!(repeated(&stage), Vec::<String>::new(), "seed {seed}");
    }
    println!("killed while running: {interrupted}");
    assert!(
        interrupted > 0,
        "no kill came in time to interrupt anything"
    );
}

fn status(stage: &Stage) -> String {
    stage
        .journal()
        .query_row("select status from runs", [], |row| row.get(0))
        .unwrap()
}
