//! Equal calls of other runs, read from the events themselves.
//!
//! Owns the way from a call to the runs that made it before. Keeps no table: what is said of a call
//! is the fold of its run's events, found by an index; what was folded is gone on with. INVARIANT:
//! a call that equals another, and whose events stand in the journal, is found whatever became of
//! its run.

use std::collections::{BTreeMap, BTreeSet};

use provost_run::admission::EarlierLook;
use provost_run::earlier::{CallKey, EarlierCall, EarlierCalls, Writes};
use rusqlite::{Connection, params};

use super::StoreError;
use super::payloads::{self, PrunedRuns};
use super::read::{self, EventPlace};
use crate::limits::{EARLIER_RUNS_MAX, EARLIER_WRITES_MAX};
use crate::store::event::call_number;

/// Attempts at calls of a number, the latest first. What has it is compared as a whole.
pub(super) const ATTEMPTS: &str =
    "SELECT run FROM events WHERE call = ?1 AND at_ms >= ?2 ORDER BY at_ms DESC";

/// Runs whose writes were read, as far as they had come by then.
///
/// Why kept: who makes a hundred equal calls would read each earlier run a hundred times.
#[derive(Debug, Default)]
pub(super) struct EarlierRuns {
    known: BTreeMap<i64, KnownRun>,
}

/// The writes of a run up to an event.
#[derive(Debug)]
struct KnownRun {
    place: EventPlace,
    writes: Writes,
}

impl KnownRun {
    fn new() -> Self {
        let (place, writes) = (EventPlace::START, Writes::default());
        Self { place, writes }
    }

    /// What the log of the workspace keeps of a run whose payloads were pruned.
    fn kept(connection: &Connection, run: &str, gone: StoreError) -> Result<Self, StoreError> {
        let head = read::run(connection, run)?;
        let pruned = payloads::of(connection)?;
        let Some((kept, _)) = pruned.get(run) else {
            return Err(gone);
        };
        kept.check_end(head.head_seq, &head.head)?;
        let (seq, link) = (head.head_seq, head.head);
        Ok(Self {
            place: EventPlace { seq, link },
            writes: kept.writes(),
        })
    }

    /// Takes in what the run did since.
    fn go_on(mut self, connection: &Connection, n: i64, run: &str) -> Result<Self, StoreError> {
        let Self { place, writes } = &mut self;
        read::each_event_after(*place, connection, n, run, |row| {
            if Writes::KINDS.contains(&row.kind.as_str()) {
                writes.apply(&row.event(run)?, row.at_ms);
            }
            let (seq, link) = (row.seq, row.link);
            *place = EventPlace { seq, link };
            Ok(())
        })?;
        Ok(self)
    }
}

impl EarlierRuns {
    /// The calls of other runs than `own` that equal the one that is asked about.
    pub(super) fn calls(
        &mut self,
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
                let writes = self.writes(connection, n, &run)?;
                found.extend(equal(writes, &look.call, &run).filter(|call| call.at >= look.since));
            }
        }
        found.sort_by(|one, other| (other.at, &other.run).cmp(&(one.at, &one.run)));
        let mut calls = EarlierCalls::default();
        found.into_iter().for_each(|call| calls.push(call));
        Ok(calls)
    }

    /// The writes of a run, as its events tell them.
    fn writes(
        &mut self,
        connection: &Connection,
        n: i64,
        run: &str,
    ) -> Result<&Writes, StoreError> {
        let known = self.known.remove(&n);
        // Why once more: another journal may have been put in place of the one that was read.
        let read = known.map(|known| known.go_on(connection, n, run));
        let read = match read {
            Some(Ok(read)) => read,
            _ => match KnownRun::new().go_on(connection, n, run) {
                Err(gone @ StoreError::Erased { .. }) => KnownRun::kept(connection, run, gone)?,
                read => read?,
            },
        };
        let kept = self.known.values().map(|known| known.writes.len());
        if kept.sum::<usize>() + read.writes.len() > EARLIER_WRITES_MAX {
            self.known.clear();
        }
        Ok(&self.known.entry(n).or_insert(read).writes)
    }
}

/// The runs that attempted the call, the latest first, as many as are looked at.
fn runs(connection: &Connection, look: &EarlierLook) -> Result<BTreeSet<i64>, StoreError> {
    let mut query = connection
        .prepare_cached(ATTEMPTS)
        .map_err(StoreError::read)?;
    let mut rows = query
        .query(params![look.call.short(), look.since])
        .map_err(StoreError::read)?;
    let mut runs = BTreeSet::new();
    while runs.len() < EARLIER_RUNS_MAX
        && let Some(row) = rows.next().map_err(StoreError::read)?
    {
        runs.insert(row.get(0).map_err(StoreError::read)?);
    }
    Ok(runs)
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

/// An event that has a number or should have one: its own, where it stands, and both numbers.
struct Numbered {
    n: i64,
    place: String,
    stored: Option<i64>,
    told: Option<i64>,
}

/// Events whose number is not that of the call that they begin.
fn misnumbered(connection: &Connection, pruned: &PrunedRuns) -> rusqlite::Result<Vec<Numbered>> {
    let numbers = pruned
        .values()
        .map(|(kept, _)| (kept.run(), kept.numbers()));
    let numbers: BTreeMap<&str, BTreeSet<i64>> = numbers.collect();
    let mut missing = numbers.clone();
    let mut query = connection.prepare(
        "SELECT events.n, runs.id, seq, call, kind, payload FROM events \
         JOIN runs ON runs.n = events.run WHERE kind = 'AttemptStarted' OR call IS NOT NULL",
    )?;
    let mut rows = query.query([])?;
    let mut wrong = Vec::new();
    while let Some(row) = rows.next()? {
        let (run, seq): (String, u64) = (row.get(1)?, row.get(2)?);
        let (kind, payload): (String, Option<String>) = (row.get(4)?, row.get(5)?);
        let stored: Option<i64> = row.get(3)?;
        let told = match (&payload, numbers.get(run.as_str())) {
            // Why any of them: which event began which call went with its payload.
            (None, Some(kept)) if kind == "AttemptStarted" => {
                stored.filter(|number| kept.contains(number))
            }
            (None, _) => None,
            (Some(payload), _) => call_number(&kind, payload),
        };
        if let (Some(number), Some(missing)) = (stored, missing.get_mut(run.as_str())) {
            missing.remove(&number);
        }
        let found = Numbered {
            n: row.get(0)?,
            place: format!("event {seq} of run {run}"),
            stored,
            told,
        };
        if found.stored != found.told {
            wrong.push(found);
        }
    }
    let missing = missing
        .into_iter()
        .filter(|(_, numbers)| !numbers.is_empty());
    wrong.extend(missing.map(|(run, numbers)| Numbered {
        n: 0,
        place: format!("a call of run {run}"),
        stored: None,
        told: numbers.first().copied(),
    }));
    Ok(wrong)
}

/// Numbers the calls of a journal of an older format.
pub(super) fn number(connection: &Connection) -> rusqlite::Result<()> {
    let mut update = connection.prepare("UPDATE events SET call = ?2 WHERE n = ?1")?;
    for event in misnumbered(connection, &PrunedRuns::new())? {
        update.execute(params![event.n, event.told])?;
    }
    Ok(())
}

/// Where a number is not that of the call that an event begins, in words.
pub(super) fn difference(
    connection: &Connection,
    pruned: &PrunedRuns,
) -> rusqlite::Result<Option<String>> {
    let wrong = misnumbered(connection, pruned)?.into_iter().next();
    Ok(wrong.map(|event| format!("events.call ({})", event.place)))
}
