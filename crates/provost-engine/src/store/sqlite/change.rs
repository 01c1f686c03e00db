//! How the SQLite store makes each [`Change`]: inside the transaction that is open.

use rusqlite::Connection;

use super::log::LogEvent;
use super::{
    Change, Changed, notices, payloads, posted_statements, prune, run_facts, schedules, stops,
};

/// Makes a change inside the transaction that is open; what it says to the log of the workspace.
pub(super) fn make(
    connection: &Connection,
    change: Change,
) -> rusqlite::Result<(Changed, Vec<LogEvent>)> {
    let done = |()| (Changed::Done, Vec::new());
    match change {
        Change::Post { run, text, at_ms } => {
            posted_statements::post(connection, &run, &text, at_ms).map(done)
        }
        Change::Take { n, became } => posted_statements::take(connection, n, &became).map(done),
        Change::Stop(stopped) => {
            let placed = stops::stop(connection, stopped)?;
            Ok((Changed::Done, vec![placed]))
        }
        Change::Unstop { scope, name, by } => {
            let lifted = stops::unstop(connection, scope, name, by)?;
            Ok((Changed::Done, lifted.into_iter().collect()))
        }
        Change::TakeNotice {
            n,
            due_ms,
            until_ms,
        } => {
            let taken = notices::take(connection, n, due_ms, until_ms)?;
            Ok((Changed::Noticed(taken), Vec::new()))
        }
        Change::NoticeDone {
            n,
            at_ms,
            said,
            next,
        } => {
            notices::done(connection, n, at_ms, said.as_deref())?;
            notices::keep(connection, next.as_slice(), &[]).map(done)
        }
        Change::NoticeFailed { n, said } => notices::failed(connection, n, &said).map(done),
        Change::MoveSchedule { from, to, notices } => {
            let moved = schedules::move_row(connection, from, &to)?;
            if moved {
                notices::keep(connection, &notices, &[])?;
            }
            Ok((Changed::Moved(moved), Vec::new()))
        }
        Change::KeepFacts(counted) => run_facts::keep_all(connection, &counted).map(done),
        Change::Prune {
            digests,
            through,
            at_ms,
        } => prune::drop_unnamed(connection, digests, through, at_ms),
        Change::PrunePayloads { runs, at_ms } => payloads::drop_texts(connection, runs, at_ms),
    }
}
