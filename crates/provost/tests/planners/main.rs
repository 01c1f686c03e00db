//! Planners that are no playbooks, over the real binary: a scripted model server, and a program.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "tests"
)]

#[allow(dead_code, reason = "the examples use the rest of it")]
#[path = "../examples/stage.rs"]
mod stage;

mod as_tool;
mod budget;
mod chain;
mod doctor;
mod interrupted;
mod killed;
mod labels;
mod large;
mod litellm;
mod modes;
mod place;
mod plans;
mod process;
mod refund;
mod replies;
mod right_end;
mod shop;
mod traced;
