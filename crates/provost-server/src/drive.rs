//! The driver: the one thread that begins runs and drives all of the workspace.
//!
//! Owns the queue of what is to be begun. Requests hand over and wait; none of them owns a run.
//! INVARIANT: a run that was answered for is in the journal, and is driven by this process or the
//! next.

use provost_engine::engine::{Engine, EngineError, NewRun, OnBehalf};
use provost_engine::session::Unwatched;
use provost_engine::store::StoreError;
use provost_engine::work::{Listener, WorkOptions, work};
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

/// Begins what is handed over and drives the runs of the workspace, until `halt` turns true.
///
/// # Errors
/// [`StoreError`] if the journal fails.
pub(crate) async fn drive(
    engine: &Engine,
    working: WorkOptions,
    mut beginnings: mpsc::Receiver<RunBeginning>,
    halt: watch::Receiver<bool>,
    listener: &Listener<'_>,
) -> Result<(), StoreError> {
    let mut halted = halt.clone();
    let beginning = async {
        while !*halted.borrow() {
            tokio::select! {
                _ = halted.changed() => {}
                next = beginnings.recv() => match next {
                    // Why ignored: who asked may have gone away; the run is there all the same.
                    Some(RunBeginning { new, whom, begun }) => {
                        let _ = begun.send(begin(engine, new, whom).await);
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
        worked = work(engine, working, halt, listener) => worked,
        () = beginning => Ok(()),
    }
}

/// Begins a run and leaves it to be driven.
async fn begin(engine: &Engine, new: NewRun, whom: OnBehalf) -> Result<String, EngineError> {
    let session = engine.begin_for(new, whom, &mut Unwatched).await?;
    let run = session.state().head.run.clone();
    session.release().await?;
    Ok(run)
}
