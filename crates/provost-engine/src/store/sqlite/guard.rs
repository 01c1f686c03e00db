//! The tables that guard effects, held against the events before they are relied on.
//!
//! Owns when each is held against what, in a process that writes and for whoever only looks. Never
//! trusts a row: who can write the file can write one, or take one away. INVARIANT: no process
//! begins a call before `stops` tells what the log of the workspace tells, nor a write before
//! `open_effects`, nor what a budget bounds before `budgets` tells what the events of all runs
//! tell.

use provost_run::admission::AdmissionEntry;
use rusqlite::{Connection, OptionalExtension as _};

use super::budgets::Budgets;
use super::effects::{self, OpenEffectRow};
use super::log::{self, Logged};
use super::{StoreError, begun, budgets, earlier, payloads, prune, read, stops};

/// What a process has held against the events so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Guarded {
    log: bool,
    effects: bool,
    budgets: bool,
}

/// Rows that were put right, in words, or why nothing can be relied on.
pub(super) type Held = Result<Vec<String>, StoreError>;

impl Guarded {
    /// Holds what these entries rely on against the events, inside the transaction that is open,
    /// whose commit has `uncommitted` events so far. `lives` says of an owner whether it does.
    pub(super) fn hold(
        &mut self,
        connection: &Connection,
        entries: &[AdmissionEntry],
        uncommitted: usize,
        lives: impl Fn(&str) -> bool,
    ) -> rusqlite::Result<Held> {
        let mut restored = Vec::new();
        let relies = |entry: &AdmissionEntry| match entry {
            AdmissionEntry::Begin(begin) => begin.budget.is_some(),
            AdmissionEntry::Reserve(_) => true,
            _ => false,
        };
        if !self.budgets && entries.iter().any(relies) {
            match budgets::told(connection) {
                Ok(told) => restored.extend(budgets::restore(connection, &told)?),
                Err(error) => return Ok(Err(error)),
            }
            self.budgets = true;
        }
        let mut begins = entries.iter().filter_map(|entry| match entry {
            AdmissionEntry::Begin(begin) => Some(begin.sinks.is_some()),
            _ => None,
        });
        let (first, writes) = match begins.next() {
            None => return Ok(Ok(restored)),
            Some(first) => (!self.log, first || begins.any(|writes| writes)),
        };
        if first {
            match hold_log(connection, uncommitted)? {
                Ok(rows) => restored.extend(rows),
                Err(error) => return Ok(Err(error)),
            }
            self.log = true;
        }
        if writes && !self.effects {
            let told = match effects::told(connection) {
                Ok(told) => told,
                Err(error) => return Ok(Err(error)),
            };
            restored.extend(effects::restore(connection, told, lives)?);
            self.effects = true;
        }
        Ok(Ok(restored))
    }
}

fn hold_log(connection: &Connection, uncommitted: usize) -> rusqlite::Result<Held> {
    let looked = check_counts(connection, uncommitted)
        .and_then(|()| log::read(connection))
        .and_then(|log| {
            let (stops, pruned) = (stops::told(&log), prune::told(&log));
            prune::refuse_lost(connection, &pruned)?;
            Ok((stops, pruned))
        });
    let (stops, pruned) = match looked {
        Ok(told) => told,
        Err(error) => return Ok(Err(error)),
    };
    let mut restored = stops::restore(connection, &stops)?;
    restored.extend(prune::restore(connection, &pruned)?);
    Ok(Ok(restored))
}

/// Whether there are as many events as the commits carried.
fn check_counts(connection: &Connection, uncommitted: usize) -> Result<(), StoreError> {
    let counted = "SELECT (SELECT count(*) FROM events), \
                   (SELECT coalesce(sum(events), 0) FROM commits)";
    let (there, committed): (usize, usize) = connection
        .query_row(counted, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(StoreError::read)?;
    if there == committed + uncommitted {
        return Ok(());
    }
    let first: Option<u64> = connection
        .query_row(
            "SELECT n FROM commits LEFT JOIN \
             (SELECT commit_n, count(*) AS there FROM events GROUP BY commit_n) ON commit_n = n \
             WHERE events <> coalesce(there, 0) ORDER BY n LIMIT 1",
            [],
            |row| row.get(0),
        )
        .optional()
        .map_err(StoreError::read)?;
    Err(StoreError::CommitBroken {
        commit: first.unwrap_or_default(),
        reason: format!("the commits had {committed} events, and {there} are there"),
    })
}

/// The log, once no table differs from what it and the events of all runs tell.
pub(super) fn differences(
    connection: &Connection,
    open: &OpenEffectRow,
    spent: &Budgets,
) -> Result<Option<Vec<Logged>>, StoreError> {
    let mut tables = Vec::new();
    if read::has_table(connection, "open_effects")? {
        tables.extend(effects::difference(connection, open)?);
    }
    let log = match log::is_kept(connection)? {
        true => Some(log::read(connection)?),
        false => None,
    };
    if let Some(log) = &log {
        tables.extend(stops::difference(connection, &stops::told(log))?);
        tables.extend(prune::difference(connection, &prune::told(log))?);
    }
    let format = read::format(connection)?;
    if format >= 7 {
        tables.extend(budgets::difference(connection, spent)?);
    }
    if format >= 10 {
        let pruned = log.as_deref().map(payloads::told).unwrap_or_default();
        tables.extend(earlier::difference(connection, &pruned).map_err(StoreError::read)?);
    }
    if format >= begun::FORMAT {
        tables.extend(begun::difference(connection)?);
    }
    if tables.is_empty() {
        return Ok(log);
    }
    Err(StoreError::TablesDiffer { tables })
}
