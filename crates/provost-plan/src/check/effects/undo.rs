//! Part of the pass `effects`: an `undo` that takes nothing back.
//!
//! Owns what is told from the catalog and from how the two calls are written. Whether an operation
//! really takes back what another did is for whoever reviews the plan. INVARIANT: what passes is
//! a call that is no read, of a step that is no read, and not that step's own call once more.

use super::{Pass, effect_words};
use crate::catalog::Operation;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::digest::canonical;
use crate::plan::{CallRole, Step};

pub(super) fn bad(pass: &Pass<'_>, step: &Step, operation: &Operation) -> Option<Diagnostic> {
    let undo = step.undo.as_ref()?;
    let id = &step.id.value;
    if operation.effect.is_read() {
        let message = format!(
            "`{id}` is {}: there is nothing to undo",
            effect_words(operation)
        );
        return Some(
            Diagnostic::new(Code::BadUndo, undo.span, message)
                .hint("leave `undo` out")
                .step(id),
        );
    }
    let undoing = pass.called(step, CallRole::Undo)?;
    if undoing.effect.is_read() {
        let message = format!(
            "`{}` undoes `{id}`, and is {}",
            undoing.name,
            effect_words(undoing)
        );
        return Some(
            Diagnostic::new(Code::BadUndo, undo.tool.span, message)
                .hint("what takes a write back is itself a write")
                .step(id),
        );
    }
    let written = |pointer: &str| step.value.pointer(pointer).map(canonical);
    let repeats = undoing.name == operation.name && written("/args") == written("/undo/args");
    repeats.then(|| {
        let message = format!("`{id}` would be undone by the same call once more");
        Diagnostic::new(Code::BadUndo, undo.span, message)
            .hint("name the call that takes it back, or the values there were before")
            .step(id)
    })
}
