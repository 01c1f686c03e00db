//! Every kind of change from outside is found, and its place is named. The control: a store that
//! nobody changed verifies.

use std::path::Path;

use provost_engine::store::{Evidence, Store};
use rusqlite::Connection;
use serde_json::json;

use super::{append, second, small_store};

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
        "the chain of commits is broken at commit 1: it had 3 events and has 2"
    );
    assert_eq!(
        load,
        "the chain of run aaa is broken at event 3: it is not there"
    );

    let (verify, load) = after(&format!("DELETE FROM events WHERE seq = 6 AND {AAA}"));
    assert_eq!(
        verify,
        "the chain of commits is broken at commit 5: it had 2 events and has 1"
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
        "the chain of commits is broken at commit 5: it had 2 events and has 1"
    );
    assert_eq!(load, "5 events", "the chain of a run alone cannot show it");
}

#[test]
fn a_removed_run_is_found() {
    let sql = "DELETE FROM events WHERE run = (SELECT n FROM runs WHERE id = 'abb'); DELETE FROM runs WHERE id = 'abb'";
    assert_eq!(
        after(sql).0,
        "the chain of commits is broken at commit 2: it had 2 events and has 0"
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
fn a_payload_that_was_taken_away_is_found() {
    let (verify, load) = after(&format!(
        "UPDATE events SET payload = NULL WHERE seq = 2 AND {AAA}"
    ));
    let message = "the payload of event 2 of run aaa is gone";
    assert_eq!((verify.as_str(), load.as_str()), (message, message));
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

/// What `verify` says after `sql` was done to a store whose events name evidence and end.
fn after_a_whole_run(sql: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let evidence = Evidence::new("text/plain", b"it was so".to_vec());
    let mut one = append("run", 0, 3);
    one.events[1].kind = "ObservationMade".into();
    one.events[1].payload = json!({ "evidence": evidence.digest() }).into();
    one.events[2].kind = "RunEnded".into();
    one.events[2].payload = json!({ "status": "failed" }).into();
    one.row.status = "failed".to_owned();
    one.evidence = vec![evidence];
    store.append(one).wait().unwrap();
    drop(store);
    change(dir.path(), sql);
    let store = Store::open_read_only(dir.path()).unwrap();
    let said = match store.verify() {
        Ok(verified) => format!("{} events", verified.events),
        Err(error) => error.to_string(),
    };
    without_digests(&said)
}

fn without_digests(text: &str) -> String {
    let words = text
        .split(' ')
        .map(|word| match word.split_once("sha256:") {
            Some(_) => "DIGEST",
            None => word,
        });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn evidence_that_is_gone_is_missed_by_the_event_that_names_it() {
    assert_eq!(after_a_whole_run(""), "3 events");
    assert_eq!(
        after_a_whole_run("DELETE FROM evidence"),
        "the evidence DIGEST is gone; event 2 of run run names it"
    );
}

#[test]
fn a_listing_that_says_what_the_events_do_not_say_is_found() {
    for (set, reason) in [
        (
            "status = 'succeeded'",
            "it is listed as succeeded, and its events say failed",
        ),
        (
            "status = 'running'",
            "it is listed as running, and its events say failed",
        ),
        (
            "updated_at = updated_at + 1",
            "its moments are not those of its events",
        ),
        ("created_at = 0", "its moments are not those of its events"),
    ] {
        assert_eq!(
            after_a_whole_run(&format!("UPDATE runs SET {set}")),
            format!("the listing of run run does not fit its events: {reason}")
        );
    }
    assert_eq!(
        after("UPDATE runs SET status = 'succeeded' WHERE id = 'aaa'").0,
        "the listing of run aaa does not fit its events: it is listed as succeeded, and its \
         events say not over"
    );
}

#[test]
fn a_commit_that_counts_otherwise_is_found() {
    assert_eq!(
        after("UPDATE commits SET events = 4 WHERE n = 1").0,
        "the chain of commits is broken at commit 1: it had 4 events and has 3"
    );
}

#[test]
fn an_index_that_leads_astray_is_found() {
    let sql = "PRAGMA writable_schema = ON;
               DELETE FROM sqlite_schema WHERE name = 'runs_by_status';";
    let (verify, load) = after(sql);
    assert!(
        verify.starts_with("the file of the journal is damaged: "),
        "{verify}"
    );
    assert_eq!(load, "6 events");
}

#[test]
fn an_old_journal_in_which_an_answer_names_its_question_verifies() {
    let question = Evidence::new("text/plain", b"a question".to_vec()).digest();
    for answered in [true, false] {
        let dir = small_store();
        let store = Store::open(dir.path()).unwrap();
        store.claim("aaa").wait().unwrap();
        let mut next = append("aaa", 6, 2);
        if answered {
            next.events[0].kind = "QuestionAnswered".into();
            next.events[0].payload = json!({ "question": question, "value": 1 }).into();
        }
        next.events[1].kind = "ObservationMade".into();
        next.events[1].payload = json!({ "evidence": question, "output": 1 }).into();
        store.append(next).wait().unwrap();
        let verified = store.verify();
        let second = second(dir.path());
        assert_eq!(verified.is_ok(), answered, "{verified:?}");
        assert_eq!(second.status.success(), answered, "{second:?}");
    }
}
