//! Planners: who proposes a plan and its revisions.
//!
//! The idea: every planner is a function from a [`PlanRequest`] to a reply, whoever answers it: a
//! playbook, a file, a model, a program, a client. It sees typed observations and findings, and
//! returns a document; the check judges all of them alike.
//!
//! Owns the playbook, the plan file, the model, the external process, and the choice between
//! playbooks, with its questions. A planner only proposes: it cannot name a tool adapter or the run
//! machine. INVARIANT: a request is complete in itself, so a reply that is recorded is never asked
//! for again.
//!
//! # Floors
//!
//! - [`Router`], [`Interpreter`]: which playbook a goal is for, and questions where that is open
//! - [`playbook`], [`pattern`]: plans with parameters, match rules and rules of revision
//! - [`model`], [`process`], [`ClientPlanner`], [`FilePlanner`]: planners outside of the workspace
//! - the reply: one reader for what models and programs return
//!
//! # Where to start
//!
//! Read the trait [`Planner`], then [`FilePlanner`], the shortest one, then [`playbook`].

mod client;
mod file;
mod interpreter;
mod limits;
pub mod model;
pub mod pattern;
pub mod playbook;
pub mod process;
mod reply;
mod router;

use futures::future::BoxFuture;
use provost_plan::codes::Code;
use provost_plan::diagnostic::Severity;
use provost_plan::plan::request::{FindingView, PlanReply, PlanRequest, Planned};

pub use client::ClientPlanner;
pub use file::FilePlanner;
pub use interpreter::Interpreter;
pub use model::ModelPlanner;
pub use playbook::Playbook;
pub use process::ProcessPlanner;
pub use router::{NoMatch, Route, Router};

/// Somebody who proposes plans. Whoever asks records the reply before it acts on it.
pub trait Planner: Send + Sync {
    /// The reply to a request for a first plan or for a revision. It may take its time, and may be
    /// dropped while it does.
    fn reply<'a>(&'a self, request: &'a PlanRequest) -> BoxFuture<'a, Planned>;
}

/// What a planner that always says the same says to findings in what it said.
fn decline_findings(author: &str, request: &PlanRequest) -> Option<PlanReply> {
    let is_error = |finding: &&FindingView| {
        Code::from_text(&finding.code).is_none_or(|code| code.severity() == Severity::Error)
    };
    // Why errors first: warnings and notes are not what the plan was refused for.
    let errors: Vec<_> = request.diagnostics.iter().filter(is_error).collect();
    let first = errors.first().copied().or(request.diagnostics.first())?;
    let more = match errors.len().saturating_sub(1) {
        0 => String::new(),
        n => format!(" (and {n} more)"),
    };
    Some(PlanReply::Decline(format!(
        "{author} has no other plan to offer than the one that was refused: {}: {}{more}",
        first.code, first.message
    )))
}
