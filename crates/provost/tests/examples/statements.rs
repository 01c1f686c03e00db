//! A run that is killed at a random moment, while a second process says random things to it: no
//! effect twice, none lost, and nothing begins that a statement on record forbids.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use sim::rng::Rng;

use super::effects::{FAULTS, World, apply, binary, stage, statuses};
use super::stage::{Stage, count, moment};

/// What a person can say to this run: the verb, its arguments, and whether it only stops.
const SAYINGS: [(&str, &[&str], bool); 8] = [
    ("pause", &["--reason", "wait"], true),
    ("cancel", &["--reason", "enough"], true),
    ("cancel", &["--undo", "--reason", "take it back"], true),
    ("resume", &[], false),
    (
        "amend",
        &["--goal", "Send all four pages", "--reason", "clearer"],
        true,
    ),
    ("settle", &["b", "--happened", "--reason", "seen"], false),
    ("settle", &["c", "--abandon", "--reason", "unknown"], false),
    ("settle", &["c", "--happened", "--reason", "seen"], false),
];

/// What one seed came to.
#[derive(Default)]
struct Seen {
    interrupted: bool,
    statements: u64,
    recorded: u64,
    status: String,
}

/// How many pages were asked for, whatever became of the calls.
fn asked(world: &World) -> usize {
    let ledger = world.read("/ledger");
    let calls = ledger["calls"].as_array().unwrap().iter();
    calls
        .filter(|call| {
            call["route"]
                .as_str()
                .is_some_and(|route| route.starts_with("POST"))
        })
        .count()
}

fn is_sent(world: &World, step: &str) -> bool {
    world.pages().0.contains_key(&format!("page-{step}"))
}

/// Says something at random, sometimes while another process drives the run.
fn says(rng: &mut Rng, stage: &Stage, run: &str, world: &World, seen: &mut Seen) {
    let index = usize::try_from(rng.between(0, 7)).unwrap();
    let (verb, args, stops) = SAYINGS[index];
    // Why: whoever says of a page that it was sent when it was not is no fault of the run.
    if args.contains(&"--happened") && !is_sent(world, args[0]) {
        return;
    }
    let mut driver: Option<Child> = None;
    if rng.permille(400) {
        driver = Some(stage.spawn(&["work", "--until-idle"]));
        std::thread::sleep(moment(rng.draw(), 250));
    }
    let before = asked(world);
    let mut words = vec![verb, run];
    words.extend(args);
    let ran = stage.run(&words);
    assert!(!ran.all().contains("panicked"), "{}", ran.all());
    seen.statements += 1;
    seen.recorded += u64::from(ran.code == Some(0));
    if stops && driver.is_none() {
        let after = asked(world);
        assert_eq!(after, before, "`{verb}` began a call: {}", ran.all());
    }
    if let Some(mut driver) = driver {
        if rng.permille(500) {
            let _ = driver.kill();
        }
        driver.wait().unwrap();
    }
}

/// Nothing that is no read begins between a pause and its end, or after a cancel without undo.
fn begun_against_a_statement(stage: &Stage) -> Vec<String> {
    let journal = stage.journal();
    let mut rows = journal
        .prepare("select kind, payload from events order by seq")
        .unwrap();
    let events = rows.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    });
    let (mut paused, mut cancelled, mut undo) = (false, false, false);
    let mut against = Vec::new();
    for (kind, payload) in events.unwrap().map(Result::unwrap) {
        let payload: Value = serde_json::from_str(&payload).unwrap();
        match kind.as_str() {
            "Paused" => paused = true,
            "Resumed" if !payload["by"].is_null() => paused = false,
            "CancelRequested" => {
                cancelled = true;
                undo = payload["undo"] == true;
            }
            "AttemptStarted" if payload["read"] != true => {
                let step = payload["slot"]["step"].as_str().unwrap_or_default();
                let taken_back = undo && step.starts_with("undo/");
                if paused || (cancelled && !taken_back) {
                    against.push(format!(
                        "`{step}` began, paused {paused}, cancelled {cancelled}"
                    ));
                }
            }
            _ => {}
        }
    }
    against
}

fn once(seed: u64) -> Seen {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("world.json");
    let mut world = World::start(&state, "127.0.0.1:0");
    let stage = stage(&world.url);
    let mut rng = Rng::new(seed, "statements");
    let mut seen = Seen::default();
    killed_while_driven(seed, &mut world, &state, &stage, &mut seen);
    if let Some(run) = stage.only_run() {
        for _ in 0..rng.between(1, 4) {
            says(&mut rng, &stage, &run, &world, &mut seen);
        }
    }
    for _ in 0..2 {
        let ran = stage.run(&["work", "--until-idle"]);
        assert_eq!(ran.code, Some(0), "seed {seed}: {}", ran.all());
    }
    judge(seed, &world, &stage, &mut seen);
    seen
}

fn killed_while_driven(seed: u64, world: &mut World, state: &Path, stage: &Stage, seen: &mut Seen) {
    let fault = FAULTS[usize::try_from(seed).unwrap() % FAULTS.len()];
    world.fault(fault);
    let words = apply(stage);
    let words = [words[0].as_str(), words[1].as_str()];
    let mut child = stage.spawn(&words);
    std::thread::sleep(moment(seed, 900));
    if fault == "killed" {
        let address = world.address();
        world.kill();
        *world = World::start(state, &address);
    }
    seen.interrupted = child.try_wait().unwrap().is_none();
    let _ = child.kill();
    child.wait().unwrap();
    if stage.only_run().is_none() {
        stage.run(&words);
    }
}

fn judge(seed: u64, world: &World, stage: &Stage, seen: &mut Seen) {
    let (pages, effects) = world.pages();
    let (status, steps) = statuses(stage);
    let told = format!("seed {seed}: {status} {steps:?} {pages:?}");
    assert!(pages.values().all(|times| *times == 1), "doubled: {told}");
    assert_eq!(effects, pages.values().sum::<u64>(), "{told}");
    for (step, word) in &steps {
        let sent = pages.contains_key(&format!("page-{step}"));
        assert!(word != "succeeded" || sent, "lost: {told}");
    }
    let against = begun_against_a_statement(stage);
    assert!(against.is_empty(), "{told}: {against:?}");
    seen.status = status;
}

#[test]
fn nothing_is_doubled_or_begun_against_what_a_second_process_says() {
    binary();
    let next = AtomicU64::new(0);
    let seeds = u64::from(count(12));
    let (mut interrupted, mut statements, mut recorded) = (0, 0, 0);
    let mut ends: BTreeMap<String, u64> = BTreeMap::new();
    std::thread::scope(|scope| {
        // Why several: each spends most of its time waiting for what hangs.
        let threads: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    let seed = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|n| *n < seeds);
                    std::iter::from_fn(seed).map(once).collect::<Vec<_>>()
                })
            })
            .collect();
        for seen in threads.into_iter().flat_map(|t| t.join().unwrap()) {
            interrupted += u64::from(seen.interrupted);
            statements += seen.statements;
            recorded += seen.recorded;
            *ends.entry(seen.status).or_insert(0) += 1;
        }
    });
    println!(
        "killed while running: {interrupted}; statements {statements}, recorded {recorded}; \
         {ends:?}; doubled 0, lost 0, begun against a statement 0"
    );
    assert!(interrupted > 0 && recorded > 0);
}
