//! Calls: from a step that may run to what its call came to.
//!
//! Owns admission, arguments, retries, reads made beside a call, and how a step settles.
//! Never asks a person or a planner.
//! INVARIANT: no call begins that policy and the limits did not let pass with its values.

pub(crate) mod admit;
pub(crate) mod approval;
pub(crate) mod assertion;
pub(crate) mod beside;
pub(crate) mod confirm;
pub(crate) mod dependency;
pub(crate) mod dispatch;
pub(crate) mod doubt;
pub(crate) mod earlier;
pub(crate) mod fresh;
pub(crate) mod limit;
pub(crate) mod origin;
pub(crate) mod poll;
pub(crate) mod settle;
pub(crate) mod sinks;
pub(crate) mod subgoal;
