//! Part of the pass `shape`: envelopes that are wider than any refinement could use.
//!
//! INVARIANT: what is found follows from the catalog alone, so that whoever narrows the envelope
//! loses no step that it would have admitted.

use crate::check::Pass;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::plan::{Step, Subgoal};

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    for step in &pass.plan.steps {
        if let Some(subgoal) = step.subgoal() {
            too_strong(pass, step, subgoal, found);
            too_high(pass, step, subgoal, found);
        }
    }
}

/// Entries of which no operation may be called, because each has more effect than is admitted.
fn too_strong(pass: &Pass<'_>, step: &Step, subgoal: &Subgoal, found: &mut Vec<Diagnostic>) {
    let catalog = &pass.terms.catalog;
    for pattern in &subgoal.tools {
        let is_meant = |name: &str| crate::catalog::Role::is_pattern_of(&pattern.value, name);
        let meant = || catalog.iter().filter(|operation| is_meant(&operation.name));
        let admitted = meant().any(|operation| subgoal.admits(operation));
        let Some(least) = meant().map(|operation| operation.effect).min() else {
            continue;
        };
        if admitted {
            continue;
        }
        let message = format!(
            "no step of `{}` may call `{}`: its effect is {}",
            step.id.value,
            pattern.value,
            least.word()
        );
        found.push(
            Diagnostic::new(Code::WideEnvelope, pattern.span, message)
                .related(subgoal.effect_max.span, "the most that is admitted")
                .hint("leave it out, or raise `effect_max` if it is meant")
                .step(&step.id.value),
        );
    }
}

/// A highest effect that nothing on the list has.
fn too_high(pass: &Pass<'_>, step: &Step, subgoal: &Subgoal, found: &mut Vec<Diagnostic>) {
    let admitted = subgoal.admitted(&pass.terms.catalog);
    let Some(highest) = admitted.map(|operation| operation.effect).max() else {
        return;
    };
    if highest == subgoal.effect_max.value {
        return;
    }
    let message = format!(
        "no tool of `{}` has more effect than {}",
        step.id.value,
        highest.word()
    );
    found.push(
        Diagnostic::new(Code::WideEnvelope, subgoal.effect_max.span, message)
            .hint(format!("write `effect_max: {}`", highest.word()))
            .step(&step.id.value),
    );
}
