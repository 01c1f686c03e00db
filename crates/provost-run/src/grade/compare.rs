//! Whether one planner is better than another on the same cases, as far as they tell.
//!
//! Owns which interval and which test fit, and the sentence they come to. INVARIANT: below twenty
//! cases there is no interval, only the table of flips; a difference is called one only if the
//! whole interval lies on one side.

use serde::{Deserialize, Serialize};

use super::interval::{Confidence, Interval};
use super::paired::PairedCounts;
use super::reliability::Repeats;
use super::resample::{BOOTSTRAP_DRAWS, FLIP_DRAWS, bootstrap, sign_flips};

/// Fewer cases give no interval.
pub const CASES_MIN: usize = 20;

/// What a case came to under either planner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaseDifference {
    /// Under the planner that is judged.
    pub new: Repeats,
    /// Under the one it is held against.
    pub old: Repeats,
}

/// How a comparison is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparisonRules {
    /// How sure the interval is.
    pub sure: Confidence,
    /// How much worse is still let pass.
    pub regress_max: f64,
    /// How many samples the bootstrap draws.
    pub draws: usize,
    /// How many ways to flip the signs are drawn, where there are too many to count.
    pub flips: u64,
    /// What the draws begin from.
    pub seed: u64,
}

impl Default for ComparisonRules {
    fn default() -> Self {
        Self {
            sure: Confidence::USUAL,
            regress_max: 0.0,
            draws: BOOTSTRAP_DRAWS,
            flips: FLIP_DRAWS,
            seed: 1,
        }
    }
}

/// What is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The whole interval lies above 0.
    Better,
    /// The whole interval lies below 0.
    Worse,
    /// It holds 0.
    NoDifferenceSeen,
    /// Too few cases to tell.
    TooFew,
}

/// A comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What is found.
    pub finding: Finding,
    /// The cases that both were judged on.
    pub cases: u64,
    /// Cases by whether both, only the new one, only the old one or neither passed every repeat.
    pub table: PairedCounts,
    /// The mean of the new minus the mean of the old.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// Where the difference lies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// How probable a difference at least as large is if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// How interval and p were computed.
    pub method: String,
    /// Whether the new one is worse by more than is let pass.
    pub regressed: bool,
}

/// Holds the planner that is judged against another. Cases that either was not judged on are left
/// out.
#[must_use]
pub fn compare(cases: &[CaseDifference], rules: ComparisonRules) -> Comparison {
    let judged: Vec<CaseDifference> = cases
        .iter()
        .copied()
        .filter(|case| case.new.judged > 0 && case.old.judged > 0)
        .collect();
    let mut table = PairedCounts::default();
    for case in &judged {
        let all = |one: Repeats| one.passed == one.judged;
        table.count(all(case.new), all(case.old));
    }
    let differences: Vec<f64> = judged
        .iter()
        .filter_map(|case| Some(case.new.share()? - case.old.share()?))
        .collect();
    let count = differences.len();
    let mean = (count > 0).then(|| differences.iter().sum::<f64>() / count as f64);
    let once = judged
        .iter()
        .all(|case| case.new.judged == 1 && case.old.judged == 1);
    let (interval, p, method) = if once {
        let method = "Newcombe's paired score interval (method 10), exact McNemar test";
        (
            table.newcombe(rules.sure),
            table.mcnemar(),
            method.to_owned(),
        )
    } else {
        let test = sign_flips(&differences, rules.flips, rules.seed);
        let how = match test.exact {
            true => "exact".to_owned(),
            false => format!("{} draws", rules.flips),
        };
        let method = format!(
            "BCa bootstrap over cases ({} draws, seed {}), sign flips ({how})",
            rules.draws, rules.seed
        );
        let interval = bootstrap(&differences, rules.sure, rules.draws, rules.seed);
        // Why: where few cases differ the bootstrap is too sure. What the exact test does not tell
        // from nothing, the interval holds.
        let is_open = test.p > 1.0 - rules.sure.level();
        let interval = interval.map(|interval| match is_open {
            true => Interval {
                low: interval.low.min(0.0),
                high: interval.high.max(0.0),
            },
            false => interval,
        });
        (interval, test.p, method)
    };
    let interval = interval.filter(|_| count >= CASES_MIN);
    let finding = match interval {
        None => Finding::TooFew,
        Some(interval) if interval.low > 0.0 => Finding::Better,
        Some(interval) if interval.high < 0.0 => Finding::Worse,
        Some(_) => Finding::NoDifferenceSeen,
    };
    Comparison {
        finding,
        cases: count as u64,
        table,
        difference: mean,
        interval,
        p: (count > 0).then_some(p),
        method,
        regressed: interval.is_some_and(|interval| interval.high < -rules.regress_max),
    }
}

impl Comparison {
    /// What it comes to, in words.
    #[must_use]
    pub fn sentence(&self) -> String {
        let percent = |share: f64| format!("{:.1} %", share.abs() * 100.0);
        match (self.finding, self.interval, self.difference) {
            (Finding::Better, Some(at), Some(by)) => format!(
                "better by {} ({} to {})",
                percent(by),
                percent(at.low),
                percent(at.high)
            ),
            (Finding::Worse, Some(at), Some(by)) => format!(
                "worse by {} ({} to {})",
                percent(by),
                percent(at.high),
                percent(at.low)
            ),
            (Finding::NoDifferenceSeen, Some(at), _) => format!(
                "no difference seen (could be as large as {} worse or {} better)",
                percent(at.low.min(0.0)),
                percent(at.high.max(0.0))
            ),
            _ => format!(
                "too few to tell: {} cases, of which {} passed under this planner alone and {} \
                 under the other alone; an interval needs {CASES_MIN}",
                self.cases, self.table.first, self.table.second
            ),
        }
    }
}
