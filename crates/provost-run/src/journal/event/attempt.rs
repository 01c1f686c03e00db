//! What the journal keeps of an attempt: its beginning, its end, what it made, what it lacked.
//!
//! Owns the payloads and their stored form. Decides nothing: that is the machine's. INVARIANT: a
//! field that is not in old journals is optional and means the same there by its absence.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::amount::Amount;
use provost_plan::digest::{Digest, Domain};
use provost_plan::money::Money;
use provost_plan::policy::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Purpose, Slot};
use crate::card::Shown;
use crate::earlier::EarlierCalls;
use crate::outcome::{CallTime, Class, Landing, Used};

/// An intent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptStarted {
    /// Which step and item.
    pub slot: Slot,
    /// The number of the attempt, from 1; 0 of a preview, which is no attempt of the step.
    pub attempt: u32,
    /// The operation that is called, `tool.operation`.
    pub operation: String,
    /// The digest of its catalog entry.
    pub tool: Digest,
    /// The step's closure digest.
    pub closure: Digest,
    /// The arguments as evaluated and sent.
    pub args: Value,
    /// The names of those that are secret: nothing shows their values.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub secret_args: BTreeSet<String>,
    /// The digest of the arguments as canonical JSON.
    pub args_digest: Digest,
    /// The idempotency key, where one is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Policy's word on these values.
    pub verdict: Verdict,
    /// The approval that covers it, if one was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Digest>,
    /// Whether it is a read.
    pub read: bool,
    /// What it is made for.
    #[serde(flatten)]
    pub purpose: Purpose,
    /// The digest of the values at sinks, of what is no read: no other call with the same begins
    /// while this one is in doubt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sinks: Option<Digest>,
    /// The money that is reserved for it: the most it can cost, as far as that has a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<Money>,
    /// The tokens that are reserved for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// What it adds to each value that its operation counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Amount>,
    /// The equal calls of other runs by which it was judged.
    #[serde(default, skip_serializing_if = "EarlierCalls::is_empty")]
    pub earlier: EarlierCalls,
    /// How long it may take, in milliseconds; journals of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether the plan allows it less time than the tool's own limit does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub narrowed: bool,
}

/// What a call made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    /// The kind of thing.
    #[serde(rename = "what")]
    pub kind: String,
    /// Its id; none if it could not be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
}

impl std::fmt::Display for Created {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.id {
            Some(Value::String(id)) => write!(f, "{} {id}", self.kind),
            Some(id) => write!(f, "{} {id}", self.kind),
            None => write!(f, "{} unknown", self.kind),
        }
    }
}

/// The end of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptEnded {
    /// Which step and item.
    pub slot: Slot,
    /// The number of the attempt.
    pub attempt: u32,
    /// The class of the result; `ok` if it fits its schema.
    pub class: Class,
    /// Whether the effect happened, did not, or nobody knows.
    pub landing: Landing,
    /// What went wrong, in one line; none of a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The stored bytes, after redaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Digest>,
    /// When the next attempt may begin, in milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<i64>,
    /// Whether the step polls, and its `until` does not hold over what this attempt read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_yet: bool,
    /// Whether the process ended before an answer was recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
    /// Whether nothing was sent for want of a secret: such an attempt is not counted as a try.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsent: bool,
    /// The arguments that the adapter itself refused for what they are, before anything left. Why
    /// apart from the class: a tool may refuse them for a state of the world.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_args: Vec<String>,
    /// What it took of a model: it stands in the place of what was reserved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Used>,
    /// Whether it is of a step that works with a secret: its message is withheld, and nothing shows
    /// the bytes behind it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// Of a preview: what the card shows of what it brought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shows: Option<Shown>,
    /// How long the tool took, in microseconds, as the toolbox measured it. Why beside the moments
    /// of the events: those are of commits, and their distance is no latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_us: Option<u64>,
    /// How long the call waited for a thread before that, in microseconds, if it needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_us: Option<u64>,
}

/// A secret without which a call could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Where the secret is looked for, such as `env:TOKEN`.
    pub secret: String,
    /// The call that lacks it.
    pub slot: Slot,
}

impl Missing {
    /// That `what` was stopped for want of `secret`, in words.
    #[must_use]
    pub fn in_words(secret: &str, what: &str, reason: &str) -> String {
        format!("the secret {secret} of {what} is missing: it {reason}")
    }
}

impl AttemptEnded {
    /// The end of an attempt of which nothing more is to be said.
    pub(crate) fn new(slot: &Slot, attempt: u32, class: Class, landing: Landing) -> Self {
        Self {
            slot: slot.clone(),
            attempt,
            class,
            landing,
            message: None,
            evidence: None,
            retry_at: None,
            not_yet: false,
            lost: false,
            unsent: false,
            refused_args: Vec::new(),
            used: None,
            secret: false,
            shows: None,
            took_us: None,
            waited_us: None,
        }
    }

    /// The same with how long the call took.
    pub(crate) fn timed(mut self, time: Option<CallTime>) -> Self {
        self.took_us = time.map(|time| time.took_us);
        self.waited_us = time.and_then(|time| time.waited_us);
        self
    }

    /// Whether it is known that no byte of an answer was kept: nothing was compared with a schema.
    #[must_use]
    pub fn is_without_bytes(&self) -> bool {
        self.evidence == Some(Digest::of_bytes(Domain::Evidence, b""))
    }

    /// Whether it is a try of the step: what was lost or not sent is none.
    #[must_use]
    pub fn is_try(&self) -> bool {
        !self.lost && !self.unsent
    }
}
