//! Part of the pass `policy`: what the role of a step does not admit.
//!
//! Owns the findings; the judgment is [`crate::catalog::Catalog::admits`], which a run asks again
//! before each call. A role is the operator's list: no yes of a person reaches past it. INVARIANT:
//! every tool that a step names lies in its role; the read that settles a doubt is the operator's
//! and not the step's, and is not looked at.

use super::super::Pass;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::plan::Step;

/// Every tool of every step that the role of the step does not admit.
pub(super) fn outside(pass: &Pass<'_>) -> Vec<Diagnostic> {
    let steps = pass.plan.steps.iter();
    steps.flat_map(|step| of_step(pass, step)).collect()
}

fn of_step(pass: &Pass<'_>, step: &Step) -> Vec<Diagnostic> {
    let catalog = &pass.terms.catalog;
    // Why only these: a role and a tool that nobody knows are findings of their own.
    let known = step.role().and_then(|name| catalog.role(name));
    let Some(role) = known else {
        return Vec::new();
    };
    let tools = step
        .tools()
        .filter(|tool| catalog.get(&tool.value).is_some());
    let outside = tools.filter(|tool| !catalog.admits(Some(&role.name), &tool.value));
    outside
        .map(|tool| {
            let id = &step.id.value;
            let message = format!(
                "`{id}` is in the role `{}`, which does not admit `{}`",
                role.name, tool.value
            );
            let finding = Diagnostic::new(Code::OutsideRole, tool.span, message).step(id);
            let list: Vec<&str> = role.tools.iter().map(String::as_str).collect();
            match list.as_slice() {
                [] => finding.hint("the role admits no tool at all"),
                list if list.len() <= 12 => {
                    finding.hint(format!("the role admits {}", list.join(", ")))
                }
                list => finding.hint(format!("the role admits {} others", list.len())),
            }
        })
        .collect()
}
