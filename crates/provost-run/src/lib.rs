//! The run machine: what may happen next in a run, decided from its journal alone.
//!
//! Owns attempts, keys, doubt, gates, approvals, replanning, the planner's view and the answer.
//! Never does I/O, reads a clock, draws a random number or names a planner or a tool adapter.
//! INVARIANT: state is the fold of the journal, and commands leave only against its receipt.
#![deny(missing_docs)]

pub mod admission;
pub mod call;
pub mod card;
pub mod concise;
pub mod earlier;
pub mod event;
pub mod machine;
pub mod open_effects;
pub mod outcome;
pub mod proposal;
pub mod read;
pub mod shown;
pub mod spending;
pub mod state;
pub mod statement;
mod turn;
mod view;
#[cfg(test)]
mod written;
