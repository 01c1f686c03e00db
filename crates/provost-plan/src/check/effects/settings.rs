//! Part of the pass `effects`: settings of a step that its tool, or a question, does not follow.
//!
//! Owns E310, and R117: the list that a question does not run over. INVARIANT: what E310 finds
//! changes nothing in any run: it may be left out.

use crate::catalog::{Idempotency, Operation};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::duration;
use crate::plan::{Step, StepKind};

/// What stands on a question and is of a call: a person is asked once.
pub(super) fn of_question(step: &Step) -> Vec<Diagnostic> {
    if !matches!(step.kind, StepKind::Question { .. }) {
        return Vec::new();
    }
    let id = &step.id;
    let mut found = Vec::new();
    if let Some(each) = &step.for_each {
        let message = format!("`for_each` repeats a call, and `{}` asks once", id.value);
        found.push(
            Diagnostic::new(Code::AskedOnce, each.list.span(), message)
                .hint("put the list into the text of the question, and ask for a list as `answer`")
                .step(&id.value),
        );
    }
    let vain = [
        ("timeout", step.timeout.is_some()),
        ("retry", step.retry.is_some()),
        ("expect", step.expect.is_some()),
        ("risk", step.risk.is_some()),
        ("approval", step.approval_required),
    ];
    for (field, _) in vain.into_iter().filter(|(_, written)| *written) {
        let message = format!(
            "`{field}` changes nothing for `{}`, which is a question",
            id.value
        );
        let hint = match field {
            "timeout" => "say it as `expires` of the question: how long an answer is waited for",
            "retry" => "leave it out: a person is asked once",
            "expect" => "say it as `answer` of the question: the schema of the answer",
            _ => "leave it out, or put it on the step that acts on the answer",
        };
        let finding = Diagnostic::new(Code::VainSetting, id.span, message);
        found.push(finding.hint(hint).step(&id.value));
    }
    found
}

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
