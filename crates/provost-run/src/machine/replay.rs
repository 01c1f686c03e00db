//! A run that goes on from a copy of itself: by the events that were kept since.
//!
//! Owns nothing else. INVARIANT: a copy with the events that follow it is what a fold of all of
//! them gives.

use super::Run;
use crate::event::Event;
use crate::state::FoldError;

impl Run {
    /// Takes in events that follow its last one and were kept: nothing is judged or evaluated.
    ///
    /// # Errors
    /// [`FoldError`] if they do not follow.
    pub fn replay<'e>(
        &mut self,
        events: impl IntoIterator<Item = (&'e Event, i64)>,
    ) -> Result<(), FoldError> {
        for (event, at) in events {
            self.state.apply(event, at)?;
            self.seq += 1;
        }
        Ok(())
    }

    /// The run as a fold of its journal gives it, whatever this process did with it.
    #[must_use]
    pub fn as_folded(&self) -> Self {
        Self {
            held: false,
            hears: true,
            ..self.clone()
        }
    }
}
