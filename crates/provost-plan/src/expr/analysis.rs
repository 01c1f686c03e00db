//! What an expression says without a value: what it reads, proves, excludes and passes on.
//!
//! Owns the analyses that the check rests on, each a walk over the tree. Evaluates nothing but
//! constants. INVARIANT: an analysis that is not sure says so by finding nothing.

pub mod cases;
mod facts;
pub(super) mod guards;
mod items;
pub(super) mod label;
pub(super) mod refs;
