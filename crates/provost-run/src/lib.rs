//! The run machine: what may happen next in a run, decided from its journal alone.
//!
//! The idea: a run is a fold over events. The machine takes an input (a reply, a result, a
//! statement, a tick) and returns events and commands; the commands leave only when the events are
//! stored. After a crash the same events give the same state, so nothing else is recovered.
//!
//! Owns, keys, doubt, gates, approvals, replanning, the planner's view and the answer.
//! Never does I/O, reads a clock, draws a random number or names a planner or a tool adapter.
//! INVARIANT: state is the fold of the journal, and commands leave only against its receipt.
//!
//! # Floors
//!
//! From the top down; a floor uses those below it:
//!
//! - [`read`]: what a journal says: the sentence of each event, the trace, the cause of an end
//! - [`facts`], [`grade`]: what is counted of a run, and statistics over many
//! - [`concise`], [`shown`]: what planners see of results, and what anybody sees of values
//! - [`machine`]: the inputs, the commands and the table of transitions; the turn behind it
//!   plans, gates, dispatches, settles and ends
//! - [`state`]: the fold of the events, and [`state::waiting`], what the run waits for
//! - [`admission`], [`spending`], [`open_effects`], [`earlier`]: limits and facts that runs share
//! - [`journal`]: what a journal holds: [`event`], [`card`], [`statement`], [`outcome`], [`call`]
//!
//! # Where to start
//!
//! Read [`event::Event`], the closed list of facts, then the table in [`machine`], then
//! [`state::State`]. A single rule is one file of the turn, named after it, in the
//! room of the turn that it belongs to: `plan`, `call`, `people` or `end`.
#![deny(missing_docs)]

pub mod admission;
pub mod earlier;
pub mod facts;
pub mod grade;
pub mod journal;
pub mod machine;
pub mod open_effects;
pub mod proposal;
pub mod read;
pub mod shown;
pub mod spending;
pub mod state;
mod turn;
mod view;

pub use journal::{call, card, event, outcome, statement, trace_parent};
pub use view::concise;
