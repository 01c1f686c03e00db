//! The examples through the binary, against the real world server, which drops answers and lies.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "tests"
)]

mod anonymous;
mod cases;
mod confirm;
mod described;
mod effects;
mod evals;
mod failing_store;
mod incident;
mod kill;
mod money;
mod pager;
mod proxy;
mod refund;
mod sla;
mod stage;
mod statements;
