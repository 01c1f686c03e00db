//! The driving loop: one run, one machine, one owner.
//!
//! Owns the order append → receipt → command. Decides nothing: every decision is the machine's.
//! INVARIANT: no call, question or planner request leaves before the store acknowledged the
//! events it follows from.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use provost_plan::digest::Digest;
use provost_plan::plan::request::PlanRequest;
use provost_planner::Planner;
use provost_run::call::Slot;
use provost_run::card::{Card, Question};
use provost_run::event::{Event, RunEnded, RunStatus};
use provost_run::machine::{Command, Input, Output, Receipt, Run, SealError, StepError};
use provost_run::outcome::Reply;
use provost_run::state::State;
use provost_tools::Toolbox;
use tokio::sync::watch;

use crate::clock::now_ms;
use crate::store::{Append, Evidence, NewEvent, Store, StoreError};
use crate::summary;

/// A run that this process drives.
pub struct Session {
    run: Run,
    store: Arc<Store>,
    toolbox: Arc<Toolbox>,
    planner: Box<dyn Planner + Send + Sync>,
    calls: FuturesUnordered<BoxFuture<'static, (Slot, u32, Reply)>>,
    plan_request: Option<PlanRequest>,
    timer: Option<i64>,
}

/// Why the driving loop returned.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// The run is over.
    Ended(Box<RunEnded>),
    /// Nothing runs until a person answers.
    Waiting,
    /// Nothing runs, and the effect of a write is unknown.
    InDoubt,
    /// The caller asked for a halt; nothing is in flight.
    Halted,
}

/// Somebody who watches a run: a screen, a stream of journal lines.
pub trait Watcher {
    /// Events were kept; `state` is the run after them.
    fn kept(&mut self, first_seq: u64, events: &[Event], state: &State);
    /// Time passed while the run was busy.
    fn tick(&mut self, state: &State);
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
}

/// How often a watcher is told that time passes.
const TICK: Duration = Duration::from_millis(120);

impl Session {
    pub(crate) fn new(
        run: Run,
        store: Arc<Store>,
        toolbox: Arc<Toolbox>,
        planner: Box<dyn Planner + Send + Sync>,
    ) -> Self {
        let calls = FuturesUnordered::new();
        Self {
            run,
            store,
            toolbox,
            planner,
            calls,
            plan_request: None,
            timer: None,
        }
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
    /// [`DriveError::Step`] if the run does not take it; [`DriveError::Store`] if it is not kept.
    pub async fn give(
        &mut self,
        input: Input,
        watcher: &mut dyn Watcher,
    ) -> Result<(), DriveError> {
        let output = self.run.step(input, now_ms())?;
        self.keep(output, watcher).await
    }

    /// Keeps an output and starts what it commands.
    pub(crate) async fn keep(
        &mut self,
        output: Output,
        watcher: &mut dyn Watcher,
    ) -> Result<(), DriveError> {
        let Output {
            append,
            first_seq,
            blobs,
            sync,
            commands,
        } = output;
        let run = self.state().run.clone();
        let through = first_seq + append.len() as u64 - 1;
        let receipt = if append.is_empty() {
            Receipt {
                run,
                through,
                durable: true,
            }
        } else {
            let at_ms = self.state().last_at;
            let events = append
                .iter()
                .map(|event| {
                    let (kind, version, payload) = event.to_stored();
                    NewEvent {
                        kind: kind.into(),
                        version,
                        at_ms,
                        payload,
                    }
                })
                .collect();
            let evidence = blobs
                .into_iter()
                .map(|blob| Evidence::new(blob.media, blob.bytes))
                .collect();
            let kept = self
                .store
                .append(Append {
                    run,
                    expect_seq: first_seq - 1,
                    events,
                    evidence,
                    row: summary::projection(self.run.state()),
                    durable: sync,
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
        for command in commands.open(&receipt)? {
            self.obey(command);
        }
        Ok(())
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Call(call) => {
                let toolbox = self.toolbox.clone();
                self.calls.push(Box::pin(async move {
                    let reply = toolbox.perform(&call).await;
                    (call.slot().clone(), call.attempt(), reply)
                }));
            }
            Command::WaitUntil(at) => self.timer = Some(at),
            Command::Plan(request) => self.plan_request = Some(*request),
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
    ) -> Result<Stop, DriveError> {
        let mut ticks = tokio::time::interval(TICK);
        loop {
            if *halt.borrow() {
                self.run.hold();
            }
            if let Some(ended) = &self.state().ended {
                return Ok(Stop::Ended(Box::new(ended.clone())));
            }
            if let Some(request) = self.plan_request.take() {
                let id = request.id;
                let reply = self.planner.reply(&request);
                self.give(Input::Planned { id, reply }, watcher).await?;
                continue;
            }
            if self.calls.is_empty() {
                if *halt.borrow() {
                    return Ok(Stop::Halted);
                }
                let status = self.state().status();
                match status {
                    RunStatus::WaitingApproval | RunStatus::WaitingAnswer => {
                        return Ok(Stop::Waiting);
                    }
                    RunStatus::InDoubt => return Ok(Stop::InDoubt),
                    _ if self.timer.is_none() => {
                        let reason = format!("the run is {} and nothing moves it", status.word());
                        return Err(DriveError::Store(StoreError::Refused {
                            run: self.state().run.clone(),
                            reason,
                        }));
                    }
                    _ => {}
                }
            }
            let timer = self.timer;
            tokio::select! {
                Some((slot, attempt, reply)) = self.calls.next(), if !self.calls.is_empty() => {
                    self.give(Input::Ended { slot, attempt, reply }, watcher).await?;
                }
                () = until(timer), if timer.is_some() => {
                    self.timer = None;
                    self.give(Input::Tick, watcher).await?;
                }
                _ = halt.changed() => {}
                _ = ticks.tick() => watcher.tick(self.run.state()),
            }
        }
    }

    /// Gives the run back, so that another process may take it up at once.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be written.
    pub async fn release(self) -> Result<(), StoreError> {
        let run = self.state().run.clone();
        self.store.release(&run).await
    }
}

async fn until(timer: Option<i64>) {
    let wait = timer.map_or(0, |at| at - now_ms()).max(0);
    tokio::time::sleep(Duration::from_millis(u64::try_from(wait).unwrap_or(0))).await;
}

/// A watcher that looks at nothing.
pub struct Unwatched;

impl Watcher for Unwatched {
    fn kept(&mut self, _: u64, _: &[Event], _: &State) {}
    fn tick(&mut self, _: &State) {}
}
