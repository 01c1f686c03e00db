//! What a planner is asked and what it replies: complete in itself, stored as sent.
//!
//! Owns the two shapes of DESIGN's planner protocol. Knows neither a planner nor a run. INVARIANT:
//! a request holds everything its planner may see; untrusted text only as a reference.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Goal, Limits};
use crate::catalog::Operation;
use crate::label::Label;
use crate::schema::Schema;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestKind {
    /// A first plan.
    Propose,
    /// A new revision.
    Revise,
}

/// A request to a planner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRequest {
    /// Its number within the run, from 1.
    pub id: u64,
    /// What is asked.
    pub kind: RequestKind,
    /// The goal.
    pub goal: Goal,
    /// The operations it may use.
    pub tools: Vec<ToolSignature>,
    /// The plan in force, as a document; absent for a first plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Value>,
    /// What the settled steps came to: facts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub observations: BTreeMap<String, ObservationView>,
    /// Findings in this planner's previous proposal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<FindingView>,
    /// Answers of people to this planner's questions, and reasons of rejections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Value>,
    /// Why a revision is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// The limits of the run.
    pub limits: Limits,
}

/// An operation as a planner sees it: nothing a tool server wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSignature {
    /// The name.
    pub name: String,
    /// The operator's description.
    pub description: String,
    /// The word of its effect.
    pub effect: String,
    /// The schema of its arguments.
    pub input: Value,
    /// The schema of its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}

impl ToolSignature {
    /// An operation of the catalog, as a planner sees it.
    #[must_use]
    pub fn of(operation: &Operation) -> Self {
        Self {
            name: operation.name.clone(),
            description: operation.description.clone(),
            effect: operation.effect.word().to_owned(),
            input: operation.input.value().clone(),
            output: operation.output.as_ref().map(Schema::value).cloned(),
        }
    }
}

/// A settled step as a planner sees it: text only as `{ref, chars}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservationView {
    /// The step's status word.
    pub status: String,
    /// Its output, with text replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The class of its failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A diagnostic as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingView {
    /// The code.
    pub code: String,
    /// The message.
    pub message: String,
    /// The step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// What to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Why a revision is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Why {
    /// The planner asked to see this step's observation; it may leave the plan as it is.
    Observed {
        /// The step.
        step: String,
    },
    /// A step failed.
    StepFailed {
        /// The step.
        step: String,
        /// The class of the failure.
        class: String,
    },
    /// A person said no.
    Rejected {
        /// The step, or none for the whole plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<String>,
        /// The reason given.
        reason: String,
    },
    /// A question lapsed, and policy wants another plan.
    Expired {
        /// The step.
        step: String,
    },
    /// Everything ended, but these criteria do not hold.
    Unmet {
        /// Their ids.
        criteria: Vec<String>,
    },
    /// A person put another goal; the plan in force passes under it and may stay.
    Amended {
        /// The reason given.
        reason: String,
    },
}

impl Why {
    /// Whether the planner may answer by leaving the plan as it is.
    #[must_use]
    pub fn is_optional(&self) -> bool {
        matches!(self, Self::Observed { .. } | Self::Amended { .. })
    }
}

/// A planner's reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanReply {
    /// A plan, as a document.
    Plan {
        /// The text, YAML or JSON, as the planner wrote it.
        text: String,
        /// The name shown in diagnostics.
        name: String,
        /// Who wrote it, in words.
        author: String,
        /// The label of its literals.
        literals: Label,
        /// The label of the choice: what the observations that led to it carried.
        control: Label,
        /// Steps whose observation the planner wants to see.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        consult: Vec<String>,
        /// Why this plan, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<String>,
    },
    /// Questions to the user.
    Questions(Vec<PlannerQuestion>),
    /// No plan, or no change: with the reason.
    Decline(String),
}

/// A planner's question to the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannerQuestion {
    /// Its id, for the answer.
    pub id: String,
    /// What is asked.
    pub text: String,
    /// The schema of the answer.
    pub answer: Value,
}
