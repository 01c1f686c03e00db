//! Where a turn of the machine is made: on the thread that drives the runs, or on one beside it.
//!
//! Owns how long a turn may take. Judges nothing. INVARIANT: no plan and no value keeps the other
//! runs of a process waiting: what the machine calls laborious is made on a thread of its own, from
//! the journal; one that is not back in time is made once more, and whatever takes long in it has
//! failed.

use std::sync::Arc;

use provost_run::admission::Admission;
use provost_run::event::Event;
use provost_run::machine::{Effort, Input, Output, Rules, Run, StepError};
use tokio::sync::{Semaphore, oneshot};

use super::{DriveError, Session};
use crate::inbox::{Archive, BeliefError, Inbox};
use crate::limits::{LABORIOUS_TURNS_MAX, TURN_STACK_BYTES};
use crate::store::Store;

/// How many laborious turns are made at once.
static PLACES: Semaphore = Semaphore::const_new(LABORIOUS_TURNS_MAX);

impl Session {
    /// What the machine makes of an input.
    pub(super) async fn turn(
        &mut self,
        input: &Input,
        said: &Admission,
    ) -> Result<Output, DriveError> {
        let now = self.now();
        let little = self.run.step_with(Effort::Little, input.clone(), now, said);
        if !matches!(little, Err(StepError::Laborious)) {
            return Ok(little?);
        }
        if let Some(made) = self.turn_beside(input, said).await {
            let (run, output) = made?;
            *self.run = run;
            return Ok(output?);
        }
        *self.run = self.reread(self.run.is_hearing())?;
        let now = self.now();
        Ok(self
            .run
            .step_with(Effort::Refusing, input.clone(), now, said)?)
    }

    /// The run after an input, made on a thread beside; none if that takes too long.
    async fn turn_beside(
        &self,
        input: &Input,
        said: &Admission,
    ) -> Option<Result<Made, DriveError>> {
        // Why none: a place is never closed.
        let place = PLACES.acquire().await.ok()?;
        let (back, made) = oneshot::channel();
        let (journal, now) = (self.journal(), self.now());
        let (input, said) = (input.clone(), said.clone());
        let thread = std::thread::Builder::new()
            .name("turn".to_owned())
            .stack_size(TURN_STACK_BYTES)
            .spawn(move || {
                let _place = place;
                // Why ignored: who waited may have gone on without it.
                let _ = back.send(journal.turn(input, now, &said));
            });
        // Why a thread and no task: a runtime that ends waits for its tasks.
        thread.ok()?;
        tokio::time::timeout(self.turn_time, made).await.ok()?.ok()
    }

    /// The run as its journal has it; `hears` is whether people were still to be heard by then.
    pub(super) fn reread(&self, hears: bool) -> Result<Run, DriveError> {
        let journal = self.journal();
        Journal { hears, ..journal }.fold()
    }

    fn journal(&self) -> Journal {
        Journal {
            store: Arc::clone(&self.store),
            inbox: Arc::clone(&self.inbox),
            id: self.state().run.clone(),
            rules: self.run.rules().clone(),
            held: self.run.is_held(),
            hears: self.run.is_hearing(),
        }
    }
}

/// A run after an input, with what is to be kept of it.
type Made = (Run, Result<Output, StepError>);

/// What a run is folded from.
struct Journal {
    store: Arc<Store>,
    inbox: Arc<Inbox>,
    id: String,
    rules: Rules,
    held: bool,
    hears: bool,
}

impl Journal {
    fn fold(self) -> Result<Run, DriveError> {
        let stored = self.store.load(&self.id)?;
        let mut events = Vec::with_capacity(stored.len());
        for row in stored {
            let event = Event::from_stored(&row.kind, row.version, &row.payload)?;
            events.push((event, row.at_ms));
        }
        let pairs = events.iter().map(|(event, at)| (event, *at));
        let archive = Archive::of(&self.store);
        let run = Run::from_journal_judged(pairs, self.rules, self.inbox.judge(&archive));
        let mut run = run.map_err(|error| match error {
            BeliefError::Fold(error) => DriveError::from(error),
            BeliefError::Contradiction(found) => DriveError::Contradiction(found),
        })?;
        if self.held {
            run.hold();
        }
        if !self.hears {
            run.go_on();
        }
        Ok(run)
    }

    /// The run after an input.
    fn turn(self, input: Input, now: i64, said: &Admission) -> Result<Made, DriveError> {
        let mut run = self.fold()?;
        let output = run.step_with(Effort::All, input, now, said);
        Ok((run, output))
    }
}
