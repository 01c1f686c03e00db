//! How long a plan can take: the longest path under the limit of concurrency.
//!
//! Owns the bound on time. Never counts waits for people, nor waits that a tool asks for.
//! INVARIANT: the bound holds for every order in which the run may start what is ready.
//!
//! If no more calls can be ready at once than may be in flight, none waits for a place, and the
//! bound is the longest path. Otherwise it is Graham's: look back from the end along a chain of
//! calls, each begun when the one before had ended or a place became free. While a call of the
//! chain waits for a place, all `c` places work on other calls; so the run takes at most the chain
//! and a `c`-th of all other work, for the chain for which that is the most. Both cost no more than
//! a walk over the edges.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::Pass;
use super::envelope;
use super::worst::{items, retaken, tries_of_one};
use crate::catalog::Operation;
use crate::diagnostic::Diagnostic;
use crate::duration;
use crate::limits::RETAKEN_MAX;
use crate::plan::{CallRole, Limits, Retry, Step, Until};

/// A bound on the time of a plan.
pub(super) struct Bound {
    pub(super) wall: Duration,
    /// The chain it is along, from its first step.
    pub(super) path: Vec<String>,
    /// Whether calls may have to wait for a place.
    pub(super) crowded: bool,
}

/// How long one call can take: its attempts with the waits between them.
pub(super) fn of_call(pass: &Pass<'_>, operation: &Operation, step: &Step) -> Duration {
    match &step.until {
        Some(until) => longest_poll(pass, operation, step, until),
        None => once(pass, operation, step),
    }
}

/// How long one call can hold a place, before it the read that shows what it is about, and after
/// it the one that proves it.
fn busy(pass: &Pass<'_>, operation: &Operation, step: &Step) -> Duration {
    let Some(until) = &step.until else {
        return busy_once(pass, operation, step);
    };
    let polls = u32::try_from(until.polls()).unwrap_or(u32::MAX);
    let all = busy_once(pass, operation, step).saturating_mul(polls);
    // Why the less: attempts that fill the time leave no room for more of them.
    all.min(longest_poll(pass, operation, step, until))
}

/// How long polling can take: the last poll begins before the time is over.
fn longest_poll(pass: &Pass<'_>, operation: &Operation, step: &Step, until: &Until) -> Duration {
    let shown = pass.previewing(step).map(|read| read.timeout);
    until
        .at_most
        .saturating_add(of_attempt(operation, step))
        .saturating_add(shown.unwrap_or_default())
}

/// How long a call can take that is not repeated after it succeeded, or one poll.
fn once(pass: &Pass<'_>, operation: &Operation, step: &Step) -> Duration {
    let retry = step.retry.unwrap_or(Retry::DEFAULT);
    let waits = (1..tries_of_one(step)).fold(Duration::ZERO, |all, tries| {
        all.saturating_add(retry.wait_after(tries))
    });
    // Why twice: what was written is read back with as many tries.
    let rounds = 1 + u32::from(step.confirm.is_some());
    busy_once(pass, operation, step).saturating_add(waits.saturating_mul(rounds))
}

fn busy_once(pass: &Pass<'_>, operation: &Operation, step: &Step) -> Duration {
    let read = pass.called(step, CallRole::Confirm);
    let read = read.map(|read| of_attempt(read, step));
    let shown = pass.previewing(step).map(|read| read.timeout);
    of_attempt(operation, step)
        .saturating_add(read.unwrap_or_default())
        .saturating_mul(tries_of_one(step))
        .saturating_add(shown.unwrap_or_default())
}

/// How long one attempt of a step at an operation can take.
fn of_attempt(operation: &Operation, step: &Step) -> Duration {
    let own = step.timeout.unwrap_or(operation.timeout);
    own.min(operation.timeout)
}

/// How long taking readings again can hold a step up, one after the other, and hold places.
fn retaking(pass: &Pass<'_>, step: &Step) -> (Duration, Duration) {
    let mut all = (Duration::ZERO, Duration::ZERO);
    for reading in retaken(pass, step) {
        let Some(operation) = pass.operation(reading) else {
            continue;
        };
        let calls = items(reading).saturating_mul(u64::from(RETAKEN_MAX));
        let calls = u32::try_from(calls).unwrap_or(u32::MAX);
        let times = |one: Duration| one.saturating_mul(calls);
        // Why once: a reading that is taken again is not polled for.
        all.0 = all.0.saturating_add(times(once(pass, operation, reading)));
        let busy = busy_once(pass, operation, reading);
        all.1 = all.1.saturating_add(times(busy));
    }
    all
}

pub(super) fn bound(pass: &Pass<'_>, limits: &Limits) -> Bound {
    let places = u128::from(limits.concurrency.max(1));
    let crowded = width(pass) > places;
    let mut work = 0u128;
    // A step adds to a chain what it takes, less its part of the work that others wait for.
    let mut weights: BTreeMap<&str, u128> = BTreeMap::new();
    for step in &pass.plan.steps {
        if step.is_open_subgoal() {
            let (all, busy) = envelope::all(pass, step);
            let weight = if crowded {
                (all.as_millis().saturating_mul(places)).saturating_sub(busy.as_millis())
            } else {
                all.as_millis()
            };
            work = work.saturating_add(busy.as_millis());
            weights.entry(&step.id.value).or_insert(weight);
            continue;
        }
        let Some(operation) = pass.operation(step) else {
            continue;
        };
        let (again, again_busy) = retaking(pass, step);
        let call = of_call(pass, operation, step).saturating_add(again);
        let own = busy(pass, operation, step);
        let busy = own.saturating_add(again_busy);
        let weight = if crowded {
            (call.as_millis().saturating_mul(places)).saturating_sub(busy.as_millis())
        } else {
            call.as_millis()
        };
        let all = own.as_millis().saturating_mul(u128::from(items(step)));
        let all = all.saturating_add(again_busy.as_millis());
        work = work.saturating_add(all);
        weights.entry(&step.id.value).or_insert(weight);
    }
    let (longest, path) = longest_path(pass, &weights);
    let total = if crowded {
        longest.saturating_add(work).div_ceil(places)
    } else {
        longest
    };
    Bound {
        wall: Duration::from_millis(u64::try_from(total).unwrap_or(u64::MAX)),
        path,
        crowded,
    }
}

/// No fewer than the calls that can be ready at once: the steps fall into chains, each with one
/// step at a time under way.
fn width(pass: &Pass<'_>) -> u128 {
    let mut chains: Vec<u64> = Vec::new();
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    let widths: BTreeMap<&str, u64> = pass
        .plan
        .steps
        .iter()
        .map(|step| {
            // Why all its steps: nobody knows yet which of them wait for which.
            let calls = match step.tool() {
                Some(_) => items(step),
                None => pass.still_to_come(step),
            };
            (step.id.value.as_str(), calls)
        })
        .collect();
    for id in &pass.graph.order {
        let after = pass.graph.after.get(id).into_iter().flatten();
        let chain = after.into_iter().find_map(|dep| ends.remove(dep.as_str()));
        let chain = chain.unwrap_or_else(|| {
            chains.push(0);
            chains.len() - 1
        });
        let wide = widths.get(id.as_str()).copied().unwrap_or(0);
        if let Some(most) = chains.get_mut(chain) {
            *most = wide.max(*most);
        }
        ends.insert(id, chain);
    }
    chains.into_iter().map(u128::from).sum()
}

/// The heaviest chain, with its weight.
fn longest_path(pass: &Pass<'_>, weights: &BTreeMap<&str, u128>) -> (u128, Vec<String>) {
    let mut ends: BTreeMap<&str, (u128, Option<&str>)> = BTreeMap::new();
    for id in &pass.graph.order {
        let after = pass.graph.after.get(id).into_iter().flatten();
        let slowest = after
            .filter_map(|dep| Some((ends.get(dep.as_str())?.0, dep.as_str())))
            .max();
        let start = slowest.map_or(0, |(end, _)| end);
        let own = weights.get(id.as_str()).copied().unwrap_or(0);
        ends.insert(id, (start.saturating_add(own), slowest.map(|(_, dep)| dep)));
    }
    let last = ends.iter().max_by_key(|(_, (end, _))| *end);
    let longest = last.map_or(0, |(_, (end, _))| *end);
    let mut here = last.map(|(id, _)| *id);
    let mut path = Vec::new();
    while let Some(id) = here {
        here = ends.get(id).and_then(|(_, before)| *before);
        path.push(id.to_owned());
    }
    path.reverse();
    (longest, path)
}

/// How many steps of a path are named.
const SLOWEST_SHOWN: usize = 3;

/// Says which steps of the longest path take the most of its time, and what makes them shorter;
/// `place` is where the limit stands.
pub(super) fn slowest(
    pass: &Pass<'_>,
    path: &[String],
    finding: Diagnostic,
    place: &str,
) -> Diagnostic {
    let along = path.iter().filter_map(|id| {
        let step = pass.plan.step(id)?;
        let operation = pass.operation(step)?;
        let (again, _) = retaking(pass, step);
        let took = of_call(pass, operation, step).saturating_add(again);
        Some((step, operation, took, again))
    });
    let mut along: Vec<_> = along.collect();
    along.sort_by_key(|(_, _, took, _)| std::cmp::Reverse(*took));
    along.truncate(SLOWEST_SHOWN);
    let mut knobs = Vec::new();
    let mut shown = finding;
    for (step, operation, took, again) in along {
        let id = &step.id.value;
        let one = duration::words(of_attempt(operation, step));
        let (mut why, knob) = match &step.until {
            Some(until) => (
                format!(
                    "it polls for {} (`at_most`)",
                    duration::words(until.at_most)
                ),
                format!("`at_most` of `{id}`"),
            ),
            None => match tries_of_one(step) {
                1 => (
                    format!("one attempt of {one}"),
                    format!("`timeout` of `{id}`"),
                ),
                tries => {
                    let default = step.retry.map_or(", as without `retry`", |_| "");
                    let why = format!("{tries} attempts of {one} each{default}");
                    (why, format!("`retry` or `timeout` of `{id}`"))
                }
            },
        };
        if !again.is_zero() {
            let again = duration::words(again);
            why.push_str(&format!(", and {again} to read again for `fresh`"));
        }
        shown = shown.related(
            step.id.span,
            format!("up to {}: {why}", duration::words(took)),
        );
        knobs.push(knob);
    }
    let hint = match knobs.first() {
        Some(knob) => format!("lower {knob}, or raise `wall` in the limits {place}"),
        None => format!("raise `wall` in the limits {place}"),
    };
    shown.hint(hint)
}
