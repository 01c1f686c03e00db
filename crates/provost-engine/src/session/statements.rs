//! What people say to a run while this process drives it.
//!
//! Owns looking for posted statements, giving them to the machine, and noting what became of each.
//! INVARIANT: a statement is noted as taken only after the event that follows from it is stored,
//! and the machine knows a statement that it took before: none counts twice, and none is lost.

use std::time::{Duration, Instant};

use provost_run::machine::StepError;

use super::{DriveError, Session, Watcher};
use crate::clock::now_ms;
use crate::limits::LOOK_MIN_EVERY;
use crate::people::StatementEnvelope;
use crate::store::{Change, PostedStatement, StoreError};

/// What stands beside a statement that counts.
pub const TAKEN: &str = "taken";
/// What stands before the reason why a word did not count.
pub const IGNORED: &str = "ignored: ";
/// How often somebody who waits for words looks for them.
const LOOK: Duration = Duration::from_millis(100);

impl Session {
    /// Hears a statement of a person, and keeps what follows from it.
    ///
    /// # Errors
    /// [`DriveError::Statement`] if it does not count, [`DriveError::Step`] if the run does not
    /// take it, [`DriveError::Store`] if it is not kept.
    pub async fn hear(
        &mut self,
        envelope: &StatementEnvelope,
        watcher: &mut dyn Watcher,
    ) -> Result<(), DriveError> {
        let input = self.inbox.verify(envelope, self.state(), now_ms())?;
        self.take_in(input, watcher).await
    }

    /// Hears every word that was posted for the run and that nobody took.
    ///
    /// # Errors
    /// [`DriveError`] if the journal fails; a statement that does not count is no error.
    pub async fn hear_posted(&mut self, watcher: &mut dyn Watcher) -> Result<(), DriveError> {
        (self.posted_due, self.posted_looked) = (false, Instant::now());
        let posted = self.store.untaken(&self.state().head.run).await?;
        self.hear_these(&posted, watcher).await
    }

    /// Hears these posted statements, in this order, and none that came since.
    pub(crate) async fn hear_these(
        &mut self,
        posted: &[PostedStatement],
        watcher: &mut dyn Watcher,
    ) -> Result<(), DriveError> {
        for one in posted {
            let became = self.hear_one(one, watcher).await?;
            let n = one.n;
            self.store.change(Change::Take { n, became }).await?;
        }
        Ok(())
    }

    async fn hear_one(
        &mut self,
        posted: &PostedStatement,
        watcher: &mut dyn Watcher,
    ) -> Result<String, DriveError> {
        let heard = match StatementEnvelope::read(&posted.text) {
            Ok(envelope) => self.hear(&envelope, watcher).await,
            Err(none) => Err(DriveError::Statement(none.into())),
        };
        let why = match heard {
            Ok(()) => return Ok(TAKEN.to_owned()),
            Err(DriveError::Statement(why)) => why.to_string(),
            Err(DriveError::Step(why)) if !matches!(why, StepError::Fold(_)) => why.to_string(),
            Err(error) => return Err(error),
        };
        watcher.ignored(&why);
        Ok(format!("{IGNORED}{why}"))
    }

    /// Notes whether somebody wrote since the last look, or it is long ago: then words may have
    /// come.
    pub(super) async fn look_for_words(&mut self) -> Result<(), StoreError> {
        if std::mem::take(&mut self.is_new) {
            // Why not at once: nobody can speak to a run before it is there.
            return Ok(());
        }
        let woken = Some(self.store.woken().await?);
        self.posted_due |= woken != std::mem::replace(&mut self.posted_seen, woken)
            || self.posted_looked.elapsed() >= LOOK_MIN_EVERY;
        Ok(())
    }

    /// Waits until somebody posted a statement for the run.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub async fn words_come(&self) -> Result<(), StoreError> {
        let mut seen = None;
        loop {
            let now = (self.store.woken().await?, Instant::now());
            let due = seen.is_none_or(|(woken, looked): (u64, Instant)| {
                woken != now.0 || looked.elapsed() >= LOOK_MIN_EVERY
            });
            if due {
                if !self.store.untaken(&self.state().head.run).await?.is_empty() {
                    return Ok(());
                }
                seen = Some(now);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until the time is over of a card or a question that is open; for ever if none has one.
    pub async fn deadline_passes(&self) {
        let cards = self
            .state()
            .open_cards()
            .filter_map(|(_, card)| card.expires_at);
        let questions = self.state().open_questions();
        let questions = questions.filter_map(|(_, asked)| Some(asked.expires.as_ref()?.at));
        let Some(at) = cards.chain(questions).min() else {
            return std::future::pending().await;
        };
        // Why in parts: the clock may be set while this waits.
        while let Ok(left @ 1..) = u64::try_from(at.saturating_sub(self.now())) {
            tokio::time::sleep(LOOK.min(Duration::from_millis(left))).await;
        }
    }
}
