//! The report of an eval: what every repeat of every case came to, and why.
//!
//! Owns the form `provost/report/v1`. Computes nothing but sums of what stands in it. INVARIANT: a
//! repeat that was not judged is in no denominator.

use provost_plan::digest::Digest;
use provost_plan::money::Money;
use provost_run::grade::{Comparison, Interval, Rate, Repeats, pass_hat_k};
use provost_run::read::trace::Metrics;
use serde::{Deserialize, Serialize};

use super::gates::GateResult;

/// The form.
pub const REPORT_SCHEMA: &str = "provost/report/v1";

/// An eval and its figures.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The form.
    pub schema: &'static str,
    /// The name of the set.
    pub set: String,
    /// The digest of its bytes.
    pub set_digest: Digest,
    /// The version of provost.
    pub provost: &'static str,
    /// When it began, in milliseconds since the epoch.
    pub began_at: i64,
    /// What came of each planner; the first is judged, a second is what it is held against.
    pub planners: Vec<PlannerReport>,
    /// How the two compare.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// The earlier report that it is held against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineReport>,
    /// What must hold of the planner that is judged.
    pub gates: Vec<GateResult>,
}

/// An earlier report that an eval is held against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BaselineReport {
    /// The planner that it judged.
    pub planner: String,
    /// The digest of the set as it was.
    pub set_digest: Digest,
    /// When it began, in milliseconds since the epoch.
    pub began_at: i64,
    /// How many cases are in both.
    pub compared: usize,
    /// The cases that are in one of the two alone: they are not compared.
    pub left_out: Vec<String>,
}

/// What came of a planner.
#[derive(Clone, Debug, Serialize)]
pub struct PlannerReport {
    /// Its name in the set.
    pub name: String,
    /// The cases.
    pub cases: Vec<CaseReport>,
    /// Repeats that passed, of those that were judged.
    pub passed: Rate,
    /// Where the rate lies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// pass^k for each k up to the repeats of a case.
    pub pass_hat_k: Vec<f64>,
    /// What planning cost, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
}

/// What came of a case.
#[derive(Clone, Debug, Serialize)]
pub struct CaseReport {
    /// Its id.
    pub id: String,
    /// Its goal.
    pub goal: String,
    /// Whether it is known to fail.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub red: bool,
    /// That its own playbooks are other ones than those of the workspace around the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Its repeats.
    pub repeats: Vec<RepeatReport>,
}

/// What a repeat is judged as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every grader holds.
    Pass,
    /// One does not.
    Fail,
    /// It could not be judged: neither of the two.
    NotJudged,
}

/// What a repeat was judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgedBy {
    /// Its graders.
    Graders,
    /// The time that it may take.
    Time,
}

/// What came of a repeat.
#[derive(Clone, Debug, Serialize)]
pub struct RepeatReport {
    /// Its number, from 1.
    pub n: u64,
    /// What it is judged as.
    pub outcome: Outcome,
    /// What it is judged by.
    pub by: JudgedBy,
    /// Why it was not judged, or did not end in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The link of the last event of its journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<Digest>,
    /// Where its workspace and its journal lie, below the report.
    pub workspace: String,
    /// The graders.
    pub graders: Vec<GraderResult>,
    /// What `why` says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<WhyReport>,
    /// What can be counted in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
}

/// What a grader says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GraderResult {
    /// What it looks at.
    pub name: String,
    /// Whether it holds.
    pub held: bool,
    /// What does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// What caused the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WhyReport {
    /// Who.
    pub guilty: String,
    /// In words.
    pub sentence: String,
}

impl RepeatReport {
    /// Of a repeat of which nothing is known yet.
    pub(super) fn of(n: u64, workspace: String) -> Self {
        Self {
            n,
            outcome: Outcome::NotJudged,
            by: JudgedBy::Graders,
            reason: None,
            run: None,
            head: None,
            workspace,
            graders: Vec::new(),
            why: None,
            metrics: None,
        }
    }
}

impl CaseReport {
    /// Its repeats, counted.
    #[must_use]
    pub fn counts(&self) -> Repeats {
        let of = |outcome| {
            self.repeats
                .iter()
                .filter(move |one| one.outcome == outcome)
        };
        let passed = of(Outcome::Pass).count() as u64;
        Repeats {
            passed,
            judged: passed + of(Outcome::Fail).count() as u64,
        }
    }

    /// What the case is judged as: failed if one repeat did, not judged if one was not.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let any = |outcome| self.repeats.iter().any(|one| one.outcome == outcome);
        match () {
            () if any(Outcome::Fail) => Outcome::Fail,
            () if any(Outcome::NotJudged) => Outcome::NotJudged,
            () => Outcome::Pass,
        }
    }
}

impl PlannerReport {
    /// The figures over these cases.
    pub(super) fn of(
        name: &str,
        cases: Vec<CaseReport>,
        sure: provost_run::grade::Confidence,
    ) -> Self {
        let counts: Vec<Repeats> = cases.iter().map(CaseReport::counts).collect();
        let passed = counts.iter().fold(Rate::default(), |sum, one| {
            sum.and(Rate::new(one.passed, one.judged))
        });
        let most = counts.iter().map(|one| one.judged).max().unwrap_or(0);
        let hat = (1..=most).filter_map(|k| pass_hat_k(&counts, k)).collect();
        let costs = cases.iter().flat_map(|case| &case.repeats);
        let costs = costs.filter_map(|one| one.metrics.as_ref()?.planner_cost);
        let cost = costs.reduce(Money::saturating_add);
        Self {
            name: name.to_owned(),
            interval: passed.wilson(sure),
            passed,
            pass_hat_k: hat,
            cost,
            cases,
        }
    }

    /// The repeats that were not judged.
    #[must_use]
    pub fn not_judged(&self) -> u64 {
        let all = self.cases.iter().flat_map(|case| &case.repeats);
        all.filter(|one| one.outcome == Outcome::NotJudged).count() as u64
    }
}

impl Report {
    /// Whether every gate holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.gates.iter().all(|gate| gate.held)
    }

    /// The repeats of all planners that were not judged.
    #[must_use]
    pub fn not_judged(&self) -> u64 {
        self.planners.iter().map(PlannerReport::not_judged).sum()
    }
}
