//! Planning: what a planner is asked, and what becomes of its reply.
//!
//! Owns requests, their budget, the check of proposals, subgoals, and the planners that come next.
//! Never makes a call or ends a doubt.
//! INVARIANT: no plan is in force that the check did not pass.

pub(in crate::turn) mod budgeted;
pub(in crate::turn) mod chain;
pub(in crate::turn) mod judge;
pub(in crate::turn) mod planning;
pub(in crate::turn) mod subgoal;
