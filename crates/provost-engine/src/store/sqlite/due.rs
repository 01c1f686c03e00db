//! Which runs somebody has to look at, and when: the row of a run that only waits is all there is.
//!
//! Owns the question, asked of one index. Takes nothing: whoever asks claims what they find.
//! INVARIANT: a run that a living process holds is never given out.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::{Store, StoreError};

/// What a look at the runs finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueRuns {
    /// Runs whose moment has come and that nobody living holds, the longest due first.
    pub ready: Vec<String>,
    /// The next moment at which another run is due, in milliseconds since the epoch.
    pub next_ms: Option<i64>,
    /// The next moment at which a free run goes on by itself: it waits neither for a person nor
    /// for the lapse of what a person was asked.
    pub moves_ms: Option<i64>,
}

impl Store {
    /// Looks for runs that are due at `now`, at most `most`, and passes over those that `skip`
    /// names.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn look(
        &self,
        now: i64,
        most: usize,
        skip: &dyn Fn(&str) -> bool,
    ) -> Result<DueRuns, StoreError> {
        let mut lives = BTreeMap::new();
        let mut is_free = |owner: Option<String>| match owner {
            None => true,
            Some(owner) => !*lives
                .entry(owner.clone())
                .or_insert_with(|| self.lives_elsewhere(&owner)),
        };
        self.read(|connection| {
            read(connection, now, most, skip, &mut is_free).map_err(StoreError::read)
        })
    }

    /// Whether another process that lives bears this name.
    fn lives_elsewhere(&self, owner: &str) -> bool {
        match &self.writer {
            Some(writer) if writer.owner.instance() == owner => false,
            Some(writer) => writer.owner.lives(owner),
            None => true,
        }
    }
}

fn read(
    connection: &Connection,
    now: i64,
    most: usize,
    skip: &dyn Fn(&str) -> bool,
    is_free: &mut dyn FnMut(Option<String>) -> bool,
) -> rusqlite::Result<DueRuns> {
    let mut look = DueRuns::default();
    let mut due = connection
        .prepare_cached("SELECT id, owner FROM runs WHERE due_ms <= ?1 ORDER BY due_ms")?;
    let mut rows = due.query([now])?;
    while look.ready.len() < most
        && let Some(row) = rows.next()?
    {
        let run: String = row.get(0)?;
        if !skip(&run) && is_free(row.get(1)?) {
            look.ready.push(run);
        }
    }
    look.next_ms = connection
        .prepare_cached("SELECT min(due_ms) FROM runs WHERE due_ms > ?1")?
        .query_row(params![now], |row| row.get(0))?;
    let mut later = connection.prepare_cached(
        "SELECT id, owner, due_ms FROM runs \
         WHERE due_ms > ?1 AND status IN ('running', 'planning') ORDER BY due_ms",
    )?;
    let mut rows = later.query([now])?;
    while look.moves_ms.is_none()
        && let Some(row) = rows.next()?
    {
        let run: String = row.get(0)?;
        if !skip(&run) && is_free(row.get(1)?) {
            look.moves_ms = row.get(2)?;
        }
    }
    Ok(look)
}
