//! What the listing shows of a run, changed with the events it follows from.
//!
//! Owns the columns beside a run's head, and when its rows of `waits` are written. INVARIANT: after
//! an append both are those of its projection.

use rusqlite::{OptionalExtension as _, params};

use super::super::waits;
use super::Writer;
use super::rows::ChainHead;
use crate::store::event::{Prepared, goal_words};

/// What the listing shows already of what an append wants shown.
#[derive(Clone, Copy, Default)]
pub(super) struct ShownRow {
    /// Status, goal, summary and when the run is due.
    row: bool,
    /// What it waits for.
    waits: bool,
}

impl Writer {
    /// The row of an append's run, and whether it shows what the append wants shown.
    pub(super) fn head_shown(
        &self,
        append: &Prepared,
    ) -> rusqlite::Result<Option<(ChainHead, ShownRow)>> {
        self.connection
            .prepare_cached(
                "SELECT n, owner, head_seq, head, status = ?2 AND goal = ?3 AND summary = ?4 \
                 AND due_ms IS ?5, waits IS ?6 FROM runs WHERE id = ?1",
            )?
            .query_row(
                params![
                    append.run,
                    append.status,
                    append.goal,
                    append.summary,
                    append.due_ms,
                    append.waits_digest,
                ],
                |row| {
                    let shown = ShownRow {
                        row: row.get(4)?,
                        waits: row.get(5)?,
                    };
                    Ok((ChainHead::read(row)?, shown))
                },
            )
            .optional()
    }

    /// Shows what is not shown already. Why only that: most appends show nothing new, and what is
    /// shown stands in indices.
    pub(super) fn show(&self, append: &Prepared, n: i64, shown: ShownRow) -> rusqlite::Result<()> {
        if !shown.row {
            self.connection
                .prepare_cached(
                    "UPDATE runs SET status = ?2, goal = ?3, summary = ?4, goal_words = ?5, \
                     due_ms = ?6 WHERE n = ?1",
                )?
                .execute(params![
                    n,
                    append.status,
                    append.goal,
                    append.summary,
                    goal_words(&append.goal).bytes(),
                    append.due_ms,
                ])?;
        }
        if !shown.waits {
            waits::replace(&self.connection, &append.run, &append.waits)?;
            self.connection
                .prepare_cached("UPDATE runs SET waits = ?2 WHERE n = ?1")?
                .execute(params![n, append.waits_digest])?;
        }
        Ok(())
    }
}
