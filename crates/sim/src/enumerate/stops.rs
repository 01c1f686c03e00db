//! Stops from outside a run: of all runs, or of what calls one operation.
//!
//! Owns what one covers while it is in force. Never lifts one. INVARIANT: what is not within
//! its scope is admitted. A stop of a playbook or of a principal is to one run what that of all is.

use super::Kind;

/// A call began within the scope of a stop.
pub const BEGUN_STOPPED: &str = "a call began within the scope of a stop";

/// What is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Scope {
    /// Every run.
    All,
    /// What calls an operation of this class.
    Of(Kind),
}

impl Scope {
    pub(super) fn covers(self, operation: &str) -> bool {
        match self {
            Self::All => true,
            Self::Of(kind) => kind.operation() == operation,
        }
    }
}
