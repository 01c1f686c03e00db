//! What a person stopped: one durable row each, read in the transaction of every intent.
//!
//! Owns the scopes and their words, and what the log of the workspace says of them. A single run is
//! no scope: its pause is a statement to it, and an event of its journal. INVARIANT: a stop that
//! was acknowledged binds every attempt that begins after it, in every process, of runs that begin
//! after it too, until somebody lifts it; who only takes its row away lifts nothing.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use super::log::{LogEvent, Logged};
use super::{Change, Changed, Pending, Store, StoreError};

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
    pub fn stop(&self, stopped: &Stopped) -> Pending<Changed> {
        self.change(Change::Stop(stopped.clone()))
    }

    /// Lets something go on, as `by` says.
    pub fn unstop(&self, scope: StopScope, name: &str, by: &str) -> Pending<Changed> {
        let (name, by) = (name.to_owned(), by.to_owned());
        self.change(Change::Unstop { scope, name, by })
    }

    /// Everything that is stopped, the oldest first.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn stops(&self) -> Result<Vec<Stopped>, StoreError> {
        self.read(|connection| stops(connection).map_err(StoreError::read))
    }
}

/// Writes a stop's row; what the log says of it.
pub(super) fn stop(connection: &Connection, stopped: Stopped) -> rusqlite::Result<LogEvent> {
    connection.execute(
        "INSERT OR REPLACE INTO stops VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            stopped.scope.word(),
            stopped.name,
            stopped.by,
            stopped.reason,
            stopped.at_ms
        ],
    )?;
    Ok(LogEvent::StopPlaced(Placed {
        scope: stopped.scope.word().to_owned(),
        name: stopped.name,
        by: stopped.by,
        reason: stopped.reason,
        at_ms: stopped.at_ms,
    }))
}

/// Deletes a stop's row; what the log says of it, if there was one.
pub(super) fn unstop(
    connection: &Connection,
    scope: StopScope,
    name: String,
    by: String,
) -> rusqlite::Result<Option<LogEvent>> {
    let gone = connection.execute(
        "DELETE FROM stops WHERE scope = ?1 AND name = ?2",
        params![scope.word(), name],
    )?;
    let scope = scope.word().to_owned();
    Ok((gone > 0).then_some(LogEvent::StopLifted { scope, name, by }))
}

/// A stop as the log of the workspace and a row of the table have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Placed {
    scope: String,
    name: String,
    by: String,
    reason: String,
    at_ms: i64,
}

impl Placed {
    fn what(&self) -> String {
        match self.scope.as_str() {
            "all" => "every run".to_owned(),
            scope => format!("{scope} `{}`", self.name),
        }
    }
}

/// Stops, by scope and name.
pub(super) type Stops = BTreeMap<(String, String), Placed>;

/// What the log says is stopped.
pub(super) fn told(log: &[Logged]) -> Stops {
    let mut stops = Stops::new();
    for logged in log {
        match &logged.event {
            LogEvent::StopPlaced(placed) => {
                let key = (placed.scope.clone(), placed.name.clone());
                stops.insert(key, placed.clone());
            }
            LogEvent::StopLifted { scope, name, .. } => {
                stops.remove(&(scope.clone(), name.clone()));
            }
            _ => {}
        }
    }
    stops
}

fn rows(connection: &Connection) -> rusqlite::Result<Stops> {
    let mut query = connection.prepare("SELECT scope, name, by, reason, at_ms FROM stops")?;
    let rows = query.query_map([], |row| {
        let placed = Placed {
            scope: row.get(0)?,
            name: row.get(1)?,
            by: row.get(2)?,
            reason: row.get(3)?,
            at_ms: row.get(4)?,
        };
        Ok(((placed.scope.clone(), placed.name.clone()), placed))
    })?;
    rows.collect()
}

/// Puts back what somebody took away or changed, inside the transaction that is open; what was put
/// back, in words. Why a stop that was made up stays: whoever wrote it, it only holds back, and a
/// person lifts it.
pub(super) fn restore(connection: &Connection, told: &Stops) -> rusqlite::Result<Vec<String>> {
    let there = rows(connection)?;
    let mut restored = Vec::new();
    for (key, placed) in told {
        if there.get(key) == Some(placed) {
            continue;
        }
        connection.execute(
            "INSERT OR REPLACE INTO stops VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                placed.scope,
                placed.name,
                placed.by,
                placed.reason,
                placed.at_ms
            ],
        )?;
        let how = if there.contains_key(key) {
            "stood otherwise there"
        } else {
            "was missing there"
        };
        restored.push(format!("stops (the stop of {} {how})", placed.what()));
    }
    Ok(restored)
}

/// Where the table does not tell what the log tells, in words; none if it does.
pub(super) fn difference(
    connection: &Connection,
    told: &Stops,
) -> Result<Option<String>, StoreError> {
    let rows = rows(connection).map_err(StoreError::read)?;
    let said =
        |placed: &Placed, what: &str| Some(format!("stops (the stop of {} {what})", placed.what()));
    for (key, placed) in told {
        match rows.get(key) {
            Some(row) if row == placed => {}
            Some(_) => return Ok(said(placed, "stands otherwise there")),
            None => return Ok(said(placed, "is missing there")),
        }
    }
    let made_up = rows.iter().find(|(key, _)| !told.contains_key(*key));
    Ok(made_up.and_then(|(_, placed)| said(placed, "was made up")))
}

/// What an older journal has stopped, for its log.
pub(super) fn carried(connection: &Connection) -> rusqlite::Result<Vec<LogEvent>> {
    Ok(rows(connection)?
        .into_values()
        .map(LogEvent::StopPlaced)
        .collect())
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
