//! Part of the pass `policy`: questions to a person or group that there is not.
//!
//! Owns the finding; who may answer is the policy's word when somebody does. INVARIANT: nothing is
//! said where no people are listed: then nobody knows who there is.

use super::super::Pass;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::plan::StepKind;

/// The questions to nobody who is listed.
pub(super) fn nobody(pass: &Pass<'_>) -> Vec<Diagnostic> {
    let people = pass.terms.policy.people();
    let known = || people.names().chain(people.groups());
    if known().next().is_none() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for step in &pass.plan.steps {
        let StepKind::Question { of: Some(of), .. } = &step.kind else {
            continue;
        };
        let is_own = of.value == pass.terms.principal.id;
        if is_own || known().any(|name| name == of.value) {
            continue;
        }
        let message = format!("no person and no group is called `{}`", of.value);
        let finding = Diagnostic::new(Code::AsksNobody, of.span, message);
        let near = finding.did_you_mean(&of.value, known());
        // Why nothing is put there: who is asked is its author's to say.
        let near = near.fix_only_if(|_| false).step(&step.id.value);
        found.push(if near.hint.is_some() {
            near
        } else {
            near.hint("people and groups are listed in `policies/entities.json`")
        });
    }
    found
}
