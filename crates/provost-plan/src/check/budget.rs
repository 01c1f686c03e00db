//! The pass `budget`: the worst case of a plan against its limits.
//!
//! Owns the findings about steps, calls, attempts, money, tokens and time; the numbers are
//! `worst`'s, and counted values are those of `values`. Never counts waits for people. INVARIANT:
//! a plan that could pass a limit is refused, and what has no bound is named.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Pass;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::duration;
use crate::limits::{PLAN_STEPS_MAX, RETAKEN_MAX, TYPE_WORK_MAX};
use crate::plan::{Limits, Step, StepKind};
use crate::source::Span;

mod capped;
mod envelope;
mod time;
mod values;
mod worst;

pub use values::{ValueShare, ValueWorst};
pub use worst::{StepWorst, WorstCase};

pub(crate) use worst::worst_case;
use worst::{attempts_of, calls_of, items};

/// The limits that hold for a plan: the operator's, narrowed by its own.
pub(crate) fn limits(pass: &Pass<'_>) -> Limits {
    match &pass.plan.limits {
        Some(own) => pass.terms.limits.narrowed(own),
        None => pass.terms.limits.clone(),
    }
}

pub(crate) fn run(pass: &mut Pass<'_>) -> WorstCase {
    let limits = limits(pass);
    let worst = worst_case(pass, &limits);
    let mut found = Vec::new();
    found.extend(steps_finding(pass, &limits, &worst));
    if worst.calls > limits.calls {
        let code = Code::TooManyCalls;
        found.push(count_finding(pass, code, &worst, limits.calls));
    }
    if worst.attempts > limits.attempts {
        let code = Code::TooManyAttempts;
        found.push(count_finding(pass, code, &worst, limits.attempts));
    }
    found.extend(money_finding(pass, &limits, &worst));
    found.extend(tokens_finding(pass, &limits, &worst));
    found.extend(unpriced(pass, &limits, &worst));
    found.extend(values::findings(pass, &limits, &worst.values));
    let wall_max = Duration::from_millis(limits.wall_ms);
    if worst.wall_ms > limits.wall_ms {
        found.push(time_finding(pass, &limits, &worst, wall_max));
    }
    for step in &pass.plan.steps {
        if matches!(step.kind, StepKind::Question { expires: None, .. }) {
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
    pass.totals = values::totals(&worst.values);
    worst
}

fn steps_finding(pass: &Pass<'_>, limits: &Limits, worst: &WorstCase) -> Option<Diagnostic> {
    let plan_limit = u64::try_from(PLAN_STEPS_MAX).unwrap_or(u64::MAX);
    let steps_max = limits.steps.min(plan_limit);
    // The first step beyond the limit is the place; a count belongs to no single step.
    let beyond = usize::try_from(steps_max).unwrap_or(usize::MAX);
    let step = pass.plan.steps.get(beyond).or(pass.plan.steps.last());
    let span = step.map_or(Span::default(), |s| s.id.span);
    (worst.steps > steps_max).then(|| {
        let message = format!("{} steps, more than the limit of {steps_max}", worst.steps);
        Diagnostic::new(Code::TooManySteps, span, message)
            .label("the first step beyond the limit")
            .hint("the limit is `steps` in `[limits]` of provost.toml, or in the plan")
    })
}

/// Whether the check itself took more than it may: then it has not looked at everything.
pub(crate) fn types(pass: &mut Pass<'_>) {
    if pass.type_work.get() <= TYPE_WORK_MAX {
        return;
    }
    let first = pass.plan.steps.first();
    let span = first.map_or(Span::default(), |step| step.id.span);
    let message = "the plan reads more places of large outputs than can be looked through";
    pass.diagnostics.push(
        Diagnostic::new(Code::TooLarge, span, message)
            .hint("declare the outputs of its tools with smaller schemas, or read fewer places"),
    );
}

/// A finding about a count, at the step that adds the most to it.
fn count_finding(pass: &Pass<'_>, code: Code, worst: &WorstCase, limit: u64) -> Diagnostic {
    let is_attempts = code == Code::TooManyAttempts;
    let (what, count) = match is_attempts {
        true => ("attempts", worst.attempts),
        false => ("calls", worst.calls),
    };
    let rows: BTreeMap<&str, &StepWorst> = worst
        .rows
        .iter()
        .map(|row| (row.step.as_str(), row))
        .collect();
    let share = |step: &Step| {
        let (calls, attempts) = match rows.get(step.id.value.as_str()) {
            _ if step.tool().is_none() => envelope::calls_of(pass, step),
            Some(row) => (row.calls, row.attempts),
            None => (calls_of(pass, step), attempts_of(pass, step)),
        };
        if is_attempts { attempts } else { calls }
    };
    // Why: the first of the largest, so that the place does not hang on the order of comparison.
    let calls = |step: &&Step| step.tool().is_some() || step.is_open_subgoal();
    let largest = pass.plan.steps.iter().filter(calls).rev();
    let message = format!("up to {count} {what}, more than the limit of {limit}");
    let field = format!("the limit is `{what}` in `[limits]` of provost.toml, or in the plan");
    match largest.max_by_key(|step| share(step)) {
        Some(step) => {
            let finding = Diagnostic::new(code, step.id.span, message)
                .label(format!("up to {} {what} here", share(step)))
                .hint(field)
                .step(&step.id.value);
            let again = worst::takers(pass, step);
            again.into_iter().fold(finding, |finding, taker| {
                let each = u64::from(RETAKEN_MAX).saturating_mul(items(step));
                let label = format!("`fresh` may call `{}` {each} times more", step.id.value);
                let span = taker
                    .fresh
                    .as_ref()
                    .map_or(taker.id.span, |fresh| fresh.span);
                finding.related(span, label)
            })
        }
        None => Diagnostic::new(code, Span::default(), message),
    }
}

fn money_finding(pass: &Pass<'_>, limits: &Limits, worst: &WorstCase) -> Option<Diagnostic> {
    let limit = limits.money.filter(|limit| worst.money > *limit)?;
    let over = worst.money.saturating_sub(limit);
    let message = format!(
        "up to {} in money, {over} more than the limit of {limit}",
        worst.money
    );
    let row = worst.rows.iter().rev().max_by_key(|row| row.money)?;
    let share = format!("up to {} here, in {} attempts", row.money, row.attempts);
    Some(spent(pass, Code::MoneyPassed, message, row, "money").label(share))
}

fn tokens_finding(pass: &Pass<'_>, limits: &Limits, worst: &WorstCase) -> Option<Diagnostic> {
    let limit = limits.tokens.filter(|limit| worst.tokens > *limit)?;
    let over = worst.tokens.saturating_sub(limit);
    let message = format!(
        "up to {} tokens, {over} more than the limit of {limit}",
        worst.tokens
    );
    let row = worst.rows.iter().rev().max_by_key(|row| row.tokens)?;
    let share = format!("up to {} here, in {} attempts", row.tokens, row.attempts);
    Some(spent(pass, Code::TokensPassed, message, row, "tokens").label(share))
}

/// A finding about what is used up, at the step that uses the most.
fn spent(pass: &Pass<'_>, code: Code, message: String, row: &StepWorst, field: &str) -> Diagnostic {
    let span = pass
        .plan
        .step(&row.step)
        .map_or(Span::default(), |s| s.id.span);
    Diagnostic::new(code, span, message)
        .hint(format!(
            "fewer items or attempts cost less; the limit is `{field}` in `[limits]` of \
             provost.toml, or in the plan"
        ))
        .step(&row.step)
}

/// The steps whose cost has no bound, where there is a limit that it would count against.
fn unpriced(pass: &Pass<'_>, limits: &Limits, worst: &WorstCase) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if limits.money.is_none() && limits.tokens.is_none() {
        return found;
    }
    let steps = pass.plan.steps.iter();
    let spans: BTreeMap<&str, Span> = steps.map(|s| (s.id.value.as_str(), s.id.span)).collect();
    for row in &worst.rows {
        let money = limits.money.is_some() && !row.unpriced.is_empty();
        let tokens = limits.tokens.is_some() && !row.uncounted.is_empty();
        let (what, settings) = match (money, tokens) {
            (true, true) if row.unpriced == row.uncounted => {
                ("money and tokens", row.unpriced.clone())
            }
            (true, true) => {
                let mut all = row.unpriced.clone();
                all.extend(&row.uncounted);
                all.sort_unstable();
                all.dedup();
                ("money and tokens", all)
            }
            (true, false) => ("money", row.unpriced.clone()),
            (false, true) => ("tokens", row.uncounted.clone()),
            (false, false) => continue,
        };
        let names: Vec<String> = settings.iter().map(|s| format!("`{s}`")).collect();
        let are = if names.len() == 1 { "is" } else { "are" };
        let message = format!(
            "worst case, {what}: no total: {} of `{}` {are} not set",
            names.join(" and "),
            row.tool
        );
        let span = spans.get(row.step.as_str()).copied().unwrap_or_default();
        let hint = if settings == ["cost"] {
            "say what a call costs in provost.toml, such as `cost = { money = \"0\" }`"
        } else {
            "set it in provost.toml, or bound the arguments by their schema"
        };
        found.push(
            Diagnostic::new(Code::NotPriced, span, message)
                .note("the limit is held against the rest only")
                .hint(hint)
                .step(&row.step),
        );
    }
    found
}

fn time_finding(
    pass: &Pass<'_>,
    limits: &Limits,
    worst: &WorstCase,
    limit: Duration,
) -> Diagnostic {
    let last = worst.path.last().and_then(|id| pass.plan.step(id));
    let message = format!(
        "up to {} along the longest path, more than the limit of {}",
        duration::words(Duration::from_millis(worst.wall_ms)),
        duration::words(limit)
    );
    let span = last.map_or(Span::default(), |s| s.id.span);
    let finding = Diagnostic::new(Code::TimePassed, span, message)
        .label("the end of the path")
        .note(format!("the path is {}", worst.path.join(" → ")));
    let finding = if worst.crowded {
        finding.note(format!(
            "calls beside the path take its places: at most {} are in flight at once",
            limits.concurrency
        ))
    } else {
        finding
    };
    let own = pass.plan.limits.as_ref();
    let own = own.is_some_and(|own| own.wall_ms == limits.wall_ms);
    let place = if own {
        "of the plan"
    } else {
        "of provost.toml"
    };
    time::slowest(pass, &worst.path, finding, place)
}
