//! What becomes of requests for plans, and of the plan in force.
//!
//! INVARIANT: a plan comes into force with its record, or the journal cannot be folded.

use std::sync::Arc;

use provost_plan::approve::ApprovedPlan;
use provost_plan::check::{CheckedPlan, PlanRecord};
use provost_plan::label::Label;
use provost_plan::money::Money;
use provost_plan::plan::read::plan_from_value_once;
use provost_plan::plan::request::{PlannerUsage, Reserved, Why};
use serde_json::Value;

use super::FoldError;
use super::people::withdraw_questions;
use crate::event::StepStatus;
use crate::state::{Outstanding, State, StepState};

pub(super) fn plan_requested(
    state: &mut State,
    id: u64,
    why: Option<Why>,
    reserved: Option<Reserved>,
    asked_at: i64,
) {
    if let Some(Reserved { money, tokens }) = reserved {
        let money = money.unwrap_or_default();
        state.spend.money = state.spend.money.saturating_add(money);
        state.spend.planning_money = state.spend.planning_money.saturating_add(money);
        state.spend.tokens = state.spend.tokens.saturating_add(tokens);
    }
    let planning = &mut state.planning;
    planning.requests = id;
    planning.wanted = None;
    planning.outstanding = Some(Outstanding {
        id,
        why,
        asked_people: false,
        proposed: None,
        mended: None,
        reserved,
        asked_at,
    });
}

/// What a reply took stands in the place of what was set aside for it, as far as it is known.
pub(super) fn planner_paid(state: &mut State, usage: &PlannerUsage) {
    let request = state.planning.outstanding.as_mut();
    if usage.unknown {
        return;
    }
    let set_aside = request.and_then(|request| request.reserved.take());
    let Reserved { money, tokens } = set_aside.unwrap_or_default();
    let taken = usage.tokens_in.saturating_add(usage.tokens_out);
    state.spend.tokens = state
        .spend
        .tokens
        .saturating_sub(tokens)
        .saturating_add(taken);
    if let Some(cost) = usage.cost {
        let money = money.unwrap_or_default();
        let settled = |sum: Money| sum.saturating_sub(money).saturating_add(cost);
        state.spend.money = settled(state.spend.money);
        state.spend.planning_money = settled(state.spend.planning_money);
    }
}

pub(super) fn plan_checked(
    state: &mut State,
    document: &Arc<Value>,
    record: &Arc<PlanRecord>,
    consult: &[String],
    control: &Label,
) -> Result<Vec<String>, FoldError> {
    let revision = record.revision;
    let error = |reason: String| FoldError::Plan { revision, reason };
    let plan = plan_from_value_once(document, "<journal>")
        .map_err(|_| error("it cannot be read".to_owned()))?;
    let lists: Vec<(String, bool)> = plan
        .steps
        .iter()
        .map(|s| (s.id.value.clone(), s.for_each.is_some()))
        .collect();
    let checked = CheckedPlan::from_journal(plan, Arc::clone(record))
        .map_err(|mismatch| error(mismatch.to_string()))?;
    let settled = state.settled();
    // Why not while undoing: that plan is for no goal.
    let anew = state.goals.unplanned.is_some() && !state.is_undoing();
    if anew {
        state.goals.unplanned = None;
    }
    let mut before = std::mem::take(&mut state.steps);
    let mut changed = Vec::new();
    for (id, is_list) in lists {
        let closure = record
            .steps
            .get(&id)
            .map(|step| step.closure)
            .ok_or_else(|| error(format!("step `{id}` has no record")))?;
        let known = before.remove(&id);
        if known.as_ref().is_none_or(|step| step.closure != closure) {
            changed.push(id.clone());
        }
        let kept = known
            .filter(|step| settled.contains(&id) || !anew && step.closure == closure)
            .filter(|step| settled.contains(&id) || step.status != StepStatus::Blocked);
        let step = kept.map_or_else(
            || StepState::pending(closure, is_list),
            |step| StepState { closure, ..step },
        );
        state.steps.insert(id, step);
    }
    state.in_force.plan = Some(Arc::new(match state.in_force.plan.take() {
        Some(previous) => Arc::unwrap_or_clone(previous).revised(checked),
        None => ApprovedPlan::gated(checked),
    }));
    state.in_force.document = Arc::clone(document);
    state.in_force.revision = revision;
    state.in_force.control = control.clone();
    state.followups.show_only(consult);
    withdraw_questions(state);
    Ok(changed)
}
