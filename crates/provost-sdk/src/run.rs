//! A run, as a program drives it.
//!
//! Owns letting go: a run that is dropped may be taken up by any process at once. INVARIANT: what a
//! person says goes through the same envelope as on the command line.

use std::pin::Pin;
use std::sync::Arc;

use provost_engine::clock::now_ms;
use provost_engine::engine::Engine;
use provost_engine::people::{Statement, StatementEnvelope, StatementSubject};
use provost_engine::run::state::{State, WaitKind, waiting};
use provost_engine::session::{DriveEnd, Session, Unwatched};
use serde_json::Value;
use tokio::sync::watch;

use crate::error::Result;
use crate::outcome::Outcome;
use crate::speaker::Speaker;
use crate::wait::{Card, Doubt, Question, Why};

/// A run that this program drives.
pub struct Run {
    engine: Arc<Engine>,
    session: Option<Session>,
    id: String,
    user: String,
    // Why kept: a halt whose sender is gone counts as given.
    _halt: watch::Sender<bool>,
    halted: watch::Receiver<bool>,
}

/// What comes next. Exhaustive on purpose: a program should hear from its compiler that a run can
/// wait for something new.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one is made each time a person is needed, and a box would stand in every match"
)]
pub enum Next {
    /// A person has to approve this.
    Approval(Card),
    /// A person has to answer this.
    Question(Question),
    /// It is unknown whether a write took place, and no tool can be asked.
    InDoubt(Doubt),
    /// Somebody stopped it, or a secret is missing.
    Paused(Why),
    /// Nothing happens before a distant moment.
    Until(Why),
    /// It is over.
    Ended(Outcome),
}

impl Run {
    pub(crate) fn new(engine: Arc<Engine>, session: Session) -> Self {
        let (halt, halted) = watch::channel(false);
        Self {
            id: session.state().head.run.clone(),
            user: engine.workspace().user().id.clone(),
            engine,
            session: Some(session),
            _halt: halt,
            halted,
        }
    }

    /// Its id, as the command line takes it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Drives it until a person is asked, or it cannot go on, or it is over.
    ///
    /// # Errors
    /// The journal's; the run can be taken up again.
    pub async fn next(&mut self) -> Result<Next> {
        let run = self.id.clone();
        let Some(session) = &mut self.session else {
            return Ok(Next::Paused(why(run, "was let go of")));
        };
        let end = session.drive(&mut Unwatched, &mut self.halted).await?;
        Ok(match end {
            DriveEnd::Ended(ended) => Next::Ended(Outcome::of(&ended)),
            DriveEnd::InDoubt => Next::InDoubt(doubt(run, session.state())),
            DriveEnd::Paused => Next::Paused(why(run, "is paused")),
            DriveEnd::Halted | DriveEnd::Superseded => Next::Paused(why(run, "was halted")),
            DriveEnd::Until(at) => Next::Until(why(run, &format!("goes on at {at} ms"))),
            DriveEnd::Waiting => {
                if let Some(card) = session.open_cards().into_iter().next() {
                    Next::Approval(Card::new(card))
                } else if let Some(asked) = session.open_questions().into_iter().next() {
                    Next::Question(Question::new(asked))
                } else {
                    Next::Paused(why(run, "waits for a person elsewhere"))
                }
            }
        })
    }

    /// `by` approves the card: all of it, or [`Say::steps`].
    pub fn approve<'r>(&'r mut self, card: &Card, by: impl Into<Speaker>) -> Say<'r> {
        let (card, steps) = (card.digest, Vec::new());
        self.say(Statement::Approve { card, steps }, by.into())
    }

    /// `by` rejects the card; the planner may read the reason.
    pub fn reject<'r>(&'r mut self, card: &Card, by: impl Into<Speaker>, reason: &str) -> Say<'r> {
        let (card, reason, all) = (card.digest, reason.to_owned(), false);
        self.say(Statement::Reject { card, reason, all }, by.into())
    }

    /// The user of the workspace answers the question, or whoever [`Say::by`] names.
    pub fn answer<'r>(&'r mut self, question: &Question, value: impl Into<Value>) -> Say<'r> {
        let (question, value) = (question.digest, value.into());
        let by = Speaker::from(self.user.as_str());
        self.say(Statement::Answer { question, value }, by)
    }

    fn say(&mut self, statement: Statement, by: Speaker) -> Say<'_> {
        Say {
            run: self,
            statement,
            by,
        }
    }

    /// Lets go of it, and waits until that is written down.
    ///
    /// # Errors
    /// The journal's.
    pub async fn release(mut self) -> Result<()> {
        match self.session.take() {
            Some(session) => Ok(session.release().await?),
            None => Ok(()),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            let released = self.engine.store().release(&self.id);
            // Why waited for, and before the session goes: whoever takes the run up next in this
            // process would be the owner already, until the release takes that away. Why by a
            // thread: one that belongs to a runtime must not block.
            let waiting = std::thread::Builder::new().spawn(move || released.wait());
            // Why ignored: a journal that cannot be written ends the claims of the process too.
            let _ = waiting.map(std::thread::JoinHandle::join);
            drop(session);
        }
    }
}

/// What a person says to a run, once it is awaited.
#[must_use = "nothing is said before it is awaited"]
pub struct Say<'r> {
    run: &'r mut Run,
    statement: Statement,
    by: Speaker,
}

impl Say<'_> {
    /// This is who says it.
    pub fn by(mut self, speaker: impl Into<Speaker>) -> Self {
        self.by = speaker.into();
        self
    }

    /// Approves these steps of a plan alone, or these items (`page[2]`) of a list.
    pub fn steps<const N: usize>(mut self, only: [&str; N]) -> Self {
        if let Statement::Approve { steps, .. } = &mut self.statement {
            *steps = only.into_iter().map(str::to_owned).collect();
        }
        self
    }

    async fn said(self) -> Result<()> {
        let Some(session) = &mut self.run.session else {
            return Err(why(self.run.id.clone(), "was let go of").into());
        };
        let store = self.run.engine.inbox().store();
        let (about, lapses_at) = StatementSubject::of(store, session.state(), &self.statement);
        let (by, now) = (&self.by.name, now_ms());
        let envelope = StatementEnvelope::new(about, self.statement, by, now, lapses_at)?;
        let envelope = match &self.by.key {
            Some(key) => envelope.signed_with(key),
            None => envelope,
        };
        Ok(session.hear(&envelope, &mut Unwatched).await?)
    }
}

impl<'r> IntoFuture for Say<'r> {
    type Output = Result<()>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<()>> + 'r>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.said())
    }
}

fn why(run: String, text: &str) -> Why {
    Why {
        run,
        text: text.to_owned(),
    }
}

fn doubt(run: String, state: &State) -> Doubt {
    let open = waiting(state).into_iter();
    let settles = open.filter(|one| one.kind == WaitKind::Settlement);
    let slots = settles.filter_map(|one| Some(one.slot?.to_string()));
    Doubt {
        run,
        steps: slots.collect(),
    }
}
