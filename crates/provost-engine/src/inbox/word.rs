//! A word: what a person says to a run, as JSON that can be signed, posted and carried.
//!
//! Owns its form and the bytes that are signed. Never judges it. INVARIANT: everything but the
//! signature is under the signature, and a field that is not known is refused, not dropped.

use provost_plan::digest::{Digest, canonical, normalize};
use provost_plan::policy::Principal;
use provost_run::call::Slot;
use provost_run::event::{Event, SettledBy, Settlement};
use provost_run::machine::{Amended, Input};
use provost_run::said::Said;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::keys::{PrivateKey, PublicKey, Signed};
use crate::limits::{WORD_BYTES_MAX, WORD_LIFE, WORD_NONCE_CHARS_MAX};
use crate::owner::random_name;

/// The schema of a word.
pub const WORD_SCHEMA: &str = "provost/word/v1";

/// What a person says to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Word {
    schema: String,
    /// The name of the store that the run is in.
    pub store: String,
    /// The run.
    pub run: String,
    /// The revision of the plan that it is about.
    pub revision: u32,
    /// What is said.
    #[serde(flatten)]
    pub saying: Saying,
    /// Who says it.
    pub by: String,
    /// Drawn anew for every word.
    pub nonce: String,
    /// When it was said, in milliseconds since the epoch.
    pub said_at: i64,
    /// When it lapses.
    pub expires_at: i64,
    /// The signature over all the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<Signature>,
}

/// A signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// The public key, as text.
    pub key: String,
    /// The signature, in base64.
    pub signature: String,
}

/// What can be said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Saying {
    /// Yes.
    Approve {
        /// The card.
        card: Digest,
        /// To these steps or items alone; to all if empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps: Vec<String>,
    },
    /// No.
    Reject {
        /// The card.
        card: Digest,
        /// Why.
        reason: String,
    },
    /// An answer.
    Answer {
        /// The question.
        question: Digest,
        /// The answer.
        value: Value,
    },
    /// Another plan, another goal, or both.
    Amend {
        /// The plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<PlanText>,
        /// The text of the goal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<String>,
        /// Why.
        reason: String,
    },
    /// What became of a write in doubt.
    Settle {
        /// The step, or one of its items.
        slot: Slot,
        /// What is said of it.
        settled: Settlement,
        /// The output of what happened, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
        /// How they know.
        reason: String,
    },
    /// Nothing further may begin for now.
    Pause {
        /// Why.
        reason: String,
    },
    /// It may go on.
    Resume,
    /// The run is to end.
    Cancel {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Whether what happened is to be undone first.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        undo: bool,
    },
}

/// A plan as somebody wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanText {
    /// The name shown in diagnostics.
    pub name: String,
    /// The text.
    pub text: String,
}

/// A text that is no word.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("this is no word of a person: {0}")]
pub struct NoWord(pub String);

impl Saying {
    /// The verb.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Approve { .. } => "approve",
            Self::Reject { .. } => "reject",
            Self::Answer { .. } => "answer",
            Self::Amend { .. } => "amend",
            Self::Settle { .. } => "settle",
            Self::Pause { .. } => "pause",
            Self::Resume => "resume",
            Self::Cancel { .. } => "cancel",
        }
    }

    /// Whether a workspace that requires signatures requires one for this.
    #[must_use]
    pub fn needs_signature(&self) -> bool {
        match self {
            Self::Approve { .. }
            | Self::Reject { .. }
            | Self::Answer { .. }
            | Self::Settle { .. }
            | Self::Amend { .. }
            | Self::Cancel { undo: true, .. } => true,
            // Why not: they only stop, and stopping must never wait for a key; what goes on again
            // was approved before.
            Self::Pause { .. } | Self::Resume | Self::Cancel { .. } => false,
        }
    }

    /// The card that it is about.
    #[must_use]
    pub fn card(&self) -> Option<Digest> {
        match self {
            Self::Approve { card, .. } | Self::Reject { card, .. } => Some(*card),
            Self::Answer { .. }
            | Self::Amend { .. }
            | Self::Settle { .. }
            | Self::Pause { .. }
            | Self::Resume
            | Self::Cancel { .. } => None,
        }
    }

    /// What the machine is given for it.
    #[must_use]
    pub fn input(&self, by: Principal) -> Input {
        match self.clone() {
            Self::Approve { card, steps } => Input::Approve { card, by, steps },
            Self::Reject { card, reason } => Input::Reject { card, by, reason },
            Self::Answer { question, value } => Input::Answer {
                question,
                by,
                value,
            },
            Self::Amend { plan, goal, reason } => Input::Amend {
                by,
                amended: Amended {
                    plan: plan.map(|plan| (plan.name, plan.text)),
                    goal,
                },
                reason,
            },
            Self::Settle {
                slot,
                settled,
                output,
                reason,
            } => Input::Settle {
                slot,
                settled,
                output,
                by,
                reason,
            },
            Self::Pause { reason } => Input::Pause {
                by: by.id,
                what: "the run".to_owned(),
                reason,
            },
            Self::Resume => Input::GoOn { by },
            Self::Cancel { reason, undo } => Input::Cancel { by, reason, undo },
        }
    }
}

impl Word {
    /// A word said now, not signed. It lapses after [`WORD_LIFE`], or with what it answers.
    ///
    /// # Errors
    /// [`NoWord`] if the system has no randomness, or a number in it is not held exactly.
    pub fn new(
        (store, run, revision): (&str, &str, u32),
        saying: Saying,
        by: &str,
        (said_at, lapses_at): (i64, Option<i64>),
    ) -> Result<Self, NoWord> {
        let nonce = random_name().map_err(|error| NoWord(error.to_string()))?;
        let most = said_at.saturating_add(i64::try_from(WORD_LIFE.as_millis()).unwrap_or(i64::MAX));
        let saying = match saying {
            Saying::Answer { question, value } => Saying::Answer {
                question,
                value: normalize(value).map_err(|error| NoWord(error.to_string()))?,
            },
            Saying::Settle {
                slot,
                settled,
                output: Some(output),
                reason,
            } => Saying::Settle {
                slot,
                settled,
                output: Some(normalize(output).map_err(|error| NoWord(error.to_string()))?),
                reason,
            },
            other => other,
        };
        Ok(Self {
            schema: WORD_SCHEMA.to_owned(),
            store: store.to_owned(),
            run: run.to_owned(),
            revision,
            saying,
            by: by.to_owned(),
            nonce,
            said_at,
            expires_at: lapses_at.map_or(most, |at| at.min(most)),
            signed: None,
        })
    }

    /// Reads a word.
    ///
    /// # Errors
    /// [`NoWord`] says what does not fit.
    pub fn read(text: &str) -> Result<Self, NoWord> {
        if text.len() > WORD_BYTES_MAX {
            return Err(NoWord(format!("it is longer than {WORD_BYTES_MAX} bytes")));
        }
        let value: Value = serde_json::from_str(text).map_err(|error| NoWord(error.to_string()))?;
        let word: Self =
            serde_json::from_value(value.clone()).map_err(|error| NoWord(error.to_string()))?;
        if word.schema != WORD_SCHEMA {
            return Err(NoWord(format!("its schema is `{}`", word.schema)));
        }
        if !(1..=WORD_NONCE_CHARS_MAX).contains(&word.nonce.chars().count()) {
            return Err(NoWord("its nonce is empty or too long".to_owned()));
        }
        // Why: a field that this version drops would be neither shown nor under the signature.
        if word.value() != value {
            return Err(NoWord("it has what this version does not know".to_owned()));
        }
        Ok(word)
    }

    fn value(&self) -> Value {
        serde_json::to_value(self).unwrap_or(Value::Null)
    }

    /// The text, on one line.
    #[must_use]
    pub fn to_text(&self) -> String {
        canonical(&self.value())
    }

    /// The bytes that are signed: the canonical form of everything but the signature.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let bare = Self {
            signed: None,
            ..self.clone()
        };
        bare.to_text().into_bytes()
    }

    /// The word, signed.
    #[must_use]
    pub fn signed_with(mut self, key: &PrivateKey) -> Self {
        self.signed = Some(Signature {
            key: key.public().to_string(),
            signature: key.sign(Signed::Word, &self.bytes()),
        });
        self
    }

    /// Whether the signature on it is this key's, over these very bytes.
    #[must_use]
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        self.signed
            .as_ref()
            .is_some_and(|signed| key.verifies(Signed::Word, &self.bytes(), &signed.signature))
    }

    /// What the journal keeps of it, with the event that follows from it.
    #[must_use]
    pub fn said(&self) -> Said {
        let signed = self.signed.clone();
        let (key, signature) = signed.map(|signed| (signed.key, signed.signature)).unzip();
        Said {
            nonce: self.nonce.clone(),
            revision: self.revision,
            at: self.said_at,
            expires_at: self.expires_at,
            key,
            signature,
        }
    }

    /// The word that an event of a run followed from, as it was signed: for whoever verifies the
    /// journal. None if the event follows from no word, or from a part of one only.
    #[must_use]
    pub fn of_event(store: &str, run: &str, event: &Event) -> Option<Self> {
        let (saying, by, said) = match event.clone() {
            Event::ApprovalGiven {
                card,
                by,
                steps,
                said,
                ..
            } => (Saying::Approve { card, steps }, by, said?),
            Event::ApprovalRejected {
                card,
                by,
                reason,
                said,
            } => (Saying::Reject { card, reason }, by, said?),
            Event::QuestionAnswered {
                question,
                value,
                by,
                said,
            } => (Saying::Answer { question, value }, by, said?),
            Event::DoubtSettled {
                slot,
                settled,
                by: SettledBy::Person { id },
                reason,
                output,
                said,
            } => {
                let reason = reason.unwrap_or_default();
                let saying = Saying::Settle {
                    slot,
                    settled,
                    output,
                    reason,
                };
                (saying, id, said?)
            }
            Event::Paused {
                by, reason, said, ..
            } => (Saying::Pause { reason }, by, said?),
            Event::Resumed { by, said, .. } => (Saying::Resume, by?, said?),
            Event::CancelRequested {
                by,
                reason,
                undo,
                said,
            } => (Saying::Cancel { reason, undo }, by, said?),
            _ => return None,
        };
        let signed = said.key.zip(said.signature);
        Some(Self {
            schema: WORD_SCHEMA.to_owned(),
            store: store.to_owned(),
            run: run.to_owned(),
            revision: said.revision,
            saying,
            by,
            nonce: said.nonce,
            said_at: said.at,
            expires_at: said.expires_at,
            signed: signed.map(|(key, signature)| Signature { key, signature }),
        })
    }
}
