//! Recorded statements: whether a journal may be believed.
//!
//! Owns the one judgment of an event that a person's statement led to: its credential, its number
//! and the rights of who made it, at that event. Reads and never changes. INVARIANT: take-up,
//! signing and audit judge by [`Inbox::verify_event`] and by nothing else.

use provost_run::event::Event;
use provost_run::machine::{Rules, Run};
use provost_run::state::{FoldError, Objection, Signatory, State};
use provost_run::statement::Credential;

use super::inbox::{about, in_time};
use super::rights::RightsArchive;
use super::{Inbox, StatementEnvelope, StatementError};
use crate::limits::STATEMENT_EARLY_MAX;

/// An event that may not stand where it stands.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("event {seq} of run {run} ({kind}) is not valid: {reason}")]
pub struct InvalidEvent {
    /// The run.
    pub run: String,
    /// The event.
    pub seq: u64,
    /// Its kind.
    pub kind: &'static str,
    /// Why.
    pub reason: EventRejection,
}

impl InvalidEvent {
    /// What to do about it.
    pub const HINT: &'static str = "the journal was changed from outside, or its basis (people, \
        their keys, `require`) was: the run does not \
        continue; restore what was changed, or compare the journal with a backup";

    /// The credential that a statement lacks, where that is all that is wrong.
    #[must_use]
    pub fn lacks(&self) -> Option<Credential> {
        match self.reason {
            EventRejection::Statement(StatementError::Unsigned { .. }) => {
                Some(Credential::Signature)
            }
            EventRejection::Statement(StatementError::Unvouched { .. }) => Some(Credential::Login),
            _ => None,
        }
    }
}

/// Why an event may not stand.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum EventRejection {
    /// Its statement does not count.
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// Who made the statement may not have made it there.
    #[error(transparent)]
    Objection(#[from] Objection),
    /// The rights that it names cannot be had.
    #[error("the rights that it was judged by cannot be read: {reason}")]
    NoRights {
        /// Why.
        reason: String,
    },
}

/// A journal that does not fold, or that is not believed.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It does not fold.
    #[error(transparent)]
    Fold(#[from] FoldError),
    /// An event may not stand.
    #[error(transparent)]
    InvalidEvent(#[from] Box<InvalidEvent>),
}

impl Inbox {
    /// Whether an event may follow on this state at `at`; `before` is the event before it, and
    /// `archive` has the rights that the journal was judged by. Where neither the run nor the
    /// workspace requires a credential, a name in the journal proves nothing, and nothing is held
    /// against it.
    ///
    /// # Errors
    /// [`EventRejection`] says why it may not.
    pub fn verify_event(
        &self,
        state: &State,
        before: Option<&Event>,
        event: &Event,
        at: i64,
        archive: &RightsArchive<'_>,
    ) -> Result<(), EventRejection> {
        let Some(recorded) = event.statement() else {
            return Ok(());
        };
        let least = self.required_by(state);
        if least == Credential::Nothing {
            return Ok(());
        }
        let by = recorded.by.clone();
        let named = event.record().and_then(|record| record.rights);
        let rights = match named.or(state.people.rights) {
            None => None,
            Some(digest) => Some(archive.rights(&digest)?),
        };
        if !recorded.statement.needs_credential() {
            if let Some(rights) = rights {
                state.object_by_rights(event, &by, &rights)?;
            }
            return Ok(());
        }
        let signatory = Signatory {
            by: self.people.principal(&by),
            listed: self.people.is_listed(&by),
            solo: self.solo && state.head.solo,
            rights,
        };
        let envelope = StatementEnvelope::of_recorded(&self.store, &state.head.run, recorded);
        // Why the own level first: what a run lacks of that was taken out, whatever stands now.
        let levels = [state.head.required, least];
        let levels = levels.into_iter().filter(|one| *one != Credential::Nothing);
        let Some(envelope) = envelope else {
            let lacked = levels.min().unwrap_or(least);
            return Err(StatementError::lacks(lacked, &by).into());
        };
        for level in levels {
            // Why former ones too: who has another key now did not take back what they said.
            self.hold(&envelope, level, self.people.keys_ever(&by))?;
        }
        about(&envelope, state)?;
        was_in_time(&envelope, at)?;
        Ok(state.object(before, event, at, &signatory)?)
    }

    /// Folds the journal of a run, and judges every event of it.
    ///
    /// # Errors
    /// [`JournalError`] names the first event that does not follow or may not stand.
    pub fn fold(
        &self,
        events: &[(Event, i64)],
        rules: Rules,
        archive: &RightsArchive<'_>,
    ) -> Result<Run, JournalError> {
        let pairs = events.iter().map(|(event, at)| (event, *at));
        Run::from_journal_judged(pairs, rules, self.judge(archive))
    }

    /// Judges a run as a fold goes through it.
    pub(crate) fn judge<'e>(
        &'e self,
        archive: &'e RightsArchive<'_>,
    ) -> impl FnMut(&State, &'e Event, i64) -> Result<(), JournalError> + 'e {
        let (mut seq, mut before) = (1, None);
        move |state, event, at| {
            seq += 1;
            let judged = self.verify_event(state, before, event, at, archive);
            before = Some(event);
            judged.map_err(|reason| {
                JournalError::from(Box::new(InvalidEvent {
                    run: state.head.run.clone(),
                    seq,
                    kind: event.kind(),
                    reason,
                }))
            })
        }
    }
}

/// Whether a statement was in time when it was recorded, as far as the clock of the run tells it.
fn was_in_time(envelope: &StatementEnvelope, at: i64) -> Result<(), StatementError> {
    // Why: the moment of the event is a little later than the one at which it was judged, and by
    // the clock of the run, which may be ahead.
    let early = i64::try_from(STATEMENT_EARLY_MAX.as_millis()).unwrap_or(i64::MAX);
    match in_time(envelope, at) {
        Err(StatementError::Lapsed { .. }) if envelope.expires_at > at.saturating_sub(early) => {
            Ok(())
        }
        judged => judged,
    }
}
