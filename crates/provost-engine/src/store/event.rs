//! What is appended and what is read back.

use std::borrow::Cow;

use provost_plan::digest::{Digest, Domain, NumberError};
use provost_run::admission::AdmissionEntry;
use provost_run::earlier::CallKey;
use provost_run::event::Event;
/// Bytes with their digest, as the machine gives them: nobody digests them a second time.
pub use provost_run::machine::Blob as Evidence;
use provost_run::state::Waiting;
use serde::Deserialize;
use serde_json::Value;

use super::{NewNotice, StoreError, canonical_text};
use crate::limits::{EVENT_BYTES_MAX, EVIDENCE_BYTES_MAX};

/// Events of one run that are stored together or not at all.
#[derive(Clone, Debug)]
pub struct Append {
    /// The run.
    pub run: String,
    /// The last event the writer knows of; 0 for a new run.
    pub expect_seq: u64,
    /// The events, at least one.
    pub events: Vec<NewEvent>,
    /// The bytes that the events name by digest.
    pub evidence: Vec<Evidence>,
    /// What they change of what runs share; if it is not admitted, nothing is stored.
    pub admission: Vec<AdmissionEntry>,
    /// Of what somebody is told.
    pub notices: Vec<NewNotice>,
    /// What the listing shows of the run after these events.
    pub row: Projection,
    /// Whether they, and every earlier event of the run, must survive a loss of power.
    pub durable: bool,
    /// Whether a run that they create is refused where one that is not over has its goal.
    pub only_of_goal: bool,
}

/// An event to append.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// Its kind, such as `StepSettled`.
    pub kind: Cow<'static, str>,
    /// The version of its payload.
    pub version: u32,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: i64,
    /// Its payload.
    pub payload: Payload,
}

/// The payload of an event to append.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload(Content);

#[derive(Clone, Debug, PartialEq)]
enum Content {
    Value(Value),
    /// With the number of the call that the event begins.
    Canonical(String, Option<i64>),
}

impl Payload {
    /// The payload of an event of a run.
    pub(crate) fn of(event: &Event) -> Result<Self, NumberError> {
        let call = CallKey::of(event).map(|key| key.short());
        Ok(Self(Content::Canonical(event.to_canonical()?, call)))
    }

    /// Its text, and the number of the call that it begins as an event of this kind.
    fn into_text(self, kind: &str) -> Result<(String, Option<i64>), NumberError> {
        match self.0 {
            Content::Canonical(text, call) => Ok((text, call)),
            Content::Value(value) => {
                let text = canonical_text(value)?;
                let call = call_number(kind, &text);
                Ok((text, call))
            }
        }
    }
}

impl From<Value> for Payload {
    fn from(value: Value) -> Self {
        Self(Content::Value(value))
    }
}

/// What the listing shows of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    /// The status word.
    pub status: String,
    /// The goal in the user's words.
    pub goal: String,
    /// What else is shown, as JSON.
    pub summary: String,
    /// When somebody has to look at it next, in milliseconds since 1970; none if only a person's
    /// word moves it.
    pub due_ms: Option<i64>,
    /// What it waits for.
    pub waits: Vec<Waiting>,
    /// What is counted of it, if these events end it.
    pub facts: Option<CountedRun>,
}

/// What is counted of a run up to its last event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedRun {
    /// The version of the formulas.
    pub formulas: u32,
    /// The counts, as JSON.
    pub facts: String,
}

/// Evidence as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvidence {
    /// The media type.
    pub media: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// An event as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvent {
    /// Its number within the run, from 1.
    pub seq: u64,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: i64,
    /// Its kind.
    pub kind: String,
    /// The version of its payload.
    pub version: u32,
    /// Its payload.
    pub payload: Value,
    /// The digest of its payload.
    pub digest: Digest,
    /// Its link in the chain of the run.
    pub link: Digest,
}

/// The digest of a goal's words, whatever their case and the spaces between them.
pub(super) fn goal_words(goal: &str) -> Digest {
    let words: Vec<String> = goal.split_whitespace().map(str::to_lowercase).collect();
    Digest::of_bytes(Domain::Goal, words.join(" ").as_bytes())
}

/// An append whose texts and digests are computed, on the caller's thread.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) run: String,
    pub(super) expect_seq: u64,
    pub(super) events: Vec<PreparedEvent>,
    pub(super) evidence: Vec<Evidence>,
    pub(super) admission: Vec<AdmissionEntry>,
    pub(super) notices: Vec<NewNotice>,
    pub(super) status: String,
    pub(super) goal: String,
    pub(super) summary: String,
    pub(super) due_ms: Option<i64>,
    pub(super) waits: Vec<Waiting>,
    /// What tells the rows of these from others.
    pub(super) waits_digest: Vec<u8>,
    pub(super) facts: Option<CountedRun>,
    pub(super) durable: bool,
    pub(super) only_of_goal: bool,
}

#[derive(Debug)]
pub(super) struct PreparedEvent {
    pub(super) kind: Cow<'static, str>,
    pub(super) version: u32,
    pub(super) at_ms: i64,
    pub(super) payload: String,
    pub(super) digest: Digest,
    /// The number of the call that it begins.
    pub(super) call: Option<i64>,
}

/// The number of the call that an event begins, as its kind and its payload tell.
pub(super) fn call_number(kind: &str, payload: &str) -> Option<i64> {
    #[derive(Deserialize)]
    struct Intent {
        read: bool,
        operation: String,
        args_digest: Digest,
    }
    if kind != "AttemptStarted" {
        return None;
    }
    let intent: Intent = serde_json::from_str(payload).ok()?;
    (!intent.read).then(|| {
        let (operation, args) = (intent.operation, intent.args_digest);
        CallKey { operation, args }.short()
    })
}

impl Prepared {
    pub(super) fn new(append: Append) -> Result<Self, StoreError> {
        let refused = |reason: String| StoreError::Refused {
            run: append.run.clone(),
            reason,
        };
        if append.events.is_empty() {
            return Err(refused("there is no event in it".to_owned()));
        }
        if let Some(large) = append
            .evidence
            .iter()
            .find(|e| e.bytes().len() > EVIDENCE_BYTES_MAX)
        {
            let size = large.bytes().len();
            return Err(refused(format!(
                "evidence of {size} bytes, more than the {EVIDENCE_BYTES_MAX} allowed"
            )));
        }
        let mut events = Vec::with_capacity(append.events.len());
        for event in append.events {
            let text = event.payload.into_text(&event.kind);
            let (payload, call) = text.map_err(|e| refused(e.to_string()))?;
            if payload.len() > EVENT_BYTES_MAX {
                let size = payload.len();
                return Err(refused(format!(
                    "a `{}` event of {size} bytes, more than the {EVENT_BYTES_MAX} allowed",
                    event.kind
                )));
            }
            events.push(PreparedEvent {
                digest: Digest::of_bytes(Domain::Event, payload.as_bytes()),
                kind: event.kind,
                version: event.version,
                at_ms: event.at_ms,
                payload,
                call,
            });
        }
        Ok(Self {
            summary: append.row.summary,
            run: append.run,
            expect_seq: append.expect_seq,
            events,
            evidence: append.evidence,
            admission: append.admission,
            notices: append.notices,
            status: append.row.status,
            goal: append.row.goal,
            due_ms: append.row.due_ms,
            waits_digest: waits_digest(&append.row.waits),
            waits: append.row.waits,
            facts: append.row.facts,
            durable: append.durable,
            only_of_goal: append.only_of_goal,
        })
    }
}

/// The digest under which a run's row names its rows here: nothing of a run that waits for nothing.
pub(super) fn waits_digest(waits: &[Waiting]) -> Vec<u8> {
    if waits.is_empty() {
        return Vec::new();
    }
    let text = serde_json::to_vec(waits).unwrap_or_default();
    Digest::of_bytes(Domain::Waits, &text).bytes().to_vec()
}
