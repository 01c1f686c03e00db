//! The tools that an engine calls: those of the workspace, or those of a rehearsal.
//!
//! Owns that choice, which is made once. INVARIANT: an engine that rehearses holds no adapter of
//! the workspace as it is configured but behind a door for reads, so no way leads from an eval to a
//! real write.

use std::sync::Arc;

use provost_run::call::Call;
use provost_run::outcome::Reply;
use provost_tools::{Rehearsal, Toolbox, ToolboxState};

/// The tools of an engine.
#[derive(Debug)]
pub(crate) enum EngineTools {
    /// As the workspace configures them.
    Live(Toolbox),
    /// Doubles and a scratch copy, recorded calls, or tools that only read.
    Rehearsal(Arc<Rehearsal>),
}

impl EngineTools {
    /// How those that are open stand.
    pub(crate) fn state(&self) -> ToolboxState<'_> {
        match self {
            Self::Live(toolbox) => toolbox.state(),
            Self::Rehearsal(rehearsal) => rehearsal.state(),
        }
    }

    /// Whether calls of an operation say where they stand in the trace of their run.
    pub(crate) fn propagates(&self, operation: &str) -> bool {
        match self {
            Self::Live(toolbox) => toolbox.propagates(operation),
            // Why all: what is rehearsed with is not looked into here.
            Self::Rehearsal(_) => true,
        }
    }

    /// Makes one call.
    pub(crate) async fn perform(&self, call: &Call) -> Reply {
        match self {
            Self::Live(toolbox) => toolbox.perform(call).await,
            Self::Rehearsal(rehearsal) => rehearsal.perform(call).await,
        }
    }
}
