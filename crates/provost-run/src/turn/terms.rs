//! What a check of a plan of this run stands on.
//!
//! Owns the terms in force, and what the next revision begins from. Never brings a plan into
//! force. INVARIANT: a plan of this run is checked under these terms and no others.

use std::sync::Arc;

use provost_plan::check::{Checked, CheckedPlan, Draft, Origin, RevisionBase, Terms, check};
use provost_plan::diagnostic::Diagnostic;
use provost_plan::plan::{Goal, Plan};

use crate::proposal;
use crate::state::State;
use crate::turn::basis::Basis;

/// A plan that no planner was asked for.
pub(crate) struct SuppliedPlan {
    pub(crate) checked: CheckedPlan,
    pub(crate) found: Vec<Diagnostic>,
    pub(crate) origin: Origin,
}

/// Checks a draft under the rules in force and the facts of this run.
pub(super) fn compile(at: Basis<'_>, draft: Draft, goal: &Goal, revision: u32) -> Checked {
    check(draft, &terms(at, goal), &base(at.state, revision))
}

/// Compiles a plan that is to come into force next, for this goal.
pub(super) fn compile_proposal(at: Basis<'_>, draft: Draft, goal: &Goal) -> Checked {
    let base = base(at.state, at.state.in_force.revision + 1);
    proposal::compile(
        draft,
        &terms(at, goal),
        &base,
        &at.state.route.planner,
        at.state.head.mode,
    )
}

/// The rules in force, for this run.
pub(super) fn terms(at: Basis<'_>, goal: &Goal) -> Terms {
    Terms {
        catalog: at.rules.catalog.clone(),
        policy: at.rules.policy.clone(),
        principal: at.state.head.principal.clone(),
        limits: at.state.head.limits.clone(),
        goal: goal.clone(),
    }
}

/// What the next revision stands on.
pub(super) fn base<'t>(state: &'t State, revision: u32) -> RevisionBase<'t> {
    RevisionBase {
        revision,
        previous: state
            .in_force
            .plan
            .as_deref()
            .map(provost_plan::approve::ApprovedPlan::checked),
        settled: state.settled(),
        over: state.over(),
        undoes: state.is_undoing(),
    }
}

/// The plan in force, to be checked again.
pub(super) fn in_force(state: &State, plan: Arc<Plan>) -> Draft {
    let origin = origin_in_force(state, "the current plan");
    Draft { plan, origin }
}

/// Where the plan in force came from: a check that is repeated makes nothing of it trusted.
pub(super) fn origin_in_force(state: &State, author: &str) -> Origin {
    Origin {
        author: author.to_owned(),
        literals: state.in_force.literals.clone(),
        control: state.in_force.control.clone(),
    }
}
