//! The driving loop: one run, one machine, one owner.
//!
//! Owns the order append → receipt → command. Decides nothing: every decision is the machine's.
//! INVARIANT: no call, question or planner request leaves before the store acknowledged the
//! events it follows from.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use provost_plan::digest::Digest;
use provost_plan::plan::request::{NoPlan, PlanReply, PlanRequest, Planned};
use provost_planner::Planner;
use provost_run::admission::Admission;
use provost_run::call::Slot;
use provost_run::card::{Card, Question};
use provost_run::event::{EVENT_VERSION, Event, PlannerChoice, RunEnded, RunStatus};
use provost_run::machine::{Command, Input, Output, Receipt, Run, SealError, StepError};
use provost_run::outcome::Reply;
use provost_run::state::{FoldError, State};
use provost_run::statement::Credential;
use tokio::sync::watch;

use crate::clock::now_ms;
use crate::engine::EngineTools;
use crate::limits::TURN_TIME_MAX;
use crate::notify::{NotifyTarget, compose};
use crate::people::{Inbox, StatementError};
use crate::store::{Append, Backend, Driving, NewEvent, Payload, StoreError};
use crate::summary::{self, NamedTools};
use crate::workspace::{PlannerError, Workspace};

mod checkpoint;
mod counted;
mod places;
mod statements;
mod turn;

use checkpoint::Checkpoint;

pub use statements::{IGNORED, TAKEN};

/// A run that this process drives.
pub struct Session {
    // Why boxed: a session is moved from future to future, and each has room for it.
    run: Box<Run>,
    checkpoint: Checkpoint,
    named: NamedTools,
    store: Arc<dyn Backend>,
    tools: Arc<EngineTools>,
    workspace: Arc<Workspace>,
    /// The planner, with the choice that it is.
    planner: (PlannerChoice, Arc<dyn Planner>),
    calls: FuturesUnordered<BoxFuture<'static, (Slot, u32, Reply)>>,
    plan_request: Option<Box<PlanRequest>>,
    /// The planner, as long as it thinks about the request of this number.
    thinking: Option<(u64, BoxFuture<'static, Planned>)>,
    timer: Option<i64>,
    inbox: Arc<Inbox>,
    notify: Arc<[NotifyTarget]>,
    /// What the store's number of changes was at the last look for words, and when that was.
    posted_seen: Option<u64>,
    posted_looked: Instant,
    posted_due: bool,
    is_new: bool,
    /// How long a wait may be that this process sits out; none if it sits out all.
    patience_ms: Option<i64>,
    /// How long a turn may take that is made beside the thread that drives.
    turn_time: Duration,
    /// How far what the run has recorded is ahead of this machine's clock, in milliseconds.
    ahead: i64,
    /// Turns true when the files of the workspace were read anew.
    superseded: watch::Receiver<bool>,
    _driving: Driving,
}

/// What all sessions of an engine share.
pub(crate) struct SessionResources {
    pub(crate) store: Arc<dyn Backend>,
    pub(crate) tools: Arc<EngineTools>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) superseded: watch::Receiver<bool>,
}

/// Why the driving loop returned.
#[derive(Clone, Debug, PartialEq)]
pub enum DriveEnd {
    /// The run is over.
    Ended(Box<RunEnded>),
    /// Nothing runs until a person answers.
    Waiting,
    /// Nothing runs, and the effect of a write is unknown.
    InDoubt,
    /// Somebody stopped it: nothing begins before it is let go on.
    Paused,
    /// Nothing happens before this moment, in milliseconds since the epoch, and the caller does
    /// not sit it out: see [`Session::let_go_beyond`].
    Until(i64),
    /// The caller asked for a halt; nothing is in flight.
    Halted,
    /// The files of the workspace were read anew; nothing is in flight, and the run goes on when it
    /// is taken up under them.
    Superseded,
}

/// Somebody who watches a run: a screen, a stream of journal lines.
pub trait Watcher {
    /// Events were kept; `state` is the run after them.
    fn kept(&mut self, first_seq: u64, events: &[Event], state: &State);
    /// Time passed while the run was busy.
    fn tick(&mut self, state: &State);
    /// A statement that another process posted does not count; the text says why.
    fn ignored(&mut self, _why: &str) {}
}

/// The driving loop failed: the run stays as its journal says.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The journal could not be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The machine does not take the input.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The store's receipt does not cover the commands.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// What was kept does not fold.
    #[error(transparent)]
    Fold(#[from] FoldError),
    /// A statement of a person does not count.
    #[error(transparent)]
    Statement(#[from] StatementError),
}

/// How often a watcher is told that time passes.
const TICK: Duration = Duration::from_millis(120);

impl Session {
    pub(crate) fn new(
        run: Run,
        planner: Arc<dyn Planner>,
        driving: Driving,
        resources: SessionResources,
    ) -> Self {
        let SessionResources {
            store,
            tools,
            inbox,
            workspace,
            superseded,
        } = resources;
        let calls = FuturesUnordered::new();
        let planner = (run.state().route.planner.clone(), planner);
        let ahead = (run.state().spend.last_at - now_ms()).max(0);
        Self {
            ahead,
            superseded,
            _driving: driving,
            run: Box::new(run),
            checkpoint: Checkpoint::default(),
            named: NamedTools::default(),
            store,
            tools,
            planner,
            calls,
            plan_request: None,
            thinking: None,
            timer: None,
            inbox,
            notify: Arc::clone(workspace.notify()),
            workspace,
            posted_seen: None,
            posted_looked: Instant::now(),
            posted_due: false,
            is_new: true,
            patience_ms: None,
            turn_time: TURN_TIME_MAX,
        }
    }

    /// Now, as the run tells time: a clock that was set back does not stop it.
    fn now(&self) -> i64 {
        now_ms().saturating_add(self.ahead)
    }

    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    /// The run's state.
    #[must_use]
    pub fn state(&self) -> &State {
        self.run.state()
    }

    /// Cards that wait for an answer.
    #[must_use]
    pub fn open_cards(&self) -> Vec<(Digest, Card)> {
        self.state()
            .open_cards()
            .map(|(digest, card)| (*digest, card.clone()))
            .collect()
    }

    /// Questions that wait for an answer.
    #[must_use]
    pub fn open_questions(&self) -> Vec<(Digest, Question)> {
        self.state()
            .open_questions()
            .map(|(digest, q)| (*digest, q.clone()))
            .collect()
    }

    /// Gives the machine one input and keeps what follows.
    ///
    /// # Errors
    /// [`DriveError::Step`] if the run does not take it; [`DriveError::Store`] if it is not kept;
    /// [`DriveError::Statement`] for what a person says where that needs a credential: see
    /// [`Session::hear`].
    pub async fn give(
        &mut self,
        input: Input,
        watcher: &mut dyn Watcher,
    ) -> Result<(), DriveError> {
        if let Input::Statement {
            by,
            statement,
            record,
        } = &input
            // Why the second: a record that nobody verified would pass for one that was.
            && let required = self.inbox.required(statement, self.state())
            && (required != Credential::Nothing || record.is_some())
        {
            return Err(StatementError::lacks(required, &by.id).into());
        }
        self.take_in(input, watcher).await
    }

    pub(crate) async fn take_in(
        &mut self,
        input: Input,
        watcher: &mut dyn Watcher,
    ) -> Result<(), DriveError> {
        let (mut said, mut hears) = (Admission::default(), self.run.is_hearing());
        loop {
            let output = self.turn(&input, &said).await?;
            match self.keep(output, watcher).await {
                Err(DriveError::Store(StoreError::NotAdmitted {
                    denials, earlier, ..
                })) => {
                    *self.run = self.checkpoint.restore(&self.run, hears)?;
                    said.denials.extend(denials);
                    said.earlier.extend(earlier);
                }
                Err(DriveError::Store(StoreError::Unheard { .. })) => {
                    // Why once more, and only hearing: the input counts, and what would begin by it
                    // begins after the statements.
                    (hears, self.posted_due) = (true, true);
                    *self.run = self.checkpoint.restore(&self.run, hears)?;
                    // Why not again: to proceed is to hear no more, and they are not heard yet.
                    if matches!(input, Input::Proceed) {
                        return Ok(());
                    }
                }
                kept => return kept,
            }
        }
    }

    /// Keeps the first output of a run, unless it is to be the only one of its goal and is not.
    pub(crate) async fn begin(
        &mut self,
        output: Output,
        only_of_goal: bool,
        watcher: &mut dyn Watcher,
    ) -> Result<(), DriveError> {
        self.append(output, only_of_goal, watcher).await
    }

    /// Keeps an output and starts what it commands.
    async fn keep(&mut self, output: Output, watcher: &mut dyn Watcher) -> Result<(), DriveError> {
        self.append(output, false, watcher).await
    }

    async fn append(
        &mut self,
        output: Output,
        only_of_goal: bool,
        watcher: &mut dyn Watcher,
    ) -> Result<(), DriveError> {
        let Output {
            append,
            first_seq,
            blobs,
            admission,
            sync,
            commands,
        } = output;
        let run = self.state().head.run.clone();
        let through = first_seq + append.len() as u64 - 1;
        let receipt = if append.is_empty() {
            Receipt {
                run,
                through,
                durable: true,
            }
        } else {
            let at_ms = self.state().spend.last_at;
            let notices = compose::notices(
                &self.notify,
                first_seq,
                &append,
                &admission,
                self.run.state(),
            );
            let events = append.iter().map(|event| to_keep(&run, event, at_ms));
            let events = events.collect::<Result<_, StoreError>>()?;
            let mut row = summary::projection(&self.run, &mut self.named);
            row.facts = self.counted(&append, at_ms).await?;
            let kept = self
                .store
                .append(Append {
                    run,
                    expect_seq: first_seq - 1,
                    events,
                    evidence: blobs,
                    admission,
                    notices,
                    row,
                    durable: sync,
                    only_of_goal,
                })
                .await?;
            let durable = kept.is_durable();
            Receipt {
                run: kept.run().to_owned(),
                through: kept.seq(),
                durable,
            }
        };
        watcher.kept(first_seq, &append, self.run.state());
        let begun = self.begun(first_seq, &append);
        self.checkpoint.keep(&self.run, append);
        for command in commands.open(&receipt)? {
            let command = match command {
                Command::Call(call) => Command::Call(Box::new(self.placed(*call, &begun))),
                other => other,
            };
            self.obey(command);
        }
        Ok(())
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Call(call) => {
                let tools = Arc::clone(&self.tools);
                self.calls.push(Box::pin(async move {
                    let reply = tools.perform(&call).await;
                    (call.slot().clone(), call.attempt(), reply)
                }));
            }
            Command::WaitUntil(at) => self.timer = Some(at),
            Command::Plan(request) => self.plan_request = Some(request),
            // Why: cards, questions and the end stand in the state; the caller looks there.
            Command::Ask(..) | Command::Question(..) | Command::Done(_) => {}
        }
    }

    /// Drives the run until it ends, waits for a person, is in doubt, or `halt` turns true.
    ///
    /// # Errors
    /// [`DriveError`] if the journal fails; the run can be taken up again.
    pub async fn drive(
        &mut self,
        watcher: &mut dyn Watcher,
        halt: &mut watch::Receiver<bool>,
    ) -> Result<DriveEnd, DriveError> {
        let mut ticks = tokio::time::interval(TICK);
        loop {
            let told = self.told_to_end(halt);
            self.go_on(told.is_some(), watcher).await?;
            if let Some(ended) = &self.state().ending.ended {
                return Ok(DriveEnd::Ended(Box::new(ended.clone())));
            }
            self.ask_planner();
            // Why not waited for: what it replies would be recorded and lead to nothing; whoever
            // takes the run up asks again.
            if told.is_some() {
                self.thinking = None;
            }
            if self.calls.is_empty() && self.thinking.is_none() {
                if let Some(end) = told {
                    return Ok(end);
                }
                let status = self.state().status();
                match status {
                    RunStatus::WaitingApproval | RunStatus::WaitingAnswer => {
                        return Ok(DriveEnd::Waiting);
                    }
                    RunStatus::InDoubt => return Ok(DriveEnd::InDoubt),
                    RunStatus::Paused => return Ok(DriveEnd::Paused),
                    _ if self.is_long_wait() => {
                        return Ok(DriveEnd::Until(self.timer.unwrap_or_default()));
                    }
                    _ if self.timer.is_none() => {
                        let reason = format!("the run is {} and nothing moves it", status.word());
                        return Err(DriveError::Store(StoreError::Refused {
                            run: self.state().head.run.clone(),
                            reason,
                        }));
                    }
                    _ => {}
                }
            }
            let timer = self.timer;
            let wait = timer.map_or(0, |at| at - self.now());
            tokio::select! {
                Some((slot, attempt, reply)) = self.calls.next(), if !self.calls.is_empty() => {
                    let input = self.with_others(slot, attempt, reply);
                    self.give(input, watcher).await?;
                }
                (id, Planned { reply, usage }) = thought(&mut self.thinking) => {
                    self.thinking = None;
                    self.give(Input::Planned { id, reply, usage }, watcher).await?;
                }
                () = until(wait), if timer.is_some() => {
                    self.timer = None;
                    self.give(Input::Tick, watcher).await?;
                }
                _ = halt.changed() => {}
                Ok(()) = self.superseded.changed() => {}
                _ = ticks.tick() => {
                    watcher.tick(self.run.state());
                    self.look_for_words().await?;
                }
            }
        }
    }

    /// Why the run is let go of as soon as nothing is in flight, if it is.
    fn told_to_end(&self, halt: &watch::Receiver<bool>) -> Option<DriveEnd> {
        let halted = halt.borrow().then_some(DriveEnd::Halted);
        let superseded = self.superseded.borrow().then_some(DriveEnd::Superseded);
        halted.or(superseded)
    }

    /// Hears what people posted, and then lets a run go on that was taken up; what they posted
    /// meanwhile is heard first.
    async fn go_on(&mut self, halted: bool, watcher: &mut dyn Watcher) -> Result<(), DriveError> {
        loop {
            // Why not under files of before: who said it may have left since.
            if self.posted_due && !*self.superseded.borrow() {
                self.hear_posted(watcher).await?;
            }
            if halted {
                self.run.hold();
                return Ok(());
            }
            if !self.run.is_hearing() || self.state().ending.ended.is_some() {
                return Ok(());
            }
            self.take_in(Input::Proceed, watcher).await?;
            if !self.posted_due {
                return Ok(());
            }
        }
    }

    /// Puts the request to the planner that waits for it. A statement that was heard since may have
    /// ended what a request was for: then nobody is asked, and nobody is listened to.
    fn ask_planner(&mut self) {
        let state = self.run.state();
        let awaited = |id: u64| state.ending.ended.is_none() && state.awaits_plan(id);
        let request = self.plan_request.take().filter(|asked| awaited(asked.id));
        self.thinking = self.thinking.take().filter(|(id, _)| awaited(*id));
        if let Some(request) = request {
            let id = request.id;
            let planner = self.planner();
            let thinking = async move {
                match planner {
                    Ok(planner) => planner.reply(&request).await,
                    Err(gone) => {
                        let (class, reason) = (NoPlan::Unreachable, gone.to_string());
                        PlanReply::Failed { class, reason }.into()
                    }
                }
            };
            self.thinking = Some((id, Box::pin(thinking)));
        }
    }

    /// Who plans now: another than at the beginning, once the goal has been understood.
    fn planner(&mut self) -> Result<Arc<dyn Planner>, PlannerError> {
        let choice = &self.run.state().route.planner;
        if *choice != self.planner.0 {
            self.planner = (choice.clone(), self.workspace.planner(choice)?);
        }
        Ok(Arc::clone(&self.planner.1))
    }

    /// A reply, with all the others that are there already: they share one commit.
    fn with_others(&mut self, slot: Slot, attempt: u32, reply: Reply) -> Input {
        let mut replies = vec![(slot, attempt, reply)];
        while let Some(Some(reply)) = self.calls.next().now_or_never() {
            replies.push(reply);
        }
        Input::EndedTogether { replies }
    }

    /// Returns from [`Session::drive`] with [`DriveEnd::Until`] rather than sit out a wait that is
    /// longer than this: the run's row says when it is due.
    pub fn let_go_beyond(&mut self, patience: Duration) {
        self.patience_ms = i64::try_from(patience.as_millis()).ok();
    }

    /// Lets no turn of the machine take longer than this: what takes longer in it has failed.
    pub fn limit_turns_to(&mut self, time: Duration) {
        self.turn_time = time;
    }

    fn is_long_wait(&self) -> bool {
        let wait = self.timer.map(|at| at - now_ms());
        wait.zip(self.patience_ms)
            .is_some_and(|(wait, most)| wait > most)
    }

    /// The run was there before this process: words may wait for it. It has these events.
    pub(crate) fn expect_posted(&mut self, folded: Vec<(Event, i64)>) {
        (self.posted_due, self.is_new) = (true, false);
        self.checkpoint = Checkpoint::of(&self.run, folded);
    }

    /// Gives the run back, so that another process may take it up at once.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be written.
    pub async fn release(self) -> Result<(), StoreError> {
        let run = self.state().head.run.clone();
        self.store.release(&run).await
    }
}

/// An event of `run` as the journal keeps it.
fn to_keep(run: &str, event: &Event, at_ms: i64) -> Result<NewEvent, StoreError> {
    let payload = Payload::of(event).map_err(|error| StoreError::Refused {
        run: run.to_owned(),
        reason: error.to_string(),
    })?;
    Ok(NewEvent {
        kind: event.kind().into(),
        version: EVENT_VERSION,
        at_ms,
        payload,
    })
}

/// What the planner comes to; never, if it is not asked.
async fn thought(thinking: &mut Option<(u64, BoxFuture<'static, Planned>)>) -> (u64, Planned) {
    match thinking {
        Some((id, reply)) => (*id, reply.await),
        None => std::future::pending().await,
    }
}

async fn until(wait: i64) {
    let wait = wait.max(0);
    tokio::time::sleep(Duration::from_millis(u64::try_from(wait).unwrap_or(0))).await;
}

/// A watcher that looks at nothing.
pub struct Unwatched;

impl Watcher for Unwatched {
    fn kept(&mut self, _: u64, _: &[Event], _: &State) {}
    fn tick(&mut self, _: &State) {}
}
