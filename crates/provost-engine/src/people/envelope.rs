//! An envelope: a statement to one run, as JSON that can be signed, posted and carried.
//!
//! Owns its form and the bytes that are signed. Never judges it. INVARIANT: everything that its
//! author says is under the signature, and a field that is not known is refused, not dropped.

use provost_plan::digest::{canonical, normalize};
use provost_run::state::State;
use provost_run::statement::{
    RecordedStatement, Statement, StatementRecord, StatementVia, Voucher,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::keys::{PrivateKey, PublicKey, Signed};
use crate::limits::{STATEMENT_BYTES_MAX, STATEMENT_LIFE, STATEMENT_NONCE_CHARS_MAX};
use crate::owner::random_name;

/// The schema of an envelope.
pub const STATEMENT_SCHEMA: &str = "provost/statement/v1";

/// A statement of a person to one run, with its number, its life and its signature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatementEnvelope {
    schema: String,
    /// The name of the store that the run is in.
    pub store: String,
    /// The run.
    pub run: String,
    /// The revision of the plan that it is about.
    pub revision: u32,
    /// The statement.
    #[serde(flatten)]
    pub statement: Statement,
    /// Who makes it.
    pub by: String,
    /// Drawn anew for every one.
    pub nonce: String,
    /// When it was made, in milliseconds since the epoch.
    pub said_at: i64,
    /// When it lapses.
    pub expires_at: i64,
    /// The signature over all the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<Signature>,
    /// How it came, as the server says that took it: not a part of what is signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Box<StatementVia>>,
    /// That this server vouches for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vouched: Option<Box<Voucher>>,
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

/// A text that is no envelope.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("this is no statement of a person: {0}")]
pub struct MalformedStatement(pub String);

/// What a statement is about: one revision of the plan of one run of one store.
#[derive(Clone, Copy, Debug)]
pub struct StatementSubject<'a> {
    /// The name of the store.
    pub store: &'a str,
    /// The run.
    pub run: &'a str,
    /// The revision of its plan.
    pub revision: u32,
}

impl<'a> StatementSubject<'a> {
    /// What a statement to a run that stands so is about, and when what it answers lapses: a card
    /// names its revision, and a card or a question its time.
    #[must_use]
    pub fn of(store: &'a str, state: &'a State, statement: &Statement) -> (Self, Option<i64>) {
        let card = statement.card().and_then(|digest| state.card(&digest));
        let lapses_at = match statement {
            Statement::Answer { question, .. } => {
                let asked = state.question(question);
                asked.and_then(|asked| Some(asked.question.expires.as_ref()?.at))
            }
            _ => card.and_then(|known| known.card.expires_at),
        };
        let about = Self {
            store,
            run: &state.head.run,
            revision: card.map_or(state.in_force.revision, |known| known.card.revision),
        };
        (about, lapses_at)
    }
}

impl StatementEnvelope {
    /// A statement made at `said_at`, not signed. It expires after [`STATEMENT_LIFE`], or
    /// at `expires_at` if that is earlier.
    ///
    /// # Errors
    /// [`MalformedStatement`] if the system has no randomness, or a number in it is not held
    /// exactly.
    pub fn new(
        about: StatementSubject<'_>,
        statement: Statement,
        by: &str,
        said_at: i64,
        expires_at: Option<i64>,
    ) -> Result<Self, MalformedStatement> {
        let nonce = random_name().map_err(|error| MalformedStatement(error.to_string()))?;
        let most =
            said_at.saturating_add(i64::try_from(STATEMENT_LIFE.as_millis()).unwrap_or(i64::MAX));
        let statement = match statement {
            Statement::Answer { question, value } => Statement::Answer {
                question,
                value: normalize(value).map_err(|error| MalformedStatement(error.to_string()))?,
            },
            Statement::Settle {
                slot,
                attempt,
                settled,
                output: Some(output),
                reason,
            } => Statement::Settle {
                slot,
                attempt,
                settled,
                output: Some(
                    normalize(output).map_err(|error| MalformedStatement(error.to_string()))?,
                ),
                reason,
            },
            other => other,
        };
        Ok(Self {
            schema: STATEMENT_SCHEMA.to_owned(),
            store: about.store.to_owned(),
            run: about.run.to_owned(),
            revision: about.revision,
            statement,
            by: by.to_owned(),
            nonce,
            said_at,
            expires_at: expires_at.map_or(most, |at| at.min(most)),
            signed: None,
            via: None,
            vouched: None,
        })
    }

    /// Reads an envelope.
    ///
    /// # Errors
    /// [`MalformedStatement`] says what does not fit.
    pub fn read(text: &str) -> Result<Self, MalformedStatement> {
        if text.len() > STATEMENT_BYTES_MAX {
            return Err(MalformedStatement(format!(
                "it is longer than {STATEMENT_BYTES_MAX} bytes"
            )));
        }
        let value: Value =
            serde_json::from_str(text).map_err(|error| MalformedStatement(error.to_string()))?;
        let envelope: Self = serde_json::from_value(value.clone())
            .map_err(|error| MalformedStatement(error.to_string()))?;
        if envelope.schema != STATEMENT_SCHEMA {
            return Err(MalformedStatement(format!(
                "its schema is `{}`",
                envelope.schema
            )));
        }
        if !(1..=STATEMENT_NONCE_CHARS_MAX).contains(&envelope.nonce.chars().count()) {
            return Err(MalformedStatement(
                "its nonce is empty or too long".to_owned(),
            ));
        }
        // Why: a field that this version drops would be neither shown nor under the signature.
        if envelope.value() != value {
            return Err(MalformedStatement(
                "it has what this version does not know".to_owned(),
            ));
        }
        Ok(envelope)
    }

    /// Reads an envelope as its author gives it: how it came is not theirs to say.
    ///
    /// # Errors
    /// [`MalformedStatement`] says what does not fit.
    pub fn read_given(text: &str) -> Result<Self, MalformedStatement> {
        let envelope = Self::read(text)?;
        if envelope.via.is_some() || envelope.vouched.is_some() {
            let reason = "`via` and `vouched` are the word of the server that takes it";
            return Err(MalformedStatement(reason.to_owned()));
        }
        Ok(envelope)
    }

    fn value(&self) -> Value {
        serde_json::to_value(self).unwrap_or(Value::Null)
    }

    /// The text, on one line.
    #[must_use]
    pub fn to_text(&self) -> String {
        canonical(&self.value())
    }

    /// The bytes that are signed: the canonical form of everything that its author says.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let bare = Self {
            signed: None,
            via: None,
            vouched: None,
            ..self.clone()
        };
        bare.to_text().into_bytes()
    }

    /// The bytes that a server vouches for: what is said, and how its speaker had signed in.
    fn vouched_bytes(&self) -> Vec<u8> {
        let bare = Self {
            signed: None,
            vouched: None,
            ..self.clone()
        };
        bare.to_text().into_bytes()
    }

    /// The envelope with the word of the server that who makes it had signed in as `via` says.
    #[must_use]
    pub fn vouched_with(mut self, via: StatementVia, key: &PrivateKey) -> Self {
        self.via = Some(Box::new(via));
        self.vouched = Some(Box::new(Voucher {
            key: key.public().to_string(),
            signature: key.sign(Signed::Voucher, &self.vouched_bytes()),
        }));
        self
    }

    /// Whether the server of this key vouches for these very bytes, and for a login.
    #[must_use]
    pub fn is_vouched_by(&self, key: &PublicKey) -> bool {
        let word = self.vouched.as_ref().filter(|_| self.via.is_some());
        word.is_some_and(|word| {
            key.verifies(Signed::Voucher, &self.vouched_bytes(), &word.signature)
        })
    }

    /// The envelope, signed.
    #[must_use]
    pub fn signed_with(mut self, key: &PrivateKey) -> Self {
        self.signed = Some(Signature {
            key: key.public().to_string(),
            signature: key.sign(Signed::Statement, &self.bytes()),
        });
        self
    }

    /// Whether the signature on it is this key's, over these very bytes.
    #[must_use]
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        self.signed
            .as_ref()
            .is_some_and(|signed| key.verifies(Signed::Statement, &self.bytes(), &signed.signature))
    }

    /// What the journal keeps of it, with the event that follows from it.
    #[must_use]
    pub fn record(&self) -> StatementRecord {
        let signed = self.signed.clone();
        let (key, signature) = signed.map(|signed| (signed.key, signed.signature)).unzip();
        StatementRecord {
            nonce: self.nonce.clone(),
            revision: self.revision,
            at: self.said_at,
            expires_at: self.expires_at,
            key,
            signature,
            rights: None,
            operation: None,
            via: self.via.clone(),
            vouched: self.vouched.clone(),
        }
    }

    /// The envelope of a statement that a run of a store recorded, as it was signed. None if it
    /// came without one.
    #[must_use]
    pub fn of_recorded(store: &str, run: &str, recorded: RecordedStatement) -> Option<Self> {
        let RecordedStatement {
            by,
            statement,
            record,
        } = recorded;
        let record = record?;
        let signed = record.key.zip(record.signature);
        Some(Self {
            schema: STATEMENT_SCHEMA.to_owned(),
            store: store.to_owned(),
            run: run.to_owned(),
            revision: record.revision,
            statement,
            by,
            nonce: record.nonce,
            said_at: record.at,
            expires_at: record.expires_at,
            signed: signed.map(|(key, signature)| Signature { key, signature }),
            via: record.via,
            vouched: record.vouched,
        })
    }
}
