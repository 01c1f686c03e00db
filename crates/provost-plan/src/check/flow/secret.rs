//! Part of the pass `flow`: no value of a plan carries a secret out.
//!
//! Owns F403 for every way out: arguments of calls whose operation is not declared to take secrets
//! (reads too), the text of a question, the claims of the answer. Never looks at what a secret only
//! decides: a guard, an acceptance or a proof over one tells whether it holds. INVARIANT: what is
//! found here is an error, so no plan in force has such a way.

use super::argument::LabelledArgument;
use super::path::from;
use super::path::{Provenance, Want};
use super::{Labels, Pass, StepLabels};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::Template;
use crate::label::Label;
use crate::plan::{CallRole, Step};
use crate::source::Span;

const BIND: &str = "bind secrets to the tool's connection, or let the operator declare \
                    `accepts_secrets = true` on an operation that keeps them";
const NAME: &str = "say what the secret is for, and where it is kept, without reading it";

fn finding(span: Span, place: &str, label: &Label, hint: &str) -> Diagnostic {
    let message = format!("a secret would leave in {place}");
    Diagnostic::new(Code::SecretLeaves, span, message)
        .note(from(label))
        .hint(hint)
}

/// An argument with a secret, of an operation that takes none.
pub(super) fn in_argument(
    labels: &Labels<'_>,
    step: &Step,
    argument: &LabelledArgument<'_>,
) -> Diagnostic {
    let LabelledArgument {
        operation,
        name,
        tree,
        label,
    } = argument;
    let place = format!("`{name}` of `{}`", operation.name);
    let finding = finding(tree.span(), &place, label, BIND).step(&step.id.value);
    Provenance::new(labels, Want::Secret).into_argument(finding, step, tree)
}

/// The read that settles a doubt about a call, which is given some of its arguments.
pub(super) fn in_reconcile(pass: &Pass<'_>, step: &Step, own: &StepLabels) -> Option<Diagnostic> {
    let operation = pass.operation(step).filter(|call| call.accepts_secrets)?;
    let reconcile = operation.reconcile.as_ref()?;
    let read = pass.terms.catalog.get(&reconcile.tool)?;
    let mut secrets = own
        .of(CallRole::Own)
        .iter()
        .filter(|(_, label)| label.secret);
    let (name, label) = secrets.find(|(name, _)| reconcile.is_given(name))?;
    let place = format!(
        "`{name}` to `{}`, which settles a doubt about `{}`",
        read.name, operation.name
    );
    let span = step.tool()?.span;
    (!read.accepts_secrets).then(|| finding(span, &place, label, BIND).step(&step.id.value))
}

/// The text of a question: it goes to people, to notices and to the planner.
pub(super) fn in_question(labels: &Labels<'_>, step: &Step, text: &Template) -> Option<Diagnostic> {
    in_text(labels, step, text, "the text of a question")
}

/// The message of an assertion, which goes the same ways.
pub(super) fn in_message(labels: &Labels<'_>, step: &Step, text: &Template) -> Option<Diagnostic> {
    in_text(labels, step, text, "the message of an assertion")
}

fn in_text(labels: &Labels<'_>, step: &Step, text: &Template, place: &str) -> Option<Diagnostic> {
    let label = labels.template(Some(step), text, &Label::trusted());
    let found = || {
        let finding = finding(text.span(), place, &label, NAME);
        Provenance::new(labels, Want::Secret).into_template(
            finding.step(&step.id.value),
            Some(step),
            text,
        )
    };
    label.secret.then(found)
}

/// The claims of the answer, and what decides whether they are said.
pub(super) fn in_answer(labels: &Labels<'_>) -> Vec<Diagnostic> {
    let claims = labels.plan.answer.iter();
    let templates = claims.flat_map(|claim| claim.when.iter().chain([&claim.text]));
    let found = |template: &Template| {
        let label = labels.template(None, template, &Label::trusted());
        let found = || {
            let finding = finding(template.span(), "the answer", &label, NAME);
            Provenance::new(labels, Want::Secret).into_template(finding, None, template)
        };
        label.secret.then(found)
    };
    templates.filter_map(found).collect()
}
