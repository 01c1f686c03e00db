//! The SLA workspace against the real `world` service: who is asked, what is sent, how often.

use crate::pager::pages;
use crate::stage::Stage;
use serde_json::Value;
use sim::world::Local;

const GOAL: &str = "Page the on-call engineer if open PAY tickets exceed the SLA threshold";

struct Sla {
    stage: Stage,
    world: Local,
    _state: tempfile::TempDir,
}

impl Sla {
    fn new() -> Self {
        let stage = Stage::of("sla", true);
        let state = tempfile::tempdir().unwrap();
        let world = Local::start(&state.path().join("world.json")).unwrap();
        let url = world.url().to_owned();
        stage.edit("provost.toml", |text| {
            text.replace("http://127.0.0.1:4517", &url)
        });
        Self {
            stage,
            world,
            _state: state,
        }
    }

    /// Pages that were really sent.
    fn pages(&self) -> u64 {
        pages(&self.world)
    }
}

#[test]
fn it_waits_for_a_person_and_pages_once() {
    let sla = Sla::new();
    let ran = sla.stage.run(&["run", GOAL]).exits(3);
    assert_eq!(sla.pages(), 0);
    let command = ran.printed_command("approve");
    let runs = sla.stage.run(&["runs", "--json"]).exits(0);
    let runs: Value = serde_json::from_str(&runs.stdout).unwrap();
    assert_eq!(runs["schema"], "provost/runs/v1");
    assert_eq!(runs["runs"][0]["status"], "waiting_approval");
    assert_eq!(runs["runs"][0]["waiting_for"]["step"], "page");
    let done = sla.stage.run_printed(&command).exits(0);
    assert!(done.stdout.contains("On-call was paged"), "{}", done.stdout);
    assert_eq!(sla.pages(), 1);
    // The same yes again counts for nothing.
    assert_ne!(sla.stage.run_printed(&command).code, Some(0));
    assert_eq!(sla.pages(), 1);
}

#[test]
fn a_no_ends_the_run_and_pages_nobody() {
    let sla = Sla::new();
    let ran = sla.stage.run(&["run", GOAL]).exits(3);
    let command = ran
        .printed_command("approve")
        .replace(" approve ", " reject ");
    let mut words: Vec<&str> = command.split_whitespace().skip(1).collect();
    if words[0] == "-C" {
        words.drain(..2);
    }
    words.extend(["--reason", "not tonight"]);
    sla.stage.run(&words).exits(0);
    let runs = sla.stage.run(&["runs", "--json"]).exits(0);
    let runs: Value = serde_json::from_str(&runs.stdout).unwrap();
    assert_eq!(runs["runs"][0]["status"], "rejected");
    assert_eq!(sla.pages(), 0);
}

#[test]
fn below_the_threshold_nobody_is_asked() {
    let sla = Sla::new();
    std::fs::write(
        sla.stage.data().join("tickets.db"),
        sim::sla::database(3).unwrap(),
    )
    .unwrap();
    let ran = sla.stage.run(&["run", GOAL]).exits(0);
    assert!(ran.stdout.contains("Nobody was paged"), "{}", ran.stdout);
    assert_eq!(sla.stage.count("ApprovalRequested"), 0);
    assert_eq!(sla.pages(), 0);
}

#[test]
fn the_same_goal_again_while_it_waits_is_refused() {
    let sla = Sla::new();
    sla.stage.run(&["run", GOAL]).exits(3);
    let again = sla.stage.run(&["run", GOAL]).exits(2);
    assert!(
        again.stderr.contains("hint:") && again.stderr.contains("--again"),
        "{}",
        again.stderr
    );
}

#[test]
fn a_stale_digest_is_refused() {
    let sla = Sla::new();
    let ran = sla.stage.run(&["run", GOAL]).exits(3);
    let command = ran.printed_command("approve");
    let run = command
        .split_whitespace()
        .last()
        .unwrap()
        .split('@')
        .next()
        .unwrap()
        .to_owned();
    let stale = format!("{run}@{}", "0".repeat(64));
    sla.stage.run(&["approve", &stale]).exits(2);
    assert_eq!(sla.pages(), 0);
}

/// The control: a pager that acts twice for one call is seen by the count.
#[test]
fn a_world_that_doubles_is_noticed() {
    let sla = Sla::new();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let url = format!("{}/faults", sla.world.url());
    let body = r#"{"route":"POST /pages","kind":"twice","times":1}"#;
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = reqwest::Client::new();
        let request = client
            .post(url)
            .header("content-type", "application/json")
            .body(body);
        assert!(request.send().await.unwrap().status().is_success());
    });
    let ran = sla.stage.run(&["run", GOAL]).exits(3);
    let command = ran.printed_command("approve");
    let _ = sla.stage.run_printed(&command);
    assert_eq!(sla.pages(), 2);
}
