//! The plan language and its compiler: goal, plan, expressions, catalog, labels, policy, check.
//!
//! Owns every judgment about a plan: what it means, whether it is admissible, what an approval of
//! it covers. Never does I/O, reads a clock or draws a random number; all of those come in as
//! arguments. INVARIANT: a [`check::CheckedPlan`] exists only for a plan without errors.
#![deny(missing_docs)]

pub mod approve;
pub mod catalog;
pub mod check;
pub mod codes;
pub mod diagnostic;
pub mod digest;
pub mod duration;
pub mod expr;
pub mod fix;
pub mod json;
pub mod label;
pub mod limits;
pub mod money;
pub mod node;
mod pattern;
pub mod plan;
pub mod policy;
pub mod reach;
pub mod render;
pub mod schema;
pub mod source;
pub mod work;
