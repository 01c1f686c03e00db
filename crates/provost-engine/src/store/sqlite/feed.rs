//! The feed: events of all runs in the order of their commits, and runs by page.
//!
//! Owns what whoever follows a whole journal reads: rows, and of their texts what they say of a
//! step. Interprets nothing.
//! INVARIANT: an event is told from any other by its number and its link, so that a journal that
//! was put back shows.

use std::collections::BTreeSet;

use provost_plan::digest::Digest;
use provost_plan::policy::{Principal, PrincipalKind};
use provost_run::event::StepChange;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::read::{self, RunRow};
use super::{Store, StoreError, begun};

/// An event of any run, without what else it tells.
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
    /// What it says of a step, if it does and its text was not pruned.
    pub step: Option<StepChange>,
}

/// What is told of a run with each of its events, and whom it acts for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedRun {
    /// The word of its status.
    pub status: String,
    /// How much it waits for.
    pub waits: u64,
    /// Whom it acts for, in no group; none where its first event does not tell any more.
    pub requester: Option<Principal>,
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
    /// Only runs that act for one of these principals.
    pub principals: Option<Vec<Principal>>,
    /// Only runs that began with this kind of planner, as its first event calls it.
    pub planner: Option<String>,
    /// Only runs that began with the playbook of this name.
    pub playbook: Option<String>,
    /// At most so many.
    pub limit: u32,
}

/// The runs that a page is of, where that is known before it is asked for.
pub(super) enum Among {
    /// Any.
    All,
    /// The one of this number, and those before it.
    UpTo(i64),
    /// Those of these numbers.
    These(Vec<i64>),
}

impl Store {
    /// Events after the place `n`, in their order.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn events_after(&self, n: i64, most: u32) -> Result<Vec<FeedEvent>, StoreError> {
        self.read_rows(|connection| {
            let sql = format!(
                "SELECT {}, CASE WHEN kind IN ('{}') THEN payload END FROM events \
                 LEFT JOIN runs ON runs.n = events.run WHERE events.n > ?1 \
                 ORDER BY events.n LIMIT ?2",
                EVENT_COLUMNS,
                StepChange::KINDS.join("', '")
            );
            let mut query = connection.prepare_cached(&sql)?;
            let rows = query.query_map((n, most), |row| {
                let text: Option<String> = row.get(6)?;
                let found = event(row)?;
                let step = text.and_then(|text| StepChange::of_stored(&found.kind, &text));
                Ok(FeedEvent { step, ..found })
            })?;
            rows.collect()
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
        self.runs_page_among(page, &Among::All)
    }

    /// [`Store::runs_page`] of some runs alone.
    pub(super) fn runs_page_among(
        &self,
        page: &RunPage,
        among: &Among,
    ) -> Result<Vec<(i64, RunRow)>, StoreError> {
        self.read_rows(|connection| runs_page(connection, page, among))
    }

    /// The names of those whom runs act for, in order: each once, whether a person or an agent.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn requesters(&self) -> Result<Vec<String>, StoreError> {
        // Why name by name: the index has them in order, and there are few of them beside the runs.
        let kept = "WITH RECURSIVE names (name) AS (SELECT min(requester) FROM runs UNION ALL \
                    SELECT (SELECT min(requester) FROM runs WHERE requester > names.name) \
                    FROM names WHERE names.name IS NOT NULL) \
                    SELECT name FROM names WHERE name IS NOT NULL";
        let told = "SELECT DISTINCT json_extract(payload, '$.principal.id') AS name FROM events \
                    WHERE seq = 1 AND json_valid(payload) AND name IS NOT NULL ORDER BY name";
        self.read_rows(|connection| {
            let sql = if begun::are_kept(connection)? {
                kept
            } else {
                told
            };
            let mut query = connection.prepare_cached(sql)?;
            query.query_map((), |row| row.get(0))?.collect()
        })
    }

    /// Whom a run acts for, in no group; none where its first event does not tell any more.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn requester_of(&self, run: &str) -> Result<Option<Principal>, StoreError> {
        let sql = "SELECT json_extract(payload, '$.principal.id'), \
                   json_extract(payload, '$.principal.kind') FROM events \
                   JOIN runs ON runs.n = events.run \
                   WHERE runs.id = ?1 AND seq = 1 AND json_valid(payload)";
        self.read_rows(|connection| {
            let mut query = connection.prepare_cached(sql)?;
            let found = query.query_row([run], |row| principal(row, 0)).optional();
            found.map(Option::flatten)
        })
    }

    /// What is told of a run with each of its events.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read, or has no such run.
    pub fn feed_run(&self, run: &str) -> Result<FeedRun, StoreError> {
        let sql = "SELECT status, (SELECT count(*) FROM waits WHERE waits.run = runs.id), \
                   json_extract(payload, '$.principal.id'), \
                   json_extract(payload, '$.principal.kind') FROM runs \
                   LEFT JOIN events ON events.run = runs.n AND seq = 1 AND json_valid(payload) \
                   WHERE runs.id = ?1";
        self.read_rows(|connection| {
            connection.prepare_cached(sql)?.query_row([run], |row| {
                Ok(FeedRun {
                    status: row.get(0)?,
                    waits: row.get(1)?,
                    requester: principal(row, 2)?,
                })
            })
        })
    }
}

/// The principal of a row whose columns from `at` on are its id and its kind, in no group.
fn principal(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Principal>> {
    let (id, kind): (Option<String>, Option<String>) = (row.get(at)?, row.get(at + 1)?);
    let mut kinds = [PrincipalKind::User, PrincipalKind::Agent].into_iter();
    let kind = kinds.find(|known| Some(word(*known)) == kind.as_deref());
    Ok(id.zip(kind).map(|(id, kind)| Principal {
        kind,
        id,
        groups: BTreeSet::new(),
    }))
}

impl Store {
    pub(super) fn read_rows<T>(
        &self,
        rows: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.read(|connection| rows(connection).map_err(StoreError::read))
    }
}

const EVENT_COLUMNS: &str = "events.n, runs.id, seq, at_ms, kind, link";

/// The columns [`EVENT_COLUMNS`].
fn event(row: &Row<'_>) -> rusqlite::Result<FeedEvent> {
    Ok(FeedEvent {
        n: row.get(0)?,
        run: row.get(1)?,
        seq: row.get(2)?,
        at_ms: row.get(3)?,
        kind: row.get(4)?,
        link: Digest::from_bytes(row.get(5)?),
        step: None,
    })
}

fn one(connection: &Connection, which: &str, n: i64) -> rusqlite::Result<Option<FeedEvent>> {
    let sql = format!(
        "SELECT {EVENT_COLUMNS} FROM events \
         LEFT JOIN runs ON runs.n = events.run {which} LIMIT 1"
    );
    connection
        .prepare_cached(&sql)?
        .query_row([n], event)
        .optional()
}

fn runs_page(
    connection: &Connection,
    page: &RunPage,
    among: &Among,
) -> rusqlite::Result<Vec<(i64, RunRow)>> {
    // Why one by one: an index has each status and each principal in the order of the runs, and
    // all of them in none.
    let statuses = page.statuses.iter().map(Some);
    let statuses: Vec<_> = match page.statuses.is_empty() {
        true => vec![None],
        false => statuses.collect(),
    };
    let principals = match &page.principals {
        None => vec![None],
        Some(all) => all.iter().map(Some).collect(),
    };
    let mut rows = Vec::new();
    for status in statuses {
        for principal in &principals {
            rows.extend(runs_of(connection, page, among, (status, *principal))?);
        }
    }
    rows.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
    rows.dedup_by_key(|(n, _)| *n);
    rows.truncate(page.limit as usize);
    Ok(rows)
}

fn runs_of(
    connection: &Connection,
    page: &RunPage,
    among: &Among,
    (status, principal): (Option<&String>, Option<&Principal>),
) -> rusqlite::Result<Vec<(i64, RunRow)>> {
    let (mut conditions, mut values) = begun_with(connection, page, principal)?;
    let (from, n) = match conditions.is_empty() {
        true => ("runs", "runs.n"),
        false => (begun::WITH_FIRST, "begun.n"),
    };
    let mut only = |condition: String, value: Sql| {
        conditions.push(condition);
        values.push(value);
    };
    match among {
        Among::All => {}
        Among::UpTo(latest) => only(format!("{n} <= ?"), (*latest).into()),
        Among::These(numbers) => only(
            format!("{n} IN (SELECT value FROM json_each(?))"),
            serde_json::json!(numbers).to_string().into(),
        ),
    }
    if let Some(before) = page.before {
        only(format!("{n} < ?"), before.into());
    }
    if let Some(text) = &page.goal {
        only(
            "instr(lower(goal), lower(?)) > 0".to_owned(),
            text.clone().into(),
        );
    }
    if let Some(at) = page.since_ms {
        only("created_at >= ?".to_owned(), at.into());
    }
    if let Some(at) = page.until_ms {
        only("created_at < ?".to_owned(), at.into());
    }
    if let Some(status) = status {
        only("status = ?".to_owned(), status.clone().into());
    }
    if conditions.is_empty() {
        conditions.push("1".to_owned());
    }
    let sql = format!(
        "SELECT {}, {n} AS n FROM {from} WHERE {} ORDER BY {n} DESC LIMIT ?",
        read::COLUMNS,
        conditions.join(" AND ")
    );
    values.push(Sql::Integer(page.limit.into()));
    let mut query = connection.prepare_cached(&sql)?;
    let rows = query.query_map(rusqlite::params_from_iter(values), |row| {
        Ok((row.get("n")?, read::row(row)?))
    })?;
    rows.collect()
}

fn word(kind: PrincipalKind) -> &'static str {
    match kind {
        PrincipalKind::User => "user",
        PrincipalKind::Agent => "agent",
    }
}

/// What [`begun::WITH_FIRST`] has of a run that acts for one of these, with the values of its
/// marks.
pub(super) fn acts_for(
    connection: &Connection,
    principals: &[Principal],
) -> rusqlite::Result<(String, Vec<Sql>)> {
    let marks = vec!["?"; principals.len()].join(", ");
    // Why the names as well: an index has them.
    let name = match begun::are_kept(connection)? {
        true => "begun.requester",
        false => "json_extract(first.payload, '$.principal.id')",
    };
    let condition = format!(
        "json_valid(first.payload) AND {name} IN ({marks}) \
         AND json_extract(first.payload, '$.principal.kind') || ' ' || \
         json_extract(first.payload, '$.principal.id') IN ({marks})"
    );
    let names = principals.iter().map(|one| one.id.clone());
    let whole = principals
        .iter()
        .map(|one| format!("{} {}", word(one.kind), one.id));
    Ok((condition, names.chain(whole).map(Sql::from).collect()))
}

/// Conditions on what a run began with, as its first event tells; none where all are wanted.
fn begun_with(
    connection: &Connection,
    page: &RunPage,
    principal: Option<&Principal>,
) -> rusqlite::Result<(Vec<String>, Vec<Sql>)> {
    let (mut conditions, mut values): (Vec<String>, Vec<Sql>) = Default::default();
    if let Some(principal) = principal {
        let (condition, of) = acts_for(connection, std::slice::from_ref(principal))?;
        conditions.push(condition);
        values.extend(of);
    }
    let kept = begun::are_kept(connection)?;
    let mut only = |column: &str, told: &str, value: &str| {
        conditions.push(told.to_owned());
        values.push(value.to_owned().into());
        if kept {
            conditions.push(format!("begun.{column} = ?"));
            values.push(value.to_owned().into());
        }
    };
    if let Some(kind) = &page.planner {
        let told = "json_extract(first.payload, '$.planner.kind') = ?";
        only("planner", told, kind);
    }
    if let Some(name) = &page.playbook {
        let told = "json_extract(first.payload, '$.planner.kind') = 'playbook' \
             AND json_extract(first.payload, '$.planner.name') = ?";
        only("playbook", told, name);
    }
    if !conditions.is_empty() {
        conditions.push("json_valid(first.payload)".to_owned());
    }
    Ok((conditions, values))
}
