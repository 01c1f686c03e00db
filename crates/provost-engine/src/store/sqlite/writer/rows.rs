//! The rows of events and commits, linked as they are written.
//!
//! Owns where a run stands and the two statements that make its chain and that of the commits grow.
//! Checks nothing that is there. INVARIANT: an event that is inserted is an entry of its commit.

use provost_plan::digest::Digest;
use rusqlite::{Connection, Row, params};

use crate::store::chain::{self, Header, OpenCommit};
use crate::store::event::PreparedEvent;

/// The run's number, its owner, its last event and that event's link.
pub(in crate::store) struct ChainHead {
    pub(in crate::store) n: i64,
    pub(in crate::store) owner: Option<String>,
    pub(in crate::store) seq: u64,
    pub(in crate::store) link: Digest,
}

impl ChainHead {
    /// Reads the columns `n, owner, head_seq, head`.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            n: row.get(0)?,
            owner: row.get(1)?,
            seq: row.get(2)?,
            link: Digest::from_bytes(row.get(3)?),
        })
    }
}

/// Appends events to a run in a commit; where the run stands after them.
pub(in crate::store) fn insert_events(
    connection: &Connection,
    commit: &mut OpenCommit,
    run: &str,
    head: &ChainHead,
    events: &[PreparedEvent],
) -> rusqlite::Result<(u64, Digest)> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO events \
         (run, seq, commit_n, at_ms, kind, version, payload, digest, link, call) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    let (mut seq, mut link) = (head.seq, head.link);
    for event in events {
        seq += 1;
        let header = Header {
            run,
            seq,
            at_ms: event.at_ms,
            kind: &event.kind,
            version: event.version,
        };
        link = chain::event_link(&link, &header, &event.digest);
        insert.execute(params![
            head.n,
            seq,
            commit.n,
            event.at_ms,
            event.kind,
            event.version,
            event.payload,
            event.digest.bytes(),
            link.bytes(),
            event.call,
        ])?;
        commit.entries.push(run, seq, &link);
    }
    Ok((seq, link))
}

/// Appends a commit to the chain of the store's commits.
pub(in crate::store) fn insert_commit(
    connection: &Connection,
    commit: OpenCommit,
) -> rusqlite::Result<()> {
    let OpenCommit {
        store,
        n,
        previous,
        entries,
    } = commit;
    let events = entries.len();
    let link = entries.link(&store, &previous, n);
    connection
        .prepare_cached("INSERT INTO commits (n, events, link) VALUES (?1, ?2, ?3)")?
        .execute(params![n, events, link.bytes()])
        .map(|_| ())
}
