//! Two planners on the same cases, several times each: what the differences of the cases tell.
//!
//! Owns the BCa bootstrap over cases and the sign-flip test. Why over cases: the repeats of one
//! case are not independent, and their number makes nothing more certain about other cases.
//! INVARIANT: the same differences and the same seed give the same figures.

use serde::{Deserialize, Serialize};

use super::draws::Draws;
use super::interval::{Confidence, Interval, Rate};
use super::normal::{below, quantile};

/// How many samples the bootstrap draws.
pub const BOOTSTRAP_DRAWS: usize = 10_000;
/// Up to so many cases that differ, every way to flip them is counted.
const FLIPS_EXACT: usize = 20;
/// How many ways to flip are drawn beyond that.
pub const FLIP_DRAWS: u64 = 100_000;

/// The bias-corrected and accelerated bootstrap interval of the mean of these differences, each
/// from -1 to 1; none for fewer than two. Where no case differs from the next, the sample alone
/// says nothing about its spread, and the interval is what Wilson's gives for a case that differs.
#[must_use]
pub fn bootstrap(
    differences: &[f64],
    sure: Confidence,
    draws: usize,
    seed: u64,
) -> Option<Interval> {
    let count = differences.len();
    if count < 2 || draws == 0 {
        return None;
    }
    let n = count as f64;
    let sum: f64 = differences.iter().sum();
    let mean = sum / n;
    if differences.iter().all(|one| (one - mean).abs() < 1e-12) {
        let unseen = Rate::new(0, count as u64).wilson(sure)?.high;
        return Some(Interval {
            low: (mean - unseen).max(-1.0),
            high: (mean + unseen).min(1.0),
        });
    }
    let mut random = Draws::of(seed);
    let mut means: Vec<f64> = (0..draws)
        .map(|_| {
            let drawn = (0..count).filter_map(|_| differences.get(random.below(count)));
            drawn.sum::<f64>() / n
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let less = means.iter().filter(|one| **one < mean - 1e-12).count() as f64;
    let more = means.iter().filter(|one| **one > mean + 1e-12).count() as f64;
    let total = draws as f64;
    // Ties count for half: means of few cases have few values.
    let share = (less + (total - less - more) / 2.0) / total;
    let bias = quantile(share);
    let skewed = acceleration(differences, sum);
    let z = widened(sure.z(), n);
    let end = |z: f64| {
        let moved = bias + (bias + z) / (1.0 - skewed * (bias + z));
        at_share(&means, below(moved))
    };
    Some(Interval {
        low: end(-z)?,
        high: end(z)?,
    })
}

/// How far to look to either side: a bootstrap of few cases is too narrow by as much as Student's t
/// is wider than the normal distribution (Hesterberg, The American Statistician 69 (2015) 371).
fn widened(z: f64, n: f64) -> f64 {
    let free = n - 1.0;
    // The first terms of Fisher's expansion of t.
    let t = z
        + (z.powi(3) + z) / (4.0 * free)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * free * free);
    t * (n / free).sqrt()
}

/// The skew of the mean, from leaving out one case at a time.
fn acceleration(differences: &[f64], sum: f64) -> f64 {
    let n = differences.len() as f64;
    let left: Vec<f64> = differences
        .iter()
        .map(|one| (sum - one) / (n - 1.0))
        .collect();
    let mean = left.iter().sum::<f64>() / n;
    let moment = |power: i32| left.iter().map(|one| (mean - one).powi(power)).sum::<f64>();
    let squares = moment(2);
    if squares <= 0.0 {
        return 0.0;
    }
    moment(3) / (6.0 * squares.powf(1.5))
}

fn at_share(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = (share * sorted.len() as f64).floor().max(0.0);
    let position = (position as usize).min(last);
    sorted.get(position).copied()
}

/// What flipping the signs of the differences says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignTest {
    /// How probable a mean at least as far from 0 is if neither planner is better.
    pub p: f64,
    /// The cases that differ.
    pub differ: u64,
    /// Whether every way to flip was counted; else some were drawn.
    pub exact: bool,
}

/// The two-sided sign-flip test of the mean of these differences. Where more than twenty cases
/// differ, so many ways to flip are drawn.
#[must_use]
pub fn sign_flips(differences: &[f64], draws: u64, seed: u64) -> SignTest {
    let differ = differences.iter().copied().filter(|one| one.abs() > 1e-12);
    let differ: Vec<f64> = differ.collect();
    let seen = differ.iter().sum::<f64>().abs() - 1e-9;
    let exact = differ.len() <= FLIPS_EXACT;
    let p = if exact {
        extreme_ways(&differ, seen)
    } else {
        let mut random = Draws::of(seed);
        let mut drawn = || {
            let words = differ.chunks(64);
            words
                .map(|words| flipped(words, random.next_u64()))
                .sum::<f64>()
        };
        let extreme = (0..draws).filter(|_| drawn().abs() >= seen).count();
        // The sample itself is one of the ways.
        (extreme as f64 + 1.0) / (draws as f64 + 1.0)
    };
    SignTest {
        p,
        differ: differ.len() as u64,
        exact,
    }
}

/// The share of all ways to flip whose sum is at least as far from 0 as `seen`. From each way to
/// the next one sign changes (Gray's code), so that a million ways are a million additions.
fn extreme_ways(differences: &[f64], seen: f64) -> f64 {
    let ways = 1_u64 << differences.len();
    let mut signed = differences.to_vec();
    let mut sum: f64 = signed.iter().sum();
    let mut extreme = 1_u64;
    for way in 1..ways {
        let bit = usize::try_from(way.trailing_zeros()).unwrap_or(0);
        if let Some(one) = signed.get_mut(bit) {
            sum -= 2.0 * *one;
            *one = -*one;
        }
        extreme += u64::from(sum.abs() >= seen);
    }
    extreme as f64 / ways as f64
}

/// The sum with the signs flipped where `way` has a bit.
fn flipped(differences: &[f64], way: u64) -> f64 {
    let signed = |(bit, one): (usize, &f64)| if way >> bit & 1 == 1 { -one } else { *one };
    differences.iter().enumerate().map(signed).sum()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn flips_agree_with_counting_by_hand() {
        // One way in eight has a sum of 3 and one of -3.
        let three = sign_flips(&[1.0, 1.0, 1.0, 0.0], FLIP_DRAWS, 1);
        assert!((three.p - 0.25).abs() < 1e-12);
        assert_eq!((three.differ, three.exact), (3, true));
        assert!((sign_flips(&[0.0; 9], FLIP_DRAWS, 1).p - 1.0).abs() < 1e-12);
        // With one repeat it is McNemar's test.
        let table = crate::grade::PairedCounts {
            first: 9,
            second: 2,
            ..Default::default()
        };
        let differences = [[1.0; 9].as_slice(), &[-1.0; 2]].concat();
        let found = sign_flips(&differences, FLIP_DRAWS, 1);
        assert!((found.p - table.mcnemar()).abs() < 1e-12);
        let many = [[1.0; 40].as_slice(), &[-1.0; 20]].concat();
        let drawn = sign_flips(&many, FLIP_DRAWS, 7);
        let exact = crate::grade::PairedCounts {
            first: 40,
            second: 20,
            ..Default::default()
        };
        assert!(!drawn.exact);
        assert!((drawn.p - exact.mcnemar()).abs() < 0.002, "{drawn:?}");
    }

    #[test]
    fn the_interval_of_a_known_sample_is_as_others_compute_it() {
        // Efron and Tibshirani, An Introduction to the Bootstrap (1993), the mice of the treatment
        // group: mean 86.86; their BCa limits with 1,000 draws stand near 56 and 150.
        let mice = [94.0, 197.0, 16.0, 38.0, 99.0, 141.0, 23.0];
        let scaled: Vec<f64> = mice.iter().map(|one| one / 1000.0).collect();
        let found = bootstrap(&scaled, Confidence::USUAL, 10_000, 42).unwrap();
        assert!(found.low > 0.030 && found.low < 0.056, "{found:?}");
        assert!(found.high > 0.130 && found.high < 0.190, "{found:?}");
        assert_eq!(
            bootstrap(&scaled, Confidence::USUAL, 10_000, 42),
            Some(found)
        );
        assert_eq!(bootstrap(&[0.5], Confidence::USUAL, 100, 1), None);
    }
}
