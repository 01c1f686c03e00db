//! What judging may cost: one purse of units, from which expressions and schemas are paid.
//!
//! Owns the purse. Knows no value and no rule. A unit is about what it takes to look at one node of
//! an expression or at one subschema, some twenty nanoseconds. INVARIANT: a purse never fills up
//! again, and who overdraws it leaves it empty: what is judged afterwards fails at once.

use std::cell::Cell;

use crate::limits::VALIDATION_WORK_MAX;

/// What is left of the work that one turn of judging may do.
#[derive(Debug)]
pub struct WorkBudget(Cell<u64>);

/// To judge something takes more work than is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("to judge this value takes more work than is allowed")]
pub struct Exceeded;

impl WorkBudget {
    /// A purse of so many units.
    #[must_use]
    pub fn of(units: u64) -> Self {
        Self(Cell::new(units))
    }

    /// A purse for one value that is judged by itself.
    #[must_use]
    pub fn of_one_value() -> Self {
        Self::of(VALIDATION_WORK_MAX)
    }

    /// What is left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.0.get()
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left() == 0
    }

    /// Pays.
    ///
    /// # Errors
    /// [`Exceeded`] if there is not as much left; the purse is empty then.
    pub fn spend(&self, units: u64) -> Result<(), Exceeded> {
        let left = self.left().checked_sub(units);
        self.0.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or(Exceeded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_overdraws_a_purse_leaves_it_empty() {
        let purse = WorkBudget::of(10);
        assert_eq!(purse.spend(4), Ok(()));
        assert_eq!(purse.left(), 6);
        assert_eq!(purse.spend(7), Err(Exceeded));
        assert!(purse.is_empty());
        assert_eq!(purse.spend(1), Err(Exceeded));
        assert_eq!(purse.spend(0), Ok(()));
    }
}
