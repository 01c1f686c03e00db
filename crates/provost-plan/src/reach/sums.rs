//! What plans add up to, and which sums of two plans differ.
//!
//! Owns the comparison of sums. Adds nothing up. INVARIANT: a sum without a bound is more than any
//! that has one.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::amount::{Amount, Totals};
use crate::check::budget::WorstCase;

/// A sum of a counted value that differs between two plans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SumChange {
    /// The value.
    pub of: String,
    /// In the earlier plan; none without a bound.
    pub from: Option<Amount>,
    /// In the later plan; none without a bound.
    pub to: Option<Amount>,
}

impl SumChange {
    /// Whether the later plan may add more.
    #[must_use]
    pub fn is_more(&self) -> bool {
        match (self.from, self.to) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(from), Some(to)) => to > from,
        }
    }
}

/// The sums of a plan.
pub(super) fn of(worst: &WorstCase) -> Totals {
    let each = worst.values.iter();
    each.map(|(name, value)| (name.clone(), value.most))
        .collect()
}

/// The sums that differ. Both plans are compared under one catalog, which names the same values.
pub(super) fn moved(before: &Totals, after: &Totals) -> Vec<SumChange> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let most = |totals: &Totals, name: &String| totals.get(name).copied().flatten();
    let changes = names.into_iter().map(|name| SumChange {
        of: name.clone(),
        from: most(before, name),
        to: most(after, name),
    });
    changes.filter(|sum| sum.from != sum.to).collect()
}
