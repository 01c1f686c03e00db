//! The feed: events of all runs in the order of their commits, and runs by page.
//!
//! Owns what whoever follows a whole journal reads: rows without payloads. Interprets nothing.
//! INVARIANT: an event is told from any other by its number and its link, so that a journal that
//! was put back shows.

use provost_plan::digest::Digest;
use provost_plan::policy::{Principal, PrincipalKind};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::read::{self, RunRow};
use super::{Store, StoreError};

/// An event of any run, without what it tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedEvent {
    /// Its place in the order of the commits.
    pub n: i64,
    /// The run; none for an event of the workspace's log.
    pub run: Option<String>,
    /// Its number within the run.
    pub seq: u64,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: i64,
    /// Its kind.
    pub kind: String,
    /// Its link.
    pub link: Digest,
}

/// Which runs are on a page. The default is the first page of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunPage {
    /// Only runs created before the one of this number.
    pub before: Option<i64>,
    /// Only these status words; all if empty.
    pub statuses: Vec<String>,
    /// Only goals with this text in them, whatever the case of ASCII letters.
    pub goal: Option<String>,
    /// Only runs created at or after this moment.
    pub since_ms: Option<i64>,
    /// Only runs created before this moment.
    pub until_ms: Option<i64>,
    /// Only runs that act for this principal.
    pub principal: Option<Principal>,
    /// Only runs that began with this kind of planner, as its first event calls it.
    pub planner: Option<String>,
    /// Only runs that began with the playbook of this name.
    pub playbook: Option<String>,
    /// At most so many.
    pub limit: u32,
}

impl Store {
    /// Events after the place `n`, in their order.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn events_after(&self, n: i64, most: u32) -> Result<Vec<FeedEvent>, StoreError> {
        self.read_rows(|connection| {
            let mut query = connection.prepare_cached(
                "SELECT events.n, runs.id, seq, at_ms, kind, link FROM events \
                 LEFT JOIN runs ON runs.n = events.run WHERE events.n > ?1 \
                 ORDER BY events.n LIMIT ?2",
            )?;
            query.query_map((n, most), event)?.collect()
        })
    }

    /// The event at the place `n`.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn event_at(&self, n: i64) -> Result<Option<FeedEvent>, StoreError> {
        self.read_rows(|connection| one(connection, "WHERE events.n = ?1", n))
    }

    /// The last event of all.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn newest_event(&self) -> Result<Option<FeedEvent>, StoreError> {
        self.read_rows(|connection| {
            one(connection, "WHERE events.n > ?1 ORDER BY events.n DESC", 0)
        })
    }

    /// The runs of a page, the latest created first, each with its number.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn runs_page(&self, page: &RunPage) -> Result<Vec<(i64, RunRow)>, StoreError> {
        self.read_rows(|connection| runs_page(connection, page))
    }

    /// The runs that act for a principal.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn runs_begun_for(&self, principal: &Principal) -> Result<Vec<String>, StoreError> {
        let page = RunPage {
            principal: Some(principal.clone()),
            limit: u32::MAX,
            ..RunPage::default()
        };
        let rows = self.runs_page(&page)?;
        Ok(rows.into_iter().map(|(_, row)| row.id).collect())
    }
}

impl Store {
    fn read_rows<T>(
        &self,
        rows: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.read(|connection| rows(connection).map_err(StoreError::read))
    }
}

fn event(row: &Row<'_>) -> rusqlite::Result<FeedEvent> {
    Ok(FeedEvent {
        n: row.get(0)?,
        run: row.get(1)?,
        seq: row.get(2)?,
        at_ms: row.get(3)?,
        kind: row.get(4)?,
        link: Digest::from_bytes(row.get(5)?),
    })
}

fn one(connection: &Connection, which: &str, n: i64) -> rusqlite::Result<Option<FeedEvent>> {
    let sql = format!(
        "SELECT events.n, runs.id, seq, at_ms, kind, link FROM events \
         LEFT JOIN runs ON runs.n = events.run {which} LIMIT 1"
    );
    connection
        .prepare_cached(&sql)?
        .query_row([n], event)
        .optional()
}

fn runs_page(connection: &Connection, page: &RunPage) -> rusqlite::Result<Vec<(i64, RunRow)>> {
    let mut sql = format!("SELECT {}, n FROM runs WHERE 1", read::COLUMNS);
    let mut values: Vec<Sql> = Vec::new();
    let mut only = |condition: &str, value: Sql| {
        sql.push_str(" AND ");
        sql.push_str(condition);
        values.push(value);
    };
    if let Some(n) = page.before {
        only("n < ?", n.into());
    }
    if let Some(text) = &page.goal {
        only("instr(lower(goal), lower(?)) > 0", text.clone().into());
    }
    if let Some(at) = page.since_ms {
        only("created_at >= ?", at.into());
    }
    if let Some(at) = page.until_ms {
        only("created_at < ?", at.into());
    }
    if let Some(principal) = &page.principal {
        let kind = match principal.kind {
            PrincipalKind::User => "user",
            PrincipalKind::Agent => "agent",
        };
        only(&begun_with("principal.id"), principal.id.clone().into());
        only(&begun_with("principal.kind"), kind.to_owned().into());
    }
    if let Some(kind) = &page.planner {
        only(&begun_with("planner.kind"), kind.clone().into());
    }
    if let Some(name) = &page.playbook {
        let is_playbook = format!(
            "{} AND {}",
            begun_with("planner.kind"),
            begun_with("planner.name")
        );
        let is_playbook = is_playbook.replacen('?', "'playbook'", 1);
        only(&is_playbook, name.clone().into());
    }
    if !page.statuses.is_empty() {
        let marks = vec!["?"; page.statuses.len()].join(", ");
        sql.push_str(&format!(" AND status IN ({marks})"));
        values.extend(page.statuses.iter().cloned().map(Sql::from));
    }
    sql.push_str(" ORDER BY n DESC LIMIT ?");
    values.push(Sql::Integer(page.limit.into()));
    let mut query = connection.prepare_cached(&sql)?;
    let rows = query.query_map(rusqlite::params_from_iter(values), |row| {
        Ok((row.get("n")?, read::row(row)?))
    })?;
    rows.collect()
}

/// A condition on what a run began with, as its first event tells.
fn begun_with(field: &str) -> String {
    format!(
        "(SELECT json_extract(payload, '$.{field}') FROM events \
         WHERE events.run = runs.n AND seq = 1) = ?"
    )
}
