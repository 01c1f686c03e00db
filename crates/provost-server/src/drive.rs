//! The driver: the one thread that begins runs and drives all of the workspace.
//!
//! Owns the queue of what is to be begun. Requests hand over and wait; none of them owns a run.
//! Where only planning is offered, it drives the runs of clients and no other.
//! INVARIANT: a run that was answered for is in the journal, and is driven by this process or the
//! next.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use provost_engine::engine::{Engine, EngineError, NewRun, OnBehalf};
use provost_engine::run::event::PlannerChoice;
use provost_engine::session::Unwatched;
use provost_engine::store::{RunFilter, StoreError};
use provost_engine::work::{Listener, WorkOptions, work_on};
use tokio::sync::{mpsc, oneshot, watch};

use crate::limits::BEGINNINGS_MAX;
use crate::problem::{Problem, ProblemKind};

/// A run to begin, and where its id goes.
pub(crate) struct RunBeginning {
    new: NewRun,
    whom: OnBehalf,
    begun: oneshot::Sender<Result<String, EngineError>>,
}

/// Where runs are handed over.
#[derive(Clone)]
pub(crate) struct Beginner(mpsc::Sender<RunBeginning>);

/// The queue, at both ends.
pub(crate) fn queue() -> (Beginner, mpsc::Receiver<RunBeginning>) {
    let (sender, receiver) = mpsc::channel(BEGINNINGS_MAX);
    (Beginner(sender), receiver)
}

impl Beginner {
    /// Begins a run, and gives its id once the journal has it.
    ///
    /// # Errors
    /// [`Problem`] says why it was not begun.
    pub(crate) async fn begin(&self, new: NewRun, whom: OnBehalf) -> Result<String, Problem> {
        let halting = || {
            let detail = "the server is ending: no run begins here now";
            Problem::new(ProblemKind::Halting, detail)
        };
        let (begun, became) = oneshot::channel();
        let beginning = RunBeginning { new, whom, begun };
        self.0.try_send(beginning).map_err(|_| halting())?;
        Ok(became.await.map_err(|_| halting())??)
    }
}

/// The runs that clients submit, and who drives them.
pub struct ClientRuns(mpsc::Receiver<RunBeginning>);

impl ClientRuns {
    pub(crate) fn new(beginnings: mpsc::Receiver<RunBeginning>) -> Self {
        Self(beginnings)
    }

    /// Begins what clients submit and drives their runs and no other, until `halt` turns true.
    ///
    /// # Errors
    /// [`EngineError`] if the journal fails.
    pub async fn drive(
        self,
        engine: &Arc<Engine>,
        halt: watch::Receiver<bool>,
        listener: &Listener<'_>,
    ) -> Result<(), EngineError> {
        let ours = RefCell::new(left_behind(engine)?);
        let working = WorkOptions {
            schedules: false,
            ..WorkOptions::default()
        };
        let scope = |run: &str| ours.borrow().contains(run);
        let begun = |run: &str| {
            ours.borrow_mut().insert(run.to_owned());
        };
        let engines = watch::Sender::new(Arc::clone(engine));
        let working = work_on(engines.subscribe(), working, halt.clone(), listener, &scope);
        Ok(beside(&engines.subscribe(), self.0, halt, (&begun, working)).await?)
    }
}

/// The unfinished runs that clients of earlier servers submitted: their first event tells.
fn left_behind(engine: &Engine) -> Result<BTreeSet<String>, EngineError> {
    let mut left = BTreeSet::new();
    for row in engine.store().runs(&RunFilter::unfinished())? {
        let record = engine.read(&row.id)?;
        let planner = &record.run.state().route.planner;
        if matches!(planner, PlannerChoice::Client { .. }) {
            left.insert(row.id);
        }
    }
    Ok(left)
}

/// Begins what is handed over and drives the runs of the workspace, until `halt` turns true.
///
/// # Errors
/// [`StoreError`] if the journal fails.
pub(crate) async fn drive(
    engines: watch::Receiver<Arc<Engine>>,
    working: WorkOptions,
    beginnings: mpsc::Receiver<RunBeginning>,
    halt: watch::Receiver<bool>,
    listener: &Listener<'_>,
) -> Result<(), StoreError> {
    let working = work_on(engines.clone(), working, halt.clone(), listener, &|_| true);
    beside(&engines, beginnings, halt, (&|_| {}, working)).await
}

/// Begins what is handed over, beside the work on what was begun; each is told to `begun` before
/// anybody drives it.
async fn beside(
    engines: &watch::Receiver<Arc<Engine>>,
    mut beginnings: mpsc::Receiver<RunBeginning>,
    halt: watch::Receiver<bool>,
    (begun, working): (&dyn Fn(&str), impl Future<Output = Result<(), StoreError>>),
) -> Result<(), StoreError> {
    let mut halted = halt;
    let beginning = async {
        while !*halted.borrow() {
            tokio::select! {
                _ = halted.changed() => {}
                next = beginnings.recv() => match next {
                    // Why ignored: who asked may have gone away; the run is there all the same.
                    Some(RunBeginning { new, whom, begun: to }) => {
                        let engine = Arc::clone(&engines.borrow());
                        let _ = to.send(begin(&engine, new, whom, begun).await);
                    }
                    None => break,
                },
            }
        }
        beginnings.close();
        // Why answered: whoever was told nothing would ask again, and be told the same.
        drop(beginnings);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        worked = working => worked,
        () = beginning => Ok(()),
    }
}

/// Begins a run and leaves it to be driven.
async fn begin(
    engine: &Engine,
    new: NewRun,
    whom: OnBehalf,
    begun: &dyn Fn(&str),
) -> Result<String, EngineError> {
    let session = engine.begin_for(new, whom, &mut Unwatched).await?;
    let run = session.state().head.run.clone();
    begun(&run);
    session.release().await?;
    engine.nudge();
    Ok(run)
}
