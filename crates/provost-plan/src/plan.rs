//! The plan language: the shape of a plan, its steps and its answer.
//!
//! Owns the syntax tree and its reading from text ([`read`]). Judges nothing: that is
//! [`crate::check`]'s. INVARIANT: a tree's `value` is the canonical document it was read from, so
//! its digest is the plan's identity.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::amount::Amount;
use crate::digest::{Digest, Domain, canonical, canonical_map};
use crate::expr::Template;
use crate::money::Money;
use crate::source::{Source, Span, Spanned};

pub mod assertion;
pub mod foreign;
pub mod goal;
pub mod names;
pub mod ranking;
pub mod read;
pub mod readings;
pub mod request;
mod side_call;
mod step;
pub mod subgoal;
pub mod undo;

pub use assertion::Assertion;
pub use goal::{Criterion, Goal};
pub use names::Names;
pub use side_call::{CallRole, SideCall};
pub use step::{Expiry, Field, ForEach, OnFailure, Retry, Step, StepKind, Until};
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
    /// The names of the counted values that it limits, where they are written.
    pub value_limits: Vec<Spanned<String>>,
    /// The claims of the answer, in order.
    pub answer: Vec<Claim>,
    /// The canonical document, as its holders share it.
    pub value: Arc<Value>,
    /// The text it was read from.
    pub source: Source,
    /// The names of its `let`, which are written out in everything else.
    pub names: Arc<Names>,
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
        let counts = counts.map(|(name, value)| (name.as_str(), canonical(value)));
        let text = canonical_map(counts.collect());
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

/// How a criterion is proven.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The id of the criterion, as the goal has it.
    pub criterion: Spanned<String>,
    /// What must hold when nothing more can run.
    pub check: Template,
}

/// One part of the answer.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Whether it is said.
    pub when: Option<Template>,
    /// The text, with expressions over steps.
    pub text: Template,
    /// Steps whose evidence it cites beside those its expressions name.
    pub cites: Vec<Spanned<String>>,
    /// Its place in the source, for findings.
    pub span: Span,
}

/// Limits of a run. Every number is a most; `None` in a plan leaves the operator's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Steps of one plan.
    pub steps: u64,
    /// Calls in all, each item of a `for_each` counted.
    pub calls: u64,
    /// The most attempts of all steps together, retries included.
    pub attempts: u64,
    /// The most revisions of the plan.
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
    /// Of each counted value the sum over all calls; no limit of what is not named.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Amount>,
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
            values: BTreeMap::new(),
        }
    }
}

impl Limits {
    /// The identity of these limits.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(Domain::Limits, self)
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
            values: narrower_each(&self.values, &other.values),
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

/// The narrower of two limits of each value that one of them names.
fn narrower_each(
    one: &BTreeMap<String, Amount>,
    other: &BTreeMap<String, Amount>,
) -> BTreeMap<String, Amount> {
    let mut all = one.clone();
    for (name, limit) in other {
        let kept = all.entry(name.clone()).or_insert(*limit);
        *kept = (*kept).min(*limit);
    }
    all
}

/// Values of a playbook's parameters.
pub type Params = BTreeMap<String, Value>;
