//! When each schedule is due: one row each, moved when its moment was seen to.
//!
//! Owns the table `schedules`. Begins nothing. INVARIANT: a row moves only from the moment that
//! whoever moves it has read, so of two processes that see to the same moment one moves it.

use rusqlite::{Connection, Row, params};

use super::{Change, Changed, NewNotice, Store, StoreError, read};

/// How far a schedule is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleRow {
    /// The name in `[schedule.NAME]`.
    pub name: String,
    /// When it is due, as provost.toml said when [`ScheduleRow::due_ms`] was computed.
    pub timing: String,
    /// When it is due next, in milliseconds since 1970.
    pub due_ms: i64,
    /// The moment for which a run was begun last.
    pub last_ms: Option<i64>,
    /// That run.
    pub last_run: Option<String>,
    /// Why the last moment began none.
    pub said: Option<String>,
}

impl Store {
    /// How far the schedules are that were seen so far, by name.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn schedules(&self) -> Result<Vec<ScheduleRow>, StoreError> {
        self.read(|connection| {
            if !read::has_table(connection, "schedules")? {
                return Ok(Vec::new());
            }
            let columns = "name, timing, due_ms, last_ms, last_run, said";
            connection
                .prepare_cached(&format!("SELECT {columns} FROM schedules ORDER BY name"))
                .and_then(|mut query| query.query_map([], row)?.collect())
                .map_err(StoreError::read)
        })
    }

    /// Writes how far a schedule is, unless it is no longer due at `from`; none is a schedule that
    /// was not seen before. What is to be told of that is kept with it. Whether it was written.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be written.
    pub async fn move_schedule(
        &self,
        from: Option<i64>,
        to: ScheduleRow,
        notices: Vec<NewNotice>,
    ) -> Result<bool, StoreError> {
        let change = Change::MoveSchedule { from, to, notices };
        Ok(self.change(change).await? == Changed::Moved(true))
    }
}

fn row(row: &Row<'_>) -> rusqlite::Result<ScheduleRow> {
    Ok(ScheduleRow {
        name: row.get(0)?,
        timing: row.get(1)?,
        due_ms: row.get(2)?,
        last_ms: row.get(3)?,
        last_run: row.get(4)?,
        said: row.get(5)?,
    })
}

/// Writes a row, unless somebody else moved it; whether it was so.
pub(super) fn move_row(
    connection: &Connection,
    from: Option<i64>,
    to: &ScheduleRow,
) -> rusqlite::Result<bool> {
    let values = params![
        to.name,
        to.timing,
        to.due_ms,
        to.last_ms,
        to.last_run,
        to.said,
        from
    ];
    let sql = match from {
        None => {
            "INSERT INTO schedules (name, timing, due_ms, last_ms, last_run, said) \
             SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE ?7 IS NULL ON CONFLICT DO NOTHING"
        }
        Some(_) => {
            "UPDATE schedules SET timing = ?2, due_ms = ?3, last_ms = ?4, last_run = ?5, \
             said = ?6 WHERE name = ?1 AND due_ms = ?7"
        }
    };
    let changed = connection.prepare_cached(sql)?.execute(values)?;
    Ok(changed == 1)
}
