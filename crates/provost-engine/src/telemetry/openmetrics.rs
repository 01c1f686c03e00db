//! The runs of a store as series.
//!
//! Owns which figure of a run adds to which series. INVARIANT: what is told follows from the
//! journal alone, so it survives a restart, and two that ask are told the same.

use provost_run::facts::{Economy, FORMULAS, RunFacts};

use super::cursor::ExportStanding;
use super::exposition::Exposition;
use crate::engine::EngineError;
use crate::stats::facts_of;
use crate::store::Store;

/// The runs of a store in the text form of OpenMetrics, at a moment in milliseconds since 1970.
/// Runs that cannot be read are left out.
///
/// # Errors
/// [`EngineError::Store`] if the journal cannot be read.
pub fn openmetrics(store: &Store, now_ms: i64) -> Result<String, EngineError> {
    Ok(series(store, now_ms)?.text())
}

/// The same before it has a form.
///
/// # Errors
/// As of [`openmetrics`].
pub(super) fn series(store: &Store, now_ms: i64) -> Result<Exposition, EngineError> {
    let mut series = Exposition::default();
    for row in store.run_facts(FORMULAS)? {
        let Ok(facts) = facts_of(store, &row) else {
            continue;
        };
        if facts.ended_at.is_none() {
            series.count("runs_open", &[&row.status], 1);
        }
        add(&mut series, &facts);
    }
    for (tool, status) in store.remembered_tools()? {
        let is_open = status.is_open(now_ms);
        series.count("breaker_open", &[&tool], u64::from(is_open));
    }
    if let Some(standing) = ExportStanding::of(store)? {
        series.count("export_behind_events", &["otlp"], standing.behind);
    }
    Ok(series)
}

/// Milliseconds as microseconds.
fn micros(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0).saturating_mul(1_000)
}

fn add(series: &mut Exposition, facts: &RunFacts) {
    let status = facts.status.as_deref();
    if let (Some(_), Some(status)) = (facts.ended_at, status) {
        let planner = facts
            .groups
            .get("planner")
            .map_or("unknown", String::as_str);
        series.count("runs", &[status, planner], 1);
        series.time("run_seconds", &[status], micros(facts.economy.elapsed_ms));
        series.time("run_busy_seconds", &[], micros(facts.economy.busy_ms));
    }
    for (family, labels, count) in facts.counts.iter() {
        series.count(family, &labels, count);
    }
    for (cause, count) in &facts.revisions_by {
        series.count("revisions", &[cause], *count);
    }
    if let Some(unneeded) = facts.planning.get("unneeded") {
        series.count("steps_unneeded", &[], unneeded.hits);
    }
    for (key, kind) in [
        ("duplicates", "landed"),
        ("duplicates_held", "held"),
        ("duplicates_possible", "possible"),
    ] {
        if let Some(rate) = facts.execution.get(key) {
            series.count("duplicate_effects", &[kind], rate.hits);
        }
    }
    for (operation, took) in &facts.latency_us {
        for us in took {
            series.time("attempt_seconds", &[operation], *us);
        }
    }
    for wait in &facts.approval_wait_ms {
        series.time("approval_wait_seconds", &[], micros(*wait));
    }
    spent(series, &facts.economy);
}

fn spent(series: &mut Exposition, economy: &Economy) {
    series.amount("cost", &["planner"], economy.planning.millionths());
    series.amount("cost", &["tool"], economy.tools.millionths());
    series.count("unpriced_calls", &[], economy.unpriced);
}
