//! What a planner is asked and what it replies: complete in itself, stored as sent.
//!
//! Owns the two shapes of DESIGN's planner protocol. Knows neither a planner nor a run. INVARIANT:
//! a request holds everything its planner may see; untrusted text only as a reference.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::{Goal, Limits, Plan};
use crate::catalog::{Operation, Role};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Severity};
use crate::label::Label;
use crate::money::Money;
use crate::node::parse_yaml;
use crate::schema::Schema;
use crate::source::Source;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestKind {
    /// A first plan.
    Propose,
    /// A new revision.
    Revise,
    /// The steps, or the result, of a subgoal.
    Refine,
}

/// How planning proceeds, where somebody said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanningMode {
    /// The whole plan at once.
    Single,
    /// The steps that are certain, and a subgoal for the rest, which is refined step by step.
    Iterative,
}

impl PlanningMode {
    /// The word of the format.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Iterative => "iterative",
        }
    }
}

/// A request to a planner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRequest {
    /// Its number within the run, from 1.
    pub id: u64,
    /// Whether a plan, a revision or a refinement is requested.
    pub kind: RequestKind,
    /// How planning proceeds; as the planner sees fit if nobody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<PlanningMode>,
    /// The goal with its criteria and parameters.
    pub goal: Goal,
    /// The operations that the plan may call, with their schemas.
    pub tools: Vec<ToolSignature>,
    /// The roles that a step may be in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleView>,
    /// The plan in force, as a document; absent for a first plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Arc<Value>>,
    /// What the settled steps came to: facts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub observations: BTreeMap<String, ObservationView>,
    /// Findings in this planner's previous proposal.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "with_severity"
    )]
    pub diagnostics: Vec<FindingView>,
    /// The proposal these findings are in: its text, as far as it could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
    /// Answers of people to this planner's questions, and reasons of rejections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Value>,
    /// Why a revision is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// The envelope of the subgoal that is to be refined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envelope: Option<EnvelopeView>,
    /// The limits of the run.
    pub limits: Limits,
}

/// An operation as a planner sees it: nothing a tool server wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSignature {
    /// The name of the operation, `tool.operation`.
    pub name: String,
    /// The description that the operator gave it in provost.toml.
    pub description: String,
    /// Its effect: `read`, `egress`, `write`, `external` or `destructive`.
    pub effect: String,
    /// The schema of its arguments.
    pub input: Arc<Value>,
    /// The schema of its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Arc<Value>>,
}

impl ToolSignature {
    /// An operation of the catalog, as a planner sees it.
    #[must_use]
    pub fn of(operation: &Operation) -> Self {
        Self {
            name: operation.name.clone(),
            description: operation.description.clone(),
            effect: operation.effect.word().to_owned(),
            input: Arc::clone(operation.input.shared_value()),
            output: operation.output.as_ref().map(Schema::shared_value).cloned(),
        }
    }
}

/// A role as a planner sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoleView {
    /// The name, for `as` of a step.
    pub name: String,
    /// What it is for, as the operator wrote it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The tools it admits: names, or `SERVER.*`.
    pub tools: Vec<String>,
}

impl RoleView {
    /// A role of the catalog, as a planner sees it.
    #[must_use]
    pub fn of(role: &Role) -> Self {
        Self {
            name: role.name.clone(),
            description: role.description.clone(),
            tools: role.tools.iter().cloned().collect(),
        }
    }
}

/// The envelope of a subgoal as a planner sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnvelopeView {
    /// The id of the subgoal.
    pub step: String,
    /// What is to be found out or done.
    pub subgoal: String,
    /// The tools that its steps may call.
    pub tools: Vec<String>,
    /// The highest effect that they may have.
    pub effect_max: String,
    /// How many steps may still be added.
    pub steps_left: u64,
    /// The schema of its output.
    pub output: Value,
}

impl EnvelopeView {
    /// The envelope of a subgoal of `plan`, if `step` is one.
    #[must_use]
    pub fn of(plan: &Plan, step: &str) -> Option<Self> {
        let subgoal = plan.step(step)?.subgoal()?;
        let there = u64::try_from(plan.children(step).count()).unwrap_or(u64::MAX);
        Some(Self {
            step: step.to_owned(),
            subgoal: subgoal.text.value.clone(),
            tools: subgoal.tools.iter().map(|t| t.value.clone()).collect(),
            effect_max: subgoal.effect_max.value.word().to_owned(),
            steps_left: subgoal.steps_max.value.saturating_sub(there),
            output: subgoal.output.value().clone(),
        })
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
    /// The code of the finding, such as `R101`.
    pub code: String,
    /// What is wrong, in one line.
    pub message: String,
    /// The id of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Where in the plan, as a JSON pointer, if it is about less than the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// How to correct it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl FindingView {
    /// Findings in the text of a plan, each with where it stands as far as that can be told.
    #[must_use]
    pub fn all(diagnostics: &[Diagnostic], source: &Source) -> Vec<Self> {
        // Why only then: most plans have no finding, and a text is long to read.
        let read = (!diagnostics.is_empty()).then(|| parse_yaml(&source.text).ok());
        let tree = read.flatten();
        let place = |span| tree.as_ref().map(|tree| tree.pointer_at(span));
        let of = |found: &Diagnostic| Self {
            path: place(found.span).filter(|path| !path.is_empty()),
            ..Self::of(found)
        };
        diagnostics.iter().map(of).collect()
    }

    /// How grave it is; none if its code is of another version.
    #[must_use]
    pub fn severity(&self) -> Option<Severity> {
        Code::from_text(&self.code).map(Code::severity)
    }

    /// A finding, without its place. Why with the rule that forbids: the message alone leaves a
    /// person and a planner to guess it, and notes are only drawn.
    #[must_use]
    pub fn of(found: &Diagnostic) -> Self {
        let by = found
            .notes
            .first()
            .filter(|_| found.code == Code::Forbidden);
        Self {
            code: found.code.as_str().to_owned(),
            message: match by {
                Some(by) => format!("{}: {by}", found.message),
                None => found.message.clone(),
            },
            step: found.step.clone(),
            path: None,
            hint: found.hint.clone(),
        }
    }
}

/// Findings as a planner is shown them. Why not in the finding: a journal has the code, which says
/// how grave it is.
fn with_severity<S: Serializer>(findings: &[FindingView], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(findings.iter().map(GradedFinding::of))
}

/// A finding with how grave it is.
#[derive(Clone, Debug, Serialize)]
pub struct GradedFinding<'f> {
    severity: &'static str,
    #[serde(flatten)]
    finding: &'f FindingView,
}

impl<'f> GradedFinding<'f> {
    /// The finding; one of another version counts as an error.
    #[must_use]
    pub fn of(finding: &'f FindingView) -> Self {
        Self {
            severity: finding.severity().unwrap_or(Severity::Error).word(),
            finding,
        }
    }
}

/// Why a revision is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Why {
    /// The planner asked to see this step's observation; it may leave the plan as it is.
    Observed {
        /// The id of the step.
        step: String,
    },
    /// A step failed.
    StepFailed {
        /// The id of the step.
        step: String,
        /// The class of the failure, such as `timeout`.
        class: String,
    },
    /// A person said no.
    Rejected {
        /// The step, or none for the whole plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<String>,
        /// The reason, as the person gave it.
        reason: String,
    },
    /// A question lapsed, and policy wants another plan.
    Expired {
        /// The id of the step.
        step: String,
    },
    /// Everything ended, but these criteria do not hold.
    Unmet {
        /// The ids of the criteria, as the goal has them.
        criteria: Vec<String>,
    },
    /// A subgoal has come to where its steps, or its result, have to be said.
    Refine {
        /// The id of the subgoal.
        step: String,
    },
    /// A person put another goal: what was planned for the one before counts for nothing.
    Amended {
        /// The reason, as the person gave it.
        reason: String,
    },
}

impl Why {
    /// The subgoal that is to be refined, if that is the reason.
    #[must_use]
    pub fn refined(&self) -> Option<&str> {
        match self {
            Self::Refine { step } => Some(step),
            _ => None,
        }
    }

    /// Whether the planner may answer by leaving the plan as it is.
    #[must_use]
    pub fn is_optional(&self) -> bool {
        matches!(self, Self::Observed { .. })
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
    /// Something that is no plan document: with what is wrong with it.
    Unreadable {
        /// The text, as far as it came.
        text: String,
        /// Who wrote it, in words.
        author: String,
        /// What is wrong, as findings.
        findings: Vec<FindingView>,
    },
    /// The goal as it is meant, and the playbook that plans it from here on.
    Interpreted {
        /// The goal, with the playbook's criteria and every parameter.
        goal: Goal,
        /// The name of the playbook that plans from here on.
        playbook: String,
        /// Who read the goal, in words, with the reason.
        by: String,
    },
    /// Questions to the user.
    Questions(Vec<PlannerQuestion>),
    /// No plan, or no change: with the reason.
    Decline(String),
    /// No reply at all: the planner could not be asked, broke off or would not answer.
    Failed {
        /// What kept it from answering.
        class: NoPlan,
        /// The same in words.
        reason: String,
    },
}

/// Why there is no plan of a planner, as a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoPlan {
    /// It says that it has none.
    Declined,
    /// It ended, or broke off, before it answered.
    Crashed,
    /// It did not answer in time.
    Timeout,
    /// It could not be asked.
    Unreachable,
    /// Nobody could read what it answered.
    Unreadable,
    /// It proposed again what had led nowhere.
    Repeated,
    /// A limit leaves no room to ask it, or to ask it again.
    Limit,
    /// No planner is for this goal.
    NoMatch,
}

impl NoPlan {
    /// The word of the journal.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Declined => "declined",
            Self::Crashed => "crashed",
            Self::Timeout => "timeout",
            Self::Unreachable => "unreachable",
            Self::Unreadable => "unreadable",
            Self::Repeated => "repeated",
            Self::Limit => "limit",
            Self::NoMatch => "no_match",
        }
    }
}

/// A planner's question to the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannerQuestion {
    /// Its id, for the answer.
    pub id: String,
    /// The question, as the person reads it.
    pub text: String,
    /// The JSON Schema that the answer must fit.
    pub answer: Value,
}

/// A reply with what it took: what a planner gives back.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The reply itself.
    pub reply: PlanReply,
    /// What it took; none of a planner that takes nothing.
    pub usage: Option<PlannerUsage>,
}

impl From<PlanReply> for Planned {
    fn from(reply: PlanReply) -> Self {
        Self { reply, usage: None }
    }
}

/// What a reply of a planner took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannerUsage {
    /// The model that answered, as its provider names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The version of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// How often it was asked until it answered, or until nobody asked any more.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub requests: u64,
    /// The tokens sent, over all requests for this reply.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens_in: u64,
    /// Of these, tokens that the provider had kept from an earlier request.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens_cached: u64,
    /// The tokens received, over all requests for this reply.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens_out: u64,
    /// What it cost; none if nobody said what a token costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// Whether what it took is not known: then the reservation stands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unknown: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde wants")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The most that one request to a planner may take.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannerCost {
    /// Bytes that the planner sends beside the request; no token is shorter than a byte.
    pub bytes: u64,
    /// Most tokens of an answer.
    pub tokens_out: u64,
    /// The price of a million tokens sent; none if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Money>,
    /// The price of a million tokens received; none if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Money>,
    /// The most that planning of one run may cost; no limit of its own if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Money>,
}

/// What is set aside for one request before it leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserved {
    /// The most money that the request can cost; none if no price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<Money>,
    /// The most tokens that the request can use, sent and received.
    pub tokens: u64,
}

impl PlannerCost {
    /// The most that a request of this many bytes may take.
    #[must_use]
    pub fn of_request(&self, bytes: u64) -> Reserved {
        let sent = self.bytes.saturating_add(bytes);
        let price = self.input.zip(self.output);
        Reserved {
            money: price.map(|(input, output)| {
                let received = output.per_million(self.tokens_out);
                input.per_million(sent).saturating_add(received)
            }),
            tokens: sent.saturating_add(self.tokens_out),
        }
    }
}
