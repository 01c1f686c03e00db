//! Somebody who can write the journal's file and has no key: appends rows and computes both chains.

use provost_plan::digest::{Digest, Domain, canonical};
use provost_run::event::Event;
use rusqlite::{Connection, params};
use serde_json::{Value, json};

pub struct Forger {
    journal: Connection,
    store: String,
    /// The journal as it was before the first forgery.
    events: i64,
    commits: i64,
}

impl Forger {
    pub fn new(journal: Connection) -> Self {
        let one = |sql: &str| journal.query_row(sql, [], |row| row.get(0)).unwrap();
        let store = journal
            .query_row("SELECT value FROM meta WHERE key = 'store'", [], |row| {
                row.get(0)
            })
            .unwrap();
        Self {
            events: one("SELECT max(n) FROM events"),
            commits: one("SELECT max(n) FROM commits"),
            store,
            journal,
        }
    }

    /// Appends events to a run, in a commit of their own; the number of the last.
    pub fn append(&self, run: &str, events: &[Event]) -> u64 {
        self.journal.execute_batch("BEGIN").unwrap();
        let (n, mut seq, link, mut at): (i64, u64, [u8; 32], i64) = self
            .journal
            .query_row(
                "SELECT n, head_seq, head, updated_at FROM runs WHERE id = ?1",
                [run],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
            )
            .unwrap();
        let (commit, previous): (u64, [u8; 32]) = self
            .journal
            .query_row(
                "SELECT n, link FROM commits ORDER BY n DESC LIMIT 1",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        let mut link = Digest::from_bytes(link);
        let mut entries = Vec::new();
        for event in events {
            let (kind, version, payload) = event.to_stored();
            let payload = canonical(&payload);
            let digest = Digest::of_bytes(Domain::Event, payload.as_bytes());
            (seq, at) = (seq + 1, at + 1);
            let header = json!([link, run, seq, at, kind, version, digest]);
            link = Digest::of_value(Domain::Link, &header);
            self.insert(
                (n, seq, commit + 1, at),
                (&kind, version, &payload),
                (digest, link),
            );
            entries.push(json!([run, seq, link]));
        }
        self.commit(Digest::from_bytes(previous), commit + 1, &entries);
        self.journal
            .execute(
                "UPDATE runs SET head_seq = ?2, head = ?3, updated_at = ?4 WHERE n = ?1",
                params![n, seq, link.bytes(), at],
            )
            .unwrap();
        self.journal.execute_batch("COMMIT").unwrap();
        seq
    }

    fn insert(
        &self,
        (run, seq, commit, at): (i64, u64, u64, i64),
        (kind, version, payload): (&str, u32, &str),
        (digest, link): (Digest, Digest),
    ) {
        self.journal
            .execute(
                "INSERT INTO events (run, seq, commit_n, at_ms, kind, version, payload, digest, \
                 link) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    run,
                    seq,
                    commit,
                    at,
                    kind,
                    version,
                    payload,
                    digest.bytes(),
                    link.bytes()
                ],
            )
            .unwrap();
    }

    fn commit(&self, previous: Digest, n: u64, entries: &[Value]) {
        let form = json!([previous, self.store, n, entries]);
        let link = Digest::of_value(Domain::Commit, &form);
        self.journal
            .execute(
                "INSERT INTO commits (n, events, link) VALUES (?1, ?2, ?3)",
                params![n, entries.len(), link.bytes()],
            )
            .unwrap();
    }

    /// Lifts every stop of all runs: an event of the workspace's log, in a commit of its own if it
    /// `commits`, and in the last one as if it had been there if it does not.
    pub fn lift(&self, commits: bool) {
        let one = |sql: &str| {
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, Digest::from_bytes(row.get(1)?)));
            self.journal.query_row(sql, [], row).unwrap()
        };
        let (seq, before): (u64, _) =
            one("SELECT seq, link FROM events WHERE run = 0 ORDER BY seq DESC LIMIT 1");
        let (last, previous): (u64, _) = one("SELECT n, link FROM commits ORDER BY n DESC LIMIT 1");
        let payload = canonical(&json!({ "scope": "all", "name": "", "by": "ada" }));
        let digest = Digest::of_bytes(Domain::Event, payload.as_bytes());
        let (seq, commit) = (seq + 1, last + u64::from(commits));
        let header = json!([before, "workspace", seq, 1, "StopLifted", 1, digest]);
        let link = Digest::of_value(Domain::Link, &header);
        let row = (0, seq, commit, 1);
        self.insert(row, ("StopLifted", 1, &payload), (digest, link));
        if commits {
            self.commit(previous, commit, &[json!(["workspace", seq, link])]);
        }
        self.journal
            .execute_batch(&format!(
                "UPDATE meta SET value = '{seq} {link}' WHERE key = 'log'; DELETE FROM stops"
            ))
            .unwrap();
    }

    /// Puts the journal back to what it was.
    pub fn put_back(&self) {
        self.journal
            .execute_batch(&format!(
                "BEGIN; DELETE FROM events WHERE n > {}; DELETE FROM commits WHERE n > {};
                 UPDATE runs SET (head_seq, head, updated_at) = (SELECT seq, link, at_ms
                 FROM events WHERE run = runs.n ORDER BY seq DESC LIMIT 1); COMMIT",
                self.events, self.commits
            ))
            .unwrap();
    }
}
