//! The report of an eval for readers: Markdown, JUnit and one page of HTML.
//!
//! Owns how figures are written. Computes none. INVARIANT: whatever a report quotes is escaped for
//! the format it stands in.

pub mod html;
pub mod junit;
pub mod markdown;

use provost_engine::eval::{CaseReport, PlannerReport};

/// A share as percent.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The rate of a planner with where it lies.
fn rate(planner: &PlannerReport) -> String {
    let of = format!("{} of {}", planner.passed.hits, planner.passed.of);
    match (planner.passed.value(), planner.interval) {
        (Some(rate), Some(at)) => format!(
            "{of} repeats pass: {} (95 % interval {} to {})",
            percent(rate),
            percent(at.low),
            percent(at.high)
        ),
        _ => "nothing was judged".to_owned(),
    }
}

/// pass^k for the largest k, if there is more than one repeat.
fn reliability(planner: &PlannerReport) -> Option<String> {
    let k = planner.pass_hat_k.len();
    let value = planner.pass_hat_k.last().filter(|_| k > 1)?;
    Some(format!("pass^{k}: {}", percent(*value)))
}

/// How a case went, in numbers.
fn counts(case: &CaseReport) -> String {
    let counts = case.counts();
    format!("{}/{}", counts.passed, counts.judged)
}
