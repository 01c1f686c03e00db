//! The guard over effects, held against the events that it follows from.
//!
//! Owns the table `open_effects` as a whole; `admission` owns each change of it. Never trusts a
//! row: who can write the file can write one, or take one away. INVARIANT: no process begins a
//! write before the table tells what the events of all runs tell.

use std::collections::BTreeMap;

use provost_run::open_effects::{OpenEffect, OpenEffects};
use rusqlite::{Connection, params};

use super::read::{EventRow, EventsOfKinds, RunEnd};
use super::{StoreError, payloads};

/// What is open, by run and slot.
pub(super) type OpenEffectRow = BTreeMap<(String, String), OpenEffect>;

/// A row of the table that fits its run.
struct Row {
    operation: String,
    sinks: [u8; 32],
    standing: String,
    owner: String,
}

impl Row {
    fn tells(&self, open: &OpenEffect) -> bool {
        self.operation == open.operation
            && self.sinks == *open.sinks.bytes()
            && self.standing == open.standing.word()
    }
}

/// Takes an event into what is open of its run. Events that bear on nothing are not read.
pub(super) fn apply(
    effects: &mut OpenEffects,
    row: &EventRow,
    run: &str,
) -> Result<(), StoreError> {
    if !OpenEffects::KINDS.contains(&row.kind.as_str()) {
        return Ok(());
    }
    effects.apply(&row.event(run)?, row.at_ms);
    Ok(())
}

/// What the events say is open. A run that succeeded leaves nothing open and is not read.
pub(super) fn told(connection: &Connection) -> Result<OpenEffectRow, StoreError> {
    let mut runs = connection
        .prepare(&format!(
            "SELECT {} FROM runs \
             LEFT JOIN events ON events.run = runs.n AND events.seq = runs.head_seq \
             WHERE events.kind IS NOT 'RunEnded' \
             OR json_extract(events.payload, '$.status') IS NOT 'succeeded'",
            RunEnd::COLUMNS
        ))
        .map_err(StoreError::read)?;
    let mut runs = runs.query([]).map_err(StoreError::read)?;
    let mut open = OpenEffectRow::new();
    let pruned = payloads::of(connection)?;
    let mut events = EventsOfKinds::new(connection, &OpenEffects::KINDS)?;
    while let Some(row) = runs.next().map_err(StoreError::read)? {
        let run = RunEnd::read(row).map_err(StoreError::read)?;
        // Why nothing of it: no run is pruned with an effect that is open.
        if let Some((kept, _)) = pruned.get(&run.id) {
            kept.check_end(run.seq, &run.link)?;
            continue;
        }
        let mut effects = OpenEffects::default();
        events.each(&run, |row| apply(&mut effects, row, &run.id))?;
        open.extend(of_run(&effects, &run.id));
    }
    Ok(open)
}

/// The open effects of one run as rows name them.
pub(super) fn of_run(effects: &OpenEffects, run: &str) -> OpenEffectRow {
    let named = |(slot, open): (&provost_run::call::Slot, &OpenEffect)| {
        ((run.to_owned(), slot.to_string()), open.clone())
    };
    effects.open().iter().map(named).collect()
}

fn rows(connection: &Connection) -> rusqlite::Result<BTreeMap<(String, String), Row>> {
    let mut query = connection
        .prepare("SELECT run, slot, operation, sinks, standing, owner FROM open_effects")?;
    let rows = query.query_map([], |row| {
        let key = (row.get(0)?, row.get(1)?);
        let row = Row {
            operation: row.get(2)?,
            sinks: row.get(3)?,
            standing: row.get(4)?,
            owner: row.get(5)?,
        };
        Ok((key, row))
    })?;
    rows.collect()
}

/// Makes the table tell what the events tell, inside the transaction that is open; what it told
/// otherwise, in words. `lives` says of an owner whether it does.
pub(super) fn restore(
    connection: &Connection,
    mut told: OpenEffectRow,
    lives: impl Fn(&str) -> bool,
) -> rusqlite::Result<Vec<String>> {
    let mut restored = Vec::new();
    let mut name = |(run, slot): &(String, String), what: &str| {
        restored.push(format!("open_effects (`{slot}` of run {run} {what})"));
    };
    let mut changed = Vec::new();
    for (key, row) in rows(connection)? {
        let (run, slot) = &key;
        // Why the owner: a row that names a living process is a write in flight and no doubt.
        let is_right = match told.get(&key) {
            Some(open) => {
                row.tells(open) && (!lives(&row.owner) || owner_of(connection, run)? == row.owner)
            }
            None => false,
        };
        if is_right {
            told.remove(&key);
        } else {
            match told.get(&key) {
                // Why not named: who drives a run may change with no word in its events.
                Some(open) if row.tells(open) => {}
                Some(_) => name(&key, "stood otherwise there"),
                None => name(&key, "was made up"),
            }
            changed.push(key.clone());
            connection.execute(
                "DELETE FROM open_effects WHERE run = ?1 AND slot = ?2",
                [run, slot],
            )?;
        }
    }
    for (key, open) in told {
        if !changed.contains(&key) {
            name(&key, "was missing there");
        }
        let (run, slot) = key;
        connection.execute(
            "INSERT INTO open_effects (run, slot, operation, sinks, standing, owner, at_ms) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                run,
                slot,
                open.operation,
                open.sinks.bytes(),
                open.standing.word(),
                owner_of(connection, &run)?,
                open.at_ms
            ],
        )?;
    }
    Ok(restored)
}

/// Who owns a run; empty, which no living process is called, if nobody does.
fn owner_of(connection: &Connection, run: &str) -> rusqlite::Result<String> {
    connection
        .prepare_cached("SELECT coalesce(owner, '') FROM runs WHERE id = ?1")?
        .query_row([run], |row| row.get(0))
}

/// Where the table does not tell what the events tell, in words; none if it does.
pub(super) fn difference(
    connection: &Connection,
    told: &OpenEffectRow,
) -> Result<Option<String>, StoreError> {
    let rows = rows(connection).map_err(StoreError::read)?;
    let said = |(run, slot): &(String, String), what: &str| {
        Some(format!("open_effects (`{slot}` of run {run} {what})"))
    };
    for (key, open) in told {
        match rows.get(key) {
            Some(row) if row.tells(open) => {}
            Some(_) => return Ok(said(key, "stands otherwise there")),
            None => return Ok(said(key, "is missing there")),
        }
    }
    let made_up = rows.keys().find(|key| !told.contains_key(*key));
    Ok(made_up.and_then(|key| said(key, "was made up")))
}
