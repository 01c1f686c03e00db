//! The calls of a step: its own, the read that proves it and the call that undoes it.
//!
//! Owns what the two beside its own are and in which order all are looked at. Judges nothing.
//! INVARIANT: whoever looks at every call of a step asks [`Step::calls`], so that a rule about
//! calls holds for each of them.

use super::{Step, StepKind};
use crate::expr::{ArgTree, Template};
use crate::source::{Span, Spanned};

/// What a call is to its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallRole {
    /// The call that the step makes.
    Own,
    /// The read that proves that the call landed: `confirm`.
    Confirm,
    /// The call that takes back what the step did: `undo`.
    Undo,
}

impl CallRole {
    /// Every role, in the order in which the calls of a step are looked at.
    pub const ALL: [Self; 3] = [Self::Own, Self::Confirm, Self::Undo];

    /// The field of a step that holds the call; none of its own, whose fields are the step's.
    #[must_use]
    pub fn field(self) -> Option<&'static str> {
        match self {
            Self::Own => None,
            Self::Confirm => Some("confirm"),
            Self::Undo => Some("undo"),
        }
    }
}

/// A call that is made beside a step's own.
#[derive(Clone, Debug)]
pub struct SideCall {
    /// The operation that is called.
    pub tool: Spanned<String>,
    /// Its arguments, over `output` of the step.
    pub args: ArgTree,
    /// What must hold over `read` and `output`; empty of `undo`.
    pub accept: Vec<Template>,
    /// Its place in the source, for findings.
    pub span: Span,
}

impl Step {
    /// The call in a role that is not its own, if the step has it.
    #[must_use]
    pub fn side_call(&self, role: CallRole) -> Option<&SideCall> {
        match role {
            CallRole::Own => None,
            CallRole::Confirm => self.confirm.as_ref(),
            CallRole::Undo => self.undo.as_ref(),
        }
    }

    /// The tool and the arguments of the call in a role, if the step has it.
    #[must_use]
    pub fn call(&self, role: CallRole) -> Option<(&Spanned<String>, &ArgTree)> {
        match (role, &self.kind) {
            (CallRole::Own, StepKind::Tool { tool, args }) => Some((tool, args)),
            _ => self.side_call(role).map(|call| (&call.tool, &call.args)),
        }
    }

    /// Every call, with its tool and its arguments.
    pub fn calls(&self) -> impl Iterator<Item = (CallRole, &Spanned<String>, &ArgTree)> {
        let all = CallRole::ALL.into_iter();
        all.filter_map(|role| self.call(role).map(|(tool, args)| (role, tool, args)))
    }
}
