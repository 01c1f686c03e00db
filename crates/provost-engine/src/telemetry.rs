//! What monitoring systems are told of a store.
//!
//! Owns the forms in which it leaves, and sending it. Counts nothing: that is
//! [`provost_run::facts`]. INVARIANT: what leaves are counts and closed words; no goal, argument,
//! answer, message or person.

mod cursor;
mod exposition;
mod openmetrics;
mod otlp;
mod sender;
mod settings;

pub use cursor::ExportStanding;
pub use exposition::{CONTENT_TYPE, SERIES_MAX};
pub use openmetrics::openmetrics;
pub use otlp::otlp_lines;
pub use sender::{Exporter, send_runs};
pub use settings::{OtlpForm, OtlpSignal, TelemetrySettings};
