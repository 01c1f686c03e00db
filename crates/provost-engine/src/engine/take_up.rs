//! Taking runs up: folded once, claimed, and with what people said heard.
//!
//! Owns whether a run that somebody looked at is still the one that its journal tells. Judges
//! nothing. INVARIANT: a run is taken up as its journal stands once this process owns it.

use provost_plan::digest::Digest;
use provost_run::machine::{Input, Run, StepError};
use provost_run::state::State;
use provost_run::statement::Statement;

use provost_run::event::Event;

use super::{Engine, EngineError};
use crate::clock::now_ms;
use crate::owner::ClaimResult;
use crate::people::verify_journal::events_of;
use crate::people::{JournalError, RightsArchive, StatementEnvelope};
use crate::session::{DriveError, Session, Watcher};
use crate::store::{PostedStatement, Store};

/// A run that may be driven, as it stood when its journal was read.
#[derive(Debug)]
pub struct FoldedRun {
    run: Run,
    /// The link of its last event: who takes it up compares.
    head: Option<Digest>,
    /// The events that it was folded from, for whoever drives it; none for whoever only looks.
    events: Vec<(Event, i64)>,
}

impl FoldedRun {
    /// Its state.
    #[must_use]
    pub fn state(&self) -> &State {
        self.run.state()
    }

    /// The link of its last event.
    #[must_use]
    pub fn head(&self) -> Option<Digest> {
        self.head
    }
}

impl Engine {
    /// Takes up a run that an earlier process left: what was in flight is lost and settled by the
    /// machine's rules. Nothing begins before [`Session::drive`], which hears first what people
    /// posted meanwhile.
    ///
    /// # Errors
    /// [`EngineError::Held`] if a living process drives it.
    pub async fn take_up(
        &self,
        run: &str,
        watcher: &mut dyn Watcher,
    ) -> Result<Session, EngineError> {
        let session = self.claim(run, None).await?;
        resumed(session, watcher).await
    }

    /// [`Engine::take_up`] of a run that was looked at already, and of what a person said to it
    /// then: nothing is folded again unless the run moved since.
    ///
    /// # Errors
    /// As [`Engine::take_up`] and [`Engine::take_up_with`].
    pub async fn take_up_folded(
        &self,
        folded: FoldedRun,
        envelope: Option<&StatementEnvelope>,
        watcher: &mut dyn Watcher,
    ) -> Result<Session, EngineError> {
        let run = folded.state().head.run.clone();
        let session = self.claim(&run, Some(folded)).await?;
        match envelope {
            Some(envelope) => self.hear_first(session, envelope, watcher).await,
            None => resumed(session, watcher).await,
        }
    }

    /// Takes up the run that a statement is to, and hears it, after what was posted before; whoever
    /// only records it does not drive the session. A statement that is refused leaves the run as it
    /// was, unless the run ended by being taken up.
    ///
    /// # Errors
    /// [`EngineError::Held`] if a living process drives it, [`EngineError::Drive`] if the statement
    /// does not count.
    pub async fn take_up_with(
        &self,
        envelope: &StatementEnvelope,
        watcher: &mut dyn Watcher,
    ) -> Result<Session, EngineError> {
        let session = self.claim(&envelope.run, None).await?;
        self.hear_first(session, envelope, watcher).await
    }

    /// A claimed run, taken up with a statement heard.
    async fn hear_first(
        &self,
        mut session: Session,
        envelope: &StatementEnvelope,
        watcher: &mut dyn Watcher,
    ) -> Result<Session, EngineError> {
        let posted = self.store.untaken(&envelope.run)?;
        let mut run = session.run().clone();
        let rehearsed = self.rehearse_taken_up(&mut run, &posted, envelope);
        let rehearsed = rehearsed.and_then(|()| match envelope.statement {
            // Why asked anew: of a run that is over nobody asked before.
            Statement::Undo { .. } => self.refuse_damaged_plan(run.state()),
            _ => Ok(()),
        });
        if let Err(refused) = rehearsed {
            let ends = run.state().ending.ended.is_some() && session.state().ending.ended.is_none();
            if ends {
                session = resumed(session, watcher).await?;
                session.hear_these(&posted, watcher).await?;
            }
            session.release().await?;
            return Err(refused);
        }
        session = resumed(session, watcher).await?;
        // Why only what was there: of one that came since, this statement could be too late, and
        // nobody would drive what the other opens. Whoever drives hears it next.
        session.hear_these(&posted, watcher).await?;
        match session.hear(envelope, watcher).await {
            Ok(()) => Ok(session),
            Err(refused) => {
                session.release().await?;
                Err(refused.into())
            }
        }
    }

    /// Whether a statement would count once the run is taken up; nothing is changed.
    fn rehearse_taken_up(
        &self,
        run: &mut Run,
        posted: &[PostedStatement],
        envelope: &StatementEnvelope,
    ) -> Result<(), EngineError> {
        let now = now_ms();
        if run.state().ending.ended.is_none() {
            run.step(Input::Resume, now).map_err(DriveError::from)?;
        }
        for posted in posted {
            // Why nothing of one that does not count: it changes nothing, and is ignored.
            if let Ok(before) = StatementEnvelope::read(&posted.text)
                && let Ok(input) = self.inbox.verify(&before, run.state(), now)
            {
                let _ = run.step(input, now);
            }
        }
        self.rehearse_on(run, envelope, now)
    }

    /// Whether a statement would count now for whoever drives the run, as its journal stands;
    /// nothing is changed.
    ///
    /// # Errors
    /// [`EngineError::Drive`] says why it would not.
    pub fn rehearse(&self, envelope: &StatementEnvelope) -> Result<(), EngineError> {
        let mut run = self.fold(&envelope.run)?.run;
        self.rehearse_on(&mut run, envelope, now_ms())
    }

    fn rehearse_on(
        &self,
        run: &mut Run,
        envelope: &StatementEnvelope,
        now: i64,
    ) -> Result<(), EngineError> {
        // Why first: whoever said it and was not answered is told that it counts, also after the
        // run went on or ended by it.
        if run.state().people.nonces.contains(&envelope.nonce) {
            let nonce = envelope.nonce.clone();
            return Err(DriveError::from(StepError::Replayed { nonce }).into());
        }
        let input = self.inbox.verify(envelope, run.state(), now);
        let input = input.map_err(DriveError::from)?;
        run.step(input, now).map_err(DriveError::from)?;
        Ok(())
    }

    async fn claim(&self, run: &str, folded: Option<FoldedRun>) -> Result<Session, EngineError> {
        let driving = self.drive(run)?;
        match self.store.claim(run).await? {
            ClaimResult::Taken => {}
            ClaimResult::HeldBy { pid } => {
                return Err(EngineError::Held {
                    run: run.to_owned(),
                    pid,
                });
            }
        }
        let taken = self.folded_as_it_stands(run, folded).and_then(|folded| {
            self.refuse_damaged(folded.state())?;
            let planner = self.planner(&folded.state().route.planner)?;
            Ok((folded, planner))
        });
        let (folded, planner) = match taken {
            Ok(taken) => taken,
            Err(error) => {
                // Why ignored: the error that counts is the one above.
                let _ = self.store.release(run).await;
                return Err(error);
            }
        };
        let mut session = self.session(folded.run, planner, driving);
        session.expect_posted(folded.events);
        Ok(session)
    }

    /// The run as its journal stands now: the one that was folded before, if it did not move since.
    fn folded_as_it_stands(
        &self,
        run: &str,
        folded: Option<FoldedRun>,
    ) -> Result<FoldedRun, EngineError> {
        match folded {
            Some(folded) if folded.head == Some(self.store.run(run)?.head) => Ok(folded),
            _ => self.fold(run),
        }
    }

    /// A run that may be driven, folded once for whoever looks at it and then takes it up: its
    /// chain is checked on the way, and every event may stand where it stands.
    ///
    /// # Errors
    /// [`EngineError::Journal`] if an event cannot be read or does not follow, and
    /// [`EngineError::InvalidEvent`] if one may not stand.
    pub fn fold(&self, run: &str) -> Result<FoldedRun, EngineError> {
        let (folded, events) = self.fold_through(&self.store, run)?;
        Ok(FoldedRun { events, ..folded })
    }

    /// [`Engine::fold`] through a connection of the caller's own, so that whoever only looks keeps
    /// nobody waiting who drives; with the events, and the moments they were recorded at.
    ///
    /// # Errors
    /// As [`Engine::fold`].
    pub fn fold_through(
        &self,
        store: &Store,
        run: &str,
    ) -> Result<(FoldedRun, Vec<(Event, i64)>), EngineError> {
        let stored = store.load(run)?;
        let head = stored.last().map(|event| event.link);
        let events = events_of(&stored).map_err(|reason| EngineError::journal(run, reason))?;
        let archive = RightsArchive::of(store);
        let archive = archive.beside(self.workspace.policy().rights());
        match self.inbox.fold(&events, self.rules(), &archive) {
            Ok(run) => {
                let looked_at = FoldedRun {
                    run,
                    head,
                    events: Vec::new(),
                };
                Ok((looked_at, events))
            }
            Err(JournalError::Fold(error)) => Err(EngineError::journal(run, error)),
            Err(JournalError::InvalidEvent(found)) => Err(EngineError::InvalidEvent(found)),
        }
    }

    /// Whether a run would take this statement of a person now, whatever signature or vouching it
    /// still needs: the machine is asked, and nothing is changed.
    ///
    /// # Errors
    /// [`StepError`] says why it would not.
    pub fn would_take(
        &self,
        folded: &FoldedRun,
        by: &str,
        statement: Statement,
    ) -> Result<(), StepError> {
        let mut run = folded.run.clone();
        let input = Input::Statement {
            by: self.workspace.people().principal(by),
            statement,
            record: None,
        };
        run.step(input, now_ms()).map(|_| ())
    }
}

/// What was in flight when the process before ended is lost, and settled by the machine's rules.
async fn resumed(mut session: Session, watcher: &mut dyn Watcher) -> Result<Session, EngineError> {
    match session.give(Input::Resume, watcher).await {
        Ok(()) | Err(DriveError::Step(StepError::Over { .. })) => Ok(session),
        Err(error) => Err(error.into()),
    }
}
