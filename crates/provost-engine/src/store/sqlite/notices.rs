//! What has to be told: rows written with the events that cause them, until they were delivered.
//!
//! Owns the table `notices`. Delivers nothing. INVARIANT: a row goes only by being noted as done;
//! whoever tries to deliver it moves its moment first, so that two do not try at once, and one
//! that was killed while it tried leaves the row to the next.

use rusqlite::{Connection, Row, params};
use serde_json::Value;

use super::{Change, Changed, Pending, Store, StoreError};

/// A notice to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct NewNotice {
    /// The same at every delivery, and of no other notice.
    pub id: String,
    /// The run.
    pub run: String,
    /// The name of the `[notify.NAME]`.
    pub target: String,
    /// What is told.
    pub notice: Value,
    /// When, in milliseconds since the epoch.
    pub due_ms: i64,
    /// The tool whose breaker has to open by the same transaction, if it is about that.
    pub if_opens: Option<String>,
}

/// A notice that nobody has delivered yet.
#[derive(Clone, Debug, PartialEq)]
pub struct DueNotice {
    /// The number of its row.
    pub n: i64,
    /// The same at every delivery.
    pub id: String,
    /// The run.
    pub run: String,
    /// The name of the `[notify.NAME]`.
    pub target: String,
    /// What is told.
    pub notice: Value,
    /// When it may be tried, in milliseconds since the epoch.
    pub due_ms: i64,
    /// How often it was tried.
    pub tries: u32,
    /// What went wrong the last time.
    pub said: Option<String>,
}

/// Writes notices in the transaction that is open; `opened` are the tools whose breaker opened.
pub(super) fn keep(
    connection: &Connection,
    notices: &[NewNotice],
    opened: &[String],
) -> rusqlite::Result<()> {
    for notice in notices {
        if notice
            .if_opens
            .as_ref()
            .is_none_or(|tool| opened.contains(tool))
        {
            insert(connection, notice)?;
        }
    }
    Ok(())
}

fn insert(connection: &Connection, notice: &NewNotice) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT OR IGNORE INTO notices (id, run, target, notice, due_ms, tries) \
             VALUES (?1, ?2, ?3, ?4, ?5, 0)",
        )?
        .execute(params![
            notice.id,
            notice.run,
            notice.target,
            notice.notice.to_string(),
            notice.due_ms
        ])
        .map(|_| ())
}

const COLUMNS: &str = "n, id, run, target, notice, due_ms, tries, said";

fn row(row: &Row<'_>) -> rusqlite::Result<DueNotice> {
    let notice: String = row.get(4)?;
    Ok(DueNotice {
        n: row.get(0)?,
        id: row.get(1)?,
        run: row.get(2)?,
        target: row.get(3)?,
        notice: serde_json::from_str(&notice).unwrap_or(Value::Null),
        due_ms: row.get(5)?,
        tries: row.get(6)?,
        said: row.get(7)?,
    })
}

impl Store {
    /// The notices to deliver at `now`, the longest due first, at most `most`.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn due_notices(&self, now: i64, most: usize) -> Result<Vec<DueNotice>, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.notices(
            "done_ms IS NULL AND due_ms <= ?1 ORDER BY due_ms LIMIT ?2",
            params![now, most],
        )
    }

    /// The notices that should have been delivered before `now`, or that nobody could deliver.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn undelivered(&self, now: i64) -> Result<Vec<DueNotice>, StoreError> {
        self.notices(
            "done_ms IS NULL AND (due_ms <= ?1 OR tries > 0) ORDER BY n",
            params![now],
        )
    }

    fn notices(
        &self,
        which: &str,
        values: &[&dyn rusqlite::ToSql],
    ) -> Result<Vec<DueNotice>, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached(&format!("SELECT {COLUMNS} FROM notices WHERE {which}"))
                .and_then(|mut query| query.query_map(values, row)?.collect())
                .map_err(StoreError::read)
        })
    }

    /// When the next notice is to be delivered, in milliseconds since the epoch.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn next_notice(&self) -> Result<Option<i64>, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT min(due_ms) FROM notices WHERE done_ms IS NULL")
                .and_then(|mut query| query.query_row([], |row| row.get(0)))
                .map_err(StoreError::read)
        })
    }

    /// Takes a notice for a try: nobody else tries before `until`. False if somebody else took it.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be written.
    pub async fn take_notice(&self, notice: &DueNotice, until: i64) -> Result<bool, StoreError> {
        let take = Change::TakeNotice {
            n: notice.n,
            due_ms: notice.due_ms,
            until_ms: until,
        };
        Ok(self.change(take).await? == Changed::Noticed(true))
    }

    /// Notes that a notice was delivered, or why it need not be; `next` follows it.
    pub fn notice_done(
        &self,
        n: i64,
        at_ms: i64,
        said: Option<String>,
        next: Option<NewNotice>,
    ) -> Pending<Changed> {
        self.change(Change::NoticeDone {
            n,
            at_ms,
            said,
            next,
        })
    }

    /// Notes why a notice could not be delivered.
    pub fn notice_failed(&self, n: i64, said: String) -> Pending<Changed> {
        self.change(Change::NoticeFailed { n, said })
    }
}

/// Moves the moment of a notice, unless somebody else did; whether it was so.
pub(super) fn take(
    connection: &Connection,
    n: i64,
    due_ms: i64,
    until_ms: i64,
) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "UPDATE notices SET due_ms = ?3, tries = tries + 1 \
             WHERE n = ?1 AND due_ms = ?2 AND done_ms IS NULL",
        )?
        .execute(params![n, due_ms, until_ms])
        .map(|changed| changed == 1)
}

pub(super) fn done(
    connection: &Connection,
    n: i64,
    at_ms: i64,
    said: Option<&str>,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE notices SET done_ms = ?2, said = ?3 WHERE n = ?1")?
        .execute(params![n, at_ms, said])
        .map(|_| ())
}

pub(super) fn failed(connection: &Connection, n: i64, said: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE notices SET said = ?2 WHERE n = ?1")?
        .execute(params![n, said])
        .map(|_| ())
}
