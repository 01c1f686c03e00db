//! Readings of journals that are written by hand: the sentences, the trace, and the cause of an end.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests"
)]

mod journal_text;

mod trace;
mod why;
mod words;
