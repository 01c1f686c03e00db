//! What the tables of tools in `provost.toml` mean, and what is refused in them.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod config;
mod http;
#[path = "../support/mod.rs"]
mod support;
