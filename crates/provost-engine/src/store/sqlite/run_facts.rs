//! What is counted of each run that is over: one row, written in the transaction of its end.
//!
//! Owns the table `run_facts`. Counts nothing. INVARIANT: a row is given only for a run without a
//! later event, and for the formulas of whoever asks, so nothing that is out of date is counted.

use rusqlite::{Connection, Row, params};

use super::{Change, Store, StoreError, read};
use crate::store::CountedRun;

/// A run, and what is counted of it where that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactsRow {
    /// The run.
    pub run: String,
    /// Its status.
    pub status: String,
    /// When it began, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// Its last event.
    pub seq: u64,
    /// What is counted of it, as JSON.
    pub facts: Option<String>,
}

impl Store {
    /// All runs, the oldest first, with what is counted of them by these formulas.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn run_facts(&self, formulas: u32) -> Result<Vec<FactsRow>, StoreError> {
        self.read(|connection| {
            let kept = match read::has_table(connection, "run_facts")? {
                true => {
                    "SELECT id, status, created_at, head_seq, facts FROM runs LEFT JOIN run_facts \
                     ON run = n AND seq = head_seq AND formulas = ?1 ORDER BY n"
                }
                false => {
                    "SELECT id, status, created_at, head_seq, NULL FROM runs WHERE ?1 = ?1 \
                     ORDER BY n"
                }
            };
            connection
                .prepare_cached(kept)
                .and_then(|mut query| query.query_map([formulas], row)?.collect())
                .map_err(StoreError::read)
        })
    }

    /// Keeps what was counted of runs up to these events, as far as they have none since.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be written.
    pub fn keep_facts(&self, counted: Vec<(String, u64, CountedRun)>) -> Result<(), StoreError> {
        self.change(Change::KeepFacts(counted)).wait().map(|_| ())
    }
}

fn row(row: &Row<'_>) -> rusqlite::Result<FactsRow> {
    Ok(FactsRow {
        run: row.get(0)?,
        status: row.get(1)?,
        created_at_ms: row.get(2)?,
        seq: row.get(3)?,
        facts: row.get(4)?,
    })
}

/// Keeps what is counted of a run up to its event `seq`, if anything is.
pub(super) fn keep(
    connection: &Connection,
    run: i64,
    seq: u64,
    counted: Option<&CountedRun>,
) -> rusqlite::Result<()> {
    let Some(counted) = counted else {
        return Ok(());
    };
    connection
        .prepare_cached("INSERT OR REPLACE INTO run_facts VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![run, seq, counted.formulas, counted.facts])
        .map(|_| ())
}

/// Keeps what was counted outside of a transaction, where no event came since.
pub(super) fn keep_all(
    connection: &Connection,
    counted: &[(String, u64, CountedRun)],
) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT OR REPLACE INTO run_facts \
         SELECT n, head_seq, ?3, ?4 FROM runs WHERE id = ?1 AND head_seq = ?2",
    )?;
    for (run, seq, counted) in counted {
        insert.execute(params![run, seq, counted.formulas, counted.facts])?;
    }
    Ok(())
}
