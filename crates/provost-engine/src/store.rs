//! The journal: runs, their events, evidence, and the chains that make tampering show.
//!
//! Owns the seam to whoever keeps a journal ([`Backend`], the closed list of [`Change`]s, what is
//! appended and read) and what does not depend on the database: chains and signed heads. SQLite is
//! one implementation, in `sqlite/`. Never interprets an event. INVARIANT: a [`CommitReceipt`]
//! exists only for events whose commit succeeded.

use provost_plan::digest::Digest;
use serde_json::Value;

mod backend;
mod chain;
mod change;
mod error;
mod event;
pub mod heads;
mod pending;
mod sqlite;

pub use backend::Backend;
pub use change::{Change, Changed};
pub use error::{FindError, StoreError};
pub use event::{
    Append, CountedRun, Evidence, NewEvent, Payload, Projection, StoredEvent, StoredEvidence,
};
pub use pending::Pending;
pub(crate) use sqlite::Driving;
pub use sqlite::{
    AttemptedOperations, Counts, DueNotice, DueRuns, EndedRun, FactsRow, FeedEvent, FeedRun,
    JOURNAL_FILE, JOURNAL_FORMAT, NewNotice, PRUNED_GOAL, PlacedWait, PostedStatement, Pruned,
    PrunedPayloads, PrunedPlace, PrunedRun, RunFilter, RunIndex, RunPage, RunRow,
    RunWithStatements, ScheduleRow, StopScope, Stopped, Store, ToolStatus, Verified, WaitCounts,
    WaitPage, Waits,
};

/// The word of the store that events up to [`CommitReceipt::seq`] of a run are committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitReceipt {
    run: String,
    seq: u64,
    head: Digest,
    durable: bool,
}

impl CommitReceipt {
    /// The run.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.run
    }

    /// The last event that is committed, with all before it.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The link of that event.
    #[must_use]
    pub fn head(&self) -> Digest {
        self.head
    }

    /// Whether they survive a loss of power: the commit was synced to the disk.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        self.durable
    }
}

/// The canonical text of a value whose integers every reader holds exactly.
fn canonical_text(value: Value) -> Result<String, provost_plan::digest::NumberError> {
    provost_plan::digest::normalize(value).map(|value| provost_plan::digest::canonical(&value))
}
