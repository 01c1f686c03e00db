use provost_engine::store::{Append, Evidence, FindError, RunFilter, Store, StoreError};
use provost_plan::digest::{Digest, Domain};
use serde_json::json;

use super::{append, durable, small_store};

#[test]
fn what_is_appended_is_read_back_in_canonical_form() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let receipt = store.append(append("run", 0, 2)).wait().unwrap();
    assert_eq!(
        (receipt.run(), receipt.seq(), receipt.is_durable()),
        ("run", 2, false)
    );
    let events = store.load("run").unwrap();
    assert_eq!(events.len(), 2);
    assert_eq!(
        events[1].payload,
        json!({ "a": [2], "b": 1, "note": "event 2 of run" })
    );
    assert_eq!(
        events[1].digest,
        Digest::of_value(Domain::Event, &events[1].payload)
    );
    assert_eq!(events[1].link, receipt.head());
    assert_eq!((events[1].kind.as_str(), events[1].at_ms), ("Noted", 1_002));
}

#[test]
fn a_wrong_place_or_run_writes_nothing_and_harms_nobody_else() {
    let dir = small_store();
    let store = Store::open(dir.path()).unwrap();
    store.claim("aaa").wait().unwrap();
    let before = store.verify().unwrap();
    let mut empty = append("aaa", 6, 1);
    empty.events.clear();
    let mut huge = append("aaa", 6, 1);
    huge.events[0].payload = json!({ "n": 9_007_199_254_740_993_i64 }).into();
    let refused: [(Append, &str); 5] = [
        (append("aaa", 5, 1), "run aaa stands at event 6, not at 5"),
        (append("aaa", 0, 1), "run aaa stands at event 6, not at 0"),
        (append("nnn", 3, 1), "there is no run nnn"),
        (
            empty,
            "what is to be stored for run aaa is refused: there is no event in it",
        ),
        (
            huge,
            "what is to be stored for run aaa is refused: the integer 9007199254740993 is beyond \
             ±2^53, where readers disagree on its value",
        ),
    ];
    for (append, message) in refused {
        assert_eq!(
            store.append(append).wait().unwrap_err().to_string(),
            message
        );
    }
    assert_eq!(store.verify().unwrap(), before);
    assert_eq!(store.failure(), None);
    assert_eq!(store.append(append("aaa", 6, 1)).wait().unwrap().seq(), 7);
}

#[test]
fn requests_that_wait_together_share_a_commit() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let pending: Vec<_> = (0..300)
        .flat_map(|n| {
            let run = format!("run{n}");
            [append(&run, 0, 1), durable(append(&run, 1, 1))]
        })
        .map(|one| store.append(one))
        .collect();
    for one in pending {
        one.wait().unwrap();
    }
    let counts = store.counts();
    assert_eq!(counts.requests, 600);
    assert!(counts.full + counts.normal < 300, "no grouping: {counts:?}");
    let verified = store.verify().unwrap();
    assert_eq!((verified.events, verified.runs), (600, 300));
    assert_eq!(verified.commits, counts.full + counts.normal);
}

#[test]
fn a_commit_is_synced_only_if_somebody_asks_and_the_mode_switches_only_when_it_changes() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut seen = Vec::new();
    for seq in 0..9 {
        let next = append("run", seq, 1);
        let wants = [2, 3, 7].contains(&seq);
        let receipt = store
            .append(if wants { durable(next) } else { next })
            .wait()
            .unwrap();
        assert_eq!(receipt.is_durable(), wants);
        seen.push(store.counts());
    }
    let last = seen.last().unwrap();
    assert_eq!((last.normal, last.full, last.switches), (6, 3, 4));
    store.barrier().wait().unwrap();
    assert_eq!(store.counts().full, 4);
    assert_eq!(
        store.verify().unwrap().commits,
        10,
        "a barrier is a row of its own"
    );
}

#[test]
fn evidence_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let bytes = vec![7; 100_000];
    let digest = Evidence::new("text/plain", bytes.clone()).digest();
    for seq in 0..20 {
        let mut next = append("run", seq, 1);
        next.evidence = vec![Evidence::new("text/plain", bytes.clone())];
        store.append(next).wait().unwrap();
    }
    let found = store.evidence(&digest).unwrap().unwrap();
    assert_eq!((found.media.as_str(), found.bytes), ("text/plain", bytes));
    assert_eq!(
        store
            .evidence(&Digest::of_bytes(Domain::Evidence, b"x"))
            .unwrap(),
        None
    );
    assert_eq!(store.verify().unwrap().evidence, 1);
}

#[test]
fn a_failed_commit_is_told_to_everybody_and_ends_all_writing() {
    // Why here and not by a size limit alone: the limit is an option of tests inside the crate.
    let dir = small_store();
    let store = Store::open(dir.path()).unwrap();
    store.claim("aaa").wait().unwrap();
    let outside = rusqlite::Connection::open(dir.path().join("journal.db")).unwrap();
    outside.execute_batch("DROP TABLE commits").unwrap();
    let error = store.append(append("aaa", 6, 1)).wait().unwrap_err();
    assert!(matches!(error, StoreError::Poisoned { .. }), "{error}");
    assert_eq!(store.barrier().wait().unwrap_err(), error);
    assert_eq!(store.failure(), Some(error));
}

#[test]
fn runs_are_listed_latest_first_and_found_by_prefix() {
    let dir = small_store();
    let store = Store::open_read_only(dir.path()).unwrap();
    let ids = |filter: &RunFilter| {
        let runs = store.runs(filter).unwrap();
        runs.into_iter().map(|run| run.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&RunFilter::default()), ["aaa", "ccc", "abb"]);
    let of_goal = RunFilter {
        goal: Some("the goal of abb".to_owned()),
        ..RunFilter::default()
    };
    assert_eq!(ids(&of_goal), ["abb"]);
    let finished = RunFilter {
        statuses: vec!["failed".to_owned(), "succeeded".to_owned()],
        ..RunFilter::default()
    };
    assert!(ids(&finished).is_empty());
    assert_eq!(ids(&RunFilter::unfinished()).len(), 3);
    let row = store.run("aaa").unwrap();
    assert_eq!(
        (row.head_seq, row.summary),
        (6, json!({ "events": 6 }).to_string())
    );
    assert_eq!((row.created_at_ms, row.updated_at_ms), (1_001, 1_006));

    assert_eq!(store.find("c").unwrap(), "ccc");
    assert_eq!(store.find("aaa").unwrap(), "aaa");
    assert_eq!(
        store.find("a").unwrap_err().to_string(),
        "several runs begin with `a`: aaa, abb"
    );
    assert!(matches!(store.find("%"), Err(FindError::Unknown { .. })));
    assert_eq!(store.barrier().wait(), Err(StoreError::ReadOnly));
}

#[test]
fn requests_are_awaited_as_futures_too() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let seqs = runtime.block_on(async {
        let first = store.append(append("run", 0, 2));
        let second = store.append(append("run", 2, 1));
        (second.await.unwrap().seq(), first.await.unwrap().seq())
    });
    assert_eq!(seqs, (3, 2));
}

#[test]
fn an_unfinished_run_is_found_by_the_words_of_its_goal() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let of = |run: &str, after, goal: &str, status: &str| {
        let mut one = append(run, after, 1);
        one.row.goal = goal.to_owned();
        one.row.status = status.to_owned();
        store.append(one).wait().unwrap();
    };
    let found = |goal: &str| store.unfinished_of(goal).unwrap().map(|row| row.id);
    of("first", 0, "Look  at the\nlogs", "running");
    of("other", 0, "Look at the log", "running");
    assert_eq!(found("look AT the logs").as_deref(), Some("first"));
    assert_eq!(found("look at logs"), None);
    // What is shown changes with the run: its goal, and whether it is over.
    of("first", 1, "Look at logs", "paused");
    assert_eq!(
        (found("look at the logs"), found("look at logs").as_deref()),
        (None, Some("first"))
    );
    of("first", 2, "Look at logs", "succeeded");
    assert_eq!(found("look at logs"), None);
    // The control: a row of an older version has no words, and is found all the same.
    drop(store);
    let connection = rusqlite::Connection::open(dir.path().join("journal.db")).unwrap();
    connection
        .execute("UPDATE runs SET goal_words = NULL", [])
        .unwrap();
    drop(connection);
    let store = Store::open(dir.path()).unwrap();
    let found = store.unfinished_of("LOOK at the log").unwrap();
    assert_eq!(found.unwrap().id, "other");
}
