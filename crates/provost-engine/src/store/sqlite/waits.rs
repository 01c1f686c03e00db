//! What runs wait for, as rows: written with the events they follow from.
//!
//! Owns the table `waits`. Decides nothing: the list is [`provost_run::state::waiting`]'s.
//! INVARIANT: the rows of a run are equal to that list after its last event; a run whose row an
//! older version wrote has none, and says so.

use std::collections::BTreeMap;

use provost_plan::digest::Digest;
use provost_plan::policy::Principal;
use provost_run::call::Slot;
use provost_run::state::{WaitKind, Waiting};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Row, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::de::value::{Error as WordError, StrDeserializer};
use serde_json::Value;

use super::{Store, StoreError, begun, feed};

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

/// What a column has of a closed list.
fn of_word<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    let word = row.get_ref(column)?.as_str_or_null()?;
    let read = |word| T::deserialize(StrDeserializer::<WordError>::new(word)).ok();
    Ok(word.and_then(read))
}

/// A wait of a run that is not over, and its place in the list: the latest run first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedWait {
    /// The number of its run, and its own among those of the run.
    pub place: (i64, u32),
    /// The run.
    pub run: String,
    /// Its goal.
    pub goal: String,
    /// The link of its last event.
    pub head: Digest,
    /// What is waited for.
    pub wait: Waiting,
}

/// Which waits are on a page. The default is the first page of all.
#[derive(Clone, Debug, Default)]
pub struct WaitPage {
    /// Only those after this place.
    pub after: Option<(i64, u32)>,
    /// Only this kind.
    pub kind: Option<WaitKind>,
    /// Only of runs whose id begins so.
    pub run: Option<String>,
    /// Only of runs that act for one of these principals.
    pub principals: Option<Vec<Principal>>,
    /// At most so many.
    pub limit: u32,
}

/// How much is waited for, and since when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitCounts {
    /// All of it.
    pub all: u64,
    /// The runs that wait.
    pub runs: u64,
    /// Writes in doubt.
    pub in_doubt: u64,
    /// When the oldest was asked for, in milliseconds since 1970.
    pub oldest_ms: Option<i64>,
}

impl Store {
    /// What the runs that are not over wait for.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn waits(&self) -> Result<Waits, StoreError> {
        self.read(|connection| waits(connection).map_err(StoreError::read))
    }

    /// What a run waits for, by its rows; nothing of a run without rows.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn waits_of(&self, run: &str) -> Result<Vec<Waiting>, StoreError> {
        self.read_rows(|connection| {
            let mut query =
                connection.prepare_cached("SELECT * FROM waits WHERE run = ?1 ORDER BY n")?;
            let rows = query.query_map([run], read)?;
            rows.filter_map(Result::transpose).collect()
        })
    }

    /// The unfinished runs whose rows are not kept, since an older version wrote them last.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn runs_without_waits(&self) -> Result<Vec<String>, StoreError> {
        let unfinished = super::RunFilter::unfinished().statuses;
        let marks = vec!["?"; unfinished.len()].join(", ");
        let sql = format!(
            "SELECT id FROM runs INDEXED BY runs_without_waits \
             WHERE waits IS NULL AND status IN ({marks})"
        );
        self.read_rows(|connection| {
            let mut query = connection.prepare_cached(&sql)?;
            let rows =
                query.query_map(rusqlite::params_from_iter(&unfinished), |row| row.get(0))?;
            rows.collect()
        })
    }

    /// What waits, by page, of runs whose rows are kept. A run that somebody stopped by hand waits
    /// for nobody else, except where it lacks a secret.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn waits_page(&self, page: &WaitPage) -> Result<Vec<PlacedWait>, StoreError> {
        self.read_rows(|connection| waits_page(connection, page))
    }

    /// How much is waited for, of runs whose rows are kept: of all, or of those that act for one of
    /// these principals.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn wait_counts(&self, only: Option<&[Principal]>) -> Result<WaitCounts, StoreError> {
        self.read_rows(|connection| {
            let (of_principal, values) = match only {
                Some(only) => {
                    let (condition, values) = feed::acts_for(connection, only)?;
                    let from = begun::WITH_FIRST;
                    let run = format!(" AND run IN (SELECT id FROM {from} WHERE {condition})");
                    (run, values)
                }
                None => Default::default(),
            };
            // Why the first of each run: to count names that differ takes a table of them.
            let sql = format!(
                "SELECT count(*), count(*) FILTER (WHERE n = 0), \
                 count(*) FILTER (WHERE kind = 'settlement'), min(asked) FROM waits \
                 WHERE run NOT IN (SELECT id FROM runs WHERE {STOPPED}){of_principal}"
            );
            let mut query = connection.prepare_cached(&sql)?;
            query.query_row(rusqlite::params_from_iter(values), |row| {
                Ok(WaitCounts {
                    all: row.get(0)?,
                    runs: row.get(1)?,
                    in_doubt: row.get(2)?,
                    oldest_ms: row.get(3)?,
                })
            })
        })
    }
}

/// Whether somebody stopped a run by hand.
const STOPPED: &str = "runs.status = 'paused' AND NOT EXISTS \
     (SELECT 1 FROM waits AS w WHERE w.run = runs.id AND w.kind = 'secret')";

fn waits_page(connection: &Connection, page: &WaitPage) -> rusqlite::Result<Vec<PlacedWait>> {
    // Why two ways: nearly all that waits are approvals, and of other kinds there are few.
    let rare = page.kind.is_some_and(|kind| kind != WaitKind::Approval);
    let (from, begin) = match rare {
        true => ("waits CROSS JOIN runs ON runs.id = waits.run", "1"),
        false => (
            "runs INDEXED BY runs_that_wait CROSS JOIN waits ON waits.run = runs.id",
            "length(runs.waits) > 0",
        ),
    };
    let mut sql = format!(
        "SELECT waits.*, runs.n, runs.goal, runs.head FROM {from} WHERE {begin} AND NOT ({STOPPED})"
    );
    let mut values: Vec<Sql> = Vec::new();
    if let Some((run, n)) = page.after {
        sql.push_str(" AND runs.n <= ? AND (runs.n < ? OR waits.n > ?)");
        values.extend([run.into(), run.into(), i64::from(n).into()]);
    }
    if let Some(kind) = page.kind {
        sql.push_str(" AND waits.kind = ?");
        values.push(kind.word().to_owned().into());
    }
    if let Some(run) = &page.run {
        sql.push_str(" AND substr(runs.id, 1, length(?)) = ?");
        values.extend([run.clone().into(), run.clone().into()]);
    }
    if let Some(principals) = &page.principals {
        let (condition, of) = feed::acts_for(connection, principals)?;
        let from = begun::WITH_FIRST;
        sql.push_str(&format!(
            " AND runs.n IN (SELECT begun.n FROM {from} WHERE {condition})"
        ));
        values.extend(of);
    }
    sql.push_str(" ORDER BY runs.n DESC, waits.n LIMIT ?");
    values.push(Sql::Integer(page.limit.into()));
    let mut query = connection.prepare_cached(&sql)?;
    let rows = query.query_map(rusqlite::params_from_iter(values), |row| {
        let wait = read(row)?;
        let place = (row.get(16)?, row.get(1)?);
        let (run, goal) = (row.get(0)?, row.get(17)?);
        let head = Digest::from_bytes(row.get(18)?);
        Ok(wait.map(|wait| PlacedWait {
            place,
            run,
            goal,
            head,
            wait,
        }))
    })?;
    rows.filter_map(Result::transpose).collect()
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
    let sql = match kept {
        true => format!(
            "SELECT id, waits IS NOT NULL FROM runs WHERE status IN ({marks}) \
             AND n NOT IN (SELECT n FROM runs WHERE length(waits) > 0)"
        ),
        false => format!("SELECT id, 0 FROM runs WHERE status IN ({marks})"),
    };
    let mut all = Waits::new();
    let mut runs = tx.prepare(&sql)?;
    let mut rows = runs.query(rusqlite::params_from_iter(unfinished))?;
    while let Some(row) = rows.next()? {
        let is_kept: bool = row.get(1)?;
        all.insert(row.get(0)?, is_kept.then(Vec::new));
    }
    if kept {
        // Why not by their runs: these stand on as many pages of the journal as there are.
        let mut query = tx.prepare(
            "SELECT * FROM waits WHERE run NOT IN \
             (SELECT id FROM runs WHERE waits IS NULL) \
             ORDER BY run, n",
        )?;
        let mut rows = query.query([])?;
        let mut last: Option<(String, Vec<Waiting>)> = None;
        while let Some(row) = rows.next()? {
            let run = row.get_ref(0)?.as_str()?;
            if last.as_ref().is_none_or(|(known, _)| known != run) {
                let before = last.replace((run.to_owned(), Vec::new()));
                all.extend(before.map(|(run, list)| (run, Some(list))));
            }
            if let (Some((_, list)), Some(wait)) = (&mut last, read(row)?) {
                list.push(wait);
            }
        }
        all.extend(last.map(|(run, list)| (run, Some(list))));
    }
    Ok(all)
}

/// A row; none of a kind that this version does not know.
fn read(row: &Row<'_>) -> rusqlite::Result<Option<Waiting>> {
    let Some(kind) = row.get_ref(2)?.as_str_or_null()?.and_then(WaitKind::of) else {
        return Ok(None);
    };
    let digest = row.get_ref(3)?.as_str_or_null()?;
    let step: Option<String> = row.get(4)?;
    let item: Option<usize> = row.get(5)?;
    let approved_by = row.get_ref(14)?.as_str()?;
    Ok(Some(Waiting {
        kind,
        digest: digest.and_then(|digest| digest.parse().ok()),
        slot: step.map(|step| Slot { step, item }),
        operation: row.get(6)?,
        effect: of_word(row, 7)?,
        risk: of_word(row, 8)?,
        requester: row.get(9)?,
        planned_by: row.get(10)?,
        asked_at: row.get(11)?,
        expires_at: row.get(12)?,
        quorum: row.get(13)?,
        approved_by: serde_json::from_str(approved_by).unwrap_or_default(),
        // Why none: a journal of an older format may be read as it is.
        repeats: row.get(15).unwrap_or_default(),
    }))
}
