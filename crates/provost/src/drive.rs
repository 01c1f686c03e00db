//! Driving a run from the command line: watch it, ask the person who is there, stop when told.
//!
//! Owns interruption, prompts and what is said at the end. Decides nothing about the run.
//! INVARIANT: the exit code is the state the run was left in.

use std::sync::Arc;

use provost_engine::engine::{Engine, EngineError, FoldedRun, NewRun};
use provost_engine::limits::{EXPORT_LAST_RUN, NOTIFY_LAST};
use provost_engine::notify::DeliveryStatus;
use provost_engine::people::{Statement, StatementEnvelope};
use provost_engine::run::machine::{Input, StepError};
use provost_engine::run::state::State;
use provost_engine::session::{DriveEnd, DriveError, Session, Unwatched};
use provost_engine::telemetry::Exporter;
use provost_plan::digest::Digest;
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::cli::Watching;
use crate::failure::{Exit, Failure};
use crate::keyring::{KeyChoice, LocalSigner};
use crate::output;
use crate::screen::page::{Page, TextStyle};
use crate::screen::run;
use crate::screen::view::View;
use crate::workspace_path::WorkspacePath;

mod ask;
pub mod halt;
pub mod log;
mod post;
pub mod supervisor;

use ask::{AskResult, LineReader};
use post::PostResult;

/// Where a drive begins.
pub enum Start {
    /// A new run.
    New(Box<NewRun>),
    /// A run that is there.
    TakeUp(TakeUp),
}

/// A run to take up, and what a person says to it.
pub struct TakeUp {
    /// The run as whoever asked for it saw it.
    pub folded: Box<FoldedRun>,
    /// The statement of the person.
    pub envelope: Option<Box<StatementEnvelope>>,
}

/// Drives a run as far as it goes, and says how far that was.
pub fn drive(
    place: &WorkspacePath,
    engine: &Engine,
    start: Start,
    watching: Watching,
) -> Result<Exit, Failure> {
    with_driver(place, engine, watching, async |driver| {
        driver.run(start).await
    })
}

/// Records a statement of a person and ends: nothing is called.
pub fn record(
    place: &WorkspacePath,
    engine: &Engine,
    spoken: TakeUp,
    watching: Watching,
) -> Result<Exit, Failure> {
    with_driver(place, engine, watching, async |driver| {
        driver.record(spoken).await
    })
}

/// Begins a run and leaves it to whoever works.
pub fn begin(
    place: &WorkspacePath,
    engine: &Engine,
    new: NewRun,
    watching: Watching,
) -> Result<Exit, Failure> {
    with_driver(place, engine, watching, async |driver| {
        driver.begin(new).await
    })
}

/// What drives and waits, with so many threads beside the caller's.
pub fn runtime(workers: usize) -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format!("no thread could be started: {error}")))
}

/// What comes of some work. Its threads are not waited for: a tool that hangs must not keep the
/// command from ending.
pub fn waited_for<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = runtime(1)?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    Ok(done)
}

fn with_driver(
    place: &WorkspacePath,
    engine: &Engine,
    watching: Watching,
    work: impl AsyncFnOnce(Driver<'_>) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    // Why one: the run itself is driven by this thread; the worker sees to signals and timers.
    let runtime = runtime(1)?;
    let _exporter = Exporter::start(engine.workspace(), EXPORT_LAST_RUN);
    let driven = runtime.block_on(async {
        let halt = halt::at_interrupt();
        let driver = Driver {
            place,
            engine,
            watching,
            halt,
            typist: LineReader::default(),
            signer: None,
            seen: None,
        };
        let driven = work(driver).await;
        tell(engine).await;
        driven
    });
    // Why not waited for: a tool's thread that hangs must not keep the command from ending.
    runtime.shutdown_background();
    sign_head(place, engine);
    driven
}

/// Tells whom it may concern, for a moment: what is left is told by whoever works next.
async fn tell(engine: &Engine) {
    if engine.workspace().notify().is_empty() || engine.store().failure().is_some() {
        return;
    }
    // Why no error: the exit code is the run's, and what was not told stays to be told.
    let Ok(Ok(all)) = tokio::time::timeout(NOTIFY_LAST, engine.deliver_due()).await else {
        return;
    };
    for one in all {
        if let DeliveryStatus::No { why } = one.told {
            Failure::usage(format!("`{}` could not be notified: {why}", one.target))
                .hint("`provost work` tries again; `provost doctor` says what is left to tell")
                .show_as("warning");
        }
    }
}

/// Signs what was committed, however the drive ended; the exit code stays that of the run.
pub fn sign_head(place: &WorkspacePath, engine: &Engine) {
    // Why: after a failed commit nobody knows what the disk holds, and that is said already.
    if engine.store().failure().is_some() {
        return;
    }
    if let Err(error) = engine.sign_head() {
        Failure::from(error).at(place).show();
    }
}

struct Driver<'a> {
    place: &'a WorkspacePath,
    engine: &'a Engine,
    watching: Watching,
    halt: watch::Receiver<bool>,
    typist: LineReader,
    signer: Option<LocalSigner>,
    /// The card or question that the prompt showed last.
    seen: Option<Digest>,
}

impl Driver<'_> {
    async fn run(mut self, start: Start) -> Result<Exit, Failure> {
        let mut view = self.view();
        let mut session = match start {
            Start::New(new) => self.engine.begin(*new, &mut view).await?,
            Start::TakeUp(start) => match self.take_up(start, &mut view).await? {
                Some(session) => session,
                None => return Ok(Exit::Done),
            },
        };
        loop {
            let stop = self.until_it_stops(&mut session, &mut view).await?;
            let state = session.state().clone();
            session.release().await?;
            // Why after the release: whoever posts a word looks at the owner after that.
            let words = self.engine.store().untaken(&state.head.run)?;
            if stop == DriveEnd::Halted || words.is_empty() {
                return Ok(self.report(&state, &stop));
            }
            session = match self.engine.take_up(&state.head.run, &mut view).await {
                Ok(session) => session,
                Err(EngineError::Held { .. }) => return Ok(self.report(&state, &stop)),
                Err(error) => return Err(error.into()),
            };
        }
    }

    fn view(&self) -> View {
        let catalog = Arc::clone(self.engine.workspace().catalog());
        View::new(catalog, self.watching.events, self.halt.clone())
    }

    /// Takes a run up with what a person says to it; none if another process drives it and was
    /// told.
    async fn take_up(&self, start: TakeUp, view: &mut View) -> Result<Option<Session>, Failure> {
        let TakeUp { folded, envelope } = start;
        let envelope = envelope.as_deref();
        match (
            self.engine.take_up_folded(*folded, envelope, view).await,
            envelope,
        ) {
            (Ok(session), _) => Ok(Some(session)),
            (Err(EngineError::Held { pid, .. }), Some(envelope)) => {
                self.post(envelope, pid, view).await
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    async fn record(self, spoken: TakeUp) -> Result<Exit, Failure> {
        let mut view = self.view();
        let session = self.take_up(spoken, &mut view).await?;
        let Some(session) = session else {
            return Ok(Exit::Done);
        };
        let state = session.state().clone();
        session.release().await?;
        if self.watching.json {
            output::json(&run::to_json(&state, self.place));
        }
        let mut page = Page::new();
        page.put(TextStyle::Good, "recorded");
        if state.ending.ended.is_none() {
            let command = self
                .place
                .command(&format!("provost resume {}", state.head.run));
            page.line(&format!("; continue the run with: {command}"));
        } else {
            page.end();
        }
        output::note(&page.finish());
        Ok(Exit::Done)
    }

    async fn begin(self, new: NewRun) -> Result<Exit, Failure> {
        let session = self.engine.begin(new, &mut Unwatched).await?;
        let state = session.state().clone();
        session.release().await?;
        let run = &state.head.run;
        if self.watching.json {
            output::json(&run::to_json(&state, self.place));
        } else {
            output::data(&format!("{run}\n"));
        }
        let show = self.place.command(&format!("provost show {run}"));
        let work = self.place.command("provost work");
        let mut page = Page::new();
        page.line(&format!(
            "begun; `{work}` executes it, `{show}` tells how far it is"
        ));
        output::note(&page.finish());
        Ok(Exit::Done)
    }

    async fn post(
        &self,
        envelope: &StatementEnvelope,
        pid: Option<u32>,
        view: &mut View,
    ) -> Result<Option<Session>, Failure> {
        match post::post(self.engine, envelope, view).await? {
            PostResult::There => {
                post::follow(self.engine, envelope, pid, self.watching).await?;
                Ok(None)
            }
            PostResult::Here(mut session) => {
                session.hear_posted(view).await?;
                match post::ignored(self.engine, envelope)? {
                    None => Ok(Some(*session)),
                    Some(why) => {
                        session.release().await?;
                        Err(Failure::usage(why))
                    }
                }
            }
        }
    }

    async fn until_it_stops(
        &mut self,
        session: &mut Session,
        view: &mut View,
    ) -> Result<DriveEnd, Failure> {
        let attended = output::is_attended() && !self.watching.json && !self.watching.events;
        loop {
            let driven = session.drive(view, &mut self.halt).await;
            let asks = attended && matches!(driven, Ok(DriveEnd::Waiting));
            if !asks {
                view.rest(session.state());
                return Ok(driven?);
            }
            view.step_aside(session.state());
            if !self.ask(session, view).await? {
                return Ok(DriveEnd::Waiting);
            }
        }
    }

    /// Asks the person at the terminal; false if they leave it for later.
    async fn ask(&mut self, session: &mut Session, view: &mut View) -> Result<bool, Failure> {
        let state = session.state();
        let question = state.open_questions().next().map(|(digest, _)| *digest);
        self.seen = question.or(state.open_cards().next().map(|(digest, _)| *digest));
        let statement = match ask::person(&mut self.typist, session, &mut self.halt).await {
            AskResult::Said(statement) => *statement,
            AskResult::Later => return Ok(false),
            AskResult::Elsewhere => {
                session.hear_posted(view).await?;
                return Ok(true);
            }
            AskResult::Expired => {
                session.give(Input::Tick, view).await?;
                return Ok(true);
            }
        };
        let envelope = match self.envelope(session.state(), statement) {
            Ok(envelope) => envelope,
            // Why no end: what waits can still be answered later, with the key.
            Err(failure) => {
                failure.show();
                return Ok(false);
            }
        };
        match session.hear(&envelope, view).await {
            Ok(()) => Ok(true),
            Err(DriveError::Step(StepError::NotOpen { .. } | StepError::Lapsed { .. })) => {
                // Why: the card lapsed while the person thought; the run has to hear of it.
                session.give(Input::Tick, view).await?;
                Ok(true)
            }
            Err(DriveError::Step(StepError::Over { .. })) => Ok(true),
            Err(DriveError::Step(error @ StepError::BadAnswer { .. })) => {
                Failure::from(error).show();
                Ok(true)
            }
            Err(DriveError::Step(
                error @ (StepError::NotAllowed { .. } | StepError::Denied(_)),
            )) => {
                Failure::from(error).show();
                Ok(false)
            }
            Err(DriveError::Statement(error)) => {
                Failure::from(error).show();
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What the person at the terminal says, signed where that is required.
    fn envelope(
        &mut self,
        state: &State,
        statement: Statement,
    ) -> Result<StatementEnvelope, Failure> {
        let signer = match self.signer.take() {
            Some(signer) => signer,
            None => {
                let needs = statement.needs_credential();
                LocalSigner::here(self.engine.workspace(), &KeyChoice::default(), needs)?
            }
        };
        let envelope = signer.envelope(self.engine.inbox().store(), state, statement);
        self.signer = Some(signer);
        envelope
    }

    fn report(&self, state: &State, stop: &DriveEnd) -> Exit {
        if self.watching.json {
            output::json(&run::to_json(state, self.place));
        } else if !self.watching.events {
            let mut page = Page::new();
            if output::is_live() {
                page.end();
            }
            page.page(run::end_after(state, self.place, self.seen.as_ref()));
            output::data(&page.finish());
        }
        match stop {
            DriveEnd::Ended(ended) => Exit::of(ended.status),
            DriveEnd::Waiting | DriveEnd::Paused | DriveEnd::Until(_) => Exit::Waiting,
            DriveEnd::InDoubt => Exit::InDoubt,
            DriveEnd::Halted | DriveEnd::Superseded => {
                let command = self
                    .place
                    .command(&format!("provost resume {}", state.head.run));
                let mut page = Page::new();
                page.put(TextStyle::Warn, "halted")
                    .line(&format!("; go on with: {command}"));
                output::note(&page.finish());
                if self.watching.events {
                    output::json_line(&json!({ "halted": true, "run": state.head.run }));
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
