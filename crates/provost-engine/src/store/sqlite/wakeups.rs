//! Whether somebody wrote: one look at the file for all who wait in a process.
//!
//! Owns how often is looked. INVARIANT: what it says is a hint: whoever waits for a statement looks
//! for it within [`crate::limits::LOOK_MIN_EVERY`] whatever it says.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use rusqlite::Connection;

use super::{Store, StoreError};
use crate::limits::WOKEN_EVERY;

/// What the last look found.
#[derive(Debug, Default)]
pub(super) struct Wakeups(Mutex<Looked>);

#[derive(Debug, Default)]
struct Looked {
    at: Option<Instant>,
    version: Option<i64>,
    /// How often a look found that somebody wrote.
    changes: u64,
    looks: u64,
}

impl Wakeups {
    /// How often the file was looked at.
    pub(super) fn looks(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).looks
    }
}

impl Store {
    /// A number that changes after another connection wrote, at most [`WOKEN_EVERY`] later. Cheap
    /// to ask for, often, and by as many as drive a run.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn woken(&self) -> Result<u64, StoreError> {
        let mut looked = self
            .wakeups
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if looked.at.is_some_and(|at| at.elapsed() < WOKEN_EVERY) {
            return Ok(looked.changes);
        }
        let version = Some(self.read(version)?);
        looked.at = Some(Instant::now());
        looked.looks += 1;
        if std::mem::replace(&mut looked.version, version) != version {
            looked.changes += 1;
        }
        Ok(looked.changes)
    }
}

/// A number that SQLite changes whenever another connection commits.
fn version(connection: &Connection) -> Result<i64, StoreError> {
    connection
        .prepare_cached("PRAGMA data_version")
        .and_then(|mut query| query.query_row([], |row| row.get(0)))
        .map_err(StoreError::read)
}
