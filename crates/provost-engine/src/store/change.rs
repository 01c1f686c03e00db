//! What is changed beside the events of runs: a closed list, each with what is answered.
//!
//! Owns the list. Says what is to be, and never how a store does it. INVARIANT: a change that was
//! answered is on the disk.

use std::collections::BTreeSet;

use provost_plan::digest::Digest;

use super::{CountedRun, EndedRun, NewNotice, PrunedPayloads, ScheduleRow, StopScope, Stopped};

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
    /// A schedule moves on; answered with [`Changed::Moved`].
    MoveSchedule {
        /// When it was due, as who moves it read it; none if it was not seen before.
        from: Option<i64>,
        /// How far it is then.
        to: ScheduleRow,
        /// What is to be told of it, if it moves.
        notices: Vec<NewNotice>,
    },
    /// What was counted of runs is kept: of each its id, its last event, and the counts.
    KeepFacts(Vec<(String, u64, CountedRun)>),
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
    /// The payloads of runs are dropped, as far as nothing happened to them since; answered with
    /// [`Changed::PrunedPayloads`].
    PrunePayloads {
        /// Which.
        runs: Vec<EndedRun>,
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
    /// Whether the schedule was moved; not, if somebody else moved it.
    Moved(bool),
    /// What was dropped.
    Pruned {
        /// Pieces of evidence.
        pieces: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// What was dropped of runs.
    PrunedPayloads(PrunedPayloads),
}
