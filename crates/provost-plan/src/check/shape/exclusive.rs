//! Part of the pass `shape`: steps of which at most one runs, by what their guards ask.
//!
//! Owns the question, which other passes ask too; what excludes what is [`super::solve`]'s.
//! INVARIANT: two steps are said to exclude each other only if no run meets both guards.

use super::solve::{Assume, Solver};
use super::status::Statuses;
use crate::check::Pass;
use crate::check::scope::Site;
use crate::expr::cases::{Case, Demand, DemandSubject, both};
use crate::expr::tree::Compare;
use crate::expr::{Root, Segment};
use crate::plan::Step;

/// Most pairs of steps that are compared in one plan.
const PAIRS_MAX: usize = 2_000;
/// How many guards are followed, each of a step that the one before asks to have succeeded.
const CHAIN_MAX: usize = 4;

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
        let solver = Solver {
            pass: self.pass,
            site: &site,
            statuses: Statuses::Before,
            trust: Assume::Everything,
            accepted: None,
        };
        // Why first alone: with what they wait for, they may ask too much at once to be compared.
        [0, CHAIN_MAX].into_iter().any(|chain| {
            let guards = self.guard(one, chain).zip(self.guard(two, chain));
            let joined = guards.and_then(|(first, second)| both(&first, &second));
            joined.is_some_and(|joined| solver.never(&joined).is_some())
        })
    }

    /// What has to hold for a step to run: what its guard asks, and what the guards of those steps
    /// ask that it asks to have succeeded.
    fn guard(&self, step: &Step, chain: usize) -> Option<Vec<Case>> {
        let own = step.when.as_ref()?.whole()?.cases(true)?;
        if chain == 0 {
            return Some(own);
        }
        let mut all = Vec::new();
        for case in own {
            let mut joined = vec![case.clone()];
            for earlier in case.iter().filter_map(succeeded) {
                let steps = self.pass.plan.steps.iter();
                // Why: a guard that is asked again may have come to another answer.
                let mut named = steps.filter(|s| s.id.value == earlier && s.fresh.is_none());
                let asked = named.next().and_then(|s| self.guard(s, chain - 1));
                // Why: what asks too much at once is left out; less is known then.
                joined = asked
                    .and_then(|asked| both(&joined, &asked))
                    .unwrap_or(joined);
            }
            all.extend(joined);
        }
        Some(all)
    }
}

/// The step that a demand wants to have succeeded.
fn succeeded((subject, demand): &(DemandSubject, Demand)) -> Option<&str> {
    match (&subject.root, subject.path.as_slice(), demand) {
        (Root::Step(id), [Segment::Field(field)], Demand::Compares(Compare::Equal, word))
            if field == "status" && word == "succeeded" =>
        {
            Some(id)
        }
        _ => None,
    }
}
