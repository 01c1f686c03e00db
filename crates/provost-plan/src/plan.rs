//! The plan language: the shape of a plan, its steps and its answer.
//!
//! Owns the syntax tree and its reading from text ([`read`]). Judges nothing: that is
//! [`crate::check`]'s. INVARIANT: a tree's `value` is the canonical document it was read from, so
//! its digest is the plan's identity.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::catalog::Risk;
use crate::digest::{Digest, Domain, canonical, canonical_map};
use crate::expr::{ArgTree, Template};
use crate::money::Money;
use crate::schema::Schema;
use crate::source::{Source, Span, Spanned};

pub mod goal;
pub mod ranking;
pub mod read;
pub mod readings;
pub mod request;
pub mod side_call;
pub mod subgoal;
pub mod undo;

pub use goal::{Criterion, Goal};
pub use side_call::{CallRole, SideCall};
pub use subgoal::Subgoal;

/// The version marker of a plan document.
pub const PLAN_SCHEMA: &str = "provost/plan/v1";

/// A plan as somebody wrote it: read, not judged.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The goal, if the document carries one.
    pub goal: Option<Spanned<Goal>>,
    /// How each criterion is proven.
    pub success: Vec<Proof>,
    /// The steps, in the order written.
    pub steps: Vec<Step>,
    /// Limits narrower than the operator's.
    pub limits: Option<Limits>,
    /// The answer.
    pub answer: Vec<Claim>,
    /// The canonical document, as its holders share it.
    pub value: Arc<Value>,
    /// The text it was read from.
    pub source: Source,
    /// Where the first step of each id stands among the steps.
    pub(crate) places: BTreeMap<String, usize>,
    /// The identity, once somebody asked for it.
    pub(crate) digest: OnceLock<Digest>,
}

impl Plan {
    /// The plan's identity: of the canonical document, without the goal (which has its own).
    #[must_use]
    pub fn digest(&self) -> Digest {
        *self.digest.get_or_init(|| self.digested())
    }

    fn digested(&self) -> Digest {
        let Value::Object(map) = &*self.value else {
            return Digest::of_value(Domain::Plan, &self.value);
        };
        let counts = map
            .iter()
            .filter(|(name, _)| !["goal", "schema"].contains(&name.as_str()));
        let text = canonical_map(counts.map(|(name, value)| (name.as_str(), canonical(value))));
        Digest::of_bytes(Domain::Plan, text.as_bytes())
    }

    /// The step called `id`; the first, if two are.
    #[must_use]
    pub fn step(&self, id: &str) -> Option<&Step> {
        self.steps.get(*self.places.get(id)?)
    }
}

/// Where the first step of each id stands among `steps`.
pub(crate) fn places(steps: &[Step]) -> BTreeMap<String, usize> {
    let mut places = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        places.entry(step.id.value.clone()).or_insert(at);
    }
    places
}

/// A node of a plan.
#[derive(Clone, Debug)]
pub struct Step {
    /// The id, unique in the plan and in all its revisions.
    pub id: Spanned<String>,
    /// What it is for.
    pub description: Option<Spanned<String>>,
    /// What it does.
    pub kind: StepKind,
    /// The role it is in: a narrower allow list.
    pub role: Option<Spanned<String>>,
    /// Steps that must have ended before (order only).
    pub needs: Vec<Spanned<String>>,
    /// Whether it runs at all.
    pub when: Option<Template>,
    /// The list it runs over.
    pub for_each: Option<ForEach>,
    /// What must hold over its output for it to have succeeded.
    pub accept: Vec<Template>,
    /// The read that proves that it landed.
    pub confirm: Option<SideCall>,
    /// The call that takes back what it did.
    pub undo: Option<SideCall>,
    /// The type of its output, where the tool declares none.
    pub expect: Option<Schema>,
    /// How long one attempt may take, if less than the tool's own limit.
    pub timeout: Option<Duration>,
    /// How old a reading may be on which it acts, when it begins.
    pub fresh: Option<Spanned<Duration>>,
    /// Attempts for failures that may be repeated.
    pub retry: Option<Retry>,
    /// What a failure leads to.
    pub on_failure: OnFailure,
    /// The risk it declares.
    pub risk: Option<Spanned<Risk>>,
    /// Whether a person is asked whatever policy says.
    pub approval_required: bool,
    /// Where the whole step stands.
    pub span: Span,
    /// Its canonical form.
    pub value: Value,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum StepKind {
    /// Calls a tool.
    Tool {
        /// Its name.
        tool: Spanned<String>,
        /// Its arguments: values and expressions.
        args: ArgTree,
    },
    /// Asks a person.
    Question {
        /// What is asked.
        text: Template,
        /// The type of the answer.
        answer: Schema,
        /// Who is asked; anybody who may approve if empty.
        of: Option<Spanned<String>>,
    },
    /// Is refined into other steps, and computes from them.
    Subgoal(Box<Subgoal>),
}

impl Step {
    /// The tool it calls.
    #[must_use]
    pub fn tool(&self) -> Option<&Spanned<String>> {
        match &self.kind {
            StepKind::Tool { tool, .. } => Some(tool),
            StepKind::Question { .. } | StepKind::Subgoal(_) => None,
        }
    }

    /// The tools it names: the one it calls, the one that reads it back, the one that undoes it.
    pub fn tools(&self) -> impl Iterator<Item = &Spanned<String>> {
        self.calls().map(|(_, tool, _)| tool)
    }

    /// The name of the role it is in.
    #[must_use]
    pub fn role(&self) -> Option<&str> {
        self.role.as_ref().map(|role| role.value.as_str())
    }

    /// Every template in it, with the name of the field it stands in.
    pub fn templates(&self) -> Vec<(Field, &Template)> {
        let mut all = Vec::new();
        all.extend(self.when.iter().map(|t| (Field::When, t)));
        all.extend(self.for_each.iter().map(|f| (Field::ForEach, &f.list)));
        match &self.kind {
            StepKind::Tool { args, .. } => {
                let args = args.templates().into_iter();
                all.extend(args.map(|t| (Field::Args(CallRole::Own), t)));
            }
            StepKind::Question { text, .. } => all.push((Field::Question, text)),
            StepKind::Subgoal(subgoal) => {
                all.extend(subgoal.result.iter().map(|t| (Field::Result, t)));
            }
        }
        let own = self.accept.iter();
        all.extend(own.map(|t| (Field::Accept(CallRole::Own), t)));
        for role in CallRole::ALL {
            let Some(call) = self.side_call(role) else {
                continue;
            };
            let args = call.args.templates().into_iter();
            all.extend(args.map(|t| (Field::Args(role), t)));
            all.extend(call.accept.iter().map(|t| (Field::Accept(role), t)));
        }
        all
    }
}

/// The field of a step in which a template stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `when`
    When,
    /// `for_each`
    ForEach,
    /// `args` of a call
    Args(CallRole),
    /// `question`
    Question,
    /// `result`
    Result,
    /// `accept` of a call
    Accept(CallRole),
}

/// A list that a step runs over.
#[derive(Clone, Debug)]
pub struct ForEach {
    /// The list.
    pub list: Template,
    /// The most items it may have.
    pub max_items: Spanned<u64>,
}

/// Attempts for failures that may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// Most attempts in all, the first included.
    pub attempts: u32,
    /// The wait before the second attempt; it doubles each time.
    pub backoff: Duration,
}

impl Retry {
    /// The attempts of a step that says nothing about them.
    pub const DEFAULT: Self = Self {
        attempts: 3,
        backoff: Duration::from_millis(500),
    };
    /// The longest wait between two attempts that a plan can ask for.
    pub const WAIT_MAX: Duration = Duration::from_secs(60);

    /// The wait after the attempt numbered `tries`, from 1.
    #[must_use]
    pub fn wait_after(self, tries: u32) -> Duration {
        let doubled = 1u32 << tries.saturating_sub(1).min(16);
        self.backoff.saturating_mul(doubled).min(Self::WAIT_MAX)
    }
}

/// What a failure of a step leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// The planner is asked for a revision.
    #[default]
    Replan,
    /// The run fails.
    Stop,
    /// The plan goes on.
    Continue,
    /// A person is asked.
    Escalate,
}

/// How a criterion is proven.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The criterion's id.
    pub criterion: Spanned<String>,
    /// What must hold when nothing more can run.
    pub check: Template,
}

/// One part of the answer.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Whether it is said.
    pub when: Option<Template>,
    /// What is said.
    pub text: Template,
    /// Steps whose evidence it cites beside those its expressions name.
    pub cites: Vec<Spanned<String>>,
    /// Where it stands.
    pub span: Span,
}

/// Limits of a run. Every number is a most; `None` in a plan leaves the operator's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Steps of one plan.
    pub steps: u64,
    /// Calls in all, each item of a `for_each` counted.
    pub calls: u64,
    /// Attempts in all.
    pub attempts: u64,
    /// Revisions of the plan.
    pub revisions: u64,
    /// Proposals a planner may make for one revision.
    pub proposals: u64,
    /// Calls in flight at once.
    pub concurrency: u64,
    /// Wall time of the run, in milliseconds, waits for people not counted.
    pub wall_ms: u64,
    /// Money in all; no limit if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<Money>,
    /// Tokens in all, sent and received; no limit if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 100,
            calls: 500,
            attempts: 1_000,
            revisions: 5,
            proposals: 3,
            concurrency: 8,
            wall_ms: 3_600_000,
            money: None,
            tokens: None,
        }
    }
}

impl Limits {
    /// The identity of these limits.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of_value(Domain::Limits, &json!(self))
    }

    /// The narrower of two limits, field by field.
    #[must_use]
    pub fn narrowed(&self, other: &Self) -> Self {
        Self {
            steps: self.steps.min(other.steps),
            calls: self.calls.min(other.calls),
            attempts: self.attempts.min(other.attempts),
            revisions: self.revisions.min(other.revisions),
            proposals: self.proposals.min(other.proposals),
            concurrency: self.concurrency.min(other.concurrency),
            wall_ms: self.wall_ms.min(other.wall_ms),
            money: narrower(self.money, other.money),
            tokens: narrower(self.tokens, other.tokens),
        }
    }
}

/// The narrower of two limits that need not be there.
fn narrower<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Values of a playbook's parameters.
pub type Params = BTreeMap<String, Value>;
