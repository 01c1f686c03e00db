//! What people say to runs: who counts, how often, and what no forger gets past.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod answers;
mod folding;
mod forged;
mod forged_rows;
mod forged_tables;
mod forged_vouchers;
mod forger;
mod place;
mod posted;
mod pruned;
mod renewed;
mod rights;
mod working;
