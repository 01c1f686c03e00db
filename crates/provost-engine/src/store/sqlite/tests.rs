//! What needs an option that only tests have: a store that is full.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

use std::borrow::Cow;

use serde_json::json;

mod failing;
mod scheduling;

use super::{Append, Store, StoreError};
use crate::store::{NewEvent, Projection};

fn append(after: u64, size: usize) -> Append {
    Append {
        run: "run".to_owned(),
        expect_seq: after,
        events: vec![NewEvent {
            kind: Cow::Borrowed("Noted"),
            version: 1,
            at_ms: 1,
            payload: json!("x".repeat(size)).into(),
        }],
        evidence: Vec::new(),
        admission: Vec::new(),
        notices: Vec::new(),
        row: Projection {
            status: "running".to_owned(),
            goal: "fill the disk".to_owned(),
            summary: "{}".to_owned(),
            due_ms: None,
            waits: Vec::new(),
            facts: None,
        },
        durable: true,
        only_of_goal: false,
    }
}

#[test]
fn a_full_store_ends_all_writing_and_keeps_what_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_sized(dir.path(), Some(60)).unwrap();
    let mut acknowledged = 0;
    let error = loop {
        match store.append(append(acknowledged, 20_000)).wait() {
            Ok(receipt) => acknowledged = receipt.seq(),
            Err(error) => break error,
        }
    };
    assert!(acknowledged > 0);
    let full = StoreError::Poisoned {
        reason: "database or disk is full".to_owned(),
    };
    assert_eq!(error, full);
    // Why a small one: it would fit, but what the disk holds is no longer known.
    let after = [
        store.append(append(acknowledged, 1)).wait().unwrap_err(),
        store.claim("run").wait().unwrap_err(),
        store.barrier().wait().unwrap_err(),
    ];
    assert_eq!(after, [full.clone(), full.clone(), full.clone()]);
    assert_eq!(store.failure(), Some(full));
    drop(store);

    let store = Store::open(dir.path()).unwrap();
    assert_eq!(store.verify().unwrap().events, acknowledged);
    store.claim("run").wait().unwrap();
    store.append(append(acknowledged, 1)).wait().unwrap();
}

#[test]
fn the_control_without_a_limit_takes_them_all() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_sized(dir.path(), None).unwrap();
    for seq in 0..40 {
        store.append(append(seq, 20_000)).wait().unwrap();
    }
    assert_eq!(store.failure(), None);
}

#[test]
fn unfinished_runs_are_those_whose_status_is_no_end() {
    use provost_run::event::RunStatus as Status;
    let all = [
        Status::Planning,
        Status::WaitingApproval,
        Status::WaitingAnswer,
        Status::Running,
        Status::Paused,
        Status::InDoubt,
        Status::Succeeded,
        Status::Failed,
        Status::Rejected,
        Status::Expired,
        Status::Refused,
        Status::Cancelled,
    ];
    let open = all.into_iter().filter(|status| !status.is_ended());
    let words: Vec<_> = open.map(|status| status.word().to_owned()).collect();
    assert_eq!(super::RunFilter::unfinished().statuses, words);
}

/// Without its index, every look at equal calls would read the whole journal.
#[test]
fn equal_calls_are_found_by_their_index() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path()).unwrap());
    let file = rusqlite::Connection::open(dir.path().join(super::JOURNAL_FILE)).unwrap();
    let mut plan = file
        .prepare(&format!("EXPLAIN QUERY PLAN {}", super::earlier::ATTEMPTS))
        .unwrap();
    let plan: Vec<String> = plan
        .query_map([1, 0], |row| row.get(3))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(
        plan,
        ["SEARCH events USING INDEX events_by_number (call=? AND at_ms>?)"]
    );
}
