//! Commands under seal, and what opens it.
//!
//! Owns the comparison of a store's receipt with what the commands follow from. INVARIANT: no
//! command is handed over before every event that it follows from is kept as it must be.

use super::Command;

/// Commands that wait for the store's receipt.
#[derive(Debug)]
pub struct Sealed {
    pub(super) run: String,
    pub(super) through: u64,
    pub(super) sync: bool,
    pub(super) commands: Vec<Command>,
}

/// A store's word that a run's events are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The run.
    pub run: String,
    /// The number of the last event kept.
    pub through: u64,
    /// Whether they are on the disk.
    pub durable: bool,
}

/// A receipt that does not cover the commands.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum SealError {
    /// It is of another run.
    #[error("the store's receipt is of run `{of}`, and run `{run}` is driven")]
    OtherRun {
        /// The run of the receipt.
        of: String,
        /// The run of the commands.
        run: String,
    },
    /// It is of fewer events.
    #[error("the store kept events of run `{run}` through {kept}, but {needed} are needed")]
    Short {
        /// The run.
        run: String,
        /// The last event kept.
        kept: u64,
        /// The last event needed.
        needed: u64,
    },
    /// The events are not on the disk.
    #[error("the events of run `{run}` are kept, but not yet on the disk")]
    Volatile {
        /// The run.
        run: String,
    },
}

impl Sealed {
    /// Hands the commands over against the receipt for what they follow from.
    ///
    /// # Errors
    /// [`SealError`] if the receipt is of another run, or of fewer or less durable events.
    pub fn open(self, receipt: &Receipt) -> Result<Vec<Command>, SealError> {
        let Self {
            run,
            through,
            sync,
            commands,
        } = self;
        if receipt.run != run {
            return Err(SealError::OtherRun {
                of: receipt.run.clone(),
                run,
            });
        }
        if receipt.through < through {
            return Err(SealError::Short {
                run,
                kept: receipt.through,
                needed: through,
            });
        }
        if sync && !receipt.durable {
            return Err(SealError::Volatile { run });
        }
        Ok(commands)
    }
}
