//! What stands behind a person's word in the journal: its number, its life, its signature.
//!
//! Owns the shape that events keep. Never verifies: whoever takes a word in does. INVARIANT: a
//! word is recorded with the event that follows from it, so the same word is known again.

use serde::{Deserialize, Serialize};

/// The word that an event follows from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// Drawn by who said it; a run takes it once.
    pub nonce: String,
    /// The revision of the plan that it was about.
    pub revision: u32,
    /// When it was said, in milliseconds since the epoch.
    pub at: i64,
    /// When it lapses.
    pub expires_at: i64,
    /// The public key it is signed with, if it is signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The signature, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}
