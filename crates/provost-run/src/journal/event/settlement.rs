//! How a doubt about an effect ends, and who ends it.

use serde::{Deserialize, Serialize};

/// What is known of an effect that was in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// It took place.
    Happened,
    /// It did not.
    DidNotHappen,
    /// Nobody will know, and nobody asks any more.
    Abandoned,
}

impl Settlement {
    /// The word of the journal.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Happened => "happened",
            Self::DidNotHappen => "did not happen",
            Self::Abandoned => "abandoned",
        }
    }
}

/// Who settles a doubt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum SettledBy {
    /// The reconcile read that the operator declared.
    Reconcile {
        /// The operation that was read.
        tool: String,
    },
    /// A person.
    Person {
        /// Who.
        id: String,
    },
}
