//! Labels: where a value came from, and whether it is secret.
//!
//! Owns the lattice and its join. The rules that assign labels stand in `check::flow`.
//! INVARIANT: joining never makes a value more trusted, less secret, or forgets a source.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// How far a value may be believed. Ordered: a join takes the larger.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Integrity {
    /// Typed by a person, written in a playbook, or from a tool the operator trusts.
    #[default]
    Trusted,
    /// Untrusted, but of a closed kind: a number, a boolean, a date, an enumerated string.
    Data,
    /// Untrusted free text: it may carry instructions.
    Text,
}

impl Integrity {
    /// The word shown to people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Data => "data",
            Self::Text => "text",
        }
    }
}

/// Where a value came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Label {
    /// How far it may be believed.
    pub integrity: Integrity,
    /// The steps whose output it came from.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub sources: BTreeSet<String>,
    /// Whether it must not leave.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
}

impl Label {
    /// The label of what a person or the operator wrote.
    #[must_use]
    pub fn trusted() -> Self {
        Self::default()
    }

    /// The label of a part of a step's output.
    pub fn from_step(step: impl Into<String>, integrity: Integrity) -> Self {
        Self {
            integrity,
            sources: BTreeSet::from([step.into()]),
            secret: false,
        }
    }

    /// The join with `other`: as little trusted as the less trusted, from both sources.
    #[must_use]
    pub fn join(mut self, other: &Self) -> Self {
        self.integrity = self.integrity.max(other.integrity);
        if self.sources.is_empty() {
            self.sources.clone_from(&other.sources);
        } else {
            // Why: most of what is joined came from the same steps: no copy is made to be dropped.
            for source in &other.sources {
                if !self.sources.contains(source) {
                    self.sources.insert(source.clone());
                }
            }
        }
        self.secret |= other.secret;
        self
    }

    /// The join of many labels; trusted if there are none.
    pub fn join_all<'a>(labels: impl IntoIterator<Item = &'a Self>) -> Self {
        labels.into_iter().fold(Self::trusted(), Self::join)
    }

    /// Lowers text to data: for comparison against literals and selection from a literal map.
    #[must_use]
    pub fn lowered(mut self) -> Self {
        self.integrity = self.integrity.min(Integrity::Data);
        self
    }
}
