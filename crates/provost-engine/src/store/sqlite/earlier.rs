//! Equal calls of other runs, read from the events themselves.
//!
//! Owns the way from a call to the runs that made it before. Keeps no table: what is said of a call
//! is the fold of its run's events, found by an index over them. INVARIANT: a call that equals
//! another, and whose events stand in the journal, is found whatever became of its run.

use std::collections::BTreeSet;

use provost_run::admission::EarlierLook;
use provost_run::earlier::{CallKey, EarlierCall, EarlierCalls, Writes};
use rusqlite::{Connection, params};

use super::StoreError;
use super::read;
use crate::limits::EARLIER_RUNS_MAX;

/// Attempts at a call, the latest first. Why these words: only so is `events_by_call` used.
pub(super) const ATTEMPTS: &str = "SELECT run FROM events \
     WHERE kind = 'AttemptStarted' AND json_valid(payload) \
     AND json_extract(payload, '$.read') = 0 \
     AND json_extract(payload, '$.args_digest') = ?1 \
     AND json_extract(payload, '$.operation') = ?2 AND at_ms >= ?3 ORDER BY at_ms DESC";

/// The calls of other runs than `own` that equal the one that is asked about.
pub(super) fn calls(
    connection: &Connection,
    look: &EarlierLook,
    own: &str,
) -> Result<EarlierCalls, StoreError> {
    let mut found = Vec::new();
    for n in runs(connection, look)? {
        let run: String = connection
            .prepare_cached("SELECT id FROM runs WHERE n = ?1")
            .and_then(|mut query| query.query_row([n], |row| row.get(0)))
            .map_err(StoreError::read)?;
        if run != own {
            let writes = writes(connection, n, &run)?;
            found.extend(equal(&writes, &look.call, &run).filter(|call| call.at >= look.since));
        }
    }
    found.sort_by(|one, other| (other.at, &other.run).cmp(&(one.at, &one.run)));
    let mut calls = EarlierCalls::default();
    found.into_iter().for_each(|call| calls.push(call));
    Ok(calls)
}

/// The runs that attempted the call, the latest first, as many as are looked at.
fn runs(connection: &Connection, look: &EarlierLook) -> Result<BTreeSet<i64>, StoreError> {
    let mut query = connection
        .prepare_cached(ATTEMPTS)
        .map_err(StoreError::read)?;
    let CallKey { operation, args } = &look.call;
    let mut rows = query
        .query(params![args.to_string(), operation, look.since])
        .map_err(StoreError::read)?;
    let mut runs = BTreeSet::new();
    while runs.len() < EARLIER_RUNS_MAX
        && let Some(row) = rows.next().map_err(StoreError::read)?
    {
        runs.insert(row.get(0).map_err(StoreError::read)?);
    }
    Ok(runs)
}

/// The writes of a run, as its events tell them.
fn writes(connection: &Connection, n: i64, run: &str) -> Result<Writes, StoreError> {
    let mut writes = Writes::default();
    read::each_event(connection, n, run, |row| {
        if Writes::KINDS.contains(&row.kind.as_str()) {
            writes.apply(&row.event(run)?, row.at_ms);
        }
        Ok(())
    })?;
    Ok(writes)
}

fn equal<'w>(
    writes: &'w Writes,
    call: &'w CallKey,
    run: &'w str,
) -> impl Iterator<Item = EarlierCall> + 'w {
    writes.equal(call).map(move |(slot, write)| EarlierCall {
        run: run.to_owned(),
        slot: slot.clone(),
        at: write.at,
        landing: write.landing,
    })
}
