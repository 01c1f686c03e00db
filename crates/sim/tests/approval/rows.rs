//! Stored rows: one column of one row of a journal is changed, and the run taken up from it.

use std::path::Path;

use provost_engine::store::{Append, NewEvent, Projection, Store};
use provost_run::event::Event;
use rusqlite::Connection;
use sim::mutate::approval::{Session, first_rules, goal};
use sim::mutate::fields;

use super::{History, Table, both, chosen, is_full};

/// A store that holds the first `cut` events of a history.
fn stored(history: &History, cut: usize) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let events = history.session.journal[..cut].iter().map(|(event, at_ms)| {
        let (kind, version, payload) = event.to_stored();
        NewEvent {
            kind: kind.into(),
            version,
            at_ms: *at_ms,
            payload: payload.into(),
        }
    });
    let append = Append {
        run: "approved".to_owned(),
        expect_seq: 0,
        events: events.collect(),
        evidence: Vec::new(),
        admission: Vec::new(),
        notices: Vec::new(),
        row: Projection {
            status: "waiting_approval".to_owned(),
            goal: goal().text,
            summary: "{}".to_owned(),
            due_ms: None,
            waits: Vec::new(),
            facts: None,
        },
        durable: true,
        only_of_goal: false,
    };
    store.append(append).wait().unwrap();
    dir
}

fn loaded(dir: &Path) -> Result<Vec<(Event, i64)>, String> {
    let store = Store::open(dir).map_err(|error| error.to_string())?;
    let events = store.load("approved").map_err(|error| error.to_string())?;
    let read = |event: &provost_engine::store::StoredEvent| {
        let read = Event::from_stored(&event.kind, event.version, &event.payload);
        read.map(|read| (read, event.at_ms))
            .map_err(|error| error.to_string())
    };
    events.iter().map(read).collect()
}

/// The statements that change one column of one row of a store with `count` events.
fn row_changes(history: &History, cut: usize) -> Vec<String> {
    let mut changes = Vec::new();
    for (index, (event, _)) in history.session.journal[..cut].iter().enumerate() {
        let seq = index + 1;
        let (_, _, payload) = event.to_stored();
        for column in [
            "seq = seq + 100",
            "at_ms = at_ms + 1",
            "kind = kind || 'x'",
            "version = 2",
            "payload = NULL",
            "digest = zeroblob(32)",
            "link = zeroblob(32)",
            "run = run + 1",
        ] {
            changes.push(format!("UPDATE events SET {column} WHERE seq = {seq}"));
        }
        changes.push(format!("DELETE FROM events WHERE seq = {seq}"));
        // Of large payloads every field is changed in turn, spread over the boundaries.
        let mutated = fields::documents(&payload);
        let few = !is_full();
        for (number, (_, changed)) in mutated.into_iter().enumerate() {
            if !few || number % 40 == cut % 40 {
                let text = changed.to_string().replace('\'', "''");
                changes.push(format!(
                    "UPDATE events SET payload = '{text}' WHERE seq = {seq}"
                ));
            }
        }
    }
    for column in [
        "id = 'other'",
        "owner = 'somebody'",
        "created_at = 0",
        "updated_at = 0",
        "status = 'succeeded'",
        "goal = 'another'",
        "summary = '[]'",
        "head_seq = head_seq - 1",
        "head = zeroblob(32)",
    ] {
        changes.push(format!("UPDATE runs SET {column}"));
    }
    changes.push("UPDATE commits SET events = 0".to_owned());
    changes.push("UPDATE commits SET link = zeroblob(32)".to_owned());
    changes.push("DELETE FROM runs".to_owned());
    changes
}

pub fn of_rows(table: &mut Table) {
    let kind = "stored rows";
    let rules = first_rules().unwrap();
    for history in both() {
        let middle = history.cuts[history.cuts.len() / 2];
        let every = if is_full() {
            history.cuts.clone()
        } else {
            vec![middle]
        };
        for cut in every {
            let dir = stored(&history, cut);
            let file = dir.path().join("journal.db");
            let whole = std::fs::read(&file).unwrap();
            assert!(
                loaded(dir.path()).is_ok(),
                "control: what nobody changed is loaded"
            );
            for sql in chosen(row_changes(&history, cut)) {
                table.row(kind).mutations += 1;
                for side in ["journal.db-wal", "journal.db-shm"] {
                    let _ = std::fs::remove_file(dir.path().join(side));
                }
                std::fs::write(&file, &whole).unwrap();
                Connection::open(&file)
                    .unwrap()
                    .execute_batch(&sql)
                    .unwrap();
                let journal = loaded(dir.path());
                // Why at once: not every change of an event would lead to another call.
                let of_event = sql.contains(" events SET ") || sql.contains("FROM events");
                if of_event && journal.is_ok() {
                    table
                        .row(kind)
                        .unapproved
                        .push(format!("not noticed: {sql}"));
                }
                let resumed = journal.and_then(|journal| Session::resume(journal, &rules));
                match resumed {
                    Ok(mut session) => {
                        session.go().unwrap();
                        table.count(kind, &sql, &session, &history.covered);
                    }
                    Err(_) => table.refuse(kind),
                }
            }
        }
    }
}
