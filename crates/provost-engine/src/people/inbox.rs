//! The inbox: what people say to runs, verified before the machine hears of it.
//!
//! Owns which statements count: of this store and run, in time, by whom they say, with the
//! credential that the workspace and the run require. Decides nothing about the run. INVARIANT:
//! where a credential is required nothing a person says reaches a run but through
//! [`Inbox::verify`].

use provost_plan::digest::{Digest, canonical};
use provost_plan::node::parse_yaml;
use provost_plan::policy::People;
use provost_run::machine::Input;
use provost_run::state::State;
use provost_run::statement::{Credential, Statement};
use provost_wire::Redactor;

use super::envelope::{MalformedStatement, Signature, StatementEnvelope};

use crate::keys::PublicKey;
use crate::limits::{STATEMENT_EARLY_MAX, STATEMENT_LIFE_MAX};
use crate::store::{Store, StoreError};
use crate::workspace::Workspace;

/// What a workspace requires of statements, and whose word that somebody signed in counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequiredCredential {
    /// The least that counts.
    pub least: Credential,
    /// The public keys of servers: those that vouch now, and those that did before.
    pub vouchers: Vec<PublicKey>,
}

impl From<Credential> for RequiredCredential {
    fn from(least: Credential) -> Self {
        Self {
            least,
            vouchers: Vec::new(),
        }
    }
}

/// What statements are held to.
#[derive(Clone, Debug)]
pub struct Inbox {
    pub(super) store: String,
    pub(super) people: People,
    pub(super) required: RequiredCredential,
    pub(super) solo: bool,
    /// What nobody may say, since the journal keeps it.
    secrets: Redactor,
}

/// A statement that does not count.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum StatementError {
    /// It cannot be read.
    #[error(transparent)]
    Malformed(#[from] MalformedStatement),
    /// It is of another workspace.
    #[error("this statement is for a run of another workspace")]
    OtherStore,
    /// It is for another run.
    #[error("this statement is for run `{run}`")]
    OtherRun {
        /// The run it names.
        run: String,
    },
    /// It is about another revision of the plan.
    #[error(
        "this statement is about revision {said} of the plan, but the current revision is {stands}"
    )]
    OtherRevision {
        /// The revision it names.
        said: u32,
        /// The one that stands.
        stands: u32,
    },
    /// It lapsed.
    #[error("this statement of `{by}` expired")]
    Lapsed {
        /// Who said it.
        by: String,
    },
    /// It is from the future.
    #[error("this statement of `{by}` says that it was made later than now")]
    Early {
        /// Who said it.
        by: String,
    },
    /// It lives longer than words may.
    #[error("this statement of `{by}` would live longer than a statement may")]
    TooLong {
        /// Who said it.
        by: String,
    },
    /// It is not signed.
    #[error("this statement of `{by}` is not signed, and this workspace requires signatures")]
    Unsigned {
        /// Who it claims to be of.
        by: String,
    },
    /// Nobody vouches that who makes it had signed in, and it is not signed either.
    #[error("no server vouches that `{by}` had signed in, and this workspace requires a login")]
    Unvouched {
        /// Who it claims to be of.
        by: String,
    },
    /// The word of a server does not count: the key is of no server, or it is over something else.
    #[error("the voucher on this statement of `{by}` is not one of this workspace's servers")]
    ForgedVoucher {
        /// Who it claims to be of.
        by: String,
    },
    /// Nobody knows their key.
    #[error("`{by}` has no key in policies/entities.json")]
    NoKey {
        /// Who it claims to be of.
        by: String,
    },
    /// It is signed with another key.
    #[error("this statement is not signed with the key of `{by}`")]
    OtherKey {
        /// Who it claims to be of.
        by: String,
    },
    /// It holds what the journal must not keep.
    #[error("this holds the value of a secret of the workspace, and the journal would keep it")]
    HoldsSecret,
    /// The signature is over something else.
    #[error("the signature on this statement of `{by}` does not match its content")]
    Forged {
        /// Who it claims to be of.
        by: String,
    },
}

impl StatementError {
    /// What a statement of `by` lacks that needs a credential and has none.
    pub(crate) fn lacks(required: Credential, by: &str) -> Self {
        let by = by.to_owned();
        match required {
            Credential::Login => Self::Unvouched { by },
            Credential::Nothing | Credential::Signature => Self::Unsigned { by },
        }
    }
}

impl Inbox {
    /// What the statements to runs of a store are held to.
    #[must_use]
    pub fn new(store: String, people: People, required: RequiredCredential) -> Self {
        Self {
            store,
            people,
            required,
            solo: false,
            secrets: Redactor::default(),
        }
    }

    /// What the statements to the runs of a workspace are held to, as it stands.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn of(workspace: &Workspace, store: &Store) -> Result<Self, StoreError> {
        let required = workspace.required().clone();
        let inbox = Self::new(store.name()?, workspace.people().clone(), required);
        let secrets = workspace.redactor();
        Ok(Self { secrets, ..inbox }.in_solo(workspace.is_solo()))
    }

    /// Refuses words that hold the value of a secret of the workspace: the journal keeps them.
    ///
    /// # Errors
    /// [`StatementError::HoldsSecret`], which does not show it.
    pub(crate) fn refuse_secret(&self, words: &str) -> Result<(), StatementError> {
        match self.secrets.finds_in(words) {
            true => Err(StatementError::HoldsSecret),
            false => Ok(()),
        }
    }

    /// The same of what a run begins with: its goal, and the plan that somebody hands in. A plan
    /// is looked at as it is written and as it is read, so that an escape hides nothing.
    ///
    /// # Errors
    /// [`StatementError::HoldsSecret`], which does not show it.
    pub(crate) fn refuse_secret_in(
        &self,
        goal: &str,
        plan: Option<&str>,
    ) -> Result<(), StatementError> {
        // Why first: reading a plan is dear, and most workspaces have no secret.
        if self.secrets.is_empty() {
            return Ok(());
        }
        self.refuse_secret(goal)?;
        let Some(plan) = plan else {
            return Ok(());
        };
        self.refuse_secret(plan)?;
        match parse_yaml(plan) {
            Ok(read) => self.refuse_secret(&canonical(&read.to_value())),
            // Why not here: a text that cannot be read is refused by the check.
            Err(_) => Ok(()),
        }
    }

    /// The same for a workspace in which one person may be everybody.
    #[must_use]
    pub fn in_solo(self, solo: bool) -> Self {
        Self { solo, ..self }
    }

    /// The name of the store that statements must name.
    #[must_use]
    pub fn store(&self) -> &str {
        &self.store
    }

    /// What a statement to a run needs to count: as the workspace has it now or the run had it when
    /// it began, whichever is more.
    #[must_use]
    pub fn required(&self, statement: &Statement, state: &State) -> Credential {
        if statement.needs_credential() {
            self.required_by(state)
        } else {
            Credential::Nothing
        }
    }

    /// Whether somebody could show what this statement requires: where signatures are required,
    /// who has no key cannot.
    ///
    /// # Errors
    /// [`StatementError::NoKey`].
    pub fn may_show(
        &self,
        by: &str,
        statement: &Statement,
        state: &State,
    ) -> Result<(), StatementError> {
        let is_signed = self.required(statement, state) == Credential::Signature;
        match is_signed && self.people.key(by).is_none() {
            true => Err(StatementError::NoKey { by: by.to_owned() }),
            false => Ok(()),
        }
    }

    /// What the workspace requires now, or the run when it began, whichever is more.
    pub(super) fn required_by(&self, state: &State) -> Credential {
        self.required.least.max(state.head.required)
    }

    /// What the machine is given for a statement to the run in this state.
    ///
    /// # Errors
    /// [`StatementError`] says why it does not count.
    pub fn verify(
        &self,
        envelope: &StatementEnvelope,
        state: &State,
        now: i64,
    ) -> Result<Input, StatementError> {
        if envelope.store != self.store {
            return Err(StatementError::OtherStore);
        }
        if envelope.run != state.head.run {
            return Err(StatementError::OtherRun {
                run: envelope.run.clone(),
            });
        }
        self.refuse_secret(&envelope.to_text())?;
        in_time(envelope, now)?;
        let required = self.required(&envelope.statement, state);
        self.verify_credential(envelope, required)?;
        about(envelope, state)?;
        Ok(Input::Statement {
            by: self.people.principal(&envelope.by),
            statement: envelope.statement.clone(),
            record: Some(envelope.record()),
        })
    }

    /// Whether a statement that arrives has the credential that is `required`: by the keys of now.
    ///
    /// # Errors
    /// [`StatementError`] says what it lacks, or what does not fit.
    pub fn verify_credential(
        &self,
        envelope: &StatementEnvelope,
        required: Credential,
    ) -> Result<(), StatementError> {
        let keys = self.people.key(&envelope.by);
        self.hold(envelope, required, keys.into_iter())
    }

    /// Whether a statement has the credential that is `required`: a signature by one of `keys`, its
    /// speaker's, or where a login is enough the voucher of a server. The only judge of that, for
    /// what arrives and for what a journal has.
    ///
    /// # Errors
    /// [`StatementError`] says what it lacks, or what does not fit.
    pub(super) fn hold<'k>(
        &self,
        envelope: &StatementEnvelope,
        required: Credential,
        keys: impl Iterator<Item = &'k str>,
    ) -> Result<(), StatementError> {
        if let Some(signed) = &envelope.signed {
            // Why even where none is required: a signature that does not fit is worse than none.
            return self.verify_signed_with(envelope, signed, keys);
        }
        match required {
            Credential::Nothing => Ok(()),
            Credential::Login => self.verify_voucher(envelope),
            Credential::Signature => Err(StatementError::lacks(required, &envelope.by)),
        }
    }

    /// Whether a server of this workspace vouches for the statement and the login it came by.
    fn verify_voucher(&self, envelope: &StatementEnvelope) -> Result<(), StatementError> {
        let Some(word) = &envelope.vouched else {
            return Err(StatementError::lacks(Credential::Login, &envelope.by));
        };
        let named = word.key.parse::<PublicKey>().ok();
        let known = named.filter(|key| self.required.vouchers.contains(key));
        match known {
            Some(key) if envelope.is_vouched_by(&key) => Ok(()),
            _ => Err(StatementError::ForgedVoucher {
                by: envelope.by.clone(),
            }),
        }
    }

    /// Whether a signature is one of these keys', over the very bytes of the envelope.
    fn verify_signed_with<'k>(
        &self,
        envelope: &StatementEnvelope,
        signed: &Signature,
        keys: impl Iterator<Item = &'k str>,
    ) -> Result<(), StatementError> {
        let by = || envelope.by.clone();
        let mut keys = keys.peekable();
        if keys.peek().is_none() {
            return Err(StatementError::NoKey { by: by() });
        }
        let Some(known) = keys.find(|known| *known == signed.key) else {
            return Err(StatementError::OtherKey { by: by() });
        };
        let key = known.parse();
        let fits = key.is_ok_and(|key| envelope.is_signed_by(&key));
        fits.then_some(())
            .ok_or_else(|| StatementError::Forged { by: by() })
    }
}

pub(super) fn in_time(envelope: &StatementEnvelope, now: i64) -> Result<(), StatementError> {
    let by = || envelope.by.clone();
    let ms = |length: std::time::Duration| i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
    if envelope.expires_at <= now {
        return Err(StatementError::Lapsed { by: by() });
    }
    if envelope.said_at > now.saturating_add(ms(STATEMENT_EARLY_MAX)) {
        return Err(StatementError::Early { by: by() });
    }
    if envelope.expires_at > envelope.said_at.saturating_add(ms(STATEMENT_LIFE_MAX)) {
        return Err(StatementError::TooLong { by: by() });
    }
    Ok(())
}

/// Whether it is about what stands: a card says itself of which revision it is.
pub(super) fn about(envelope: &StatementEnvelope, state: &State) -> Result<(), StatementError> {
    let of_card = |card: Digest| state.card(&card).map(|known| known.card.revision);
    let stands = match &envelope.statement {
        // Why none for a card that is not there: the machine says what is the matter.
        Statement::Approve { card, .. } | Statement::Reject { card, .. } => of_card(*card),
        Statement::Answer { .. }
        | Statement::Amend { .. }
        | Statement::Settle { .. }
        | Statement::Undo { .. } => Some(state.in_force.revision),
        Statement::Pause { .. } | Statement::Resume | Statement::Cancel { .. } => None,
    };
    match stands {
        Some(stands) if stands != envelope.revision => Err(StatementError::OtherRevision {
            said: envelope.revision,
            stands,
        }),
        _ => Ok(()),
    }
}
