//! The goal: what the user wants.
//!
//! Owns its text, criteria and identity. INVARIANT: a revision never changes a goal.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::digest::{Digest, Domain};

/// What the user wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    /// In the user's words.
    pub text: String,
    /// What must be true at the end.
    #[serde(default)]
    pub success: Vec<Criterion>,
    /// Typed parameters found in the text, by the playbook that matched.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub params: serde_json::Map<String, Value>,
    /// Whether a planner wrote it, and no person: then none of its words is trusted for standing
    /// in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
}

/// One thing that must be true at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Criterion {
    /// Its id, which a proof names.
    pub id: String,
    /// In words.
    pub text: String,
}

impl Goal {
    /// A goal of this text, with the one criterion `goal` that a goal without its own has.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        let criterion = Criterion {
            id: "goal".to_owned(),
            text: text.to_owned(),
        };
        Self {
            text: text.to_owned(),
            success: vec![criterion],
            params: serde_json::Map::new(),
            untrusted: false,
        }
    }

    /// The goal's identity.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of_value(Domain::Goal, &json!(self))
    }
}
