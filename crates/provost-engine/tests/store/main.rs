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

mod appending;
mod children;
mod crashing;
mod opening;
mod owning;
mod tampering;

/// `count` events for `run` after event `after`.
fn append(run: &str, after: u64, count: u64) -> Append {
    let events = (after + 1..=after + count).map(|seq| NewEvent {
        kind: Cow::Borrowed("Noted"),
        version: 1,
        at_ms: 1_000 + i64::try_from(seq).unwrap(),
        payload: json!({ "note": format!("event {seq} of {run}"), "b": 1.0, "a": [seq] }),
    });
    Append {
        run: run.to_owned(),
        expect_seq: after,
        events: events.collect(),
        evidence: Vec::new(),
        row: Projection {
            status: "running".to_owned(),
            goal: format!("the goal of {run}"),
            summary: json!({ "events": after + count }),
        },
        durable: false,
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
