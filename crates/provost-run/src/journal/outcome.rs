//! Outcomes: what came back from a call, and whether its effect took place.
//!
//! Owns the two-part word (class × landing) in which every adapter must speak. INVARIANT: only
//! landing `none` may be repeated without an idempotency key.

use std::time::Duration;

use provost_plan::money::Money;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A result that fits its schema.
    Ok,
    /// No answer in time.
    Timeout,
    /// The tool could not be reached, or answered that it cannot serve.
    Unavailable,
    /// The tool asks for a slower pace.
    RateLimited,
    /// The tool refuses this caller.
    PermissionDenied,
    /// The tool refuses these arguments.
    InvalidArguments,
    /// What was named is not there.
    NotFound,
    /// The state of the world does not allow it.
    Conflict,
    /// Only a part was done.
    Partial,
    /// A reading was too old.
    Stale,
    /// The output does not fit its schema or its size.
    OutputInvalid,
    /// The output came, but the step's acceptance does not hold.
    AcceptanceFailed,
    /// What a step polls for did not come in its time.
    DeadlineExceeded,
    /// An expression of the step failed.
    Expression,
    /// Policy forbids the call.
    PolicyDenied,
    /// A person said no.
    Rejected,
    /// Nobody answered in time.
    Expired,
    /// The tool is not what was approved.
    Drift,
    /// The tool's breaker is open.
    BreakerOpen,
    /// A limit of the run is reached.
    BudgetExceeded,
    /// To judge a value or a plan takes more work or time than is allowed.
    WorkExceeded,
    /// The run was cancelled.
    Cancelled,
    /// Success does not hold though nothing failed.
    Unmet,
    /// What the operator declared does not fit what is there.
    Misdeclared,
    /// The adapter itself is wrong.
    ToolBug,
}

impl Class {
    /// The word of the journal.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
            Self::RateLimited => "rate_limited",
            Self::PermissionDenied => "permission_denied",
            Self::InvalidArguments => "invalid_arguments",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Partial => "partial",
            Self::Stale => "stale",
            Self::OutputInvalid => "output_invalid",
            Self::AcceptanceFailed => "acceptance_failed",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::Expression => "expression",
            Self::PolicyDenied => "policy_denied",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Drift => "drift",
            Self::BreakerOpen => "breaker_open",
            Self::BudgetExceeded => "budget_exceeded",
            Self::WorkExceeded => "work_exceeded",
            Self::Cancelled => "cancelled",
            Self::Unmet => "unmet",
            Self::Misdeclared => "misdeclared",
            Self::ToolBug => "tool_bug",
        }
    }

    /// Whether the same call may come out differently later.
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Timeout | Self::Unavailable | Self::RateLimited)
    }
}

/// Whether the effect took place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Landing {
    /// It surely did not.
    None,
    /// It surely did.
    Happened,
    /// Nobody knows.
    Unknown,
}

impl Landing {
    /// The word of the journal.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Happened => "happened",
            Self::Unknown => "unknown",
        }
    }
}

/// What an adapter reports of one attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// What came back.
    pub class: Class,
    /// Whether the effect took place.
    pub landing: Landing,
    /// The typed output, when the class is `ok`.
    pub output: Option<Value>,
    /// The raw bytes behind it.
    pub evidence: Vec<u8>,
    /// The media type of the bytes.
    pub media: String,
    /// What went wrong, for people: lower case, one line, no secret.
    pub message: Option<String>,
    /// How long the tool asks to wait before the next try.
    pub retry_after: Option<Duration>,
    /// The name of the secret without which nothing could be sent.
    pub lacks: Option<String>,
    /// The arguments that the adapter itself refused for what they are, before anything left.
    pub refused_args: Vec<String>,
    /// What it took of a model, if it asked one that counts.
    pub used: Option<Used>,
    /// How long it took, if that was measured.
    pub time: Option<CallTime>,
}

/// How long a call took, by a clock that only goes forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTime {
    /// From handing it to the tool to having its answer, in microseconds.
    pub took_us: u64,
    /// Before that, for a thread of its own, in microseconds; none if it needs none.
    pub waited_us: Option<u64>,
}

/// What one attempt took of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// The model, as its server names it.
    pub model: String,
    /// The version of the text around what it was given.
    pub prompt: String,
    /// Tokens sent, those that its server had kept included.
    pub tokens_in: u64,
    /// Of these, those that its server had kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens_cached: u64,
    /// Tokens received.
    pub tokens_out: u64,
    /// What that cost, if the operator says what a token costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Reply {
    /// A success with its output and the bytes behind it.
    #[must_use]
    pub fn ok(output: Value, evidence: Vec<u8>, media: &str) -> Self {
        Self {
            class: Class::Ok,
            landing: Landing::Happened,
            output: Some(output),
            evidence,
            media: media.to_owned(),
            message: None,
            retry_after: None,
            lacks: None,
            refused_args: Vec::new(),
            used: None,
            time: None,
        }
    }

    /// A failure with its landing and what went wrong.
    #[must_use]
    pub fn failed(class: Class, landing: Landing, message: impl Into<String>) -> Self {
        Self {
            class,
            landing,
            output: None,
            evidence: Vec::new(),
            media: "text/plain".to_owned(),
            message: Some(message.into()),
            retry_after: None,
            lacks: None,
            refused_args: Vec::new(),
            used: None,
            time: None,
        }
    }
}
