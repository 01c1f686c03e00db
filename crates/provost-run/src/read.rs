//! Readings of a journal: what each event says, the two views, and the cause of an end.
//!
//! Owns the one sentence of an event ([`words`]), the [`trace`] and the judgment ([`why`]). Only
//! reads: nothing here decides what a run does. INVARIANT: a view lays out the words of an event
//! and makes none of its own.

pub mod trace;
pub mod why;
pub mod words;
