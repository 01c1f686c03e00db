//! The tools that an engine calls: those of the workspace, or those of a rehearsal.
//!
//! Owns that choice, which is made once. INVARIANT: an engine that rehearses holds no adapter of
//! the workspace as it is configured, so no way leads from an eval to a real write.

use std::sync::Arc;

use provost_run::call::Call;
use provost_run::outcome::Reply;
use provost_tools::{Rehearsal, Toolbox};

/// The tools of an engine.
#[derive(Debug)]
pub(crate) enum EngineTools {
    /// As the workspace configures them.
    Live(Toolbox),
    /// Doubles and a scratch copy.
    Rehearsal(Arc<Rehearsal>),
}

impl EngineTools {
    /// What is open.
    pub(crate) fn toolbox(&self) -> &Toolbox {
        match self {
            Self::Live(toolbox) => toolbox,
            Self::Rehearsal(rehearsal) => rehearsal.toolbox(),
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
