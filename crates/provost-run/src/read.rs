//! Readings of a journal: what each event says, the two views, and the cause of an end.
//!
//! Owns the one sentence of an event ([`words`]), the [`trace`], the judgment ([`why`]) and what is
//! drawn of rows ([`plot`]), what a [`card`] says, and the [`log_fields`] of an event. Only
//! reads: nothing here decides what a run does. INVARIANT: a view lays out the words of an event
//! and makes none of its own.

pub mod card;
pub mod log_fields;
pub mod plot;
pub mod question;
pub mod scripts;
pub mod sentences;
pub mod spans;
pub mod trace;
pub mod why;
pub mod words;
