//! Part of the pass `shape`: steps of which at most one runs, by what their guards ask.
//!
//! Owns the question, which other passes ask too; what excludes what is [`super::solve`]'s.
//! INVARIANT: two steps are said to exclude each other only if no run meets both guards.

use super::solve::{Solver, meets};
use super::status::Statuses;
use crate::check::Pass;
use crate::check::scope::Site;
use crate::expr::cases::{Case, Demand, DemandSubject, both};
use crate::expr::{Root, Segment};
use crate::plan::Step;

/// Most pairs of steps that are compared in one plan.
const PAIRS_MAX: usize = 2_000;
/// How many guards are followed, each of a step that the one before asks to have succeeded.
const CHAIN_MAX: usize = 4;
/// The end that asks a guard to have held.
const SUCCEEDED: &str = "succeeded";

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
        let compared = self.compared.get();
        if compared >= PAIRS_MAX || one.when.is_none() || two.when.is_none() {
            return false;
        }
        self.compared.set(compared + 1);
        let site = Site::end();
        let solver = Solver::knowing(self.pass, &site, Statuses::Before, None);
        // Why first alone: with what they wait for, they may ask too much at once to be compared.
        [0, CHAIN_MAX].into_iter().any(|chain| {
            let guards = self.guard(one, chain).zip(self.guard(two, chain));
            let joined = guards.and_then(|(first, second)| both(&first, &second));
            joined.is_some_and(|joined| solver.never(&joined).is_some())
        })
    }

    /// What has to hold for a step to run: what its guard asks, and what the guards of those steps
    /// ask that it asks to have succeeded, in whatever words.
    fn guard(&self, step: &Step, chain: usize) -> Option<Vec<Case>> {
        let own = step.when.as_ref()?.whole()?.cases(true)?;
        if chain == 0 {
            return Some(own);
        }
        let mut all = Vec::new();
        for case in own {
            let mut joined = vec![case.clone()];
            for earlier in self.succeeded(&case) {
                let asked = self.guard(earlier, chain - 1);
                // Why: what asks too much at once is left out; less is known then.
                joined = asked
                    .and_then(|asked| both(&joined, &asked))
                    .unwrap_or(joined);
            }
            all.extend(joined);
        }
        Some(all)
    }

    /// The steps that have succeeded wherever a case holds: it lets them have no other end.
    fn succeeded(&self, case: &Case) -> Vec<&'p Step> {
        // Why: a guard that is asked again may have come to another answer.
        let steps = self.pass.plan.steps.iter().filter(|s| s.fresh.is_none());
        let asked = steps.filter(|step| {
            let demands = case.iter().filter(|(s, _)| is_status(s, &step.id.value));
            let demands: Vec<&Demand> = demands.map(|(_, demand)| demand).collect();
            let fits = |word: &str| demands.iter().all(|demand| meets(&word.into(), demand));
            let mut ends = Statuses::Before.of(self.pass, step).into_iter();
            !demands.is_empty() && fits(SUCCEEDED) && ends.all(|end| end == SUCCEEDED || !fits(end))
        });
        asked.collect()
    }
}

/// Whether a subject is the status of a step.
fn is_status(subject: &DemandSubject, id: &str) -> bool {
    let field = subject.path.as_slice();
    matches!(&subject.root, Root::Step(of) if of == id)
        && matches!(field, [Segment::Field(field)] if field == "status")
}
