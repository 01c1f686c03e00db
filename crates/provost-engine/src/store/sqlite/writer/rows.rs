//! The rows of events and commits, linked as they are written.
//!
//! Owns where a run stands and the two statements that make its chain and that of the commits grow.
//! Checks nothing that is there. INVARIANT: an event that is inserted is an entry of its commit.

use std::sync::LazyLock;

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

/// Most events that one statement inserts.
const ROWS_MAX: usize = 8;
/// The columns that differ from event to event, after the two that do not.
const OWN_COLUMNS: usize = 8;

/// The statements that insert one event, two, and so on. Why more at once: each statement opens the
/// table and all its indices anew, and a step has four events. Why no `ABORT`: SQLite would copy
/// each page before it changes it, to take back this statement alone, and an error here ends all.
static INSERTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let row = |row: usize| {
        let first = 3 + row * OWN_COLUMNS;
        let own: Vec<String> = (first..first + OWN_COLUMNS)
            .map(|place| format!("?{place}"))
            .collect();
        format!("(?1, ?2, {})", own.join(", "))
    };
    let rows = |count: usize| (0..count).map(row).collect::<Vec<_>>().join(", ");
    let insert = |count: usize| {
        format!(
            "INSERT OR ROLLBACK INTO events \
             (run, commit_n, seq, at_ms, kind, version, payload, digest, link, call) VALUES {}",
            rows(count)
        )
    };
    (1..=ROWS_MAX).map(insert).collect()
});

/// Appends events to a run in a commit; where the run stands after them.
pub(in crate::store) fn insert_events(
    connection: &Connection,
    commit: &mut OpenCommit,
    run: &str,
    head: &ChainHead,
    events: &[PreparedEvent],
) -> rusqlite::Result<(u64, Digest)> {
    let (mut seq, mut link) = (head.seq, head.link);
    for some in events.chunks(ROWS_MAX) {
        let sql = INSERTS.get(some.len() - 1).map_or("", String::as_str);
        let mut insert = connection.prepare_cached(sql)?;
        insert.raw_bind_parameter(1, head.n)?;
        insert.raw_bind_parameter(2, commit.n)?;
        for (row, event) in some.iter().enumerate() {
            seq += 1;
            let header = Header {
                run,
                seq,
                at_ms: event.at_ms,
                kind: &event.kind,
                version: event.version,
            };
            link = chain::event_link(&link, &header, &event.digest);
            commit.entries.push(run, seq, &link);
            let first = 3 + row * OWN_COLUMNS;
            insert.raw_bind_parameter(first, seq)?;
            insert.raw_bind_parameter(first + 1, event.at_ms)?;
            insert.raw_bind_parameter(first + 2, &event.kind)?;
            insert.raw_bind_parameter(first + 3, event.version)?;
            insert.raw_bind_parameter(first + 4, &event.payload)?;
            insert.raw_bind_parameter(first + 5, event.digest.bytes())?;
            insert.raw_bind_parameter(first + 6, link.bytes())?;
            insert.raw_bind_parameter(first + 7, event.call)?;
        }
        insert.raw_execute()?;
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
