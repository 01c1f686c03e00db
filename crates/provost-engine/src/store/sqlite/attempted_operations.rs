//! Which operations runs of this journal ever attempted.
//!
//! Owns one question, asked of the intents. Reads no plan and no evidence. INVARIANT: an intent
//! whose text was erased is counted as unknown and never as a use of nothing.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::{Store, StoreError};

/// What a journal tells about the use of operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptedOperations {
    /// When its first event happened, in milliseconds since the epoch; none if it has none.
    pub since_ms: Option<i64>,
    /// By operation, its attempts and when the last began.
    pub operations: BTreeMap<String, (u64, i64)>,
    /// Attempts of which nobody can tell any more what they called.
    pub unknown: u64,
}

impl Store {
    /// Which operations were ever attempted.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn used_operations(&self) -> Result<AttemptedOperations, StoreError> {
        self.read(|connection| read(connection).map_err(StoreError::read))
    }
}

fn read(connection: &Connection) -> rusqlite::Result<AttemptedOperations> {
    let since_ms = connection.query_row("SELECT min(at_ms) FROM events", [], |row| row.get(0))?;
    let mut found = AttemptedOperations {
        since_ms,
        ..AttemptedOperations::default()
    };
    let mut query = connection.prepare(
        "SELECT json_extract(payload, '$.operation'), count(*), max(at_ms) FROM events \
         WHERE kind = 'AttemptStarted' GROUP BY 1",
    )?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let attempts: u64 = row.get(1)?;
        match row.get(0)? {
            Some(operation) => {
                found.operations.insert(operation, (attempts, row.get(2)?));
            }
            None => found.unknown += attempts,
        }
    }
    Ok(found)
}
