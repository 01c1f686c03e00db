//! Why a model did not answer, by class.
//!
//! Owns the reading of what the model library and the server say. INVARIANT: what a server said
//! stands in an error cut, on one line and without the key.

use std::time::Duration;

use crate::http::innermost;
use crate::limits::{MODEL_ERROR_BYTES_MAX, RETRY_AFTER_MAX};
use crate::redact::Redactor;

/// Why a model did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The key cannot be read, so nothing was sent.
    #[error("{0}")]
    NoKey(String),
    /// The server does not take the key.
    #[error("its server does not take the key: {0}")]
    Unauthorised(String),
    /// The server asks for fewer requests (429).
    #[error("its server is asked too often")]
    RateLimited {
        /// How long its server asks to wait.
        retry_after: Option<Duration>,
    },
    /// Nobody answers there, or only to say that they cannot now.
    #[error("its server cannot be reached: {0}")]
    Unavailable(String),
    /// The connection broke when the request was on its way: what became of it is not known.
    #[error("the connection was lost before the answer was whole: {0}")]
    Lost(String),
    /// No whole answer within the time.
    #[error("no whole answer within {0:?}")]
    Timeout(Duration),
    /// The server does not take the request.
    #[error("its server does not take the request: {0}")]
    Refused(String),
    /// What came back is no answer of its kind.
    #[error("what it answered cannot be read: {0}")]
    Garbage(String),
}

impl ModelError {
    /// Whether the request may be repeated: nothing of it was answered, and nothing paid.
    #[must_use]
    pub fn may_repeat(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Unavailable(_))
    }

    /// Whether it may have been answered and paid all the same.
    #[must_use]
    pub fn may_be_paid(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Timeout(_) | Self::Garbage(_))
    }

    /// How long the server asks to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } => *retry_after,
            _ => None,
        }
    }

    pub(super) fn of(error: &genai::Error, redactor: &Redactor) -> Self {
        let quoted = |text: &str| cut(&redactor.redact_text(text));
        if let Some(status) = error.status().map(|status| status.as_u16()) {
            let body = quoted(body_of(error).unwrap_or_default());
            return match status {
                401 | 403 => Self::Unauthorised(body),
                429 => Self::RateLimited {
                    retry_after: retry_after(error),
                },
                // Why 529: Anthropic's word for a server that has too much to do.
                500 | 502 | 503 | 529 => Self::Unavailable(format!("status {status}: {body}")),
                504 => Self::Lost(format!("status {status}: {body}")),
                _ => Self::Refused(format!("status {status}: {body}")),
            };
        }
        match webc(error) {
            Some(genai::webc::Error::Reqwest(error)) if error.is_connect() => {
                Self::Unavailable(quoted(&innermost(error)))
            }
            Some(genai::webc::Error::Reqwest(error)) => Self::Lost(quoted(&innermost(error))),
            Some(genai::webc::Error::ResponseFailedNotJson { content_type, .. }) => {
                Self::Garbage(quoted(&format!("it is `{content_type}`, and no JSON")))
            }
            Some(genai::webc::Error::ResponseFailedInvalidJson { cause, .. }) => {
                Self::Garbage(quoted(cause))
            }
            _ => match error {
                genai::Error::ChatResponseGeneration { cause, .. } => Self::Garbage(quoted(cause)),
                other => Self::Garbage(quoted(&other.to_string())),
            },
        }
    }
}

fn webc(error: &genai::Error) -> Option<&genai::webc::Error> {
    match error {
        genai::Error::WebModelCall { webc_error, .. }
        | genai::Error::WebAdapterCall { webc_error, .. } => Some(webc_error),
        _ => None,
    }
}

fn body_of(error: &genai::Error) -> Option<&str> {
    match webc(error) {
        Some(genai::webc::Error::ResponseFailedStatus { body, .. }) => Some(body),
        _ => None,
    }
}

fn retry_after(error: &genai::Error) -> Option<Duration> {
    let seconds = error.headers()?.get("retry-after")?.to_str().ok()?;
    let wait = Duration::from_secs(seconds.trim().parse().ok()?);
    Some(wait.min(RETRY_AFTER_MAX))
}

/// One line, not longer than is read.
fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut end = line.len().min(MODEL_ERROR_BYTES_MAX);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    match line.get(..end) {
        Some(start) if end < line.len() => format!("{start}…"),
        _ => line,
    }
}
