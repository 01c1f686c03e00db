//! Which limit of a run was reached, and how far it was used up.
//!
//! Owns the closed words for limits as the journal keeps them. Decides nothing. INVARIANT: a word
//! is never renamed, and what is not counted in whole numbers has no number here.

use serde::{Deserialize, Serialize};

/// A limit that keeps a call from starting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitReached {
    /// Which.
    pub of: LimitKind,
    /// What was used of it; none of money and of counted values, which stand in the words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// The most; none where `used` is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u64>,
}

/// What a limit is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Calls of the run.
    Calls,
    /// Attempts of all its calls.
    Attempts,
    /// Time of running, in milliseconds.
    Wall,
    /// Money.
    Money,
    /// Tokens.
    Tokens,
    /// A value that operations count.
    Values,
    /// What all runs share.
    Budget,
}

impl LimitReached {
    /// A limit that is counted in whole numbers.
    #[must_use]
    pub fn counted(of: LimitKind, used: u64, most: u64) -> Self {
        Self {
            of,
            used: Some(used),
            most: Some(most),
        }
    }

    /// Another, whose numbers stand in the words beside it.
    #[must_use]
    pub fn in_words(of: LimitKind) -> Self {
        Self {
            of,
            used: None,
            most: None,
        }
    }
}
