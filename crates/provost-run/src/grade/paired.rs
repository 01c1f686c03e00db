//! Two planners on the same cases, once each: Newcombe's paired score interval and McNemar's test.
//!
//! Owns the table of four counts. INVARIANT: the test is the exact one, and the interval method 10
//! of Newcombe (1998), which takes into account that easy cases are easy for both.

use serde::{Deserialize, Serialize};

use super::interval::{Confidence, Interval, Rate};

/// How many cases which of two planners passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairedCounts {
    /// Both.
    pub both: u64,
    /// Only the first.
    pub first: u64,
    /// Only the second.
    pub second: u64,
    /// Neither.
    pub neither: u64,
}

impl PairedCounts {
    /// Counts a case.
    pub fn count(&mut self, first: bool, second: bool) {
        let cell = match (first, second) {
            (true, true) => &mut self.both,
            (true, false) => &mut self.first,
            (false, true) => &mut self.second,
            (false, false) => &mut self.neither,
        };
        *cell += 1;
    }

    /// The cases.
    #[must_use]
    pub fn cases(self) -> u64 {
        self.both + self.first + self.second + self.neither
    }

    /// The rate of the first minus that of the second; none without a case.
    #[must_use]
    pub fn difference(self) -> Option<f64> {
        let cases = self.cases();
        (cases > 0).then(|| (self.first as f64 - self.second as f64) / cases as f64)
    }

    /// Method 10: the distances of the two Wilson intervals joined under their correlation, of
    /// which half a case is taken off where it is positive.
    #[must_use]
    pub fn newcombe(self, sure: Confidence) -> Option<Interval> {
        let n = self.cases();
        let difference = self.difference()?;
        let (first, second) = (
            Rate::new(self.both + self.first, n),
            Rate::new(self.both + self.second, n),
        );
        let (p1, p2) = (first.value()?, second.value()?);
        let (one, two) = (first.wilson(sure)?, second.wilson(sure)?);
        let phi = self.correlation();
        let joined = |a: f64, b: f64| (a * a - 2.0 * phi * a * b + b * b).max(0.0).sqrt();
        Some(Interval {
            low: (difference - joined(p1 - one.low, two.high - p2)).max(-1.0),
            high: (difference + joined(one.high - p1, p2 - two.low)).min(1.0),
        })
    }

    fn correlation(self) -> f64 {
        let Self {
            both: a,
            first: b,
            second: c,
            neither: d,
        } = self;
        let [a, b, c, d] = [a, b, c, d].map(|count| count as f64);
        let margins = (a + b) * (c + d) * (a + c) * (b + d);
        if margins <= 0.0 {
            return 0.0;
        }
        let product = a * d - b * c;
        let corrected = if product > 0.0 {
            (product - (a + b + c + d) / 2.0).max(0.0)
        } else {
            product
        };
        corrected / margins.sqrt()
    }

    /// The exact two-sided McNemar p: how probable a split of the cases that differ at least as
    /// uneven is if neither planner is better.
    #[must_use]
    pub fn mcnemar(self) -> f64 {
        let differ = self.first + self.second;
        let fewer = self.first.min(self.second);
        // In logarithms: a half to the power of some thousand cases is no number.
        let mut term = -(differ as f64) * std::f64::consts::LN_2;
        let mut tail = term.exp();
        for i in 1..=fewer {
            term += ((differ - i + 1) as f64).ln() - (i as f64).ln();
            tail += term.exp();
        }
        (2.0 * tail).min(1.0)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn table(both: u64, first: u64, second: u64, neither: u64) -> PairedCounts {
        PairedCounts {
            both,
            first,
            second,
            neither,
        }
    }

    #[test]
    fn it_agrees_with_published_examples() {
        // Fagerland, Lydersen, Laake, Statistics in Medicine 33 (2014) 2850: airway
        // hyper-responsiveness before and after stem cell transplantation.
        let bentur = table(1, 1, 7, 12);
        let found = bentur.newcombe(Confidence::USUAL).unwrap();
        assert!((found.low + 0.507).abs() < 6e-4, "{found:?}");
        assert!((found.high + 0.026).abs() < 6e-4, "{found:?}");
        assert!((bentur.mcnemar() - 0.0703).abs() < 6e-5);
        // Altman and others, Statistics with confidence (2000), table 6.2.
        let altman = table(14, 5, 0, 22).newcombe(Confidence::USUAL).unwrap();
        assert!((altman.low - 0.011).abs() < 6e-4, "{altman:?}");
        assert!((altman.high - 0.226).abs() < 6e-4, "{altman:?}");
    }

    #[test]
    fn without_a_case_that_differs_nothing_is_seen() {
        assert!((table(10, 0, 0, 5).mcnemar() - 1.0).abs() < 1e-12);
        assert!((table(0, 1, 0, 0).mcnemar() - 1.0).abs() < 1e-12);
        assert!((table(0, 10, 0, 0).mcnemar() - 2.0 / 1024.0).abs() < 1e-12);
        assert!(table(0, 4_000, 1_000, 0).mcnemar() < 1e-100);
        assert_eq!(table(0, 0, 0, 0).newcombe(Confidence::USUAL), None);
        let same = table(20, 0, 0, 0).newcombe(Confidence::USUAL).unwrap();
        assert!(
            same.low < -0.1 && same.high > 0.1,
            "20 cases prove no equality"
        );
    }
}
