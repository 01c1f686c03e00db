//! Planners: who proposes a plan and its revisions.
//!
//! Owns the playbook, the plan file and the choice between playbooks. A planner only proposes:
//! it cannot name a tool adapter or the run machine. INVARIANT: a reply follows from its request
//! alone, so a recorded reply is never asked for again.

mod client;
mod file;
pub mod pattern;
pub mod playbook;
mod router;

use provost_plan::codes::Code;
use provost_plan::diagnostic::Severity;
use provost_plan::plan::request::{FindingView, PlanReply, PlanRequest, RequestKind};

pub use client::ClientPlanner;
pub use file::FilePlanner;
pub use playbook::Playbook;
pub use router::{NoMatch, Route, Router};

/// Somebody who proposes plans.
pub trait Planner: Send + Sync {
    /// A first plan for the goal.
    fn propose(&self, request: &PlanRequest) -> PlanReply;

    /// A new revision, from what was observed.
    fn revise(&self, request: &PlanRequest) -> PlanReply;

    /// The reply to a request of either kind.
    fn reply(&self, request: &PlanRequest) -> PlanReply {
        match request.kind {
            RequestKind::Propose => self.propose(request),
            RequestKind::Revise => self.revise(request),
        }
    }
}

impl<P: Planner + ?Sized> Planner for std::sync::Arc<P> {
    fn propose(&self, request: &PlanRequest) -> PlanReply {
        (**self).propose(request)
    }

    fn revise(&self, request: &PlanRequest) -> PlanReply {
        (**self).revise(request)
    }
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
