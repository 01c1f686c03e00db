//! A process that is killed while it appends leaves a prefix with everything it acknowledged.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};

use provost_engine::owner::ClaimResult;
use provost_engine::store::Store;

use super::{append, child};

#[test]
fn nothing_acknowledged_is_lost_to_a_kill_and_the_run_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..8_u64 {
        let dir = dir.path().join(round.to_string());
        let acknowledged = kill_after(&dir, 5 + 37 * round);
        let store = Store::open(&dir).unwrap();
        let verified = store.verify().unwrap();
        assert!(verified.runs <= 4);
        for (run, seq) in &acknowledged {
            let events = store.load(run).unwrap();
            let stored = u64::try_from(events.len()).unwrap();
            assert!(
                stored >= *seq,
                "run {run}: acknowledged {seq}, stored {stored}"
            );
            assert!(stored <= seq + 1, "run {run}: an event nobody sent");
            assert_eq!(store.claim(run).wait(), Ok(ClaimResult::Taken));
            store.append(append(run, stored, 1)).wait().unwrap();
        }
        store.verify().unwrap();
    }
}

/// Kills a child after so many acknowledgements; says the last one of each run that was read.
fn kill_after(dir: &std::path::Path, acks: u64) -> BTreeMap<String, u64> {
    let mut child = child("append", dir);
    let out = BufReader::new(child.stdout.take().unwrap());
    let mut last = BTreeMap::new();
    let mut seen = 0;
    for line in out.lines() {
        let line = line.unwrap();
        if let Some(ack) = line.strip_prefix("ack ") {
            let (run, seq) = ack.split_once(' ').unwrap();
            last.insert(run.to_owned(), seq.parse().unwrap());
            seen += 1;
            if seen == acks {
                child.kill().unwrap();
            }
        }
    }
    child.wait().unwrap();
    assert!(seen >= acks, "the child ended by itself after {seen}");
    last
}

/// The control: the same look at a store from which an acknowledged event was taken fails.
#[test]
fn the_look_after_a_kill_can_fail() {
    let dir = tempfile::tempdir().unwrap();
    let acknowledged = kill_after(dir.path(), 50);
    let connection = rusqlite::Connection::open(dir.path().join("journal.db")).unwrap();
    connection
        .execute_batch(
            "DELETE FROM events WHERE seq = (SELECT max(seq) FROM events);
             UPDATE runs SET head_seq = head_seq - 1",
        )
        .unwrap();
    let store = Store::open(dir.path()).unwrap();
    let lost = acknowledged.iter().any(|(run, _)| store.load(run).is_err());
    assert!(lost && store.verify().is_err());
}
