//! What a turn is made with, how much work of judging above all, and what it records.
//!
//! Owns the words a driver says it in. What each comes to is `turn`'s. INVARIANT: the
//! driver chooses where a turn is made and how long it may take, never what is judged in it.

use super::Blob;
use crate::admission::AdmissionEntry;
use crate::event::Event;
use crate::turn::DispatchGate;

/// How much work one turn may make of judging: expressions, schemas, the check of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// So little that nobody else is kept waiting; more is [`super::StepError::Laborious`].
    Little,
    /// All that is allowed. What is more has failed, with the class `work_exceeded`.
    All,
    /// As little, and what is more has failed: time is up.
    Refusing,
}

/// In which manner a turn is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnOptions {
    /// Whether anything may begin.
    pub(crate) pace: DispatchGate,
    pub(crate) effort: Effort,
}

/// What a turn records.
pub(crate) struct TurnRecord {
    /// The number of the event before the first of them.
    pub(crate) before: u64,
    /// The events, in order.
    pub(crate) append: Vec<Event>,
    /// The bytes they name.
    pub(crate) blobs: Vec<Blob>,
    /// What they change of what runs share.
    pub(crate) admission: Vec<AdmissionEntry>,
}
