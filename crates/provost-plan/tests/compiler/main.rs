//! The plan language and its check: text in, diagnostics out.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "tests"
)]

#[path = "../generated/mod.rs"]
mod generated;
mod literate;

mod check_record;
mod check_worst;
mod corpus;
mod expr_bounds;
mod expr_eval;
mod expr_extensions;
mod expr_static;
mod machine_readable;
mod names;
mod plan_read;
mod plan_schema;
mod policy_bounds;
mod ranking;
mod reach;
mod read_back;
mod schema_bounds;
mod schema_valid;
mod subgoals;
mod wording;
