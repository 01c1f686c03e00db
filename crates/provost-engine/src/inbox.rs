//! The inbox: what people say to runs, verified before the machine hears of it.
//!
//! Owns which words count: of this store and run, in time, by whom they say, signed where the
//! workspace wants that. Decides nothing about the run. INVARIANT: in a workspace that requires
//! signatures nothing a person says reaches a run but through [`Inbox::verify`].

use provost_plan::digest::Digest;
use provost_plan::policy::People;
use provost_run::machine::Input;
use provost_run::state::State;

use crate::limits::{WORD_EARLY_MAX, WORD_LIFE_MAX};

mod card_file;
mod word;

pub use card_file::{CARD_SCHEMA, CardFile, NoCard};
pub use word::{NoWord, PlanText, Saying, Signature, WORD_SCHEMA, Word};

/// What words are held to.
#[derive(Clone, Debug)]
pub struct Inbox {
    store: String,
    people: People,
    signed: bool,
}

/// A word that does not count.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum WordError {
    /// It cannot be read.
    #[error(transparent)]
    NoWord(#[from] NoWord),
    /// It is of another workspace.
    #[error("this word is for a run of another workspace")]
    OtherStore,
    /// It is for another run.
    #[error("this word is for run `{run}`")]
    OtherRun {
        /// The run it names.
        run: String,
    },
    /// It is about another revision of the plan.
    #[error("this word is about revision {said} of the plan, and what waits is of {stands}")]
    OtherRevision {
        /// The revision it names.
        said: u32,
        /// The one that stands.
        stands: u32,
    },
    /// It lapsed.
    #[error("this word of `{by}` lapsed")]
    Lapsed {
        /// Who said it.
        by: String,
    },
    /// It is from the future.
    #[error("this word of `{by}` says that it was said later than now")]
    Early {
        /// Who said it.
        by: String,
    },
    /// It lives longer than words may.
    #[error("this word of `{by}` would live longer than a word may")]
    TooLong {
        /// Who said it.
        by: String,
    },
    /// It is not signed.
    #[error("this word of `{by}` is not signed, and this workspace requires signatures")]
    Unsigned {
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
    #[error("this word is not signed with the key of `{by}`")]
    OtherKey {
        /// Who it claims to be of.
        by: String,
    },
    /// The signature is over something else.
    #[error("the signature on this word of `{by}` does not fit what it says")]
    Forged {
        /// Who it claims to be of.
        by: String,
    },
}

impl Inbox {
    /// What the words of a store are held to.
    #[must_use]
    pub fn new(store: String, people: People, signed: bool) -> Self {
        Self {
            store,
            people,
            signed,
        }
    }

    /// The name of the store that words must name.
    #[must_use]
    pub fn store(&self) -> &str {
        &self.store
    }

    /// Whether an input that no word stands behind is refused.
    #[must_use]
    pub(crate) fn refuses_bare(&self, input: &Input) -> bool {
        let of_a_person = matches!(
            input,
            Input::Approve { .. }
                | Input::Reject { .. }
                | Input::Answer { .. }
                | Input::Settle { .. }
                | Input::Amend { .. }
                | Input::Said { .. }
        );
        self.signed && of_a_person
    }

    /// What the machine is given for a word to the run in this state.
    ///
    /// # Errors
    /// [`WordError`] says why it does not count.
    pub fn verify(&self, word: &Word, state: &State, now: i64) -> Result<Input, WordError> {
        if word.store != self.store {
            return Err(WordError::OtherStore);
        }
        if word.run != state.run {
            return Err(WordError::OtherRun {
                run: word.run.clone(),
            });
        }
        in_time(word, now)?;
        self.signature(word)?;
        about(word, state)?;
        let input = word.saying.input(self.people.principal(&word.by));
        Ok(Input::Said {
            said: word.said(),
            input: Box::new(input),
        })
    }

    fn signature(&self, word: &Word) -> Result<(), WordError> {
        let by = || word.by.clone();
        let Some(signed) = &word.signed else {
            return if self.signed && word.saying.needs_signature() {
                Err(WordError::Unsigned { by: by() })
            } else {
                Ok(())
            };
        };
        // Why even where none is required: a signature that does not fit is worse than none.
        let known = self.people.key(&word.by);
        let known = known.ok_or_else(|| WordError::NoKey { by: by() })?;
        if signed.key != known {
            return Err(WordError::OtherKey { by: by() });
        }
        let key = known.parse();
        let fits = key.is_ok_and(|key| word.is_signed_by(&key));
        fits.then_some(())
            .ok_or_else(|| WordError::Forged { by: by() })
    }
}

fn in_time(word: &Word, now: i64) -> Result<(), WordError> {
    let by = || word.by.clone();
    let ms = |length: std::time::Duration| i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
    if word.expires_at <= now {
        return Err(WordError::Lapsed { by: by() });
    }
    if word.said_at > now.saturating_add(ms(WORD_EARLY_MAX)) {
        return Err(WordError::Early { by: by() });
    }
    if word.expires_at > word.said_at.saturating_add(ms(WORD_LIFE_MAX)) {
        return Err(WordError::TooLong { by: by() });
    }
    Ok(())
}

/// Whether it is about what stands: a card says itself of which revision it is.
fn about(word: &Word, state: &State) -> Result<(), WordError> {
    let of_card = |card: Digest| state.cards.get(&card).map(|known| known.card.revision);
    let stands = match &word.saying {
        // Why none for a card that is not there: the machine says what is the matter.
        Saying::Approve { card, .. } | Saying::Reject { card, .. } => of_card(*card),
        Saying::Answer { .. } | Saying::Amend { .. } | Saying::Settle { .. } => {
            Some(state.revision)
        }
        Saying::Pause { .. } | Saying::Resume | Saying::Cancel { .. } => None,
    };
    match stands {
        Some(stands) if stands != word.revision => Err(WordError::OtherRevision {
            said: word.revision,
            stands,
        }),
        _ => Ok(()),
    }
}
