//! Part of the pass `flow`: an argument of a call, judged by the label of its value.
//!
//! Owns F401: an untrusted value at a sink. Never forbids it: policy is told.

use super::path::{Provenance, Want, from_those};
use super::{Labels, secret};
use crate::catalog::Operation;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::ArgTree;
use crate::label::{Integrity, Label};
use crate::plan::Step;

/// An argument of a call, with the label of its value.
pub(super) struct LabelledArgument<'a> {
    pub(super) operation: &'a Operation,
    pub(super) name: &'a str,
    pub(super) tree: &'a ArgTree,
    pub(super) label: &'a Label,
}

impl LabelledArgument<'_> {
    pub(super) fn judged(&self, labels: &Labels<'_>, step: &Step) -> Option<Diagnostic> {
        let Self {
            operation,
            name,
            tree,
            label,
        } = self;
        if label.secret && !operation.accepts_secrets {
            return Some(secret::in_argument(labels, step, self));
        }
        if label.integrity == Integrity::Trusted || !operation.is_sink(name) {
            return None;
        }
        let message = format!(
            "untrusted {} decides `{name}` of `{}`",
            label.integrity.word(),
            operation.name
        );
        let ways = Provenance::new(labels, Want::AtLeast(label.integrity));
        let origins = ways.origins(step, tree.templates());
        let finding = Diagnostic::new(Code::UntrustedSink, tree.span(), message)
            .note(from_those(label, &origins))
            .note("policy is told; by default a person is asked about the value")
            .step(&step.id.value);
        Some(ways.into_argument(finding, step, tree))
    }
}
