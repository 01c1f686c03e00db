//! Part of the pass `effects`: an `undo` that takes nothing back.
//!
//! Owns what is told from the catalog and from how the two calls are written. Whether an operation
//! really takes back what another did is for whoever reviews the plan. INVARIANT: what passes is
//! a call that is no read, of a step that is no read, and not that step's own call once more.

use super::{Pass, effect_words};
use crate::catalog::Operation;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::{ArgTree, Root};
use crate::plan::{CallRole, Step, StepKind};

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
    let StepKind::Tool { args, .. } = &step.kind else {
        return None;
    };
    let repeats = undoing.name == operation.name && sets_again(operation, args, &undo.args);
    repeats.then(|| {
        let message = format!("`{id}` would be undone by the same call once more");
        Diagnostic::new(Code::BadUndo, undo.span, message)
            .hint("name the call that takes it back, or the values there were before")
            .step(id)
    })
}

/// Whether a call is given what the step's own call is given: as it is written there, or as the
/// step's output repeats it. What is only said (`content`) may be left out.
fn sets_again(operation: &Operation, own: &ArgTree, undo: &ArgTree) -> bool {
    let same = |name: &str, own: &ArgTree, given: &ArgTree| {
        own.form() == given.form() || repeated(given) == Some(name)
    };
    let is_said = |name: &str| operation.content.contains(name);
    let kept = own
        .entries()
        .iter()
        .all(|(name, own)| match undo.get(name) {
            Some((_, given)) => same(name, own, given),
            None => is_said(name),
        });
    let added = |name: &str| own.get(name).is_none() && !is_said(name);
    kept && !undo.entries().iter().any(|(name, _)| added(name))
}

/// The name of the field of the step's own output that a value is.
fn repeated(tree: &ArgTree) -> Option<&str> {
    let ArgTree::Template(template) = tree else {
        return None;
    };
    let (root, name) = template.whole()?.ast().field_of_root()?;
    (*root == Root::Output).then_some(name)
}
