//! Part of the pass `effects`: settings of a step that its tool does not follow.
//!
//! Owns E310. INVARIANT: what is found changes nothing in any run: it may be left out.

use crate::catalog::{Idempotency, Operation};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::duration;
use crate::plan::Step;

pub(super) fn vain(step: &Step, operation: &Operation) -> Vec<Diagnostic> {
    let id = &step.id;
    let finding = |message: String, hint: &str| {
        Diagnostic::new(Code::VainSetting, id.span, message)
            .hint(hint)
            .step(&id.value)
    };
    let mut found = Vec::new();
    if let Some(timeout) = step.timeout.filter(|timeout| *timeout > operation.timeout) {
        let message = format!(
            "the `timeout` of `{}` is {}, and `{}` is given at most {}",
            id.value,
            duration::words(timeout),
            operation.name,
            duration::words(operation.timeout)
        );
        found.push(finding(
            message,
            "leave `timeout` out, or write less than the tool's",
        ));
    }
    let repeats = step.retry.as_ref().is_some_and(|retry| retry.attempts > 1);
    if repeats && !operation.effect.is_read() && operation.idempotency == Idempotency::None {
        let message = format!(
            "`{}` is never tried twice, whatever its `retry` says: `{}` recognises no repetition",
            id.value, operation.name
        );
        found.push(finding(
            message,
            "leave `retry` out, or let the operator declare a key",
        ));
    }
    found
}
