//! Statistics of repeated runs: how often, how sure, and whether two planners differ.
//!
//! Owns rates with their intervals, the comparison of two planners over the same cases, and how
//! reliable a planner is over repeats. Reads no journal and draws nothing but from a seed that it
//! is given. INVARIANT: no interval rests on a normal approximation of a proportion, and too few
//! cases give none.

mod compare;
#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::disallowed_macros, reason = "tests")]
mod coverage;
mod draws;
mod interval;
mod normal;
mod paired;
mod reliability;
mod resample;

pub use compare::{CASES_MIN, CaseDifference, Comparison, ComparisonRules, Finding, compare};
pub use draws::Draws;
pub use interval::{Confidence, Interval, Rate};
pub use paired::PairedCounts;
pub use reliability::{Repeats, pass_hat_k};
pub use resample::{BOOTSTRAP_DRAWS, FLIP_DRAWS, SignTest, bootstrap, sign_flips};
