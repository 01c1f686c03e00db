//! MCP: somebody else's agent lists, checks, submits and watches, and does nothing else.
//!
//! Owns what such a client sees, on stdin and over HTTP. Approves nothing, answers for nobody and
//! calls no tool that a client names. INVARIANT: what a client wrote is untrusted text for ever,
//! and its runs act for an agent.

use std::sync::Arc;

use provost_engine::engine::Engine;
use provost_engine::run::event::PlannerChoice;
use tokio::sync::watch;

use crate::app::FindingsJson;
use crate::drive::{self, Beginner, ClientRuns};
use crate::may::Verdicts;

/// Where it is spoken.
pub(crate) const PATH: &str = "/mcp";

mod clients;
mod endpoint;
mod requests;
mod server;

pub(crate) use endpoint::{Endpoint, answer};
pub use requests::Caller;
pub use server::{BrokenToolList, McpServer};

use requests::Requests;

/// The server of the one client that started this process, and the runs that it submits.
///
/// # Errors
/// [`BrokenToolList`] if the list of its tools cannot be read.
pub fn local(
    engine: &Arc<Engine>,
    findings: Arc<FindingsJson>,
) -> Result<(McpServer, ClientRuns), BrokenToolList> {
    let (beginner, beginnings) = drive::queue();
    let engines = watch::Sender::new(Arc::clone(engine));
    let workspace = engine.workspace();
    let client = PlannerChoice::Client {
        client: String::new(),
        text: String::new(),
    };
    let caller = Caller {
        principal: workspace.principal(&client),
        sees_all: true,
    };
    let requests = Requests::new(engines.subscribe(), beginner, findings, None);
    let server = McpServer::new(requests, Some(caller))?;
    Ok((server, ClientRuns::new(beginnings)))
}

/// The endpoint of clients whom the door knows. Policy is asked what they may, unless the one token
/// there is was handed out by who started the process and has the files.
pub(crate) fn behind_the_door(
    engines: watch::Receiver<Arc<Engine>>,
    beginner: &Beginner,
    (findings, verdicts): (&Arc<FindingsJson>, Option<Arc<Verdicts>>),
    halt: watch::Receiver<bool>,
) -> Result<Endpoint, BrokenToolList> {
    let requests = Requests::new(engines, beginner.clone(), Arc::clone(findings), verdicts);
    Ok(Endpoint::new(McpServer::new(requests, None)?, halt))
}
