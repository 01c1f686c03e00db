//! What can go wrong for a program that embeds provost.

use provost_engine::engine::EngineError;
use provost_engine::keys::KeyError;
use provost_engine::people::MalformedStatement;
use provost_engine::proposal::RouteError;
use provost_engine::session::DriveError;
use provost_engine::store::StoreError;
use provost_engine::workspace::WorkspaceError;

use crate::wait::{Doubt, Why};

/// A result of this library.
pub type Result<T> = std::result::Result<T, Error>;

/// Something that did not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The workspace has findings, or is not there.
    #[error("{}", findings(.0))]
    Workspace(#[from] WorkspaceError),
    /// A tool of the program cannot be described.
    #[error("the tool `{tool}` cannot be used: {reason}")]
    Tool {
        /// Its name.
        tool: String,
        /// Why.
        reason: String,
    },
    /// No planner takes the goal.
    #[error(transparent)]
    Goal(#[from] RouteError),
    /// The plan has errors.
    #[error("the plan is not admissible: {0}")]
    Plan(String),
    /// A run could not be begun, taken up or driven.
    #[error("{0}")]
    Engine(Box<EngineError>),
    /// What a person says cannot be written down.
    #[error(transparent)]
    Statement(#[from] MalformedStatement),
    /// The run waits, and nobody is there.
    #[error("the run waits: {0}")]
    Waits(Why),
    /// It is unknown whether a write took place.
    #[error("in doubt: {0}")]
    InDoubt(Doubt),
    /// A key cannot be used.
    #[error(transparent)]
    Key(KeyError),
    /// The system.
    #[error(transparent)]
    System(#[from] std::io::Error),
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        Self::Engine(Box::new(error))
    }
}

impl From<DriveError> for Error {
    fn from(error: DriveError) -> Self {
        EngineError::from(error).into()
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        EngineError::from(error).into()
    }
}

impl From<Why> for Error {
    fn from(why: Why) -> Self {
        Self::Waits(why)
    }
}

impl From<Doubt> for Error {
    fn from(doubt: Doubt) -> Self {
        Self::InDoubt(doubt)
    }
}

/// The findings of a workspace, in a line each: a program has no screen to draw them on.
fn findings(error: &WorkspaceError) -> String {
    let of_file = error.findings().iter().flat_map(|found| {
        let name = &found.source.name;
        let line = move |one: &provost_plan::diagnostic::Diagnostic| {
            format!("{name}: {}: {}", one.code, one.message)
        };
        found.diagnostics.iter().map(line)
    });
    let lines: Vec<String> = of_file.collect();
    match lines.as_slice() {
        [] => error.to_string(),
        lines => lines.join("; "),
    }
}
