//! The one compile of a proposal: for a run, and for whoever judges a plan before there is a run.
//!
//! Owns what a plan must keep beside the check: that somebody refines what it leaves open. Never
//! asks a planner. INVARIANT: `check`, `apply`, a client's `check_plan` and the run machine judge a
//! plan by the function here, so that what one of them admits the others do.

use provost_plan::check::{Checked, Draft, OpenPlan, RevisionBase, Terms, check_open};
use provost_plan::plan::request::PlanningMode;

use crate::event::PlannerChoice;

/// Checks a draft of this planner, in this mode.
#[must_use]
pub fn compile(
    draft: Draft,
    terms: &Terms,
    base: &RevisionBase<'_>,
    planner: &PlannerChoice,
    mode: Option<PlanningMode>,
) -> Checked {
    let checked = check_open(draft, terms, base, &OpenPlan::default());
    refuse_unrefined(checked, planner, mode)
}

/// Checks a draft of which something is open, for whoever compiles it for all goals of one form;
/// its planner writes it whole.
#[must_use]
pub fn compile_open(
    draft: Draft,
    terms: &Terms,
    base: &RevisionBase<'_>,
    planner: &PlannerChoice,
    open: &OpenPlan,
) -> Checked {
    refuse_unrefined(check_open(draft, terms, base, open), planner, None)
}

fn refuse_unrefined(
    mut checked: Checked,
    planner: &PlannerChoice,
    mode: Option<PlanningMode>,
) -> Checked {
    let plan = checked.plan.as_ref();
    let left_open = plan.and_then(|plan| planner.never_refined(plan.plan(), mode));
    if let Some(found) = left_open {
        checked.plan = None;
        checked.diagnostics.push(found);
    }
    checked
}
