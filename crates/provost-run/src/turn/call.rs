//! Calls: from a step that may run to what its call came to.
//!
//! Owns admission, arguments, retries, reads made beside a call, and how a step settles.
//! Never asks a person or a planner.
//! INVARIANT: no call begins that policy and the limits did not let pass with its values.

pub(in crate::turn) mod admit;
pub(in crate::turn) mod beside;
pub(in crate::turn) mod confirm;
pub(in crate::turn) mod dispatch;
pub(in crate::turn) mod doubt;
pub(in crate::turn) mod earlier;
pub(in crate::turn) mod fresh;
pub(in crate::turn) mod settle;
pub(in crate::turn) mod sinks;
