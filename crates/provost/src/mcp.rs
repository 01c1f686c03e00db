//! A server for MCP clients: somebody else's agent lists, checks, submits and watches.
//!
//! Owns the process: one thread drives the runs that clients submitted, beside it the requests are
//! served. It approves nothing, answers for nobody and calls no tool that a client names.
//! INVARIANT: what a client wrote is untrusted text for ever, and its runs act for an agent.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use provost_engine::engine::{Engine, EngineError};
use provost_engine::limits::EXPORT_LAST_WORK;
use provost_engine::secrets::SecretName;
use provost_engine::telemetry::Exporter;
use provost_engine::work::{WorkEvent, WorkOptions};
use provost_server::mcp::{McpServer, local};
use provost_server::{GivenToken, Offer, ServeOptions, Server};
use rmcp::ServiceExt as _;
use tokio::sync::watch;

use crate::cli::serve::lent;
use crate::drive::halt::at_interrupt_or_end;
use crate::drive::log::DriveLog;
use crate::drive::{runtime, sign_head};
use crate::failure::{Exit, Failure};
use crate::output;
use crate::workspace_path::WorkspacePath;

mod stdio;

/// How long calls in flight may take once the process is told to end.
const END_WAIT: Duration = Duration::from_secs(8);
/// How long the process takes at most to end after that, whatever a thread of it does.
const END_WAIT_MAX: Duration = Duration::from_secs(15);

/// Where clients come from.
pub enum Transport {
    /// One client, on stdin and stdout; when it goes away the server ends.
    Stdio,
    /// Any number, over HTTP, until somebody interrupts.
    Http(Box<HttpOptions>),
}

/// The door, as asked for on the command line.
pub struct HttpOptions {
    listen: SocketAddr,
    token: GivenToken,
    hosts: Vec<String>,
}

impl HttpOptions {
    /// At `listen`, for whoever sends the token, under the names of this machine and `hosts`.
    pub fn read(listen: SocketAddr, token: &str, hosts: Vec<String>) -> Result<Self, Failure> {
        if !listen.ip().is_loopback() && hosts.is_empty() {
            let message = format!("`{listen}` can be reached from other machines");
            return Err(Failure::usage(message).hint(
                "listen at 127.0.0.1, behind a server that speaks TLS, or say with `--host NAME` \
                 under which name clients reach it",
            ));
        }
        let hint = "`--token env:NAME` or `--token file:PATH` says where the token is";
        let secret = SecretName::parse(token)
            .map_err(|error| Failure::usage(error.to_string()).hint(hint))?
            .resolve("".as_ref())
            .map_err(|error| Failure::usage(error.to_string()).hint(hint))?;
        let token = GivenToken::new(secret.expose()).map_err(|weak| {
            Failure::usage(weak.to_string()).hint("make one: `openssl rand -hex 32`")
        })?;
        Ok(Self {
            listen,
            token,
            hosts,
        })
    }
}

/// Serves clients and drives their runs.
pub fn serve(place: &WorkspacePath, from: Transport) -> Result<Exit, Failure> {
    let engine = Arc::new(place.to_drive()?);
    // Why one: runs are driven by this thread; the worker serves the client.
    let runtime = runtime(1)?;
    let _exporter = Exporter::start(engine.workspace(), EXPORT_LAST_WORK);
    let served = runtime.block_on(async {
        let interrupted = at_interrupt_or_end("");
        tokio::spawn(end_at_last(interrupted.clone()));
        tokio::select! {
            served = served(place, &engine, from, interrupted.clone()) => served,
            () = waited_after(interrupted, END_WAIT) => {
                output::note(LEFT);
                Ok(())
            }
        }
    });
    // Why not waited for: a client that keeps its end open must not keep the command from ending.
    runtime.shutdown_background();
    sign_head(place, &engine);
    served.map(|()| Exit::Done)
}

async fn served(
    place: &WorkspacePath,
    engine: &Arc<Engine>,
    from: Transport,
    interrupted: watch::Receiver<bool>,
) -> Result<(), Failure> {
    let log = DriveLog::new(Arc::clone(engine.workspace().catalog()));
    let listener = |told: &WorkEvent<'_>| log.put(told);
    let lent = lent(place, engine.workspace().root());
    let driven = match from {
        Transport::Stdio => {
            let local = local(engine, Arc::clone(&lent.findings));
            let (server, runs) = local.map_err(|error| Failure::failed(error.to_string()))?;
            let (gone, halt) = watch::channel(false);
            tokio::spawn(end_of(server, interrupted, gone));
            runs.drive(engine, halt, &listener).await
        }
        Transport::Http(door) => {
            let options = ServeOptions {
                offer: Offer::Planning {
                    token: door.token,
                    hosts: door.hosts,
                },
                listen: door.listen,
                url: None,
                working: WorkOptions::default(),
            };
            let server = Server::open(engine, options, lent, interrupted)?;
            output::data(&format!("listening on {}/mcp\n", server.url()));
            server.run(&listener).await
        }
    };
    driven.map_err(|error: EngineError| Failure::from(error))
}

/// Serves until there is no client any more or somebody interrupts, and says so to who drives.
async fn end_of(
    server: McpServer,
    mut interrupted: watch::Receiver<bool>,
    gone: watch::Sender<bool>,
) {
    let service = async {
        if let Ok(running) = server.serve(stdio::open()).await {
            // Why ignored: however it ended, there is no client any more.
            let _ = running.waiting().await;
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
