//! The event that ends a run: its status, its criteria with who proved them, and its answer.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::digest::Digest;
use serde::{Deserialize, Serialize};

use super::RunStatus;
use crate::outcome::Class;

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    /// How it ended.
    pub status: RunStatus,
    /// The class of what ended it, if it did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// The step that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Who or what ended it; none where it ran to its end. Journals of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<EndedBy>,
    /// Why, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether each criterion held; an error in a proof is its text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub criteria: BTreeMap<String, Proven>,
    /// Who wrote the proof of each criterion; of several, whoever is believed most. Journals of
    /// earlier versions do not say.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub proven_by: BTreeMap<String, Prover>,
    /// The steps that the proofs of each criterion read; none of one that reads none. Journals of
    /// earlier versions do not say.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub proofs: BTreeMap<String, BTreeSet<String>>,
    /// The answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answer: Vec<AnswerPart>,
}

/// Who or what ended a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum EndedBy {
    /// A person: they cancelled it, rejected it or had it undone.
    Person {
        /// Who.
        id: String,
    },
    /// A request to a planner that came to no admissible plan.
    Request {
        /// Its number.
        id: u64,
    },
    /// A step that failed.
    Step {
        /// Which.
        id: String,
    },
    /// A limit of the run.
    Limit,
    /// The rules, which moved under it.
    Rules,
    /// Time: nobody answered.
    Time,
}

impl EndedBy {
    /// Its kind, as a word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Person { .. } => "person",
            Self::Request { .. } => "request",
            Self::Step { .. } => "step",
            Self::Limit => "limit",
            Self::Rules => "rules",
            Self::Time => "time",
        }
    }
}

/// Who wrote a proof.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Prover {
    /// A person.
    Person {
        /// Who.
        id: String,
    },
    /// A playbook, which people wrote.
    Playbook {
        /// Its name.
        name: String,
    },
    /// The planner that wrote the plan as well: a model, a program, a client.
    Planner {
        /// Who it is, in words.
        author: String,
    },
}

/// What a proof came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proven {
    /// It holds.
    Held,
    /// It does not.
    NotHeld,
    /// It could not be evaluated.
    Failed(String),
}

impl Proven {
    /// The word of the journal.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::NotHeld => "not_held",
            Self::Failed(_) => "failed",
        }
    }
}

/// One claim of the answer, with what it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerPart {
    /// Pieces of text, in order.
    pub spans: Vec<AnswerSpan>,
    /// Whether its text reads nothing of what it cites: it is said, not shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assertion: bool,
    /// The observations it cites; a claim without any is unsupported.
    pub cites: Vec<Citation>,
}

/// A piece of an answer's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerSpan {
    /// The text.
    pub text: String,
    /// Whether it came from a source nobody vouches for: a tool, or a planner that may have read
    /// untrusted text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
}

/// A step and the evidence behind what it observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// The id of the step.
    pub step: String,
    /// The evidence.
    pub evidence: Vec<Digest>,
}

impl RunEnded {
    /// Who alone proved a criterion that holds, where that is the planner that is to be proven.
    #[must_use]
    pub fn proven_by_planner(&self, criterion: &str) -> Option<&str> {
        match (
            self.criteria.get(criterion)?,
            self.proven_by.get(criterion)?,
        ) {
            (Proven::Held, Prover::Planner { author }) => Some(author),
            _ => None,
        }
    }
}

impl AnswerPart {
    /// The text as a whole.
    #[must_use]
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }
}
