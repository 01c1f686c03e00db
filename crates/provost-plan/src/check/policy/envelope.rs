//! Part of the pass `policy`: steps that the envelope of their subgoal does not admit.
//!
//! Owns the findings; the judgment is [`Subgoal::admits`]. An envelope was looked at when nobody
//! knew the steps, and takes no `ask` from them. INVARIANT: no step of a refinement calls, confirms
//! by or undoes by a tool that its envelope does not name, with more effect than it says, or is one
//! more than it says.

use super::super::Pass;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::plan::{Step, Subgoal};

/// Every step, and every tool of it, that is beyond its envelope.
pub(super) fn beyond(pass: &Pass<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for step in &pass.plan.steps {
        if let Some((parent, subgoal)) = pass.plan.parent(&step.id.value) {
            found.extend(of_step(pass, step, parent, subgoal));
        }
        if let Some(subgoal) = step.subgoal() {
            found.extend(too_many(pass, step, subgoal));
        }
    }
    found
}

fn of_step(pass: &Pass<'_>, step: &Step, parent: &Step, subgoal: &Subgoal) -> Vec<Diagnostic> {
    let (id, of) = (&step.id.value, &parent.id.value);
    let tools = step.tools();
    // Why only these: a tool that nobody knows is a finding of its own.
    let known = tools.filter_map(|tool| Some((tool, pass.terms.catalog.get(&tool.value)?)));
    let beyond = known.filter(|(_, operation)| !subgoal.admits(operation));
    beyond
        .map(|(tool, operation)| {
            if !subgoal.lists(&tool.value) {
                let name = &tool.value;
                let message = format!("`{id}` calls `{name}`, which `{of}` does not admit");
                let listed: Vec<&str> = subgoal.tools.iter().map(|t| t.value.as_str()).collect();
                let hint = format!("`{of}` admits {}", listed.join(", "));
                return Diagnostic::new(Code::OutsideEnvelope, tool.span, message)
                    .hint(hint)
                    .step(id);
            }
            let (has, most) = (operation.effect, &subgoal.effect_max);
            let message = format!(
                "`{}` has the effect {}, and `{of}` admits no more than {}",
                tool.value,
                has.word(),
                most.value.word()
            );
            Diagnostic::new(Code::OutsideEnvelope, tool.span, message)
                .related(most.span, "the most it admits")
                .step(id)
        })
        .collect()
}

/// The first step beyond the number that the envelope says.
fn too_many(pass: &Pass<'_>, parent: &Step, subgoal: &Subgoal) -> Option<Diagnostic> {
    let of = &parent.id.value;
    let most = usize::try_from(subgoal.steps_max.value).unwrap_or(usize::MAX);
    let count = pass.plan.children(of).count();
    if count <= most {
        return None;
    }
    let is_own = |step: &&Step| {
        let of_it = pass.plan.parent(&step.id.value);
        of_it.is_some_and(|(parent, _)| parent.id.value == *of)
    };
    let beyond = pass.plan.steps.iter().filter(is_own).nth(most)?;
    let message = format!("{count} steps refine `{of}`, which admits {most}");
    Some(
        Diagnostic::new(Code::OutsideEnvelope, beyond.id.span, message)
            .label("the first one beyond")
            .related(subgoal.steps_max.span, "the most it admits")
            .step(&beyond.id.value),
    )
}
