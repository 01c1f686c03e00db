//! The end: whether a run is over, its answer, and the undoing of what it did.
//!
//! Owns criteria, the answer, the early end, and the revision that undoes.
//! Never makes a call itself.
//! INVARIANT: a run ends once, and by an event.

pub(crate) mod early;
pub(crate) mod finish;
pub(crate) mod undo;
