//! The gates of an eval set: what must hold of all its cases together.
//!
//! Owns each gate and its sentence. INVARIANT: a gate over nothing that was judged does not hold.

use provost_plan::money::Money;
use provost_run::grade::{Comparison, Finding, Rate};
use serde::Serialize;

use super::report::{Outcome, PlannerReport};
use super::set::Gates;

/// What came of a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateResult {
    /// Its name.
    pub name: &'static str,
    /// Whether it holds.
    pub held: bool,
    /// What was found, and what is asked for.
    pub text: String,
}

impl Gates {
    /// Holds the planner that is judged to the gates. A set without any asks that no case fails.
    pub(super) fn hold(
        &self,
        planner: &PlannerReport,
        comparison: Option<&Comparison>,
    ) -> Vec<GateResult> {
        let mut results = Vec::new();
        let mut put = |name, held, text| results.push(GateResult { name, held, text });
        let is_empty = !self.pass_all
            && self.pass_rate.is_none()
            && self.pass_hat_k.is_none()
            && self.effects.is_none()
            && self.cost_per_success_max.is_none();
        // Why not without any under a comparison: that is the gate then.
        if self.pass_all || (is_empty && comparison.is_none()) {
            let failed = planner.cases.iter();
            let failed = failed.filter(|case| case.outcome() == Outcome::Fail);
            let failed: Vec<&str> = failed.map(|case| case.id.as_str()).collect();
            let text = match failed.as_slice() {
                [] => "no case fails".to_owned(),
                some => format!("{} of {} cases fail", some.len(), planner.cases.len()),
            };
            put("pass_all", failed.is_empty(), text);
        }
        if let Some(least) = self.pass_rate {
            let (held, text) = share(planner.passed.value(), least);
            put("pass_rate", held, text);
        }
        if let Some(least) = self.pass_hat_k {
            let (held, text) = share(planner.pass_hat_k.last().copied(), least);
            let text = format!("pass^{}: {text}", planner.pass_hat_k.len());
            put("pass_hat_k", held, text);
        }
        if let Some(least) = self.effects {
            let (held, text) = share(effects(planner).value(), least);
            put("effects", held, text);
        }
        if let Some(most) = self.cost_per_success_max {
            let (held, text) = cost_per_success(planner, most);
            put("cost_per_success_max", held, text);
        }
        if let Some(comparison) = comparison {
            let held = !comparison.regressed;
            let text = comparison.sentence();
            debug_assert!(held || comparison.finding == Finding::Worse);
            put("compare", held, text);
        }
        results
    }
}

/// Judged repeats whose effects are the expected ones.
fn effects(planner: &PlannerReport) -> Rate {
    let mut rate = Rate::default();
    let repeats = planner.cases.iter().flat_map(|case| &case.repeats);
    for one in repeats.filter(|one| one.outcome != Outcome::NotJudged) {
        let mut graders = one.graders.iter();
        let about = |name: &str| name == "effects" || name == "effects.never";
        rate.count(graders.all(|grader| grader.held || !about(&grader.name)));
    }
    rate
}

fn share(found: Option<f64>, least: f64) -> (bool, String) {
    match found {
        None => (false, "nothing was judged".to_owned()),
        Some(found) => (
            found >= least,
            format!("{found:.3}, at least {least} is asked for"),
        ),
    }
}

fn cost_per_success(planner: &PlannerReport, most: Money) -> (bool, String) {
    let metrics = planner.cases.iter().flat_map(|case| &case.repeats);
    let mut metrics = metrics.filter_map(|one| one.metrics.as_ref());
    let is_unpriced = metrics.any(|one| one.planner_cost.is_none() && one.planner_tokens_in > 0);
    if is_unpriced {
        return (false, "what planning cost has no price".to_owned());
    }
    let Some(cost) = planner.cost else {
        return (true, "nothing was paid for".to_owned());
    };
    // Compared without a division: the cost of all is at most that much for each success.
    let held = planner.passed.hits > 0 && cost <= most.saturating_mul(planner.passed.hits);
    let text = format!(
        "{cost} for {} successes, at most {most} each",
        planner.passed.hits
    );
    (held, text)
}
