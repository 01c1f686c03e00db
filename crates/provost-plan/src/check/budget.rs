//! The pass `budget`: the worst case of a plan against its limits.
//!
//! Owns counting steps, calls, attempts and time. Never counts waits for people. INVARIANT: the
//! numbers are upper bounds; what has none is named.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Pass;
use super::graph::Graph;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::duration;
use crate::limits::PLAN_STEPS_MAX;
use crate::plan::{Limits, Step, StepKind};
use crate::source::Span;

/// The most a plan can take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorstCase {
    /// Steps.
    pub steps: u64,
    /// Calls, each item of a list counted.
    pub calls: u64,
    /// Attempts, each repetition counted.
    pub attempts: u64,
    /// Time along the longest path, without waits for people.
    pub wall: Duration,
}

/// The limits that hold for a plan: the operator's, narrowed by its own.
pub(crate) fn limits(pass: &Pass<'_>) -> Limits {
    match &pass.plan.limits {
        Some(own) => pass.terms.limits.narrowed(own),
        None => pass.terms.limits.clone(),
    }
}

/// Counts the worst case.
pub(crate) fn worst_case(pass: &Pass<'_>, limits: &Limits) -> WorstCase {
    let mut worst = WorstCase {
        steps: u64::try_from(pass.plan.steps.len()).unwrap_or(u64::MAX),
        ..WorstCase::default()
    };
    let calls = pass.plan.steps.iter().filter(|s| s.tool().is_some());
    for step in calls {
        let items = items(step);
        worst.calls = worst.calls.saturating_add(items);
        let attempts = items.saturating_mul(u64::from(attempts(step)));
        worst.attempts = worst.attempts.saturating_add(attempts);
    }
    worst.wall = longest_path(pass, &pass.graph, limits)
        .last()
        .map_or(Duration::ZERO, |(_, wall)| *wall);
    worst
}

pub(crate) fn run(pass: &mut Pass<'_>) {
    let limits = limits(pass);
    let worst = worst_case(pass, &limits);
    let plan_limit = u64::try_from(PLAN_STEPS_MAX).unwrap_or(u64::MAX);
    let steps_max = limits.steps.min(plan_limit);
    // The first step beyond the limit is the place; a count belongs to no single step.
    let beyond = usize::try_from(steps_max).unwrap_or(usize::MAX);
    let span_of = |at: usize| {
        let step = pass.plan.steps.get(at).or(pass.plan.steps.last());
        step.map_or(Span::default(), |s| s.id.span)
    };
    let mut found = Vec::new();
    if worst.steps > steps_max {
        let message = format!("{} steps, more than the limit of {steps_max}", worst.steps);
        found.push(
            Diagnostic::new(Code::TooManySteps, span_of(beyond), message)
                .label("the first step beyond the limit")
                .hint("the limit is `steps` in `[limits]` of provost.toml, or in the plan"),
        );
    }
    if worst.calls > limits.calls {
        found.push(count_finding(
            pass,
            Code::TooManyCalls,
            "calls",
            worst.calls,
            limits.calls,
        ));
    }
    if worst.attempts > limits.attempts {
        let (count, limit) = (worst.attempts, limits.attempts);
        found.push(count_finding(
            pass,
            Code::TooManyAttempts,
            "attempts",
            count,
            limit,
        ));
    }
    let wall_max = Duration::from_millis(limits.wall_ms);
    if worst.wall > wall_max {
        found.push(time_finding(pass, &limits, worst.wall, wall_max));
    }
    for step in &pass.plan.steps {
        if matches!(step.kind, StepKind::Question { .. }) {
            let message = format!(
                "nothing bounds how long `{}` waits for an answer",
                step.id.value
            );
            found.push(
                Diagnostic::new(Code::NotBounded, step.id.span, message).step(&step.id.value),
            );
        }
    }
    pass.diagnostics.extend(found);
}

/// A finding about a count, at the step that adds the most to it.
fn count_finding(pass: &Pass<'_>, code: Code, what: &str, count: u64, limit: u64) -> Diagnostic {
    let share = |step: &Step| {
        let tries = if code == Code::TooManyAttempts {
            u64::from(attempts(step))
        } else {
            1
        };
        items(step).saturating_mul(tries)
    };
    // Why: the first of the largest, so that the place does not hang on the order of comparison.
    let largest = pass.plan.steps.iter().filter(|s| s.tool().is_some()).rev();
    let message = format!("up to {count} {what}, more than the limit of {limit}");
    let field = format!("the limit is `{what}` in `[limits]` of provost.toml, or in the plan");
    match largest.max_by_key(|step| share(step)) {
        Some(step) => Diagnostic::new(code, step.id.span, message)
            .label(format!("up to {} {what} here", share(step)))
            .hint(field)
            .step(&step.id.value),
        None => Diagnostic::new(code, Span::default(), message),
    }
}

fn time_finding(pass: &Pass<'_>, limits: &Limits, wall: Duration, limit: Duration) -> Diagnostic {
    let path = longest_path(pass, &pass.graph, limits);
    let names: Vec<&str> = path.iter().map(|(id, _)| id.as_str()).collect();
    let last = names.last().and_then(|id| pass.plan.step(id));
    let message = format!(
        "up to {} along the longest path, more than the limit of {}",
        duration::print(wall),
        duration::print(limit)
    );
    Diagnostic::new(
        Code::TimePassed,
        last.map_or(Span::default(), |s| s.id.span),
        message,
    )
    .label("the end of the path")
    .note(format!("the path is {}", names.join(" → ")))
    .hint("set `timeout` on its steps, or raise `wall` in `[limits]` of provost.toml")
}

fn items(step: &Step) -> u64 {
    step.for_each
        .as_ref()
        .map_or(1, |each| each.max_items.value)
}

fn attempts(step: &Step) -> u32 {
    step.retry.map_or(1, |retry| retry.attempts.max(1))
}

/// How long one step can take: its attempts with their waits, its items in flights.
fn longest(pass: &Pass<'_>, step: &Step, limits: &Limits) -> Duration {
    let Some(operation) = pass.operation(step) else {
        return Duration::ZERO;
    };
    let one = step
        .timeout
        .map_or(operation.timeout, |own| own.min(operation.timeout));
    let tries = attempts(step);
    let mut total = one.saturating_mul(tries);
    if let Some(retry) = step.retry {
        let mut wait = retry.backoff;
        for _ in 1..tries.min(64) {
            total = total.saturating_add(wait);
            wait = wait.saturating_mul(2);
        }
    }
    let flights = items(step).div_ceil(limits.concurrency.max(1));
    total.saturating_mul(u32::try_from(flights).unwrap_or(u32::MAX))
}

/// The longest path through the plan, with the time at the end of each of its steps.
fn longest_path(pass: &Pass<'_>, graph: &Graph, limits: &Limits) -> Vec<(String, Duration)> {
    let mut ends: BTreeMap<&str, (Duration, Option<&str>)> = BTreeMap::new();
    for id in &graph.order {
        let Some(step) = pass.plan.step(id) else {
            continue;
        };
        let after = graph.after.get(id).into_iter().flatten();
        let slowest = after
            .filter_map(|dep| Some((ends.get(dep.as_str())?.0, dep.as_str())))
            .max();
        let start = slowest.map_or(Duration::ZERO, |(end, _)| end);
        let end = start.saturating_add(longest(pass, step, limits));
        ends.insert(id, (end, slowest.map(|(_, dep)| dep)));
    }
    let mut here = ends
        .iter()
        .max_by_key(|(_, (end, _))| *end)
        .map(|(id, _)| *id);
    let mut path = Vec::new();
    while let Some(id) = here {
        let (end, before) = ends.get(id).copied().unwrap_or_default();
        path.push((id.to_owned(), end));
        here = before;
    }
    path.reverse();
    path
}
