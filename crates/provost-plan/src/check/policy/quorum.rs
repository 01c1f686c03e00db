//! Part of the pass `policy`: approvals that too few people may give.
//!
//! Owns V606. Who is missing is the policy's word. INVARIANT: what is found names an approval that
//! nobody who is listed can complete together with the others.

use std::collections::BTreeMap;

use super::super::Pass;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::plan::CallRole;
use crate::policy::{AskTerms, Decision, Shortage, Verdict};
use crate::reach::needs;
use crate::source::Span;

/// The verdicts of a plan, by step and call.
type Verdicts = BTreeMap<String, BTreeMap<CallRole, Verdict>>;

/// The approvals that cannot be given: one finding for all steps that miss the same people.
pub(super) fn too_few(pass: &Pass<'_>, verdicts: &Verdicts) -> Vec<Diagnostic> {
    let (policy, principal) = (&pass.terms.policy, &pass.terms.principal);
    let mut counted: BTreeMap<(String, String), Option<Shortage>> = BTreeMap::new();
    let mut found: BTreeMap<String, (Diagnostic, Span)> = BTreeMap::new();
    for step in &pass.plan.steps {
        let of_step = verdicts.get(&step.id.value);
        for (role, tool, _) in step.calls() {
            let verdict = of_step.and_then(|of_step| of_step.get(&role));
            let Some(verdict) = verdict.filter(|v| v.decision == Decision::Ask) else {
                continue;
            };
            let terms = verdict.ask.clone().unwrap_or_default();
            let asked = needs(&AskTerms {
                expires_ms: None,
                valid_ms: None,
                ..terms.clone()
            });
            let key = (asked.clone(), tool.value.clone());
            let operation = pass.terms.catalog.get(&tool.value);
            let counted = counted.entry(key);
            let shortage = counted.or_insert_with(|| {
                policy.shortage(principal, operation.map(AsRef::as_ref), &terms)
            });
            let Some(shortage) = shortage else { continue };
            let id = &step.id.value;
            let about = format!("{asked}: {}", shortage.words());
            let may = match &verdict.condition {
                Some(_) => "may need",
                None => "needs",
            };
            let first = || {
                let message = format!("`{id}` {may} {asked}, and {}", shortage.words());
                let finding = Diagnostic::new(Code::TooFewApprovers, tool.span, message);
                (finding.hint(shortage.hint()).step(id), tool.span)
            };
            match found.remove(&about) {
                None => found.insert(about, first()),
                Some((finding, at)) => {
                    let more = finding.related(tool.span, format!("`{id}` {may} it as well"));
                    found.insert(about, (more, at))
                }
            };
        }
    }
    found.into_values().map(|(finding, _)| finding).collect()
}
