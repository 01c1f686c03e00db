//! MCP: somebody else's agent lists, checks, submits and watches, and does nothing else.
//!
//! Owns what such a client sees, on stdin and over HTTP. Approves nothing, answers for nobody and
//! calls no tool that a client names. INVARIANT: what a client wrote is untrusted text for ever,
//! and its runs act for an agent.

use std::sync::Arc;

use provost_engine::engine::Engine;
use provost_engine::run::event::PlannerChoice;

use crate::app::FindingsJson;
use crate::drive::{self, Beginner, ClientRuns};

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
    let workspace = engine.workspace();
    let client = PlannerChoice::Client {
        client: String::new(),
        text: String::new(),
    };
    let caller = Caller {
        principal: workspace.principal(&client),
        sees_all: true,
    };
    let requests = Requests::new(Arc::clone(engine), beginner, findings);
    let server = McpServer::new(requests, Some(caller))?;
    Ok((server, ClientRuns::new(beginnings)))
}

/// The endpoint of clients whom the door knows.
pub(crate) fn behind_the_door(
    engine: &Arc<Engine>,
    beginner: &Beginner,
    findings: &Arc<FindingsJson>,
    halt: tokio::sync::watch::Receiver<bool>,
) -> Result<Endpoint, BrokenToolList> {
    let requests = Requests::new(Arc::clone(engine), beginner.clone(), Arc::clone(findings));
    Ok(Endpoint::new(McpServer::new(requests, None)?, halt))
}
