//! Planners that cost: the limits a request is held to, and requests that were lost.
//!
//! Owns the comparison of the worst case of one request with what is left to the run, and what a
//! request changes of the budget that all runs share. Spends nothing: what is set aside and what
//! was taken stand in events. INVARIANT: no request leaves that might pass a limit.

use provost_plan::money::Money;
use provost_plan::plan::request::{NoPlan, Why};

use super::chain::give_up;
use super::planning::{build_request, emit_request};
use crate::admission::{Denial, planner_slot};
use crate::machine::StepError;
use crate::turn::basis::Basis;
use crate::turn::log::TurnLog;

/// The limit that the next request might pass.
pub(super) fn planner_limit(at: Basis<'_>, why: Option<&Why>) -> Option<String> {
    let cost = at.state.route.planner.cost()?;
    let id = at.state.planning.requests + 1;
    let request = build_request(at.state, at.rules, id, why.cloned());
    let bytes = serde_json::to_vec(&request).unwrap_or_default();
    let worst = cost.of_request(bytes.len() as u64);
    let limits = at.state.limits_in_force();
    let spend = worst.money.unwrap_or_default();
    let over = |spent: Money, limit: Option<Money>| {
        let total = spent.checked_add(spend);
        limit.filter(|limit| total.is_none_or(|total| total > *limit))
    };
    if let Some(limit) = over(at.state.spend.money, limits.money) {
        return Some(match worst.money {
            None => unpriced(limit),
            Some(_) => format!(
                "the run's limit of {limit} in money leaves no room to ask the planner: {} is \
                 spent or reserved, and one more request may cost {spend}",
                at.state.spend.money
            ),
        });
    }
    let shared = at.rules.admission.budget.as_ref();
    let shared = shared.and_then(|budget| budget.money);
    if worst.money.is_none()
        && let Some(limit) = limits.money.or(cost.limit).or(shared)
    {
        return Some(unpriced(limit));
    }
    if let Some(limit) = over(at.state.spend.planning_money, cost.limit) {
        return Some(format!(
            "the limit of {limit} for planning leaves no room to ask again: {} is spent or \
             reserved, and one more request may cost {spend}",
            at.state.spend.planning_money
        ));
    }
    let tokens = at.state.spend.tokens.saturating_add(worst.tokens);
    limits.tokens.filter(|limit| tokens > *limit).map(|limit| {
        format!(
            "the run's limit of {limit} tokens leaves no room to ask the planner: {} are spent \
             or reserved, and one more request may take {}",
            at.state.spend.tokens, worst.tokens
        )
    })
}

/// Why the budget that all runs share has no room for the next request, if it said so.
pub(super) fn no_shared_budget(at: Basis<'_>) -> Option<String> {
    at.state.route.planner.cost()?;
    match at.said.denials.get(&planner_slot())? {
        Denial::Budget { because } => Some(because.clone()),
        _ => None,
    }
}

/// Asks again what a process that ended asked, and says whether a request waits at all. What costs
/// is a request of its own: the first may have been answered and paid, and what was set aside for
/// it stays spent.
pub(crate) fn ask_planner_again(log: &mut TurnLog<'_>) -> Result<bool, StepError> {
    let Some(request) = &log.state().planning.outstanding else {
        return Ok(false);
    };
    if request.reserved.is_none() || request.asked_people {
        return Ok(true);
    }
    let why = request.why.clone();
    let limit = planner_limit(log.basis(), why.as_ref());
    match limit.or_else(|| no_shared_budget(log.basis())) {
        None => {
            let id = log.state().planning.requests + 1;
            emit_request(log, id, why, true)?;
        }
        Some(limit) => {
            let optional = why.as_ref().is_some_and(Why::is_optional);
            give_up(log, why.as_ref(), (NoPlan::Limit, &limit), optional)?;
        }
    }
    Ok(true)
}

fn unpriced(limit: Money) -> String {
    format!(
        "what the planner costs is not known, and there is a limit of {limit}: give its `price` in \
         provost.toml"
    )
}
