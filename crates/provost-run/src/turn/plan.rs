//! Planning: what a planner is asked, and what becomes of its reply.
//!
//! Owns requests, their budget, the check of proposals, subgoals, and the planners that come next.
//! Never makes a call or ends a doubt.
//! INVARIANT: no plan is in force that the check did not pass.

pub(crate) mod budgeted;
pub(crate) mod chain;
pub(crate) mod in_force;
pub(crate) mod judge;
pub(crate) mod planning;
pub(crate) mod subgoal;
