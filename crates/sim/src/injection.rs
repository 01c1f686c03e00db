//! Injections: a planner that obeys every instruction it finds, in four domains.
//!
//! Owns the domains (data in `injection/`), the cases made of them, the planner, the person who
//! answers and the ledger that judges. One program plays all cases over the real run machine and
//! the reader of models; nothing is taken out of a plan here. INVARIANT: what counts as an effect
//! is what a tool was really called with.

mod domain;
mod harness;
mod planner;

pub use domain::{Case, Domain, domains};
pub use harness::{Person, Played, Setting, play};
