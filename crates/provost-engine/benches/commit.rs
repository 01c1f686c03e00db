//! How long the store takes for the commit of a step: alone, and among a hundred runs.
//!
//! Owns the targets, in processor time of the whole process: what the disk takes is the disk's.
//! Exits 1 where one is missed. INVARIANT: what is timed is durable, and verified afterwards.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark, which never ships"
)]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use provost_engine::store::{Append, Evidence, NewEvent, Projection, Store};
use serde_json::json;

/// Steps that are committed one after another, and the most that one may take.
const ALONE: (u64, Duration) = (2_000, Duration::from_micros(150));
/// Runs, steps of each, and the most that a step may take when the runs commit together.
const TOGETHER: (u64, u64, Duration) = (100, 40, Duration::from_micros(90));

fn main() -> ExitCode {
    let (alone, most_alone) = (alone(ALONE.0), ALONE.1);
    let (together, most_together) = (together(TOGETHER.0, TOGETHER.1), TOGETHER.2);
    println!("alone: {} at most {most_alone:?}", shown(alone));
    println!("together: {} at most {most_together:?}", shown(together));
    if alone.0 <= most_alone && together.0 <= most_together {
        ExitCode::SUCCESS
    } else {
        println!("MISSED");
        ExitCode::FAILURE
    }
}

/// Processor time of a step, and commits that were synced for each.
type Took = (Duration, f64);

fn shown((time, synced): Took) -> String {
    format!(
        "{:.1} us a step, {synced:.3} syncs;",
        time.as_secs_f64() * 1e6
    )
}

fn alone(steps: u64) -> Took {
    timed(steps, |store| {
        for at in 0..steps {
            store.append(step("run0", at)).wait().expect("a commit");
        }
    })
}

fn together(runs: u64, steps: u64) -> Took {
    timed(runs * steps, |store| {
        for at in 0..steps {
            let all: Vec<_> = (0..runs)
                .map(|run| store.append(step(&format!("run{run}"), at)))
                .collect();
            for one in all {
                one.wait().expect("a commit");
            }
        }
    })
}

fn timed(steps: u64, work: impl FnOnce(&Store)) -> Took {
    let dir = tempfile::tempdir().expect("a directory");
    let store = Store::open(dir.path()).expect("a store");
    let (cpu, wall) = (spent(), Instant::now());
    work(&store);
    let time = match (cpu, spent()) {
        (Some(began), Some(ended)) => ended.saturating_sub(began),
        _ => wall.elapsed(),
    };
    let synced = store.counts().full;
    store.verify().expect("a journal that holds");
    let count = u32::try_from(steps).expect("few");
    (time / count, synced as f64 / f64::from(count))
}

/// What a step of a run appends: the end of one attempt, and the intent of the next.
fn step(run: &str, at: u64) -> Append {
    let evidence = Evidence::new("application/json", b"{\"ok\":true}".to_vec());
    let slot = json!({ "step": format!("s{at}") });
    let digest = evidence.digest();
    let events = [
        (
            "AttemptEnded",
            json!({ "slot": slot, "attempt": 1, "class": "ok", "landing": "happened",
                "evidence": digest }),
        ),
        (
            "ObservationMade",
            json!({ "slot": slot, "output": { "ok": true }, "evidence": digest,
                "label": { "integrity": "trusted", "sources": [format!("s{at}")] } }),
        ),
        (
            "StepSettled",
            json!({ "slot": slot, "status": "succeeded" }),
        ),
        (
            "AttemptStarted",
            json!({ "slot": slot, "attempt": 1, "operation": "timed.put", "tool": digest,
                "closure": digest, "args": { "n": at }, "args_digest": digest, "read": false,
                "verdict": { "decision": "permit", "policies": ["calls"] } }),
        ),
    ];
    let stored = events.map(|(kind, payload)| NewEvent {
        kind: kind.into(),
        version: 1,
        at_ms: 1_000,
        payload: payload.into(),
    });
    Append {
        run: run.to_owned(),
        expect_seq: at * 4,
        events: stored.into(),
        evidence: vec![evidence],
        admission: Vec::new(),
        notices: Vec::new(),
        row: Projection {
            status: "running".to_owned(),
            goal: "time the store".to_owned(),
            summary: json!({ "revision": 1 }).to_string(),
            due_ms: None,
            waits: Vec::new(),
            facts: None,
        },
        durable: true,
        only_of_goal: false,
    }
}

/// What all threads of this process have spent on a processor, where the system says so.
fn spent() -> Option<Duration> {
    let mut all = 0;
    for thread in std::fs::read_dir("/proc/self/task").ok()? {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        all += text.split_whitespace().next()?.parse::<u64>().ok()?;
    }
    Some(Duration::from_nanos(all))
}
