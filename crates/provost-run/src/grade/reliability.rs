//! How reliable a planner is: pass^k, the share of cases that would pass k times in a row.
//!
//! Owns that figure. Does not offer pass@k: who ships a planner wants what always works.

use serde::{Deserialize, Serialize};

/// What the repeats of one case came to; those that were not judged are in neither number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeats {
    /// Those that passed.
    pub passed: u64,
    /// Those that were judged.
    pub judged: u64,
}

impl Repeats {
    /// The share that passed; none if none was judged.
    #[must_use]
    pub fn share(self) -> Option<f64> {
        (self.judged > 0).then(|| self.passed as f64 / self.judged as f64)
    }

    /// The chance that k of its repeats, drawn without putting back, all passed: C(c,k) / C(n,k).
    /// None if fewer than k were judged.
    #[must_use]
    pub fn all_of(self, k: u64) -> Option<f64> {
        if k == 0 || self.judged < k {
            return None;
        }
        let factor = |i: u64| self.passed.saturating_sub(i) as f64 / (self.judged - i) as f64;
        Some((0..k).map(factor).product())
    }
}

/// pass^k: the mean of [`Repeats::all_of`] over the cases that were judged k times at least; none
/// if there is none.
#[must_use]
pub fn pass_hat_k(cases: &[Repeats], k: u64) -> Option<f64> {
    let each: Vec<f64> = cases.iter().filter_map(|case| case.all_of(k)).collect();
    (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// The share of all subsets of k repeats in which all passed.
    fn by_subsets(passed: u32, judged: u32, k: u32) -> f64 {
        let (mut all, mut good) = (0_u32, 0_u32);
        for subset in 0_u32..1 << judged {
            if subset.count_ones() == k {
                all += 1;
                good += u32::from(subset >> passed == 0);
            }
        }
        f64::from(good) / f64::from(all)
    }

    #[test]
    fn it_is_the_mean_over_all_subsets() {
        let mut naive_differs = false;
        for judged in 1..=12 {
            for passed in 0..=judged {
                for k in 1..=judged {
                    let case = Repeats {
                        passed: u64::from(passed),
                        judged: u64::from(judged),
                    };
                    let found = case.all_of(u64::from(k)).unwrap();
                    let counted = by_subsets(passed, judged, k);
                    assert!((found - counted).abs() < 1e-12, "{passed}/{judged}, {k}");
                    let naive = (f64::from(passed) / f64::from(judged)).powi(k as i32);
                    naive_differs |= (found - naive).abs() > 0.05;
                }
            }
        }
        assert!(naive_differs, "the control: c/n to the power of k differs");
    }

    #[test]
    fn cases_with_too_few_repeats_are_left_out() {
        let case = |passed, judged| Repeats { passed, judged };
        assert_eq!(pass_hat_k(&[case(1, 1)], 2), None);
        assert_eq!(pass_hat_k(&[], 1), None);
        assert_eq!(pass_hat_k(&[case(4, 4), case(1, 2)], 4), Some(1.0));
        assert_eq!(pass_hat_k(&[case(4, 4), case(3, 4)], 4), Some(0.5));
        assert_eq!(case(0, 0).share(), None);
    }
}
