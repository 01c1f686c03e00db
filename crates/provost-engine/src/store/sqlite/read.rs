//! Reads: events with their chain checked on the way, listings, evidence.

use provost_plan::digest::{Digest, Domain};
use provost_run::event::{Event, RunStatus};
use rusqlite::types::Value as Sql;
use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Row, params};
use serde_json::Value;

use super::{StoreError, StoredEvent, StoredEvidence};
use super::{payloads, prune};
use crate::limits::AMBIGUOUS_NAMES_MAX;
use crate::store::chain::{self, GENESIS, Header};
use crate::store::event::goal_words;

/// A run as the listing shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// Its id.
    pub id: String,
    /// The instance that owns it, alive or dead.
    pub owner: Option<String>,
    /// When it was created, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// When its last event happened.
    pub updated_at_ms: i64,
    /// Its status word.
    pub status: String,
    /// The goal in the user's words.
    pub goal: String,
    /// What else is shown, as JSON: see [`crate::summary::Summary`].
    pub summary: String,
    /// Its last event.
    pub head_seq: u64,
    /// The link of that event.
    pub head: Digest,
}

/// Which runs are listed. The default lists all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only these status words; all if empty.
    pub statuses: Vec<String>,
    /// Only this goal.
    pub goal: Option<String>,
    /// At most so many.
    pub limit: Option<u32>,
}

impl RunFilter {
    /// Runs that are not over: they can go on, or wait for somebody.
    #[must_use]
    pub fn unfinished() -> Self {
        let open = RunStatus::ALL
            .into_iter()
            .filter(|status| !status.is_ended());
        Self {
            statuses: open.map(|status| status.word().to_owned()).collect(),
            ..Self::default()
        }
    }
}

pub(super) const COLUMNS: &str =
    "id, owner, created_at, updated_at, status, goal, summary, head_seq, head";

pub(super) fn row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        id: row.get(0)?,
        owner: row.get(1)?,
        created_at_ms: row.get(2)?,
        updated_at_ms: row.get(3)?,
        status: row.get(4)?,
        goal: row.get(5)?,
        summary: row.get(6)?,
        head_seq: row.get(7)?,
        head: Digest::from_bytes(row.get(8)?),
    })
}

pub(super) fn run(connection: &Connection, id: &str) -> Result<RunRow, StoreError> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM runs WHERE id = ?1"))
        .and_then(|mut query| query.query_row([id], row).optional())
        .map_err(StoreError::read)?
        .ok_or_else(|| StoreError::UnknownRun { run: id.to_owned() })
}

pub(super) fn runs(connection: &Connection, filter: &RunFilter) -> Result<Vec<RunRow>, StoreError> {
    let mut sql = format!("SELECT {COLUMNS} FROM runs WHERE 1");
    let mut values: Vec<Sql> = Vec::new();
    if !filter.statuses.is_empty() {
        let marks = vec!["?"; filter.statuses.len()].join(", ");
        sql.push_str(&format!(" AND status IN ({marks})"));
        values.extend(filter.statuses.iter().cloned().map(Sql::from));
    }
    if let Some(goal) = &filter.goal {
        sql.push_str(" AND goal = ?");
        values.push(Sql::from(goal.clone()));
    }
    if let Some(most) = filter.limit {
        sql.push_str(" ORDER BY updated_at DESC, n DESC LIMIT ?");
        values.push(Sql::Integer(most.into()));
    } else {
        sql.push_str(" ORDER BY n DESC");
    }
    let mut rows: Vec<RunRow> = connection
        .prepare(&sql)
        .and_then(|mut query| {
            query
                .query_map(rusqlite::params_from_iter(values), row)?
                .collect()
        })
        .map_err(StoreError::read)?;
    // Why here: to sort ten thousand whole rows takes the database longer than to read them, and
    // an index of the moments would be written with every commit. The sort keeps equals in order.
    rows.sort_by_key(|row| std::cmp::Reverse(row.updated_at_ms));
    Ok(rows)
}

/// The latest run that is not over and has a goal of the same words.
pub(super) fn unfinished_of(
    connection: &Connection,
    goal: &str,
) -> rusqlite::Result<Option<RunRow>> {
    let unfinished = RunFilter::unfinished().statuses;
    let marks = vec!["?"; unfinished.len()].join(", ");
    let key = goal_words(goal);
    let values = [Sql::Blob(key.bytes().to_vec())];
    let values = values
        .into_iter()
        .chain(unfinished.into_iter().map(Sql::from));
    // Why the rows without words too: an older version wrote them, and their goal still counts.
    let mut query = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM runs WHERE (goal_words = ? OR goal_words IS NULL) \
         AND status IN ({marks}) ORDER BY updated_at DESC, n DESC"
    ))?;
    for found in query.query_map(rusqlite::params_from_iter(values), row)? {
        let found = found?;
        if goal_words(&found.goal) == key {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

pub(super) fn names(connection: &Connection, prefix: &str) -> Result<Vec<String>, StoreError> {
    // Why a range and no pattern: a prefix may hold `%`, and a range is served by the index.
    let end = format!("{prefix}\u{10ffff}");
    connection
        .prepare("SELECT id FROM runs WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3")
        .and_then(|mut query| {
            query
                .query_map(params![prefix, end, AMBIGUOUS_NAMES_MAX], |row| row.get(0))?
                .collect()
        })
        .map_err(StoreError::read)
}

/// A row of the table of events.
pub(super) struct EventRow {
    pub(super) seq: u64,
    pub(super) at_ms: i64,
    pub(super) kind: String,
    pub(super) version: u32,
    pub(super) payload: Option<String>,
    pub(super) digest: Digest,
    pub(super) link: Digest,
}

pub(super) const EVENT_COLUMNS: &str = "seq, at_ms, kind, version, payload, digest, link";

impl EventRow {
    /// Reads the columns [`EVENT_COLUMNS`].
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get(0)?,
            at_ms: row.get(1)?,
            kind: row.get(2)?,
            version: row.get(3)?,
            payload: row.get(4)?,
            digest: Digest::from_bytes(row.get(5)?),
            link: Digest::from_bytes(row.get(6)?),
        })
    }

    /// Checks that it follows `previous`, event `after`, in the chain of `run`.
    pub(super) fn check(&self, run: &str, after: u64, previous: &Digest) -> Result<(), StoreError> {
        let broken = |seq: u64, reason: &str| StoreError::ChainBroken {
            run: run.to_owned(),
            seq,
            reason: reason.to_owned(),
        };
        if self.seq != after + 1 {
            return Err(broken(after + 1, "it is not there"));
        }
        if let Some(payload) = &self.payload
            && Digest::of_bytes(Domain::Event, payload.as_bytes()) != self.digest
        {
            return Err(broken(self.seq, "its payload is not what was stored"));
        }
        let header = Header {
            run,
            seq: self.seq,
            at_ms: self.at_ms,
            kind: &self.kind,
            version: self.version,
        };
        if chain::event_link(previous, &header, &self.digest) != self.link {
            return Err(broken(
                self.seq,
                "it does not follow from the event before it",
            ));
        }
        Ok(())
    }

    /// Its payload.
    pub(super) fn payload(&self, run: &str) -> Result<Value, StoreError> {
        let Some(payload) = &self.payload else {
            return Err(StoreError::Erased {
                run: run.to_owned(),
                seq: self.seq,
            });
        };
        serde_json::from_str(payload).map_err(|_| StoreError::ChainBroken {
            run: run.to_owned(),
            seq: self.seq,
            reason: "its payload is not readable".to_owned(),
        })
    }

    /// What it tells.
    pub(super) fn event(&self, run: &str) -> Result<Event, StoreError> {
        let payload = self.payload(run)?;
        Event::from_stored(&self.kind, self.version, &payload).map_err(|error| {
            StoreError::ChainBroken {
                run: run.to_owned(),
                seq: self.seq,
                reason: error.to_string(),
            }
        })
    }

    fn into_event(self, run: &str) -> Result<StoredEvent, StoreError> {
        let payload = self.payload(run)?;
        Ok(StoredEvent {
            seq: self.seq,
            at_ms: self.at_ms,
            kind: self.kind,
            version: self.version,
            payload,
            digest: self.digest,
            link: self.link,
        })
    }
}

pub(super) fn load(connection: &Connection, id: &str) -> Result<Vec<StoredEvent>, StoreError> {
    // Why one transaction: the row and the events must be of one moment.
    let tx = connection
        .unchecked_transaction()
        .map_err(StoreError::read)?;
    let head = run(&tx, id)?;
    let mut query = tx
        .prepare_cached(&format!(
            "SELECT {EVENT_COLUMNS} FROM events \
             WHERE run = (SELECT n FROM runs WHERE id = ?1) ORDER BY seq"
        ))
        .map_err(StoreError::read)?;
    let mut rows = query.query([id]).map_err(StoreError::read)?;
    let mut events = Vec::new();
    let (mut seq, mut previous) = (0, GENESIS);
    while let Some(row) = rows.next().map_err(StoreError::read)? {
        let event = EventRow::read(row).map_err(StoreError::read)?;
        event.check(id, seq, &previous)?;
        (seq, previous) = (event.seq, event.link);
        let event = event.into_event(id).map_err(|error| match error {
            StoreError::Erased { .. } => payloads::why_gone(&tx, &head, error),
            other => other,
        });
        events.push(event?);
    }
    check_head(&head, seq, &previous)?;
    Ok(events)
}

/// How far the events of a run were read: the last one and its link.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventPlace {
    pub(super) seq: u64,
    pub(super) link: Digest,
}

impl EventPlace {
    /// Before the first event.
    pub(super) const START: Self = Self {
        seq: 0,
        link: GENESIS,
    };
}

/// Gives each event of a run, its chain checked on the way, and where the run ends.
pub(super) fn each_event(
    connection: &Connection,
    n: i64,
    id: &str,
    take: impl FnMut(&EventRow) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    each_event_after(EventPlace::START, connection, n, id, take)
}

/// [`each_event`] of those after `place`.
pub(super) fn each_event_after(
    place: EventPlace,
    connection: &Connection,
    n: i64,
    id: &str,
    mut take: impl FnMut(&EventRow) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let EventPlace { mut seq, mut link } = place;
    let head = run(connection, id)?;
    let mut query = connection
        .prepare_cached(&format!(
            "SELECT {EVENT_COLUMNS} FROM events WHERE run = ?1 AND seq > ?2 ORDER BY seq"
        ))
        .map_err(StoreError::read)?;
    let mut rows = query.query(params![n, seq]).map_err(StoreError::read)?;
    while let Some(row) = rows.next().map_err(StoreError::read)? {
        let event = EventRow::read(row).map_err(StoreError::read)?;
        event.check(id, seq, &link)?;
        take(&event)?;
        (seq, link) = (event.seq, event.link);
    }
    check_head(&head, seq, &link)
}

/// Checks that the events of a run end where its row says.
pub(super) fn check_head(head: &RunRow, seq: u64, link: &Digest) -> Result<(), StoreError> {
    check_end(
        &head.id,
        head.head_seq,
        &head.head,
        EventPlace { seq, link: *link },
    )
}

fn check_end(
    run: &str,
    head_seq: u64,
    head: &Digest,
    EventPlace { seq, link }: EventPlace,
) -> Result<(), StoreError> {
    if (head_seq, head) == (seq, &link) {
        return Ok(());
    }
    Err(StoreError::ChainBroken {
        run: run.to_owned(),
        seq: seq.min(head_seq) + u64::from(seq != head_seq),
        reason: format!("the run's row ends at event {head_seq}"),
    })
}

/// A run, and where it ends as its row says.
pub(super) struct RunEnd {
    pub(super) n: i64,
    pub(super) id: String,
    pub(super) seq: u64,
    pub(super) link: Digest,
}

impl RunEnd {
    pub(super) const COLUMNS: &str = "runs.n, runs.id, runs.head_seq, runs.head";

    /// Reads the columns [`Self::COLUMNS`].
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            n: row.get(0)?,
            id: row.get(1)?,
            seq: row.get(2)?,
            link: Digest::from_bytes(row.get(3)?),
        })
    }
}

/// Events of runs of which only some kinds are asked about. The chain is checked through every
/// header. Why no other payload: who asks about all runs of a journal would read and digest every
/// text in it.
pub(super) struct EventsOfKinds<'c> {
    query: CachedStatement<'c>,
}

impl<'c> EventsOfKinds<'c> {
    pub(super) fn new(connection: &'c Connection, kinds: &[&str]) -> Result<Self, StoreError> {
        let kinds = kinds.join("', '");
        let query = connection.prepare_cached(&format!(
            "SELECT seq, at_ms, kind, version, CASE WHEN kind IN ('{kinds}') THEN payload END, \
             digest, link FROM events WHERE run = ?1 ORDER BY seq"
        ));
        let query = query.map_err(StoreError::read)?;
        Ok(Self { query })
    }

    /// Gives each event of a run; one of another kind has no payload.
    pub(super) fn each(
        &mut self,
        run: &RunEnd,
        mut take: impl FnMut(&EventRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let EventPlace { mut seq, mut link } = EventPlace::START;
        let mut rows = self.query.query([run.n]).map_err(StoreError::read)?;
        while let Some(row) = rows.next().map_err(StoreError::read)? {
            let event = EventRow::read(row).map_err(StoreError::read)?;
            event.check(&run.id, seq, &link)?;
            take(&event)?;
            (seq, link) = (event.seq, event.link);
        }
        check_end(&run.id, run.seq, &run.link, EventPlace { seq, link })
    }
}

/// Whether the journal has a table: one of an older format is read as it is.
pub(super) fn has_table(connection: &Connection, name: &str) -> Result<bool, StoreError> {
    connection
        .query_row(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1",
            [name],
            |row| row.get::<_, i64>(0).map(|count| count == 1),
        )
        .map_err(StoreError::read)
}

/// The format of the journal.
pub(super) fn format(connection: &Connection) -> Result<i64, StoreError> {
    connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(StoreError::read)
}

/// The name of the store.
pub(super) fn store_name(connection: &Connection) -> Result<String, StoreError> {
    connection
        .query_row("SELECT value FROM meta WHERE key = 'store'", [], |row| {
            row.get(0)
        })
        .map_err(StoreError::read)
}

/// The last commit and its link; 0 and the link before the first where there is none.
pub(super) fn last_commit(connection: &Connection) -> Result<(u64, Digest), StoreError> {
    let last = connection
        .query_row(
            "SELECT n, link FROM commits ORDER BY n DESC LIMIT 1",
            [],
            |row| Ok((row.get(0)?, Digest::from_bytes(row.get(1)?))),
        )
        .optional()
        .map_err(StoreError::read)?;
    Ok(last.unwrap_or((0, GENESIS)))
}

/// The link of commit `n`, if it is there; that of 0 is the link before the first.
pub(super) fn commit_link(connection: &Connection, n: u64) -> Result<Option<Digest>, StoreError> {
    if n == 0 {
        return Ok(Some(GENESIS));
    }
    connection
        .query_row("SELECT link FROM commits WHERE n = ?1", [n], |row| {
            Ok(Digest::from_bytes(row.get(0)?))
        })
        .optional()
        .map_err(StoreError::read)
}

/// How many events the commits after `n` carry.
pub(super) fn events_after_commit(connection: &Connection, n: u64) -> Result<u64, StoreError> {
    connection
        .query_row(
            "SELECT coalesce(sum(events), 0) FROM commits WHERE n > ?1",
            [n],
            |row| row.get(0),
        )
        .map_err(StoreError::read)
}

pub(super) fn evidence(
    connection: &Connection,
    digest: &Digest,
) -> Result<Option<StoredEvidence>, StoreError> {
    let found = connection
        .prepare_cached("SELECT media, bytes FROM evidence WHERE digest = ?1")
        .and_then(|mut query| {
            query
                .query_row([digest.bytes()], |row| {
                    Ok(StoredEvidence {
                        media: row.get(0)?,
                        bytes: row.get(1)?,
                    })
                })
                .optional()
        })
        .map_err(StoreError::read)?;
    if found.is_none() && prune::is_pruned(connection, digest)? {
        return Err(StoreError::EvidencePruned {
            digest: digest.to_string(),
        });
    }
    if let Some(evidence) = &found
        && Digest::of_bytes(Domain::Evidence, &evidence.bytes) != *digest
    {
        return Err(StoreError::EvidenceBroken {
            digest: digest.to_string(),
        });
    }
    Ok(found)
}
