//! Statements in the journal's file: posted by one process, taken by the one that drives the run.
//!
//! Owns the rows of the table `posted_statements`. Never reads what a statement says: a row is text
//! that somebody could write. INVARIANT: a row is taken once; what became of it stays with it.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::read::has_table;
use super::{Change, Changed, Pending, Store, StoreError};
use crate::limits::POSTED_AT_ONCE_MAX;

/// A statement that no process has taken yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedStatement {
    /// The number of its row.
    pub n: i64,
    /// The run that the row names.
    pub run: String,
    /// The text, as somebody wrote it.
    pub text: String,
    /// When it was posted, in milliseconds since the epoch.
    pub at_ms: i64,
}

impl Store {
    /// The name of the store: a statement of another workspace names another.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn name(&self) -> Result<String, StoreError> {
        self.read(|connection| {
            connection
                .query_row("SELECT value FROM meta WHERE key = 'store'", [], |row| {
                    row.get(0)
                })
                .map_err(StoreError::read)
        })
    }

    /// Posts a statement for whoever drives the run; resolves when it is on the disk.
    pub fn post(&self, run: &str, text: &str, at_ms: i64) -> Pending<Changed> {
        let (run, text) = (run.to_owned(), text.to_owned());
        self.change(Change::Post { run, text, at_ms })
    }

    /// Notes what became of a posted statement; resolves when it is on the disk.
    pub fn take(&self, n: i64, became: &str) -> Pending<Changed> {
        let became = became.to_owned();
        self.change(Change::Take { n, became })
    }

    /// The statements posted for a run that nobody took, in their order; the first
    /// [`POSTED_AT_ONCE_MAX`] of them.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn untaken(&self, run: &str) -> Result<Vec<PostedStatement>, StoreError> {
        self.read(|connection| untaken(connection, run))
    }

    /// The runs for which somebody posted a statement that nobody took.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn runs_with_posted(&self) -> Result<Vec<String>, StoreError> {
        self.read(|connection| {
            let mut query = connection
                .prepare_cached(
                    "SELECT DISTINCT run FROM posted_statements WHERE taken IS NULL ORDER BY run",
                )
                .map_err(StoreError::read)?;
            let rows = query
                .query_map([], |row| row.get(0))
                .map_err(StoreError::read)?;
            rows.collect::<Result<_, _>>().map_err(StoreError::read)
        })
    }

    /// What became of a statement, once somebody took it.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn became(&self, run: &str, text: &str) -> Result<Option<String>, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT taken FROM posted_statements \
                     WHERE run = ?1 AND statement = ?2 AND taken IS NOT NULL ORDER BY n LIMIT 1",
                )
                .and_then(|mut query| {
                    query
                        .query_row(params![run, text], |row| row.get(0))
                        .optional()
                })
                .map_err(StoreError::read)
        })
    }
}

pub(super) fn post(
    connection: &Connection,
    run: &str,
    text: &str,
    at_ms: i64,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO posted_statements (run, statement, at_ms) VALUES (?1, ?2, ?3)",
        )?
        .execute(params![run, text, at_ms])
        .map(|_| ())
}

pub(super) fn take(connection: &Connection, n: i64, became: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE posted_statements SET taken = ?2 WHERE n = ?1 AND taken IS NULL")?
        .execute(params![n, became])
        .map(|_| ())
}

const UNTAKEN: &str = "SELECT n, run, statement, at_ms FROM posted_statements \
     WHERE run = ?1 AND taken IS NULL ORDER BY n LIMIT ?2";
const UNTAKEN_BEFORE_FORMAT_9: &str = "SELECT n, run, word, at_ms FROM words \
     WHERE run = ?1 AND taken IS NULL ORDER BY n LIMIT ?2";

fn untaken(connection: &Connection, run: &str) -> Result<Vec<PostedStatement>, StoreError> {
    let query = match connection.prepare_cached(UNTAKEN) {
        // Why only then: each run asks, and a journal of an older format is only ever read.
        Err(_) if !has_table(connection, "posted_statements")? => {
            connection.prepare_cached(UNTAKEN_BEFORE_FORMAT_9)
        }
        query => query,
    };
    let mut query = query.map_err(StoreError::read)?;
    let rows = query
        .query_map(params![run, POSTED_AT_ONCE_MAX], |row| {
            Ok(PostedStatement {
                n: row.get(0)?,
                run: row.get(1)?,
                text: row.get(2)?,
                at_ms: row.get(3)?,
            })
        })
        .map_err(StoreError::read)?;
    rows.collect::<Result<_, _>>().map_err(StoreError::read)
}
