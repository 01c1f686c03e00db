//! Who or what a call reaches.
//!
//! Owns the comparison of calls by their values at sinks. INVARIANT: two calls that reach the same
//! have one digest here.

use provost_plan::catalog::Operation;
use provost_plan::digest::{Digest, Domain};
use serde_json::Value;

/// Whether two calls of an operation reach the same.
pub(crate) fn same_sinks(operation: &Operation, one: &Value, other: &Value) -> bool {
    sinks(operation, one) == sinks(operation, other)
}

/// The values of a call at its sinks.
fn sinks(operation: &Operation, args: &Value) -> Value {
    let args = args.as_object().into_iter().flatten();
    args.filter(|(name, _)| operation.is_sink(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

pub(crate) fn sinks_digest(operation: &Operation, args: &Value) -> Digest {
    Digest::of_value(Domain::Args, &sinks(operation, args))
}
