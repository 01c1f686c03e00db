//! What runs wait for, as rows: written with the events they follow from.
//!
//! Owns the table `waits`. Decides nothing: the list is [`provost_run::state::waiting`]'s.
//! INVARIANT: the rows of a run are equal to that list after its last event; a run whose row an
//! older version wrote has none, and says so.

use std::collections::BTreeMap;

use provost_run::call::Slot;
use provost_run::state::{WaitKind, Waiting};
use rusqlite::{Connection, Row, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Store, StoreError};

/// What runs wait for, by run; none of a run whose rows are not kept yet.
pub type Waits = BTreeMap<String, Option<Vec<Waiting>>>;

/// Puts these rows in the place of what a run had.
pub(super) fn replace(
    connection: &Connection,
    run: &str,
    waits: &[Waiting],
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM waits WHERE run = ?1")?
        .execute([run])?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO waits VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, \
         ?15, ?16)",
    )?;
    for (n, wait) in waits.iter().enumerate() {
        insert.execute(params![
            run,
            n,
            wait.kind.word(),
            wait.digest.map(|digest| digest.to_string()),
            wait.slot.as_ref().map(|slot| &slot.step),
            wait.slot.as_ref().and_then(|slot| slot.item),
            wait.operation,
            wait.effect.and_then(word),
            wait.risk.and_then(word),
            wait.requester,
            wait.planned_by,
            wait.asked_at,
            wait.expires_at,
            wait.quorum,
            serde_json::to_string(&wait.approved_by).unwrap_or_default(),
            wait.repeats,
        ])?;
    }
    Ok(())
}

/// The word of a closed list.
fn word(value: impl Serialize) -> Option<String> {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => Some(word),
        _ => None,
    }
}

fn of_word<T: DeserializeOwned>(word: Option<String>) -> Option<T> {
    serde_json::from_value(Value::String(word?)).ok()
}

impl Store {
    /// What the runs that are not over wait for.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn waits(&self) -> Result<Waits, StoreError> {
        self.read(|connection| waits(connection).map_err(StoreError::read))
    }
}

fn waits(connection: &Connection) -> rusqlite::Result<Waits> {
    // Why one transaction: rows and runs must be of one moment.
    let tx = connection.unchecked_transaction()?;
    let unfinished = super::RunFilter::unfinished().statuses;
    let marks = vec!["?"; unfinished.len()].join(", ");
    // Why asked: a journal of an older format is read as it is where nothing may be written.
    let kept = tx
        .prepare("SELECT 1 FROM pragma_table_info('runs') WHERE name = 'waits'")?
        .exists([])?;
    let column = if kept { "waits IS NOT NULL" } else { "0" };
    let mut all = Waits::new();
    let mut runs = tx.prepare(&format!(
        "SELECT id, {column} FROM runs WHERE status IN ({marks})"
    ))?;
    let mut rows = runs.query(rusqlite::params_from_iter(unfinished))?;
    while let Some(row) = rows.next()? {
        let is_kept: bool = row.get(1)?;
        all.insert(row.get(0)?, is_kept.then(Vec::new));
    }
    if kept {
        let mut query = tx.prepare("SELECT * FROM waits ORDER BY run, n")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let run: String = row.get(0)?;
            if let (Some(Some(list)), Some(wait)) = (all.get_mut(&run), read(row)?) {
                list.push(wait);
            }
        }
    }
    Ok(all)
}

/// A row; none of a kind that this version does not know.
fn read(row: &Row<'_>) -> rusqlite::Result<Option<Waiting>> {
    let kind: String = row.get(2)?;
    let Some(kind) = WaitKind::of(&kind) else {
        return Ok(None);
    };
    let digest: Option<String> = row.get(3)?;
    let step: Option<String> = row.get(4)?;
    let item: Option<usize> = row.get(5)?;
    let approved_by: String = row.get(14)?;
    Ok(Some(Waiting {
        kind,
        digest: digest.and_then(|digest| digest.parse().ok()),
        slot: step.map(|step| Slot { step, item }),
        operation: row.get(6)?,
        effect: of_word(row.get(7)?),
        risk: of_word(row.get(8)?),
        requester: row.get(9)?,
        planned_by: row.get(10)?,
        asked_at: row.get(11)?,
        expires_at: row.get(12)?,
        quorum: row.get(13)?,
        approved_by: serde_json::from_str(&approved_by).unwrap_or_default(),
        // Why none: a journal of an older format may be read as it is.
        repeats: row.get(15).unwrap_or_default(),
    }))
}
