//! What a journal holds: events, and what stands in them.
//!
//! Owns the stored forms of events, cards and questions, calls and their purposes, outcomes, and
//! what people state. Never decides what follows from any: that is [`crate::machine`]'s.
//! INVARIANT: what is stored is read back as it was, by this version and the next.

pub mod call;
pub mod card;
pub mod event;
pub mod outcome;
pub mod statement;
pub mod trace_parent;
