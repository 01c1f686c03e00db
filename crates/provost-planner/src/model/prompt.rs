//! What a model is told: the versioned text, and the request behind it.
//!
//! Owns the order: what is always the same stands first, so that a provider that keeps prefixes
//! keeps it; then the tools, the goal, and at the end what changes from one request to the next.
//! INVARIANT: a text of another version has another name; a test compares its digest.

use provost_plan::plan::request::{GradedFinding, PlanRequest, PlanningMode, RequestKind};
use serde::Serialize;

/// The version of the text.
pub const PROMPT_VERSION: &str = "plan.v5";

/// The text that is always the same.
pub(super) const SYSTEM: &str = include_str!("../../prompts/plan.v5.md");

/// What is said in the mode `single`; the same in every request of a run, like the tools before it.
const SINGLE: &str = include_str!("../../prompts/plan.v5.single.md");

/// What is said in the mode `iterative`.
const ITERATIVE: &str = include_str!("../../prompts/plan.v5.iterative.md");

/// Bytes of headings, at most.
const HEADINGS_BYTES_MAX: u64 = 2048;

/// Bytes that are sent whatever the request.
pub(super) fn fixed_bytes() -> u64 {
    SYSTEM.len() as u64 + HEADINGS_BYTES_MAX
}

/// The request in words and JSON; not longer than the request itself and the headings.
pub(super) fn user(request: &PlanRequest) -> String {
    let mut text = String::from("# Tools\n");
    for tool in &request.tools {
        line(&mut text, tool);
    }
    if !request.roles.is_empty() {
        let heading = "Roles: a step with `as: NAME` may use these tools only";
        section(&mut text, heading, &request.roles);
    }
    text.push_str(match request.mode {
        Some(PlanningMode::Single) => SINGLE,
        Some(PlanningMode::Iterative) => ITERATIVE,
        None => "",
    });
    section(&mut text, "Goal", &request.goal);
    section(&mut text, "Limits", &request.limits);
    if let Some(plan) = &request.plan {
        section(&mut text, "The current plan", plan);
    }
    if !request.observations.is_empty() {
        section(
            &mut text,
            "Results of steps that ended",
            &request.observations,
        );
    }
    if !request.answers.is_empty() {
        section(&mut text, "Answers of people", &request.answers);
    }
    if let Some(why) = &request.why {
        section(&mut text, "Why a revision is needed", why);
    }
    if let Some(envelope) = &request.envelope {
        section(
            &mut text,
            "The subgoal to refine, and its envelope",
            envelope,
        );
    }
    if let Some(proposal) = &request.proposal {
        section(&mut text, "Your last proposal, which was refused", proposal);
    }
    if !request.diagnostics.is_empty() {
        let findings = request.diagnostics.iter().map(GradedFinding::of);
        section(
            &mut text,
            "Findings about it",
            &findings.collect::<Vec<_>>(),
        );
    }
    text.push_str(match request.kind {
        RequestKind::Propose => "\n# Now\nPropose a plan.\n",
        RequestKind::Revise => "\n# Now\nPropose a revision: the whole plan.\n",
        RequestKind::Refine => {
            "\n# Now\nRefine the subgoal named above: the whole current plan, in which only \
             steps of this subgoal are added, or its `result`.\n"
        }
    });
    text
}

fn section(text: &mut String, heading: &str, value: &impl Serialize) {
    text.push_str("\n# ");
    text.push_str(heading);
    text.push('\n');
    line(text, value);
}

fn line(text: &mut String, value: &impl Serialize) {
    text.push_str(&serde_json::to_string(value).unwrap_or_default());
    text.push('\n');
}
