//! Every kind of change from outside is found, and its place is named. The control: a store that
//! nobody changed verifies.

use std::path::Path;

use provost_engine::store::{Evidence, Store};
use rusqlite::Connection;

use super::{append, small_store};

/// What `verify` says, and what `load` says of run `aaa`, after `sql` was done to the file.
fn after(sql: &str) -> (String, String) {
    let dir = small_store();
    change(dir.path(), sql);
    let store = Store::open_read_only(dir.path()).unwrap();
    let verify = match store.verify() {
        Ok(verified) => format!("{} events", verified.events),
        Err(error) => error.to_string(),
    };
    let load = match store.load("aaa") {
        Ok(events) => format!("{} events", events.len()),
        Err(error) => error.to_string(),
    };
    (verify, load)
}

fn change(dir: &Path, sql: &str) {
    let connection = Connection::open(dir.join("journal.db")).unwrap();
    connection.execute_batch(sql).unwrap();
}

const AAA: &str = "run = (SELECT n FROM runs WHERE id = 'aaa')";

#[test]
fn a_store_that_nobody_changed_verifies() {
    assert_eq!(after(""), ("10 events".to_owned(), "6 events".to_owned()));
}

#[test]
fn a_changed_byte_of_a_payload_is_found() {
    let sql =
        format!("UPDATE events SET payload = replace(payload, 'event 2', 'event 9') WHERE {AAA}");
    let message = "the chain of run aaa is broken at event 2: its payload is not what was stored";
    assert_eq!(after(&sql), (message.to_owned(), message.to_owned()));
}

#[test]
fn a_changed_header_is_found() {
    for set in ["kind = 'Meant'", "at_ms = at_ms + 1", "version = 2"] {
        let sql = format!("UPDATE events SET {set} WHERE seq = 4 AND {AAA}");
        let message = "the chain of run aaa is broken at event 4: it does not follow from the event before it";
        assert_eq!(
            after(&sql),
            (message.to_owned(), message.to_owned()),
            "{set}"
        );
    }
}

#[test]
fn swapped_events_are_found() {
    let sql = format!(
        "UPDATE events SET seq = 100 WHERE seq = 2 AND {AAA};
         UPDATE events SET seq = 2 WHERE seq = 3 AND {AAA};
         UPDATE events SET seq = 3 WHERE seq = 100 AND {AAA};"
    );
    let (verify, load) = after(&sql);
    assert_eq!(
        verify,
        "the chain of run aaa is broken at event 2: it is not there"
    );
    assert_eq!(
        load,
        "the chain of run aaa is broken at event 2: it does not follow from the event before it"
    );
}

#[test]
fn a_removed_event_is_found_in_the_middle_and_at_the_end() {
    let (verify, load) = after(&format!("DELETE FROM events WHERE seq = 3 AND {AAA}"));
    assert_eq!(
        verify,
        "the chain of commits is broken at commit 1: its events are not those that were committed"
    );
    assert_eq!(
        load,
        "the chain of run aaa is broken at event 3: it is not there"
    );

    let (verify, load) = after(&format!("DELETE FROM events WHERE seq = 6 AND {AAA}"));
    assert_eq!(
        verify,
        "the chain of commits is broken at commit 5: its events are not those that were committed"
    );
    assert_eq!(
        load,
        "the chain of run aaa is broken at event 6: the run's row ends at event 6"
    );
}

#[test]
fn a_run_cut_short_with_its_row_is_found_by_the_chain_of_commits() {
    let sql = format!(
        "DELETE FROM events WHERE seq = 6 AND {AAA};
         UPDATE runs SET head_seq = 5, head = (SELECT link FROM events WHERE seq = 5 AND {AAA})
         WHERE id = 'aaa'"
    );
    let (verify, load) = after(&sql);
    assert_eq!(
        verify,
        "the chain of commits is broken at commit 5: its events are not those that were committed"
    );
    assert_eq!(load, "5 events", "the chain of a run alone cannot show it");
}

#[test]
fn a_removed_run_is_found() {
    let sql = "DELETE FROM events WHERE run = (SELECT n FROM runs WHERE id = 'abb'); DELETE FROM runs WHERE id = 'abb'";
    assert_eq!(
        after(sql).0,
        "the chain of commits is broken at commit 2: its events are not those that were committed"
    );
}

#[test]
fn removed_commits_are_found() {
    assert_eq!(
        after("DELETE FROM commits WHERE n = 2").0,
        "the chain of commits is broken at commit 2: it is not there"
    );
    assert_eq!(
        after("DELETE FROM commits WHERE n = 5").0,
        "the chain of commits is broken at commit 5: it is not there"
    );
}

#[test]
fn an_erased_body_leaves_the_chains_whole_but_cannot_be_loaded() {
    let (verify, load) = after(&format!(
        "UPDATE events SET payload = NULL WHERE seq = 2 AND {AAA}"
    ));
    assert_eq!(verify, "10 events");
    assert_eq!(load, "the body of event 2 of run aaa was erased");
}

#[test]
fn changed_evidence_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut with = append("run", 0, 1);
    with.evidence = vec![Evidence::new("text/plain", b"it was so".to_vec())];
    let digest = with.evidence[0].digest();
    store.append(with).wait().unwrap();
    assert_eq!(store.verify().unwrap().evidence, 1);
    change(dir.path(), "UPDATE evidence SET bytes = x'00'");
    let message = format!("the evidence {digest} does not hold the bytes it was stored with");
    assert_eq!(store.verify().unwrap_err().to_string(), message);
    assert_eq!(store.evidence(&digest).unwrap_err().to_string(), message);
}
