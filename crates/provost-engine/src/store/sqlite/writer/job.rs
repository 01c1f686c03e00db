//! What is asked of the writer, and how it is answered.
//!
//! Owns the forms of a request before and after its transaction. Never touches the database.
//! INVARIANT: every request is answered exactly once, unless who asked has gone.

use crate::owner::ClaimResult;
use crate::store::event::Prepared;
use crate::store::pending::Answer;
use crate::store::{Change, Changed, CommitReceipt, StoreError};

/// A request to the writer, with who waits for it.
pub(in crate::store) enum Job {
    Append(Box<Prepared>, Answer<CommitReceipt>),
    Claim {
        run: String,
        answer: Answer<ClaimResult>,
    },
    Release {
        run: String,
        answer: Answer<()>,
    },
    Change {
        change: Box<Change>,
        answer: Answer<Changed>,
    },
    Barrier {
        answer: Answer<()>,
    },
    /// Nothing to write: the thread is to see that commits were made without it.
    Look,
}

impl Job {
    /// Whether its commit must be synced.
    pub(super) fn is_durable(&self) -> bool {
        match self {
            Self::Append(append, _) => append.durable,
            // Why: what a person said is acknowledged.
            Self::Change { .. } | Self::Barrier { .. } => true,
            // Why no claim: every process sees it once it is committed. A loss of power that takes
            // it back takes the locks of all owners as well, so nobody holds what somebody takes.
            Self::Claim { .. } | Self::Release { .. } | Self::Look => false,
        }
    }
}

/// A request as it stands before the commit.
pub(super) enum SettledJob {
    Append(Answer<CommitReceipt>, Result<CommitReceipt, StoreError>),
    Claim(Answer<ClaimResult>, Result<ClaimResult, StoreError>),
    Changed(Answer<Changed>, Result<Changed, StoreError>),
    Done(Answer<()>, Result<(), StoreError>),
}

impl SettledJob {
    pub(super) fn answer(self) {
        // Why ignored: who asked may have gone; the commit stands all the same.
        match self {
            Self::Append(answer, result) => drop(answer.send(result)),
            Self::Claim(answer, result) => drop(answer.send(result)),
            Self::Changed(answer, result) => drop(answer.send(result)),
            Self::Done(answer, result) => drop(answer.send(result)),
        }
    }

    pub(super) fn fail(self, error: StoreError) {
        match self {
            Self::Append(answer, _) => drop(answer.send(Err(error))),
            Self::Claim(answer, _) => drop(answer.send(Err(error))),
            Self::Changed(answer, _) => drop(answer.send(Err(error))),
            Self::Done(answer, _) => drop(answer.send(Err(error))),
        }
    }
}

pub(super) fn fail(job: Job, error: StoreError) {
    match job {
        Job::Append(_, answer) => drop(answer.send(Err(error))),
        Job::Claim { answer, .. } => drop(answer.send(Err(error))),
        Job::Change { answer, .. } => drop(answer.send(Err(error))),
        Job::Release { answer, .. } | Job::Barrier { answer } => {
            drop(answer.send(Err(error)));
        }
        Job::Look => {}
    }
}
