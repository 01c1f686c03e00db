//! Part of the pass `shape`: steps of which at most one runs, by what their guards ask.
//!
//! Owns the question, which other passes ask too; what excludes what is [`super::solve`]'s.
//! INVARIANT: two steps are said to exclude each other only if no run meets both guards.

use super::solve::{Assume, Solver};
use super::status::Statuses;
use crate::check::Pass;
use crate::check::scope::Site;
use crate::expr::cases::{Case, both};
use crate::plan::Step;

/// Most pairs of steps that are compared in one plan.
const PAIRS_MAX: usize = 2_000;

/// What the guards of steps ask, and how often two were compared.
pub(crate) struct Exclusions<'p, 'a> {
    pass: &'p Pass<'a>,
    compared: std::cell::Cell<usize>,
}

impl<'p, 'a> Exclusions<'p, 'a> {
    /// Of a plan.
    pub(crate) fn of(pass: &'p Pass<'a>) -> Self {
        Self {
            pass,
            compared: std::cell::Cell::default(),
        }
    }

    /// Whether at most one of two steps runs.
    pub(crate) fn exclude(&self, one: &Step, two: &Step) -> bool {
        // Why: a guard that is asked again, over newer readings, may come to another answer.
        if one.fresh.is_some() || two.fresh.is_some() {
            return false;
        }
        let guards = cases(one).zip(cases(two));
        let compared = self.compared.get();
        let Some((first, second)) = guards.filter(|_| compared < PAIRS_MAX) else {
            return false;
        };
        self.compared.set(compared + 1);
        let site = Site::end();
        let solver = Solver {
            pass: self.pass,
            site: &site,
            statuses: Statuses::Before,
            trust: Assume::Everything,
            accepted: None,
        };
        both(&first, &second).is_some_and(|joined| solver.never(&joined).is_some())
    }
}

fn cases(step: &Step) -> Option<Vec<Case>> {
    step.when.as_ref()?.whole()?.cases(true)
}
