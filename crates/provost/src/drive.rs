//! Driving a run from the command line: watch it, ask the person who is there, stop when told.
//!
//! Owns interruption, prompts and what is said at the end. Decides nothing about the run.
//! INVARIANT: the exit code is the state the run was left in.

use std::sync::Arc;

use provost_engine::engine::{Engine, NewRun};
use provost_engine::run::machine::{Input, StepError};
use provost_engine::run::state::State;
use provost_engine::session::{DriveError, Session, Stop};
use provost_plan::policy::Principal;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::cli::Watching;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::place::Place;
use crate::screen::page::{Look, Page};
use crate::screen::run;
use crate::screen::view::{HALTING, View};

mod ask;

/// Where a drive begins.
pub enum Start {
    /// A new run.
    New(Box<NewRun>),
    /// A run that is there, and what a person says to it.
    TakeUp {
        /// Its id.
        run: String,
        /// The person's word.
        input: Option<Box<Input>>,
    },
}

/// Drives a run as far as it goes, and says how far that was.
pub fn drive(
    place: &Place,
    engine: &Engine,
    start: Start,
    watching: Watching,
) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // Why one: the run itself is driven by this thread; the worker sees to signals and timers.
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format!("no thread could be started: {error}")))?;
    let driven = runtime.block_on(async {
        let halt = interruptible();
        Driver {
            place,
            engine,
            watching,
            halt,
        }
        .run(start)
        .await
    });
    // Why not waited for: a tool's thread that hangs must not keep the command from ending.
    runtime.shutdown_background();
    driven
}

struct Driver<'a> {
    place: &'a Place,
    engine: &'a Engine,
    watching: Watching,
    halt: watch::Receiver<bool>,
}

impl Driver<'_> {
    async fn run(mut self, start: Start) -> Result<Exit, Failure> {
        let catalog = Arc::clone(self.engine.workspace().catalog());
        let mut view = View::new(catalog, self.watching.events, self.halt.clone());
        let mut session = match start {
            Start::New(new) => self.engine.begin(*new, &mut view).await?,
            Start::TakeUp { run, input } => {
                let mut session = self.engine.take_up(&run, &mut view).await?;
                if let Some(input) = input
                    && let Err(error) = session.give(*input, &mut view).await
                {
                    session.release().await?;
                    return Err(error.into());
                }
                session
            }
        };
        let stop = self.until_it_stops(&mut session, &mut view).await?;
        let exit = self.report(session.state(), &stop);
        session.release().await?;
        Ok(exit)
    }

    async fn until_it_stops(
        &mut self,
        session: &mut Session,
        view: &mut View,
    ) -> Result<Stop, Failure> {
        let attended = output::is_attended() && !self.watching.json && !self.watching.events;
        loop {
            let driven = session.drive(view, &mut self.halt).await;
            view.rest(session.state());
            let stop = driven?;
            if stop != Stop::Waiting || !attended {
                return Ok(stop);
            }
            let user = self.engine.workspace().user().clone();
            if !self.ask(session, view, &user).await? {
                return Ok(Stop::Waiting);
            }
        }
    }

    /// Asks the person at the terminal; false if they leave it for later.
    async fn ask(
        &mut self,
        session: &mut Session,
        view: &mut View,
        user: &Principal,
    ) -> Result<bool, Failure> {
        let Some(input) = ask::person(session, user, &mut self.halt).await else {
            return Ok(false);
        };
        match session.give(input, view).await {
            Ok(()) => Ok(true),
            Err(DriveError::Step(StepError::NotOpen { .. })) => {
                // Why: the card lapsed while the person thought; the run has to hear of it.
                session.give(Input::Tick, view).await?;
                Ok(true)
            }
            Err(DriveError::Step(StepError::Over { .. })) => Ok(true),
            Err(DriveError::Step(error @ StepError::BadAnswer { .. })) => {
                Failure::from(error).show();
                Ok(true)
            }
            Err(DriveError::Step(error @ StepError::NotAllowed { .. })) => {
                Failure::from(error).show();
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn report(&self, state: &State, stop: &Stop) -> Exit {
        if self.watching.json {
            output::json(&run::to_json(state, self.place));
        } else if !self.watching.events {
            let mut page = Page::new();
            if output::is_live() {
                page.end();
            }
            page.page(run::end(state, self.place));
            output::data(&page.finish());
        }
        match stop {
            Stop::Ended(ended) => Exit::of(ended.status),
            Stop::Waiting => Exit::Waiting,
            Stop::InDoubt => Exit::InDoubt,
            Stop::Halted => {
                let command = self.place.command(&format!("provost resume {}", state.run));
                let mut page = Page::new();
                page.put(Look::Warn, "halted")
                    .line(&format!("; go on with: {command}"));
                output::note(&page.finish());
                if self.watching.events {
                    output::json_line(&json!({ "halted": true, "run": state.run }));
                }
                Exit::Waiting
            }
        }
    }
}

/// Asks a question at the terminal before there is anything to drive; whether the word was yes.
pub fn typed_yes(prompt: &str) -> Result<bool, Failure> {
    output::forget_typed();
    output::note(prompt);
    let mut typed = String::new();
    std::io::stdin().read_line(&mut typed).map_err(|error| {
        let reason = crate::document::reason(&error);
        Failure::usage(format!("what was typed cannot be read: {reason}"))
    })?;
    Ok(matches!(typed.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Turns true at the first Ctrl-C; the second ends the process at once.
fn interruptible() -> watch::Receiver<bool> {
    let (halt, halted) = watch::channel(false);
    // Why one stream for both: a second signal that comes before anybody waits is not lost.
    let Ok(mut interrupts) = signal(SignalKind::interrupt()) else {
        return halted;
    };
    tokio::spawn(async move {
        if interrupts.recv().await.is_none() {
            return;
        }
        if !output::is_live() {
            output::note(&format!("{HALTING}\n"));
        }
        let _ = halt.send(true);
        if interrupts.recv().await.is_some() {
            if output::is_live() {
                output::control("\u{1b}[?7h");
            }
            output::note("\nended at once: what was in flight may be in doubt\n");
            std::process::exit(130);
        }
    });
    halted
}
