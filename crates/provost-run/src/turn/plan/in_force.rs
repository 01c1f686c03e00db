//! A plan comes into force: what is recorded then, and which approvals outlive the change.
//!
//! Owns the change from one revision to the next, and the check that is repeated when rules moved.
//! Asks nobody about it: what came into force goes back to the turn. INVARIANT: what comes into
//! force is a checked plan.

use std::sync::Arc;

use provost_plan::approve::Delta;
use provost_plan::check::{Checked, CheckedPlan, Origin};
use provost_plan::diagnostic::Severity;
use provost_plan::label::Integrity;
use provost_plan::plan::request::FindingView;

use super::planning::views;
use crate::event::{Event, PlannerView};
use crate::machine::StepError;
use crate::state::{State, UndoProgress};
use crate::turn::end::finish::end_moved;
use crate::turn::log::TurnLog;
use crate::turn::terms::{SuppliedPlan, compile, in_force};
use crate::turn::work::{UNCHECKED, may_check_again};

/// Whether a plan came into force, about which people may have to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum PlanChange {
    /// None did.
    None,
    /// One did.
    InForce,
}

/// A proposal that passed all there is to pass.
pub(super) struct AdmissiblePlan {
    /// The number of the request.
    pub(super) id: u64,
    pub(super) checked: CheckedPlan,
    pub(super) findings: Vec<FindingView>,
    /// The steps whose results the planner wants to see.
    pub(super) consult: Vec<String>,
    pub(super) origin: Origin,
    pub(super) because: Option<String>,
}

/// Brings a plan into force that no planner was asked for.
pub(crate) fn put_in_force(
    log: &mut TurnLog<'_>,
    plan: SuppliedPlan,
    reason: &str,
) -> Result<PlanChange, StepError> {
    let SuppliedPlan {
        checked,
        found,
        origin,
    } = plan;
    let change = change_to(log.state(), &checked);
    let plan = AdmissiblePlan {
        id: 0,
        findings: views(&found),
        checked,
        consult: Vec::new(),
        origin,
        because: Some(reason.to_owned()),
    };
    bring_into_force(log, plan, change)
}

/// Brings a proposal into force.
pub(super) fn take_into_force(
    log: &mut TurnLog<'_>,
    plan: AdmissiblePlan,
) -> Result<PlanChange, StepError> {
    let mut change = change_to(log.state(), &plan.checked);
    if log.state().route.planner.view() == PlannerView::Full
        && plan.origin.control.integrity > Integrity::Trusted
    {
        // Why: whoever read the text of others may have been told which yes to make use of.
        ask_all_again(&mut change.approvals);
    }
    bring_into_force(log, plan, change)
}

/// Records what comes into force, what it changes, and which approvals outlive that.
fn bring_into_force(
    log: &mut TurnLog<'_>,
    plan: AdmissiblePlan,
    change: Change,
) -> Result<PlanChange, StepError> {
    let record = Arc::clone(plan.checked.shared_record());
    let (before, revision) = (log.state().in_force.revision, record.revision);
    log.emit(Event::PlanChecked {
        id: plan.id,
        document: Arc::clone(&plan.checked.plan().value),
        record,
        findings: plan.findings,
        consult: plan.consult,
        control: plan.origin.control,
        literals: plan.origin.literals,
    })?;
    if before == 0 {
        log.emit(Event::RunStarted { revision })?;
        return Ok(PlanChange::InForce);
    }
    if revision > before {
        log.emit(Event::PlanRevised {
            revision,
            added: change.added,
            changed: change.changed,
            removed: change.removed,
            because: plan.because,
        })?;
    }
    log.emit(Event::ApprovalsRevised {
        retain: change.approvals.retain,
        replace: change.approvals.replace,
        clear: change.approvals.clear,
    })?;
    Ok(PlanChange::InForce)
}

/// What a new plan changes, against the one in force.
fn change_to(state: &State, checked: &CheckedPlan) -> Change {
    let mut change = Change::default();
    let Some(old) = &state.in_force.plan else {
        return change;
    };
    let before = &old.checked().record().steps;
    let after = &checked.record().steps;
    for (id, step) in after {
        match before.get(id) {
            None => change.added.push(id.clone()),
            Some(old) if old.closure != step.closure => change.changed.push(id.clone()),
            Some(_) => {}
        }
    }
    change.removed = before
        .keys()
        .filter(|id| !after.contains_key(*id))
        .cloned()
        .collect();
    let about = |item: &crate::state::ItemState| {
        item.consent.card.is_some() || item.consent.approved.is_some()
    };
    let asked = state.steps.iter().filter_map(|(id, step)| {
        let asked = step.items.iter().any(about) || old.is_granted(id);
        // Why none: what was asked about a step that is not in the plan cannot be equal.
        let closure = before.get(id).map(|record| record.closure);
        (!step.status.is_final() && asked).then_some((id.as_str(), closure))
    });
    change.approvals = Delta::of(asked, checked.record());
    change
}

/// Checks the plan again if the rules moved since it was checked.
pub(crate) fn recheck(log: &mut TurnLog<'_>) -> Result<PlanChange, StepError> {
    // Why not of an amended goal: its plan comes in the place of this one.
    let plan = log.state().plan();
    let Some(plan) = plan.filter(|_| log.state().goals.unplanned.is_none()) else {
        return Ok(PlanChange::None);
    };
    // Why not: nothing of it begins any more, and what undoes it is checked when it is placed.
    if matches!(log.state().ending.undo, UndoProgress::Wanted(_)) {
        return Ok(PlanChange::None);
    }
    let old = plan.checked().record();
    let tools_same = old
        .terms
        .tools
        .iter()
        .all(|(name, digest)| log.rules().catalog.digest(name) == Some(*digest));
    let roles_same = old.terms.roles.iter().all(|(name, digest)| {
        let role = log.rules().catalog.role(name);
        role.is_some_and(|role| role.digest() == *digest)
    });
    let policy_same = old.terms.policy == log.rules().policy.digest();
    if tools_same && roles_same && policy_same {
        return Ok(PlanChange::None);
    }
    let shared = Arc::clone(plan.checked().shared());
    if !may_check_again(log.basis())? {
        return end_moved(log, UNCHECKED).map(|()| PlanChange::None);
    }
    let draft = in_force(log.state(), shared);
    let origin = draft.origin.clone();
    let Checked {
        plan, diagnostics, ..
    } = compile(
        log.basis(),
        draft,
        &log.state().goals.goal,
        log.state().in_force.revision,
    );
    let Some(checked) = plan else {
        let finding = diagnostics.iter().find(|d| d.severity() == Severity::Error);
        let message = finding.map_or_else(String::new, |d| d.message.clone());
        return end_moved(log, &message).map(|()| PlanChange::None);
    };
    let mut change = change_to(log.state(), &checked);
    if !policy_same {
        // Why: a yes was given as the policy of that moment asked for it.
        ask_all_again(&mut change.approvals);
    }
    let plan = AdmissiblePlan {
        id: 0,
        findings: views(&diagnostics),
        checked,
        consult: log.state().followups.to_show().cloned().collect(),
        origin,
        because: None,
    };
    bring_into_force(log, plan, change)
}

/// No yes outlives the change.
fn ask_all_again(approvals: &mut Delta) {
    approvals.replace.append(&mut approvals.retain);
    approvals.replace.sort();
}

/// What a new plan changes.
#[derive(Default)]
struct Change {
    added: Vec<String>,
    changed: Vec<String>,
    removed: Vec<String>,
    approvals: Delta,
}
