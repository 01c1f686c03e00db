//! Equal calls that other runs made before: what the store says of them, and what it refuses.

use provost_engine::store::{NewEvent, Store, StoreError};
use provost_plan::digest::{Digest, Domain};
use provost_run::admission::{AdmissionEntry, EarlierLook};
use provost_run::earlier::{CallKey, EARLIER_NAMED_MAX, EarlierCalls};
use provost_run::event::Event;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::append;

fn args(of: &str) -> Digest {
    Digest::of_bytes(Domain::Args, of.as_bytes())
}

/// `start|read SLOT ARGS`, `end SLOT LANDING`, `settle SLOT SETTLEMENT`.
fn event_of(line: &str) -> Event {
    let words: Vec<&str> = line.split(' ').collect();
    let slot = json!({ "step": words[1] });
    let any = args("any");
    let (kind, payload) = match words[0] {
        "start" | "read" => (
            "AttemptStarted",
            json!({
                "slot": slot, "attempt": 1, "operation": "mail.send", "tool": any, "closure": any,
                "args": {}, "args_digest": args(words[2]), "read": words[0] == "read",
                "verdict": { "decision": "permit", "policies": [] },
            }),
        ),
        "end" => (
            "AttemptEnded",
            json!({ "slot": slot, "attempt": 1, "class": "timeout", "landing": words[2] }),
        ),
        _ => {
            let by = json!({ "kind": "person", "id": "ada" });
            (
                "DoubtSettled",
                json!({ "slot": slot, "settled": words[2], "by": by }),
            )
        }
    };
    Event::from_stored(kind, 1, &payload).unwrap()
}

/// A run that did this from moment `at` on.
fn run(store: &Store, run: &str, at: i64, lines: &[&str]) {
    let mut one = append(run, 0, 1);
    one.events = lines
        .iter()
        .map(|line| {
            let event = event_of(line);
            let (kind, version, payload) = event.to_stored();
            NewEvent {
                kind: kind.into(),
                version,
                at_ms: at,
                payload: payload.into(),
            }
        })
        .collect();
    store.append(one).wait().unwrap();
}

/// An append of `run` that rests on these calls being all that equal one to `bob`.
fn rests_on(store: &Store, run: &str, since: i64, known: EarlierCalls) -> Result<u64, StoreError> {
    let mut one = append(run, 0, 1);
    one.admission = vec![AdmissionEntry::Earlier(Box::new(EarlierLook {
        call: CallKey {
            operation: "mail.send".to_owned(),
            args: args("bob"),
        },
        since,
        known,
    }))];
    store.append(one).wait().map(|receipt| receipt.seq())
}

/// What the store knows of calls to `bob` since a moment.
fn known(store: &Store, run: &str, since: i64) -> EarlierCalls {
    match rests_on(store, run, since, EarlierCalls::default()) {
        Ok(_) => EarlierCalls::default(),
        Err(StoreError::NotAdmitted { earlier, .. }) => earlier[0].1.clone(),
        Err(error) => panic!("{error}"),
    }
}

fn lines(calls: &EarlierCalls) -> Vec<String> {
    let line = |call: &provost_run::earlier::EarlierCall| format!("{} {call}", call.at);
    calls.latest.iter().map(line).collect()
}

fn opened() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    (dir, store)
}

/// What a run did with the call, and what is said of it.
#[test]
fn an_equal_call_is_known_by_what_became_of_it() {
    let happened = "5 step `a` of run one took effect";
    let unknown = "5 step `a` of run one may have taken effect";
    let table: [(&[&str], &[&str]); 12] = [
        (&["start a bob", "end a happened"], &[happened]),
        (&["start a bob"], &[unknown]),
        (&["start a bob", "end a unknown"], &[unknown]),
        (&["start a bob", "end a none"], &[]),
        (&["start a eve", "end a happened"], &[]),
        (&["read a bob", "end a happened"], &[]),
        (
            &["start a bob", "end a unknown", "start a bob", "end a none"],
            &[unknown],
        ),
        (
            &["start a bob", "end a none", "start a bob", "end a happened"],
            &[happened],
        ),
        (
            &["start a bob", "end a unknown", "settle a did_not_happen"],
            &[],
        ),
        (
            &["start a bob", "end a unknown", "settle a happened"],
            &[happened],
        ),
        (
            &["start a bob", "end a unknown", "settle a abandoned"],
            &[unknown],
        ),
        (
            &["start a bob", "end a happened", "start a eve", "end a none"],
            &[happened],
        ),
    ];
    for (events, expected) in table {
        let (_dir, store) = opened();
        run(&store, "one", 5, events);
        let calls = known(&store, "two", 0);
        assert_eq!(lines(&calls), expected, "{events:?}");
        assert_eq!(calls.count, expected.len() as u64, "{events:?}");
    }
}

#[test]
fn what_rests_on_other_equal_calls_than_there_are_is_not_kept() {
    let (_dir, store) = opened();
    run(&store, "one", 5, &["start a bob", "end a happened"]);
    let calls = known(&store, "two", 0);
    assert!(store.load("two").is_err(), "nothing of it is kept");
    assert_eq!(rests_on(&store, "two", 0, calls.clone()), Ok(1));
    run(&store, "three", 6, &["start b bob"]);
    let refused = rests_on(&store, "four", 0, calls);
    assert!(
        matches!(refused, Err(StoreError::NotAdmitted { .. })),
        "{refused:?}"
    );
    // Why the other way round too: a call that no longer counts was said to be there.
    let none = rests_on(&store, "four", 7, known(&store, "four", 0));
    assert!(
        matches!(none, Err(StoreError::NotAdmitted { .. })),
        "{none:?}"
    );
}

/// A run after its first `after` events does this too.
fn goes_on(store: &Store, run: &str, after: u64, line: &str) {
    let event = event_of(line);
    let (kind, version, payload) = event.to_stored();
    let mut one = append(run, after, 1);
    one.events = vec![NewEvent {
        kind: kind.into(),
        version,
        at_ms: 6,
        payload: payload.into(),
    }];
    store.append(one).wait().unwrap();
}

/// What was read of a run is gone on with, and not taken for all that it ever did.
#[test]
fn what_a_run_did_since_it_was_looked_at_is_known() {
    let (_dir, store) = opened();
    run(&store, "one", 5, &["start a bob"]);
    let unknown = lines(&known(&store, "two", 0));
    assert_eq!(unknown, ["5 step `a` of run one may have taken effect"]);
    goes_on(&store, "one", 1, "end a none");
    assert_eq!(known(&store, "three", 0), EarlierCalls::default());
    goes_on(&store, "one", 2, "start a bob");
    goes_on(&store, "one", 3, "end a happened");
    let happened = lines(&known(&store, "four", 0));
    assert_eq!(happened, ["6 step `a` of run one took effect"]);
}

/// A journal that was put in place of the one that was read: its events are read, not what was
/// read of the other.
#[test]
fn a_run_that_was_exchanged_is_read_anew() {
    let (other_dir, other) = opened();
    run(
        &other,
        "one",
        5,
        &["start a eve", "end a happened", "start b bob"],
    );
    drop(other);
    let (dir, store) = opened();
    run(&store, "one", 5, &["start a bob", "end a happened"]);
    let before = lines(&known(&store, "two", 0));
    assert_eq!(before, ["5 step `a` of run one took effect"]);
    let file = Connection::open(dir.path().join("journal.db")).unwrap();
    let other = other_dir.path().join("journal.db");
    file.execute("ATTACH ?1 AS other", [other.to_str()])
        .unwrap();
    file.execute_batch(
        "DELETE FROM events; INSERT INTO events SELECT * FROM other.events; \
         UPDATE runs SET (head_seq, head) = (SELECT head_seq, head FROM other.runs)",
    )
    .unwrap();
    let after = lines(&known(&store, "three", 0));
    assert_eq!(after, ["5 step `b` of run one may have taken effect"]);
}

/// The latest are named, all are counted, and what is older than the window is neither.
#[test]
fn the_latest_equal_calls_are_named_and_those_before_the_window_are_not() {
    let (_dir, store) = opened();
    for n in 0..9 {
        run(
            &store,
            &format!("run{n}"),
            10 + n,
            &["start a bob", "end a happened"],
        );
    }
    let calls = known(&store, "x", 12);
    assert_eq!((calls.count, calls.latest.len()), (7, EARLIER_NAMED_MAX));
    assert_eq!(lines(&calls)[0], "18 step `a` of run run8 took effect");
    assert_eq!(lines(&calls)[4], "14 step `a` of run run4 took effect");
    assert_eq!(known(&store, "x", 19), EarlierCalls::default());
}

/// A journal of an older format has no way to its calls; brought up, it has.
#[test]
fn calls_of_an_older_journal_are_known_once_it_is_brought_up() {
    for (format, without) in [(7, "ALTER TABLE waits DROP COLUMN repeats;"), (9, "")] {
        let (dir, store) = opened();
        run(&store, "one", 5, &["start a bob", "end a happened"]);
        let before = known(&store, "two", 0);
        drop(store);
        let file = Connection::open(dir.path().join("journal.db")).unwrap();
        file.execute_batch(&format!(
            "DROP INDEX events_by_number; ALTER TABLE events DROP COLUMN call; {without} \
             PRAGMA user_version = {format}"
        ))
        .unwrap();
        drop(file);
        let read = Store::open_read_only(dir.path()).unwrap();
        read.verify().unwrap();
        drop(read);
        let store = Store::open(dir.path()).unwrap();
        assert_eq!(known(&store, "two", 0), before, "format {format}");
        store.verify().unwrap();
    }
}

/// Nothing stands beside the events that could be changed instead of them: the control is the
/// journal as it is.
#[test]
fn an_equal_call_whose_events_were_changed_stops_who_rests_on_it_and_is_found() {
    let changes = [
        (false, "SELECT 1"),
        (
            true,
            "UPDATE events SET payload = replace(payload, '\"happened\"', '\"none\"')",
        ),
        (
            true,
            "UPDATE events SET payload = NULL WHERE kind = 'AttemptEnded'",
        ),
        (true, "DELETE FROM events WHERE kind = 'AttemptEnded'"),
    ];
    for (tampered, sql) in changes {
        let (dir, store) = opened();
        run(&store, "one", 5, &["start a bob", "end a happened"]);
        drop(store);
        let file = Connection::open(dir.path().join("journal.db")).unwrap();
        file.execute_batch(sql).unwrap();
        drop(file);
        let store = Store::open(dir.path()).unwrap();
        assert_eq!(store.verify().is_err(), tampered, "{sql}");
        let looked = rests_on(&store, "two", 0, EarlierCalls::default()).unwrap_err();
        let refused = matches!(looked, StoreError::NotAdmitted { .. });
        assert_eq!(refused, !tampered, "{sql}: {looked}");
    }
}

/// The numbers by which calls are found follow from the events: the control is the journal as it is.
#[test]
fn a_number_of_a_call_that_was_changed_is_found() {
    let changes = [
        ("SELECT 1", None),
        ("UPDATE events SET call = NULL", Some(1)),
        (
            "UPDATE events SET call = call + 1 WHERE call IS NOT NULL",
            Some(1),
        ),
        (
            "UPDATE events SET call = 7 WHERE kind = 'AttemptEnded'",
            Some(2),
        ),
    ];
    for (sql, seq) in changes {
        let (dir, store) = opened();
        run(&store, "one", 5, &["start a bob", "end a happened"]);
        drop(store);
        let file = Connection::open(dir.path().join("journal.db")).unwrap();
        file.execute_batch(sql).unwrap();
        drop(file);
        let verified = Store::open(dir.path()).unwrap().verify();
        let tables = match verified {
            Err(StoreError::TablesDiffer { tables }) => tables,
            other => {
                other.unwrap();
                Vec::new()
            }
        };
        let named = seq.map(|seq| format!("events.call (event {seq} of run one)"));
        assert_eq!(tables, Vec::from_iter(named), "{sql}");
    }
}

/// A payload that is no JSON keeps nobody from opening an older journal, to stop or to look.
#[test]
fn a_damaged_payload_of_an_older_journal_does_not_keep_it_shut() {
    let (dir, store) = opened();
    run(&store, "one", 5, &["start a bob", "end a happened"]);
    drop(store);
    let file = Connection::open(dir.path().join("journal.db")).unwrap();
    file.execute_batch(
        "DROP INDEX events_by_number; ALTER TABLE events DROP COLUMN call; ALTER TABLE waits DROP COLUMN repeats; PRAGMA user_version = 7; \
         UPDATE events SET payload = '{\"half' WHERE kind = 'AttemptStarted'",
    )
    .unwrap();
    drop(file);
    let store = Store::open(dir.path()).unwrap();
    assert!(store.verify().is_err());
    let _: Value = json!(known(&store, "two", 0));
}
