//! What a run began with: for whom, and by which planner. The ways to a page of runs.
//!
//! Owns these columns of `runs`. Never the word on who a run acts for: a row that is found by them
//! is held against the first event of its run, and `audit verify` holds all. INVARIANT: they tell
//! what the first event tells, and nothing where its text was pruned.

use rusqlite::{Connection, OptionalExtension as _};

use super::StoreError;

/// The columns.
pub(super) const COLUMNS: &str = "requester, planner, playbook";

/// Runs with their first events.
pub(super) const WITH_FIRST: &str =
    "runs AS begun CROSS JOIN events AS first ON first.run = begun.n AND first.seq = 1";

/// The format from which on `runs` has the columns.
pub(super) const FORMAT: i64 = 14;

/// [`COLUMNS`], one by one. Why in columns and in no index over the payload: SQLite computes the
/// expressions of an index for each event that is written, and since they may fail, copies each
/// page that the statement changes.
///
/// `payload` names the text there, or is null where that is no JSON.
fn told(payload: &str) -> [String; 3] {
    let value = |path: &str| format!("json_extract({payload}, '{path}')");
    let playbook = format!(
        "CASE WHEN {} = 'playbook' THEN {} END",
        value("$.planner.kind"),
        value("$.planner.name"),
    );
    [value("$.principal.id"), value("$.planner.kind"), playbook]
}

/// A text as [`told`] reads it.
fn readable(text: &str) -> String {
    format!("CASE WHEN json_valid({text}) THEN {text} END")
}

/// Whether the columns are there: a journal of an older format is read as it is.
pub(super) fn are_kept(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map(|format: i64| format >= FORMAT)
}

/// [`COLUMNS`] as a first event tells them, and the place that they are read from, in SQL;
/// `payload` names it there. Why from a place: it is read once then, and not for each column.
pub(super) fn values(payload: &str) -> (String, String) {
    let from = format!("(SELECT {} AS first)", readable(payload));
    (told("first").join(", "), from)
}

/// A run whose columns do not tell what its first event tells, in words.
pub(super) fn difference(connection: &Connection) -> Result<Option<String>, StoreError> {
    let [requester, planner, playbook] = told(&readable("first.payload"));
    let sql = format!(
        "SELECT id FROM runs LEFT JOIN events AS first ON first.run = runs.n AND first.seq = 1 \
         WHERE requester IS NOT {requester} OR planner IS NOT {planner} \
         OR playbook IS NOT {playbook} LIMIT 1"
    );
    let found: Option<String> = connection
        .query_row(&sql, [], |row| row.get(0))
        .optional()
        .map_err(StoreError::read)?;
    Ok(found.map(|run| format!("runs (what run {run} began with stands otherwise there)")))
}
