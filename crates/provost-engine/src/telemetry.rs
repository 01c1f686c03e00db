//! What monitoring systems are told of a store.
//!
//! Owns the forms in which it leaves. Counts nothing: that is [`provost_run::facts`]. INVARIANT:
//! what leaves are counts and closed words; no goal, argument, answer, message or person.

mod exposition;
mod openmetrics;
mod otlp;

pub use exposition::{CONTENT_TYPE, SERIES_MAX};
pub use openmetrics::openmetrics;
pub use otlp::otlp_lines;
