//! What undoing leaves.

use serde::{Deserialize, Serialize};

use crate::call::Slot;

/// A write that is not undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotUndone {
    /// Which step and item.
    pub slot: Slot,
    /// Why it is not.
    pub because: String,
}
