//! Cards and questions: what a person is shown, and what their answer binds.
//!
//! Owns the two shapes and their digests. Never renders them. INVARIANT: everything that is shown
//! is under the digest, so a yes is to these bytes and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::catalog::{Effect, Risk};
use provost_plan::digest::{Digest, Domain};
use provost_plan::label::{Integrity, Label};
use provost_plan::policy::{AskTerms, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Slot;
use crate::earlier::EarlierCalls;
use crate::state::Authors;

/// What a person says yes or no to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// The run.
    pub run: String,
    /// The goal, in the user's words.
    pub goal: String,
    /// The revision of the plan.
    pub revision: u32,
    /// The plan's digest.
    pub plan: Digest,
    /// What it is about.
    pub subject: CardSubject,
    /// How many must say yes, and who.
    pub terms: AskTerms,
    /// Who asked for what is on it: for the run, or for the revision that they amended.
    pub requester: String,
    /// Who else wrote a part of it, and so may not say yes either.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub amended_by: BTreeSet<String>,
    /// What of it, and of what it waits for, people wrote.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub authors: Authors,
    /// Who planned it, where that is no person and nobody's playbook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_by: Option<String>,
    /// Whether the requester may say yes.
    pub solo: bool,
    /// When it was asked, in milliseconds since the epoch.
    pub asked_at: i64,
    /// When it lapses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

/// What a card is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum CardSubject {
    /// The steps of a plan that policy asks about.
    Plan {
        /// Each, by id.
        steps: BTreeMap<String, StepAsk>,
    },
    /// One step with its values.
    Step {
        /// The step.
        step: String,
        /// What is asked.
        ask: StepAsk,
        /// The concrete calls: one, or one an item.
        calls: Vec<ConcreteCall>,
    },
}

/// What is known of a step when a person is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepAsk {
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The operation.
    pub operation: String,
    /// The role it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What it does to the world.
    pub effect: Effect,
    /// How much harm it can do.
    pub risk: Risk,
    /// Its closure digest.
    pub closure: Digest,
    /// Policy's word.
    pub verdict: Verdict,
    /// The label of each argument that is not trusted, or is secret.
    pub labels: BTreeMap<String, Label>,
    /// The label of what decided that it runs.
    pub control: Label,
    /// On a plan's card, where its arguments are known: the equal calls that other runs made
    /// before.
    #[serde(default, skip_serializing_if = "EarlierCalls::is_empty")]
    pub earlier: EarlierCalls,
}

/// One concrete call on a card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConcreteCall {
    /// The item of a `for_each`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<usize>,
    /// The arguments, as they may be shown: the digest is of the real ones.
    pub args: Value,
    /// Their digest.
    pub args_digest: Digest,
    /// Where the values of arguments stand that are not just trusted: in the goal, in a person's
    /// answer or in a trusted reading, as a whole.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub origins: BTreeMap<String, String>,
    /// The step whose call this one repeats, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
    /// The equal calls that other runs made before.
    #[serde(default, skip_serializing_if = "EarlierCalls::is_empty")]
    pub earlier: EarlierCalls,
    /// What a read showed of what it is about, where its operation has a preview.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<CardPreview>,
}

/// What stands beside a call to show what it is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CardPreview {
    /// The operation that was read.
    pub tool: String,
    /// Its arguments; null where they could not be made.
    pub args: Value,
    /// When it was read, in milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The stored bytes behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Digest>,
    /// What came of it.
    pub came: PreviewResult,
}

/// What came of a preview.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PreviewResult {
    /// This was read.
    Shown(Shown),
    /// Nothing, and why.
    Failed(String),
}

/// As much of an output as a card shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// The output, or what is left of it.
    pub value: Value,
    /// Whether something of it was left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Whether its tool is not believed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
}

impl ConcreteCall {
    /// Whether both are one call. Why not by the previews and the equal calls before: they say what
    /// a call is about, and a second look that differs makes it no other.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let Self {
            item,
            args,
            args_digest,
            repeats,
            origins: _,
            earlier: _,
            preview: _,
        } = other;
        (&self.item, &self.args) == (item, args)
            && (&self.args_digest, &self.repeats) == (args_digest, repeats)
    }

    /// The name under which a person says yes to it: the step's, with the item's number.
    #[must_use]
    pub fn name(&self, step: &str) -> String {
        Slot {
            step: step.to_owned(),
            item: self.item,
        }
        .to_string()
    }
}

impl Card {
    /// What `named` means on this card, as its own names: steps of a plan card; the step or its
    /// items (`page[2]`) on a step's; everything if nothing is named.
    ///
    /// # Errors
    /// The name that is not on the card.
    pub(crate) fn meant(&self, named: &[String]) -> Result<BTreeSet<String>, String> {
        let all: BTreeSet<String> = match &self.subject {
            CardSubject::Plan { steps } => steps.keys().cloned().collect(),
            CardSubject::Step { step, calls, .. } => calls.iter().map(|c| c.name(step)).collect(),
        };
        if named.is_empty() {
            return Ok(all);
        }
        let mut meant = BTreeSet::new();
        for name in named {
            if self.step() == Some(name) {
                meant.extend(all.iter().cloned());
            } else if all.contains(name) {
                meant.insert(name.clone());
            } else {
                return Err(name.clone());
            }
        }
        Ok(meant)
    }

    /// The arguments whose values are not trusted, and stand in no goal, answer or trusted reading;
    /// of a plan's card, all that are not trusted, because their values are not known.
    #[must_use]
    pub fn foreign_values(&self) -> BTreeSet<String> {
        let untrusted = |ask: &StepAsk| -> BTreeSet<String> {
            let labels = ask.labels.iter();
            let labels = labels.filter(|(_, label)| label.integrity != Integrity::Trusted);
            labels.map(|(name, _)| name.clone()).collect()
        };
        match &self.subject {
            CardSubject::Plan { steps } => {
                let of = |(id, ask): (&String, &StepAsk)| {
                    let id = id.clone();
                    untrusted(ask)
                        .into_iter()
                        .map(move |name| format!("{id}.{name}"))
                };
                steps.iter().flat_map(of).collect()
            }
            CardSubject::Step { ask, calls, .. } => {
                let names = untrusted(ask).into_iter();
                names
                    .filter(|name| calls.iter().any(|call| !call.origins.contains_key(name)))
                    .collect()
            }
        }
    }

    /// The card's identity.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of_value(
            Domain::Card,
            &serde_json::to_value(self).unwrap_or(Value::Null),
        )
    }

    /// The concrete calls it asks about, if they are known.
    #[must_use]
    pub fn calls(&self) -> &[ConcreteCall] {
        match &self.subject {
            CardSubject::Plan { .. } => &[],
            CardSubject::Step { calls, .. } => calls,
        }
    }

    /// The step it is about, if it is about one.
    #[must_use]
    pub fn step(&self) -> Option<&str> {
        match &self.subject {
            CardSubject::Plan { .. } => None,
            CardSubject::Step { step, .. } => Some(step),
        }
    }
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The run.
    pub run: String,
    /// What the answer is for.
    pub purpose: QuestionPurpose,
    /// What is asked.
    pub text: String,
    /// The schema of the answer.
    pub answer: Value,
    /// Who is asked; anybody if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// When it lapses; never if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<QuestionExpiry>,
}

/// When a question lapses, and what its step comes to then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuestionExpiry {
    /// The moment, in milliseconds since the epoch.
    pub at: i64,
    /// The output of the step, as its plan says; without it, the step fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// What an answer is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum QuestionPurpose {
    /// The output of a question step.
    Step {
        /// The step.
        step: String,
    },
    /// A planner's next request.
    Planner {
        /// The planner's name for it.
        id: String,
        /// The number of the request.
        request: u64,
    },
    /// What to do about a failed step.
    Escalation {
        /// The step.
        step: String,
    },
    /// What becomes of a run whose planner failed.
    Review {
        /// The number of the last request to it.
        request: u64,
    },
}

impl QuestionPurpose {
    /// The step whose output the answer is, if it is one's.
    #[must_use]
    pub fn step(&self) -> Option<&String> {
        match self {
            Self::Step { step } => Some(step),
            Self::Planner { .. } | Self::Escalation { .. } | Self::Review { .. } => None,
        }
    }
}

impl Question {
    /// Whether nobody is waited for any more at a moment.
    #[must_use]
    pub fn has_lapsed(&self, now: i64) -> bool {
        self.expires
            .as_ref()
            .is_some_and(|expires| expires.at <= now)
    }

    /// The question's identity.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of_value(
            Domain::Question,
            &serde_json::to_value(self).unwrap_or(Value::Null),
        )
    }
}
