//! The worst case of a subgoal that is not refined: as many calls as it may still have steps, each
//! of the dearest tool that its envelope admits.
//!
//! INVARIANT: what a refinement adds without lists and with the usual tries is no more than was
//! counted here; the check of the refinement counts what it really adds.

use std::time::Duration;

use super::super::Pass;
use super::worst::{StepWorst, millis};
use crate::catalog::{Operation, Spend};
use crate::plan::{Retry, Step};

/// Calls and attempts of all subgoals that are not refined.
pub(super) fn calls(pass: &Pass<'_>) -> (u64, u64) {
    let each = pass.plan.open_subgoals().map(|step| calls_of(pass, step));
    each.fold((0, 0), |all, one| {
        (all.0.saturating_add(one.0), all.1.saturating_add(one.1))
    })
}

/// Calls and attempts of one.
pub(super) fn calls_of(pass: &Pass<'_>, step: &Step) -> (u64, u64) {
    let calls = pass.still_to_come(step);
    let tries = u64::from(Retry::DEFAULT.attempts);
    (calls, calls.saturating_mul(tries))
}

/// What a subgoal can still take; none of any other step, or if its envelope admits nothing.
pub(super) fn row(pass: &Pass<'_>, step: &Step) -> Option<StepWorst> {
    let (calls, attempts) = calls_of(pass, step);
    let dearest = pass.may_call(step).max_by_key(|operation| {
        let Spend {
            money,
            tokens,
            unpriced,
            uncounted,
        } = operation.spend(None);
        // Why unpriced first: what has no bound is dearer than all that has one.
        (unpriced.len() + uncounted.len(), money, tokens)
    })?;
    let spend = dearest.spend(None).times(attempts);
    let risk = pass.may_call(step).map(Operation::risk).max()?;
    Some(StepWorst {
        step: step.id.value.clone(),
        tool: dearest.name.clone(),
        calls,
        attempts,
        money: spend.money,
        tokens: spend.tokens,
        call_ms: millis(of_call(pass, step)),
        risk,
        unpriced: spend.unpriced,
        uncounted: spend.uncounted,
    })
}

/// How long one of its calls can take: the tries of the slowest tool, and the waits between them.
fn of_call(pass: &Pass<'_>, step: &Step) -> Duration {
    let retry = Retry::DEFAULT;
    let waits = (1..retry.attempts).map(|tries| retry.wait_after(tries));
    busy(pass, step).saturating_add(waits.sum())
}

/// How long one of its calls can hold a place.
fn busy(pass: &Pass<'_>, step: &Step) -> Duration {
    let slowest = pass.may_call(step).map(|operation| operation.timeout).max();
    slowest
        .unwrap_or_default()
        .saturating_mul(Retry::DEFAULT.attempts)
}

/// How long all its calls take one after the other, and hold places.
pub(super) fn all(pass: &Pass<'_>, step: &Step) -> (Duration, Duration) {
    let calls = u32::try_from(pass.still_to_come(step)).unwrap_or(u32::MAX);
    let (call, busy) = (of_call(pass, step), busy(pass, step));
    (call.saturating_mul(calls), busy.saturating_mul(calls))
}
