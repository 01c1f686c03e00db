//! A rate as what it is made of, and how sure it is: Wilson's score interval.
//!
//! Owns numerator and denominator, which are never lost. INVARIANT: nothing of nothing has no
//! value; it is neither 0 nor 1.

use serde::{Deserialize, Serialize};

use super::normal::quantile;

/// How sure an interval is to hold what it is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence(f64);

impl Confidence {
    /// 95 %.
    pub const USUAL: Self = Self(0.95);

    /// This share, if it lies strictly between a half and 1.
    #[must_use]
    pub fn of(level: f64) -> Option<Self> {
        (level > 0.5 && level < 1.0).then_some(Self(level))
    }

    /// The share.
    #[must_use]
    pub fn level(self) -> f64 {
        self.0
    }

    /// How many standard deviations it is to either side.
    #[must_use]
    pub fn z(self) -> f64 {
        // Why spelled out: every published figure of provost names this value.
        if self == Self::USUAL {
            return 1.959_964;
        }
        quantile(f64::midpoint(1.0, self.0))
    }
}

/// From where to where.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether a value lies in it.
    #[must_use]
    pub fn holds(self, value: f64) -> bool {
        // Why a margin: ends are computed, and a value on one counts as inside.
        self.low - 1e-12 <= value && value <= self.high + 1e-12
    }
}

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// The numerator.
    pub hits: u64,
    /// The denominator.
    pub of: u64,
}

impl Rate {
    /// So many of so many.
    #[must_use]
    pub fn new(hits: u64, of: u64) -> Self {
        Self { hits, of }
    }

    /// Counts one more, which is a hit or not.
    pub fn count(&mut self, hit: bool) {
        self.of += 1;
        self.hits += u64::from(hit);
    }

    /// This rate and another, taken together: sums of numerators and of denominators.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            hits: self.hits + other.hits,
            of: self.of + other.of,
        }
    }

    /// The rate; none of nothing.
    #[must_use]
    pub fn value(self) -> Option<f64> {
        (self.of > 0).then(|| self.hits as f64 / self.of as f64)
    }

    /// Wilson's score interval; none of nothing, and none if there are more hits than there were
    /// chances, which only a mean per run can have.
    #[must_use]
    pub fn wilson(self, sure: Confidence) -> Option<Interval> {
        if self.hits > self.of {
            return None;
        }
        let p = self.value()?;
        let (n, z) = (self.of as f64, sure.z());
        let squared = z * z;
        let middle = p + squared / (2.0 * n);
        let spread = z * (p * (1.0 - p) / n + squared / (4.0 * n * n)).sqrt();
        let scale = 1.0 + squared / n;
        let ends = ((middle - spread) / scale, (middle + spread) / scale);
        // Why at the ends exactly: rounding would leave a little more than nothing.
        Some(Interval {
            low: if self.hits == 0 { 0.0 } else { ends.0 },
            high: if self.hits == self.of { 1.0 } else { ends.1 },
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn wilson_agrees_with_the_published_table() {
        // Newcombe, Statistics in Medicine 17 (1998) 857, table I, method 3.
        let table = [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ];
        for (hits, of, low, high) in table {
            let found = Rate::new(hits, of).wilson(Confidence::USUAL).unwrap();
            assert!((found.low - low).abs() < 6e-5, "{hits}/{of}: {found:?}");
            assert!((found.high - high).abs() < 6e-5, "{hits}/{of}: {found:?}");
        }
    }

    #[test]
    fn nothing_of_nothing_is_absent() {
        assert_eq!(Rate::default().value(), None);
        assert_eq!(Rate::default().wilson(Confidence::USUAL), None);
        assert_eq!(Rate::new(3, 2).wilson(Confidence::USUAL), None);
        assert_eq!(Confidence::of(1.0), None);
        let z = Confidence::of(0.99).unwrap().z();
        assert!((z - 2.575_829_304).abs() < 1e-7, "{z}");
    }
}
