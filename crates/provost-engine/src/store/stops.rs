//! What a person stopped: one durable row each, read in the transaction of every intent.
//!
//! Owns the scopes and their words. A single run is no scope: its pause is a statement to it, and
//! an event of its journal. INVARIANT: a stop that was acknowledged binds every attempt
//! that begins after it, in every process, of runs that begin after it too.

use rusqlite::{Connection, params};

use super::{Pending, Store, StoreError};

/// What a stop binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopScope {
    /// Every run.
    All,
    /// A tool or one of its operations.
    Tool,
    /// Runs that a playbook planned.
    Playbook,
    /// Runs for a principal.
    Principal,
}

impl StopScope {
    /// Its word in the table and on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Tool => "tool",
            Self::Playbook => "playbook",
            Self::Principal => "principal",
        }
    }

    fn of(word: &str) -> Option<Self> {
        let all = [Self::All, Self::Tool, Self::Playbook, Self::Principal];
        all.into_iter().find(|scope| scope.word() == word)
    }
}

/// Something that is stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// What it binds.
    pub scope: StopScope,
    /// The name of the tool, playbook or principal; empty for all.
    pub name: String,
    /// Who stopped it.
    pub by: String,
    /// Why.
    pub reason: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

impl Stopped {
    /// What is stopped, in words.
    #[must_use]
    pub fn what(&self) -> String {
        match self.scope {
            StopScope::All => "every run".to_owned(),
            scope => format!("{} `{}`", scope.word(), self.name),
        }
    }
}

impl Store {
    /// Stops something; a stop of the same name is replaced.
    pub fn stop(&self, stopped: &Stopped) -> Pending<()> {
        let stopped = stopped.clone();
        self.change(move |connection| {
            connection
                .execute(
                    "INSERT OR REPLACE INTO stops VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![
                        stopped.scope.word(),
                        stopped.name,
                        stopped.by,
                        stopped.reason,
                        stopped.at_ms
                    ],
                )
                .map(|_| ())
        })
    }

    /// Lets something go on.
    pub fn unstop(&self, scope: StopScope, name: &str) -> Pending<()> {
        let name = name.to_owned();
        self.change(move |connection| {
            connection
                .execute(
                    "DELETE FROM stops WHERE scope = ?1 AND name = ?2",
                    params![scope.word(), name],
                )
                .map(|_| ())
        })
    }

    /// Everything that is stopped, the oldest first.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn stops(&self) -> Result<Vec<Stopped>, StoreError> {
        self.read(|connection| stops(connection).map_err(StoreError::read))
    }
}

fn stops(connection: &Connection) -> rusqlite::Result<Vec<Stopped>> {
    let mut query =
        connection.prepare("SELECT scope, name, by, reason, at_ms FROM stops ORDER BY at_ms")?;
    let mut rows = query.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let scope: String = row.get(0)?;
        if let Some(scope) = StopScope::of(&scope) {
            all.push(Stopped {
                scope,
                name: row.get(1)?,
                by: row.get(2)?,
                reason: row.get(3)?,
                at_ms: row.get(4)?,
            });
        }
    }
    Ok(all)
}
