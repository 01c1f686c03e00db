//! Part of the pass `shape`: the statuses that a step can have where somebody looks.
//!
//! Owns what follows from how a plan runs. A step that reads another waits for it, and goes on
//! only if that succeeded, was skipped by its own `when`, or failed and was let go on. Proofs are
//! asked when nothing more can run and nothing is in doubt. INVARIANT: a status that is left out is
//! one the step never has there; a step that ran under an earlier plan can have any.

use crate::check::Pass;
use crate::expr::StepStatus;
use crate::plan::{CallRole, Step};
use crate::policy::Decision;

/// When a status is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statuses {
    /// By a step that waits for the other one.
    Before,
    /// When nothing more can run.
    End,
}

impl Statuses {
    /// The words of a step that has ended: no condition is asked about one that has not.
    pub(super) const ENDS: [&'static str; 4] = ["succeeded", "failed", "skipped", "blocked"];

    /// The words that the status of `step` can be.
    pub(super) fn of(self, pass: &Pass<'_>, step: &Step) -> Vec<&'static str> {
        if pass.base.settled.contains(&step.id.value) {
            return StepStatus::words().to_vec();
        }
        let mut words = vec!["succeeded"];
        let mut add = |word, holds: bool| {
            if holds {
                words.push(word);
            }
        };
        match self {
            Self::Before => {
                add("skipped", has_guard(pass, step));
                // Why: a person who is asked about a failure may let the plan go on.
                add("failed", step.on_failure.may_go_on());
            }
            Self::End => {
                add("failed", true);
                add(
                    "skipped",
                    has_guard(pass, step) || may_be_left_out(pass, step),
                );
                let after = pass.graph.after.get(&step.id.value);
                add("blocked", after.is_none_or(|after| !after.is_empty()));
            }
        }
        words
    }

    /// Why the status of `step` is never `word`.
    pub(super) fn why_not(self, step: &Step, word: &str) -> &'static str {
        match (self, word) {
            (_, "skipped") if step.when.is_none() => "it has no `when`",
            (Self::Before, "failed" | "blocked") => {
                "what waits for it does not run then, unless it has `on_failure: continue`"
            }
            (Self::Before, _) => "what waits for it runs when it has ended",
            (Self::End, "blocked") => "it waits for nothing",
            (Self::End, _) => "a proof is asked when everything has ended",
        }
    }
}

/// Whether the step has a `when`, or the subgoal that it refines.
fn has_guard(pass: &Pass<'_>, step: &Step) -> bool {
    let parent = pass.plan.parent(&step.id.value);
    step.when.is_some() || parent.is_some_and(|(parent, _)| parent.when.is_some())
}

/// Whether a person may leave the step out of what is approved.
fn may_be_left_out(pass: &Pass<'_>, step: &Step) -> bool {
    // Why: it calls nothing, so nobody is asked about it.
    if step.assertion().is_some() {
        return false;
    }
    let verdict = pass.verdict(step, CallRole::Own);
    step.approval_required || verdict.is_none_or(|v| v.decision != Decision::Permit)
}
