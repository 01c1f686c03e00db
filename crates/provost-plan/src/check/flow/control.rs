//! F402: untrusted text decides whether a step runs.
//!
//! Owns the finding's words and its place. Judges nothing: who calls it knows that the text is
//! untrusted. INVARIANT: the finding names where the text comes from.

use super::Labels;
use super::path::{Provenance, Want, from_those};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::Template;
use crate::label::{Integrity, Label};
use crate::plan::Step;

/// The finding of a step.
pub(super) fn finding(labels: &Labels<'_>, step: &Step, label: &Label) -> Diagnostic {
    let ways = Provenance::new(labels, Want::AtLeast(Integrity::Text));
    let message = format!("untrusted text decides whether `{}` runs", step.id.value);
    // Why: a step without a guard of its own was chosen by a revision, as a whole.
    let place = step.when.as_ref();
    let place = place.or(step.for_each.as_ref().map(|each| &each.list));
    let span = place.map_or(step.id.span, Template::span);
    let list = step.for_each.iter().map(|each| &each.list);
    let origins = ways.origins(step, step.when.iter().chain(list).collect());
    let finding = Diagnostic::new(Code::UntrustedControl, span, message)
        .note(from_those(label, &origins))
        .step(&step.id.value);
    ways.into_control(finding, step)
}
