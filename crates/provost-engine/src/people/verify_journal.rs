//! The statements that the runs of a whole journal record, judged one by one.
//!
//! Owns what an audit, and whoever signs a head, finds out of them. Judges by
//! [`Inbox::verify_event`]. INVARIANT: a run that its workspace would not take up is named.

use provost_run::event::Event;
use provost_run::state::State;
use provost_run::statement::Credential;

use super::verify_event::JournalError;
use super::{Inbox, InvalidEvent, RightsArchive};
use crate::store::{Store, StoreError, StoredEvent};

/// What the statements of a journal come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalStatements {
    /// Runs of which every statement may stand.
    pub runs: usize,
    /// Runs that ended before statements needed a credential, and whose statements lack it.
    pub unsigned: usize,
    /// Runs whose texts were pruned: nothing is known of them any more.
    pub pruned: usize,
    /// The first event of each run that may not stand.
    pub contradictions: Vec<InvalidEvent>,
}

/// Statements could not be judged, or one may not stand.
#[derive(Debug, thiserror::Error)]
pub enum JournalStatementsError {
    /// The journal cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A run does not fold.
    #[error("run {run} cannot be read: {reason}")]
    Unreadable {
        /// The run.
        run: String,
        /// Why.
        reason: String,
    },
    /// An event may not stand.
    #[error(transparent)]
    InvalidEvent(#[from] Box<InvalidEvent>),
}

impl JournalStatementsError {
    /// What to do about it, where there is something.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Unreadable { .. } => None,
            Self::InvalidEvent(_) => Some(InvalidEvent::HINT),
        }
    }
}

impl JournalStatements {
    /// The first contradiction as an error.
    ///
    /// # Errors
    /// [`JournalStatementsError::InvalidEvent`] if there is one.
    pub fn refuse(self) -> Result<Self, JournalStatementsError> {
        match self.contradictions.into_iter().next() {
            Some(first) => Err(JournalStatementsError::InvalidEvent(Box::new(first))),
            None => Ok(Self {
                contradictions: Vec::new(),
                ..self
            }),
        }
    }
}

impl Inbox {
    /// Judges the runs of a store to which people said something after the commit `after`.
    ///
    /// # Errors
    /// [`JournalStatementsError`] if the journal cannot be read.
    pub fn verify_journal(
        &self,
        store: &Store,
        after: u64,
    ) -> Result<JournalStatements, JournalStatementsError> {
        let mut found = JournalStatements::default();
        let signed_since = store.required_since(Credential::Signature)?;
        let vouched_since = store.required_since(Credential::Login)?;
        let archive = RightsArchive::of(store);
        for stated in store.stated_runs(after)? {
            let run = stated.run;
            let unreadable = |reason: String| JournalStatementsError::Unreadable {
                run: run.clone(),
                reason,
            };
            let stored = match store.load(&run) {
                Ok(stored) => stored,
                // Why neither valid nor not: what it says is gone, and nobody can judge it.
                Err(StoreError::PayloadsPruned { .. }) => {
                    found.pruned += 1;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let events = events_of(&stored).map_err(unreadable)?;
            let pairs = events.iter().map(|(event, at)| (event, *at));
            match State::fold(pairs, self.judge(&archive)) {
                Ok(_) => found.runs += 1,
                Err(JournalError::Fold(error)) => return Err(unreadable(error.to_string())),
                Err(JournalError::InvalidEvent(contradiction)) => {
                    // Why only then: nobody takes it up again, and when it began nothing of the
                    // kind was required, as far as the order of the commits tells.
                    let is_before = contradiction.lacks().is_some_and(|credential| {
                        let since = match credential {
                            Credential::Signature => signed_since,
                            Credential::Nothing | Credential::Login => vouched_since,
                        };
                        since.is_none_or(|since| stated.began < since)
                    });
                    if is_before && ended(&events) {
                        found.unsigned += 1;
                    } else {
                        found.contradictions.push(*contradiction);
                    }
                }
            }
        }
        Ok(found)
    }
}

fn ended(events: &[(Event, i64)]) -> bool {
    matches!(events.last(), Some((Event::RunEnded(_), _)))
}

/// The events of a run, with the moments they were recorded at.
pub(crate) fn events_of(stored: &[StoredEvent]) -> Result<Vec<(Event, i64)>, String> {
    let read = |row: &StoredEvent| {
        Event::from_stored(&row.kind, row.version, &row.payload)
            .map(|event| (event, row.at_ms))
            .map_err(|error| error.to_string())
    };
    stored.iter().map(read).collect()
}
