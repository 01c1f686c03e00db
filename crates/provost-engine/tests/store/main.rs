//! The journal from outside: what is acknowledged stays, what is changed shows, one owner a run.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests"
)]

use std::borrow::Cow;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use provost_engine::store::{Append, NewEvent, Projection, Store};
use serde_json::json;

mod admitting;
mod appending;
mod begun;
mod children;
mod crashing;
mod earlier;
mod flips;
mod goals;
mod guarding;
mod heads;
mod logged;
mod opening;
mod owning;
mod searching;
mod series;
mod speed;
mod tampering;
mod waits;
mod waking;

/// `count` events for `run` after event `after`.
fn append(run: &str, after: u64, count: u64) -> Append {
    let events = (after + 1..=after + count).map(|seq| NewEvent {
        kind: Cow::Borrowed("Noted"),
        version: 1,
        at_ms: 1_000 + i64::try_from(seq).unwrap(),
        payload: json!({ "note": format!("event {seq} of {run}"), "b": 1.0, "a": [seq] }).into(),
    });
    Append {
        run: run.to_owned(),
        expect_seq: after,
        events: events.collect(),
        evidence: Vec::new(),
        admission: Vec::new(),
        notices: Vec::new(),
        row: Projection {
            status: "running".to_owned(),
            goal: format!("the goal of {run}"),
            summary: json!({ "events": after + count }).to_string(),
            due_ms: None,
            waits: Vec::new(),
            facts: None,
        },
        durable: false,
        only_of_goal: false,
    }
}

fn durable(mut append: Append) -> Append {
    append.durable = true;
    append
}

/// Starts this test program again as a child that plays `part` over the store `dir`.
fn child(part: &str, dir: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "children::play", "--nocapture", "--ignored"])
        .env("PROVOST_PART", part)
        .env("PROVOST_DIR", dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// A store with three runs over five commits, and its directory.
fn small_store() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    for (run, after, count) in [
        ("aaa", 0, 3),
        ("abb", 0, 2),
        ("aaa", 3, 1),
        ("ccc", 0, 2),
        ("aaa", 4, 2),
    ] {
        store.append(append(run, after, count)).wait().unwrap();
    }
    drop(store);
    dir
}

/// The second verifier's verdict on the journal in `dir`.
fn second(dir: &Path) -> std::process::Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/verify.py");
    let mut command = Command::new("python3");
    command.arg(script).arg(dir.join("journal.db"));
    command.output().unwrap()
}

/// How often a test repeats: `PROVOST_COUNT`, or what is enough on every change.
fn count(otherwise: u64) -> u64 {
    let given = std::env::var("PROVOST_COUNT").ok();
    given
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

/// The next of a row of numbers that only its seed decides (splitmix64).
fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
