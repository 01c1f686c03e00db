//! Which runs hold statements of people, for whoever judges them.
//!
//! Owns the questions, asked of kinds and numbers of events, and of whether one bears a name.
//! Judges nothing.

use std::collections::BTreeSet;

use rusqlite::OptionalExtension as _;

use super::{Store, StoreError, payloads};
use provost_run::statement::Credential;

/// The kinds of events that may follow from a statement.
pub(super) const KINDS: [&str; 10] = [
    "ApprovalGiven",
    "ApprovalRejected",
    "QuestionAnswered",
    "DoubtSettled",
    "CancelRequested",
    "UndoRequested",
    "GoalAmended",
    "PlanAmended",
    "Paused",
    "Resumed",
];

/// A run that holds statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunWithStatements {
    /// Its id.
    pub run: String,
    /// The place of its first event in the order of the commits.
    pub began: i64,
}

impl Store {
    /// The runs to which people said something in a commit after `after`, the oldest first.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn stated_runs(&self, after: u64) -> Result<Vec<RunWithStatements>, StoreError> {
        self.read(|connection| {
            // Why backwards: what came after a commit stands at the end.
            let mut query = connection
                // Why not all that resumed: a process that takes a run up is nobody.
                .prepare(
                    "SELECT run, kind, commit_n FROM events \
                     WHERE kind <> 'Resumed' OR payload LIKE '%\"by\":%' ORDER BY n DESC",
                )
                .map_err(StoreError::read)?;
            let mut rows = query.query([]).map_err(StoreError::read)?;
            let mut runs = BTreeSet::new();
            while let Some(row) = rows.next().map_err(StoreError::read)? {
                let commit: u64 = row.get(2).map_err(StoreError::read)?;
                if commit <= after {
                    break;
                }
                let kind = row.get_ref(1).map_err(StoreError::read)?;
                if kind.as_str().is_ok_and(|kind| KINDS.contains(&kind)) {
                    runs.insert(row.get::<_, i64>(0).map_err(StoreError::read)?);
                }
            }
            let mut named = connection
                .prepare(
                    "SELECT runs.id, events.n FROM runs \
                     JOIN events ON events.run = runs.n AND events.seq = 1 WHERE runs.n = ?1",
                )
                .map_err(StoreError::read)?;
            let mut found = Vec::with_capacity(runs.len());
            for n in runs {
                let run = named
                    .query_row([n], |row| {
                        let (run, began) = (row.get(0)?, row.get(1)?);
                        Ok(RunWithStatements { run, began })
                    })
                    .optional();
                found.extend(run.map_err(StoreError::read)?);
            }
            found.sort_by_key(|run| run.began);
            Ok(found)
        })
    }

    /// The place of the first run that began when statements needed at least this credential.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn required_since(&self, least: Credential) -> Result<Option<i64>, StoreError> {
        let condition = match least {
            Credential::Nothing => "1",
            Credential::Login => {
                "(json_extract(payload, '$.vouched') = 1 OR json_extract(payload, '$.signed') = 1)"
            }
            Credential::Signature => "json_extract(payload, '$.signed') = 1",
        };
        self.read(|connection| {
            let told: Option<i64> = connection
                .query_row(
                    &format!("SELECT min(n) FROM events WHERE kind = 'RunCreated' AND {condition}"),
                    [],
                    |row| row.get(0),
                )
                .map_err(StoreError::read)?;
            let mut first = connection
                .prepare(
                    "SELECT events.n FROM runs JOIN events ON events.run = runs.n AND seq = 1 \
                     WHERE id = ?1",
                )
                .map_err(StoreError::read)?;
            let mut since = told;
            for (run, _) in payloads::of(connection)?.into_values() {
                if run.requires(least) {
                    let began = first.query_row([run.run()], |row| row.get(0)).optional();
                    let began: Option<i64> = began.map_err(StoreError::read)?;
                    since = since.into_iter().chain(began).min();
                }
            }
            Ok(since)
        })
    }
}
