//! Tools as they are configured, behind a door that takes reads alone.
//!
//! Owns that door. Judges no tool: what an operation does is what its entry says, which policy and
//! approvals rest on too. INVARIANT: a call reaches an adapter only as a [`ReadCall`], and there is
//! none of an operation that changes anything.

use provost_run::call::Call;
use provost_run::outcome::Reply;

use crate::toolbox::{Toolbox, ToolboxState};

/// A call of an operation that only reads.
pub(super) struct ReadCall<'c>(&'c Call);

impl<'c> ReadCall<'c> {
    /// The call, if it only reads.
    pub(super) fn of(call: &'c Call) -> Option<Self> {
        call.operation().effect.is_read().then_some(Self(call))
    }
}

/// A toolbox that nobody can write by.
#[derive(Debug)]
pub(super) struct ReadingToolbox(Toolbox);

impl ReadingToolbox {
    /// Over these tools. Why by value: nobody else holds them then.
    pub(super) fn over(toolbox: Toolbox) -> Self {
        Self(toolbox)
    }

    /// Makes the call.
    pub(super) async fn perform(&self, call: ReadCall<'_>) -> Reply {
        self.0.perform(call.0).await
    }

    /// How its tools stand.
    pub(super) fn state(&self) -> ToolboxState<'_> {
        self.0.state()
    }
}
