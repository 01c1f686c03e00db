//! Where a turn of the machine is made: on the thread that drives the runs, or on one beside it.
//!
//! Owns how long a turn may take. Judges nothing. INVARIANT: no plan and no value keeps the other
//! runs of a process waiting: what the machine calls laborious is made on a thread of its own, on a
//! copy of the run; one that is not back in time is made once more, and whatever takes long in it
//! has failed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use provost_run::admission::Admission;
use provost_run::machine::{Effort, Input, Output, Run, StepError};
use tokio::sync::{Semaphore, oneshot};

use super::{DriveError, Session};
use crate::limits::{LABORIOUS_TURNS_MAX, TURN_STACK_BYTES};

/// How many laborious turns are made at once.
static PLACES: Semaphore = Semaphore::const_new(LABORIOUS_TURNS_MAX);

/// Where laborious turns go: to threads that stay, one for each place. Why they stay: each run has
/// such a turn, and a thread that begins costs as much as the check of a small plan.
static THREADS: LazyLock<Option<Sender<Job>>> = LazyLock::new(|| {
    let (sender, jobs) = channel();
    let jobs = Arc::new(Mutex::new(jobs));
    for _ in 0..LABORIOUS_TURNS_MAX {
        let jobs = Arc::clone(&jobs);
        let thread = std::thread::Builder::new()
            .name("turn".to_owned())
            .stack_size(TURN_STACK_BYTES)
            .spawn(move || work(&jobs));
        thread.ok()?;
    }
    Some(sender)
});

/// A laborious turn.
type Job = Box<dyn FnOnce() + Send>;

fn work(jobs: &Mutex<Receiver<Job>>) {
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok(job) = next() {
        // Why caught: who waits learns it as the channel closes, and the thread is still needed.
        drop(catch_unwind(AssertUnwindSafe(job)));
    }
}

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
        let hears = self.run.is_hearing();
        *self.run = self.checkpoint.restore(&self.run, hears)?;
        let run = Run::clone(&self.run);
        if let Some(made) = self.turn_beside(run, input, said).await {
            let (run, output) = made?;
            *self.run = run;
            return Ok(output);
        }
        let now = self.now();
        Ok(self
            .run
            .step_with(Effort::Refusing, input.clone(), now, said)?)
    }

    /// The run after an input, made on a thread beside; none if that takes too long.
    async fn turn_beside(
        &self,
        run: Run,
        input: &Input,
        said: &Admission,
    ) -> Option<Result<Made, StepError>> {
        // Why none: a place is never closed.
        let place = PLACES.acquire().await.ok()?;
        let (back, made) = oneshot::channel();
        let (now, input, said) = (self.now(), input.clone(), said.clone());
        // Why a thread and no task: a runtime that ends waits for its tasks.
        let threads = THREADS.as_ref()?;
        let turn = move || {
            let _place = place;
            let mut run = run;
            let made = run.step_with(Effort::All, input, now, &said);
            // Why ignored: who waited may have gone on without it.
            let _ = back.send(made.map(|output| (run, output)));
        };
        threads.send(Box::new(turn)).ok()?;
        tokio::time::timeout(self.turn_time, made).await.ok()?.ok()
    }
}

/// A run after an input, with what is to be kept of it.
type Made = (Run, Output);
