//! `until` on a step that cannot poll.
//!
//! Owns E311. INVARIANT: only what changes nothing is repeated until something holds.

use super::effect_words;
use crate::catalog::Operation;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::duration;
use crate::plan::Step;

pub(super) fn bad(step: &Step, operation: &Operation) -> Option<Diagnostic> {
    let until = step.until.as_ref()?;
    let id = &step.id.value;
    let finding =
        |message: String| Diagnostic::new(Code::BadUntil, until.condition.span(), message).step(id);
    if !operation.effect.is_read() {
        let message = format!(
            "`until` repeats `{id}`, and `{}` is {}",
            operation.name,
            effect_words(operation)
        );
        let hint = "write `until` on a read that follows, and `accept` here";
        return Some(finding(message).hint(hint));
    }
    (until.at_most < until.every).then(|| {
        let message = format!(
            "`{id}` never reads a second time: `at_most` is {}, less than `every`, which is {}",
            duration::print(until.at_most),
            duration::print(until.every)
        );
        finding(message).hint("make `at_most` longer than `every`, or write `accept` for `until`")
    })
}
