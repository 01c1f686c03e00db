//! What is changed beside the events of runs: a closed list, each with what is answered.
//!
//! Owns the list. Says what is to be, and never how a store does it. INVARIANT: a change that was
//! answered is on the disk.

use std::collections::BTreeSet;

use provost_plan::digest::Digest;
use rusqlite::Connection;

use super::log::LogEvent;
use super::{NewNotice, StopScope, Stopped, notices, prune, stops, words};

/// A change that is no event of a run.
#[derive(Clone, Debug)]
pub enum Change {
    /// A statement is posted for whoever drives the run.
    Post {
        /// The run.
        run: String,
        /// The statement, as somebody wrote it.
        text: String,
        /// When, in milliseconds since 1970.
        at_ms: i64,
    },
    /// A posted statement was taken.
    Take {
        /// The number of its row.
        n: i64,
        /// What became of it.
        became: String,
    },
    /// Something is stopped; a stop of the same name is replaced.
    Stop(Stopped),
    /// Something may go on.
    Unstop {
        /// What the stop binds.
        scope: StopScope,
        /// Its name.
        name: String,
        /// Who says so.
        by: String,
    },
    /// A notice is taken for a try; answered with [`Changed::Noticed`].
    TakeNotice {
        /// The number of its row.
        n: i64,
        /// When it was to be tried, as who takes it read it.
        due_ms: i64,
        /// Until when nobody else tries.
        until_ms: i64,
    },
    /// A notice was delivered, or need not be.
    NoticeDone {
        /// The number of its row.
        n: i64,
        /// When, in milliseconds since 1970.
        at_ms: i64,
        /// Why it need not be.
        said: Option<String>,
        /// The notice that follows it.
        next: Option<NewNotice>,
    },
    /// A notice could not be delivered.
    NoticeFailed {
        /// The number of its row.
        n: i64,
        /// Why.
        said: String,
    },
    /// The bytes of evidence are dropped, as far as no run names them since; answered with
    /// [`Changed::Pruned`].
    Prune {
        /// Which.
        digests: BTreeSet<Digest>,
        /// The last event that was looked at when they were chosen.
        through: i64,
        /// When, in milliseconds since 1970.
        at_ms: i64,
    },
}

/// What a change is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It is done.
    Done,
    /// Whether the notice was taken; not, if somebody else took it.
    Noticed(bool),
    /// What was dropped.
    Pruned {
        /// Pieces of evidence.
        pieces: u64,
        /// Their bytes.
        bytes: u64,
    },
}

/// Makes a change inside the transaction that is open; what it says to the log of the workspace.
pub(super) fn make(
    connection: &Connection,
    change: Change,
) -> rusqlite::Result<(Changed, Vec<LogEvent>)> {
    let done = |()| (Changed::Done, Vec::new());
    match change {
        Change::Post { run, text, at_ms } => words::post(connection, &run, &text, at_ms).map(done),
        Change::Take { n, became } => words::take(connection, n, &became).map(done),
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
        Change::Prune {
            digests,
            through,
            at_ms,
        } => prune::drop_unnamed(connection, digests, through, at_ms),
    }
}
