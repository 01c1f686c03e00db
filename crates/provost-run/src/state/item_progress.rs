//! How far an item is: from nothing observed to settled.
//!
//! Owns what holds in one stage only, and which stage each event leads to. Never knows what is in
//! flight: a doubt is asked about, a success is read again, and either stays what it is meanwhile.
//! INVARIANT: what belongs to a stage ends with it, so nothing of a doubt outlives the doubt.

use crate::event::{Created, StepStatus};

/// How far an item is.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ItemProgress {
    /// It is not settled, and nothing was observed.
    #[default]
    Open,
    /// It was observed, and is not settled: of a step with `confirm`, a read has still to prove
    /// it. Any other is settled in the turn that observes it.
    Unconfirmed {
        /// Once it is read back: reads that were to prove it, as far as a tool answered them.
        reads: Option<u32>,
    },
    /// Nobody knows whether it took place, or what it gave.
    InDoubt(Doubt),
    /// Its acceptance holds.
    Succeeded(Success),
    /// It ended without success.
    Failed,
    /// It did not have to run.
    Skipped,
}

/// What is known of a doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Since when.
    pub since: i64,
    /// When it cannot take place any more, by what its tool declares.
    pub final_at: Option<i64>,
    /// Reads that asked in vain whether it took place, since a process took the run up.
    pub reconcile_tries: u32,
}

/// What is known of a success.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Success {
    /// What it made.
    pub created: Option<Created>,
    /// While a reading is taken again: attempts at it that a tool answered.
    pub retaking: Option<u32>,
}

impl ItemProgress {
    /// The status that it stands for, unless the item is open.
    #[must_use]
    pub fn status(&self) -> Option<StepStatus> {
        match self {
            Self::Open | Self::Unconfirmed { .. } => None,
            Self::InDoubt(_) => Some(StepStatus::InDoubt),
            Self::Succeeded(_) => Some(StepStatus::Succeeded),
            Self::Failed => Some(StepStatus::Failed),
            Self::Skipped => Some(StepStatus::Skipped),
        }
    }

    /// What an output makes of it: one that was read again is there, and any other is to be
    /// settled.
    pub(super) fn observe(&mut self) {
        match self {
            Self::Open => *self = Self::Unconfirmed { reads: None },
            Self::Succeeded(success) => success.retaking = None,
            Self::Unconfirmed { .. } | Self::InDoubt(_) | Self::Failed | Self::Skipped => {}
        }
    }

    /// Settles it, unless `status` settles nothing. `at` is when; `final_at` is of a doubt,
    /// `created` of a success.
    pub(super) fn settle(
        &mut self,
        status: StepStatus,
        at: i64,
        final_at: Option<i64>,
        created: Option<&Created>,
    ) -> bool {
        *self = match status {
            StepStatus::InDoubt => Self::InDoubt(self.doubted(at, final_at)),
            StepStatus::Succeeded => Self::Succeeded(Success {
                created: created.cloned(),
                retaking: None,
            }),
            StepStatus::Failed => Self::Failed,
            StepStatus::Skipped => Self::Skipped,
            StepStatus::Pending
            | StepStatus::Ready
            | StepStatus::Running
            | StepStatus::WaitingApproval
            | StepStatus::WaitingAnswer
            | StepStatus::Blocked
            | StepStatus::Cancelled => return false,
        };
        true
    }

    /// A doubt that is said again began when it was said first.
    fn doubted(&self, at: i64, final_at: Option<i64>) -> Doubt {
        let (since, reconcile_tries) = match self {
            Self::InDoubt(doubt) => (doubt.since, doubt.reconcile_tries),
            _ => (at, 0),
        };
        Doubt {
            since,
            final_at,
            reconcile_tries,
        }
    }

    /// Ends a doubt without settling the item.
    pub(super) fn reopen(&mut self, is_observed: bool) {
        // Why not open: what gave an output is never called again.
        *self = match is_observed {
            true => Self::Unconfirmed { reads: None },
            false => Self::Open,
        };
    }
}
