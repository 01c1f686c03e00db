//! A server for MCP clients: somebody else's agent lists, checks, submits and watches.
//!
//! Owns the process: one thread drives the runs that clients submitted, beside it the requests are
//! served. It approves nothing, answers for nobody and calls no tool that a client names.
//! INVARIANT: what a client wrote is untrusted text for ever, and its runs act for an agent.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use provost_engine::engine::{Engine, EngineError, NewRun};
use provost_engine::limits::EXPORT_LAST_WORK;
use provost_engine::run::event::PlannerChoice;
use provost_engine::session::Unwatched;
use provost_engine::store::RunFilter;
use provost_engine::telemetry::Exporter;
use provost_engine::work::{WorkEvent, WorkOptions, work_on};
use rmcp::ServiceExt as _;
use tokio::sync::{mpsc, oneshot, watch};

use crate::drive::halt::at_interrupt_or_end;
use crate::drive::log::DriveLog;
use crate::drive::sign_head;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::workspace_path::WorkspacePath;

mod http;
mod requests;
mod server;
mod stdio;

pub use http::HttpOptions;
use requests::Requests;
use server::Server;

/// Most plans that wait to be begun.
const SUBMISSIONS_MAX: usize = 16;

/// How long calls in flight may take once the process is told to end.
const END_WAIT: Duration = Duration::from_secs(8);
/// How long the process takes at most to end after that, whatever a thread of it does.
const END_WAIT_MAX: Duration = Duration::from_secs(15);

/// A checked plan to begin a run of, and where its id goes.
pub struct Submission {
    new: NewRun,
    begun: oneshot::Sender<Result<String, EngineError>>,
}

/// Where clients come from.
pub enum Transport {
    /// One client, on stdin and stdout; when it goes away the server ends.
    Stdio,
    /// Any number, over HTTP, until somebody interrupts.
    Http(Box<HttpOptions>),
}

/// Serves clients and drives their runs.
pub fn serve(place: &WorkspacePath, from: Transport) -> Result<Exit, Failure> {
    let engine = Arc::new(place.to_drive()?);
    let (submissions, submitted) = mpsc::channel(SUBMISSIONS_MAX);
    let requests = Requests::new(Arc::clone(&engine), submissions);
    let server = Server::new(requests)?;
    if let Transport::Http(door) = &from {
        output::data(&format!("listening on {}\n", door.url()?));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // Why one: runs are driven by this thread; the worker serves the client.
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format!("no thread could be started: {error}")))?;
    let _exporter = Exporter::start(engine.workspace(), EXPORT_LAST_WORK);
    let served = runtime.block_on(async {
        let (gone, halt) = watch::channel(false);
        let interrupted = at_interrupt_or_end("");
        tokio::spawn(end_of(server, from, interrupted.clone(), gone));
        tokio::spawn(end_at_last(interrupted.clone()));
        tokio::select! {
            driven = drive(&engine, submitted, halt) => driven,
            () = waited_after(interrupted, END_WAIT) => {
                output::note(LEFT);
                Ok(())
            }
        }
    });
    // Why not waited for: a client that keeps its end open must not keep the command from ending.
    runtime.shutdown_background();
    sign_head(place, &engine);
    served.map(|()| Exit::Done).map_err(Failure::from)
}

/// Serves until there is no client any more or somebody interrupts, and says so to who drives.
async fn end_of(
    server: Server,
    from: Transport,
    mut interrupted: watch::Receiver<bool>,
    gone: watch::Sender<bool>,
) {
    let service = async {
        match from {
            Transport::Stdio => {
                if let Ok(running) = server.serve(stdio::open()).await {
                    // Why ignored: however it ended, there is no client any more.
                    let _ = running.waiting().await;
                }
            }
            Transport::Http(door) => door.serve(server).await,
        }
    };
    tokio::select! {
        () = service => {}
        _ = interrupted.changed() => {}
    }
    let _ = gone.send(true);
}

/// What is said of calls that the process did not wait for.
const LEFT: &str = "ended with calls in flight: the \
                    process that resumes their runs settles them\n";

/// Comes so long after somebody told the process to end.
async fn waited_after(mut interrupted: watch::Receiver<bool>, wait: Duration) {
    if interrupted.wait_for(|told| *told).await.is_err() {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(wait).await;
}

/// Ends the process where the thread that drives does not come back. Why so hard: a journal
/// outlives any end, and who ends a service waits for it.
async fn end_at_last(interrupted: watch::Receiver<bool>) {
    waited_after(interrupted, END_WAIT_MAX).await;
    output::note(LEFT);
    std::process::exit(i32::from(Exit::Failed.code()));
}

/// Begins what is submitted and drives the runs of clients, until `halt` turns true.
async fn drive(
    engine: &Engine,
    mut submitted: mpsc::Receiver<Submission>,
    halt: watch::Receiver<bool>,
) -> Result<(), EngineError> {
    let log = DriveLog::new(Arc::clone(engine.workspace().catalog()), false);
    let ours = RefCell::new(left_behind(engine)?);
    let scope = |run: &str| ours.borrow().contains(run);
    let beginning = async {
        while let Some(Submission { new, begun }) = submitted.recv().await {
            // Why ignored: whoever asked may have gone away; the run is there all the same.
            let _ = begun.send(begin(engine, new, &ours).await);
        }
        std::future::pending::<()>().await;
    };
    let listener = |told: &WorkEvent<'_>| log.put(told);
    let working = WorkOptions {
        schedules: false,
        ..WorkOptions::default()
    };
    tokio::select! {
        worked = work_on(engine, working, halt, &listener, &scope) => Ok(worked?),
        () = beginning => Ok(()),
    }
}

/// Begins a run and leaves it to be driven.
async fn begin(
    engine: &Engine,
    new: NewRun,
    ours: &RefCell<BTreeSet<String>>,
) -> Result<String, EngineError> {
    let session = engine.begin(new, &mut Unwatched).await?;
    let run = session.state().head.run.clone();
    ours.borrow_mut().insert(run.clone());
    session.release().await?;
    Ok(run)
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
