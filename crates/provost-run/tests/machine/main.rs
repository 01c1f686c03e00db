//! The run machine, case by case: inputs in, a transcript out.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests"
)]

mod case;

mod admission;
mod amend;
mod answers;
mod assertions;
mod cancel;
mod chain;
mod confirm;
mod corpus;
mod crash;
mod creates;
mod doubt;
mod duplicates;
mod earlier;
mod early_stop;
mod failed_inputs;
mod four_eyes;
mod fresh;
mod gates;
mod guards;
mod hearing;
mod hold;
mod interpreted;
mod item_progress;
mod lapses;
mod left_out;
mod limits;
mod lists;
mod mended;
mod moved;
mod origins;
mod planner_costs;
mod plans;
mod polls;
mod preview;
mod progress;
mod proofs;
mod questions;
mod receipts;
mod replan;
mod retry;
mod rights;
mod secrets;
mod settle;
mod subgoal;
mod together;
mod undo;
mod undo_ended;
mod untrusted;
mod values;
mod view;
mod waiting;
mod work;
