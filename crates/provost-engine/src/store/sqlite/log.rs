//! The log of the workspace: what people did to all runs at once, as events of a reserved run.
//!
//! Owns the number and the name of that run, which no row of `runs` lists, its kinds of events, and
//! the row of `meta` that says where it ends. Decides nothing: what binds follows from it in
//! `stops` and `prune`. INVARIANT: its events are linked and committed like those of any run, so
//! that the chains and the signed heads cover them.

use std::borrow::Cow;

use provost_plan::digest::{Digest, Domain};
use rusqlite::{Connection, OptionalExtension as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::StoreError;
use super::payloads::PrunedRun;
use super::prune::{self, PruneBatch};
use super::read::{self, EVENT_COLUMNS, EventRow};
use super::stops::{self, Placed};
use super::writer::rows::{self, ChainHead};
use crate::store::chain::{GENESIS, OpenCommit};
use crate::store::event::PreparedEvent;

/// The name of the reserved run in links.
pub(super) const RUN: &str = "workspace";
/// Its number in the table of events; those of runs begin at 1.
pub(super) const NUMBER: i64 = 0;
/// The row of `meta` that says where the log ends.
const END: &str = "log";
const VERSION: u32 = 1;

/// Something that was done to the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "payload")]
pub(super) enum LogEvent {
    /// Something was stopped.
    StopPlaced(Placed),
    /// It may go on.
    StopLifted {
        /// What it bound.
        scope: String,
        /// Its name.
        name: String,
        /// Who said so.
        by: String,
    },
    /// The bytes of evidence were dropped.
    EvidencePruned {
        /// Which.
        pieces: Vec<PruneBatch>,
        /// When, in milliseconds since 1970.
        at_ms: i64,
    },
    /// The payloads of runs were dropped.
    PayloadsPruned {
        /// Which, and what is kept of each.
        runs: Vec<PrunedRun>,
        /// When, in milliseconds since 1970.
        at_ms: i64,
    },
    /// Rows of tables that did not follow from the events were put right before the first call.
    TablesRestored {
        /// Which, in words.
        rows: Vec<String>,
    },
}

impl LogEvent {
    fn prepared(&self, at_ms: i64) -> PreparedEvent {
        let mut whole = serde_json::to_value(self).unwrap_or_default();
        let payload = whole.get_mut("payload").map(Value::take);
        let payload = crate::store::canonical_text(payload.unwrap_or_default()).unwrap_or_default();
        let kind = whole.get("kind").and_then(Value::as_str);
        PreparedEvent {
            kind: Cow::Owned(kind.unwrap_or_default().to_owned()),
            version: VERSION,
            at_ms,
            digest: Digest::of_bytes(Domain::Event, payload.as_bytes()),
            payload,
            call: None,
        }
    }
}

/// An event of the log.
pub(super) struct Logged {
    pub(super) at_ms: i64,
    pub(super) event: LogEvent,
}

/// Whether a journal has a log: one of an older format is read as it is.
pub(super) fn is_kept(connection: &Connection) -> Result<bool, StoreError> {
    connection
        .query_row(
            "SELECT (SELECT user_version FROM pragma_user_version) >= 6 \
             OR EXISTS (SELECT 1 FROM events WHERE run = ?1) \
             OR EXISTS (SELECT 1 FROM meta WHERE key = ?2)",
            (NUMBER, END),
            |row| row.get(0),
        )
        .map_err(StoreError::read)
}

/// The whole log, its chain checked on the way.
pub(super) fn read(connection: &Connection) -> Result<Vec<Logged>, StoreError> {
    let mut query = connection
        .prepare(&format!(
            "SELECT {EVENT_COLUMNS} FROM events WHERE run = ?1 ORDER BY seq"
        ))
        .map_err(StoreError::read)?;
    let mut rows = query.query([NUMBER]).map_err(StoreError::read)?;
    let (mut log, mut seq, mut link) = (Vec::new(), 0, GENESIS);
    while let Some(row) = rows.next().map_err(StoreError::read)? {
        let event = EventRow::read(row).map_err(StoreError::read)?;
        event.check(RUN, seq, &link)?;
        (seq, link) = (event.seq, event.link);
        let whole = json!({ "kind": event.kind, "payload": event.payload(RUN)? });
        log.push(Logged {
            at_ms: event.at_ms,
            event: serde_json::from_value(whole).map_err(|error| broken(seq, error))?,
        });
    }
    let ends = end(connection).map_err(StoreError::read)?;
    if ends
        .as_ref()
        .is_some_and(|(ends, at)| (*ends, at) != (seq, &link))
        || ends.is_none() && seq > 0
    {
        let last = ends.map_or(0, |(ends, _)| ends);
        return Err(broken(
            seq.max(last),
            format!("`meta` ends the log at {last}"),
        ));
    }
    Ok(log)
}

fn broken(seq: u64, reason: impl std::fmt::Display) -> StoreError {
    StoreError::ChainBroken {
        run: RUN.to_owned(),
        seq,
        reason: reason.to_string(),
    }
}

/// Where `meta` says that the log ends; none before its first event, or where nobody can read it.
fn end(connection: &Connection) -> rusqlite::Result<Option<(u64, Digest)>> {
    let text: Option<String> = connection
        .prepare_cached("SELECT value FROM meta WHERE key = ?1")?
        .query_row([END], |row| row.get(0))
        .optional()?;
    let parts = text.as_deref().and_then(|text| text.split_once(' '));
    Ok(parts.and_then(|(seq, link)| Some((seq.parse().ok()?, link.parse().ok()?))))
}

/// Where the next event goes. Why no check: a person's stop is taken whatever is wrong here, and
/// what is wrong stays to be found.
fn head(connection: &Connection) -> rusqlite::Result<ChainHead> {
    let last = connection
        .prepare_cached("SELECT seq, link FROM events WHERE run = ?1 ORDER BY seq DESC LIMIT 1")?
        .query_row([NUMBER], |row| {
            let link: [u8; 32] = row.get(1).unwrap_or_default();
            Ok((row.get(0)?, Digest::from_bytes(link)))
        })
        .optional()?;
    let last = last.unwrap_or((0, GENESIS));
    let (seq, link) = match end(connection)? {
        Some((seq, link)) if seq >= last.0 => (seq, link),
        _ => last,
    };
    Ok(ChainHead {
        n: NUMBER,
        owner: None,
        seq,
        link,
    })
}

/// Appends to the log, inside the transaction and the commit that are open.
pub(super) fn append(
    connection: &Connection,
    commit: &mut OpenCommit,
    at_ms: i64,
    log: &[LogEvent],
) -> rusqlite::Result<()> {
    if log.is_empty() {
        return Ok(());
    }
    let head = head(connection)?;
    let events: Vec<_> = log.iter().map(|event| event.prepared(at_ms)).collect();
    let (seq, link) = rows::insert_events(connection, commit, RUN, &head, &events)?;
    connection
        .prepare_cached("INSERT OR REPLACE INTO meta VALUES (?1, ?2)")?
        .execute([END, &format!("{seq} {link}")])
        .map(|_| ())
}

/// Writes what stands in the tables of an older journal into the log, as a commit of its own.
pub(super) fn carry(connection: &Connection, at_ms: i64) -> Result<(), StoreError> {
    let read = |error| StoreError::read(error);
    // Why: a number that somebody turned back must not make true what stands there.
    let begun: bool = connection
        .query_row(
            "SELECT EXISTS (SELECT 1 FROM events WHERE run = ?1) \
             OR EXISTS (SELECT 1 FROM meta WHERE key = ?2)",
            (NUMBER, END),
            |row| row.get(0),
        )
        .map_err(read)?;
    let mut log = stops::carried(connection).map_err(read)?;
    log.extend(prune::carried(connection).map_err(read)?);
    if begun || log.is_empty() {
        return Ok(());
    }
    let store = read::store_name(connection)?;
    let (last, previous) = read::last_commit(connection)?;
    let mut commit = OpenCommit::after(store.into(), last, previous);
    append(connection, &mut commit, at_ms, &log).map_err(read)?;
    rows::insert_commit(connection, commit).map_err(read)
}

/// What was put right, in words with its moment, the oldest first.
pub(super) fn restored(log: &[Logged]) -> Vec<String> {
    let mut restored = Vec::new();
    for logged in log {
        if let LogEvent::TablesRestored { rows } = &logged.event {
            let at = jiff::Timestamp::from_millisecond(logged.at_ms).unwrap_or_default();
            restored.extend(rows.iter().map(|row| format!("{row}, at {at}")));
        }
    }
    restored
}
