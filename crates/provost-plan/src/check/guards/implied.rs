//! What follows from what is known: which steps ran, and what their conditions say then.
//!
//! Owns the conditions of all steps of a plan. Finds nothing. INVARIANT: a fact that is added holds
//! wherever those that it follows from do; what is not followed only counts as not guarded.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use super::GuardFacts;
use crate::check::order::Order;
use crate::expr::{Fact, Template};
use crate::limits::{GUARD_FACTS_MAX, GUARDS_FOLLOWED_MAX};
use crate::plan::{Plan, Step};

/// The forms of the terms of conditions that are true.
pub(crate) type Terms = BTreeSet<String>;

/// The condition of a step, what it says if it is true, and what the step asserts.
struct StepGuard {
    facts: NumberedFacts,
    /// What it asserts, and what held it back: known once it has succeeded.
    asserted: NumberedFacts,
    terms: Terms,
    /// Whether it alone keeps the step from its output where the plan goes on.
    is_all: bool,
}

/// Facts with the number that each has among those of all conditions. Why: guards that rest on the
/// same ones say mostly what is known, and a number is compared at once.
#[derive(Default)]
struct NumberedFacts {
    facts: GuardFacts,
    /// In the order of the facts.
    numbers: Vec<usize>,
}

impl NumberedFacts {
    fn of(facts: GuardFacts, all: &mut BTreeMap<Fact, usize>) -> Self {
        let mut number = |fact: &Fact| {
            let next = all.len();
            *all.entry(fact.clone()).or_insert(next)
        };
        let numbers = facts.iter().map(&mut number).collect();
        Self { facts, numbers }
    }

    /// Adds those that are not held yet, and follows them.
    fn add(&self, facts: &mut GuardFacts, held: &mut [bool], new: &mut StepQueue) {
        for (fact, at) in self.facts.iter().zip(&self.numbers) {
            let Some(is_held) = held.get_mut(*at).filter(|is_held| !**is_held) else {
                continue;
            };
            *is_held = true;
            new.follow(fact);
            facts.insert(fact.clone());
        }
    }
}

/// The conditions of all steps; read once, however many rest on them.
#[derive(Default)]
pub(crate) struct Guards<'a> {
    of_steps: BTreeMap<&'a str, StepGuard>,
    /// The steps with terms, as they are numbered in `with`.
    numbered: Vec<&'a str>,
    /// How many terms each of these has.
    counts: Vec<usize>,
    /// The facts of all conditions, numbered.
    all: BTreeMap<Fact, usize>,
    /// The steps whose condition has a term.
    with: BTreeMap<String, Vec<usize>>,
    /// What holds where a step runs, for the passes that ask after the first.
    given: RefCell<BTreeMap<String, Rc<GuardFacts>>>,
    /// How many facts are kept there.
    kept: Cell<usize>,
}

/// Most facts that are kept from one pass to the next; beyond, each pass finds them anew.
const FACTS_KEPT_MAX: usize = 250_000;

/// The terms of a condition.
pub(crate) fn terms_of(when: &Template) -> Terms {
    let terms = when.whole().map(|when| when.conjuncts());
    let terms = terms.unwrap_or_default().iter();
    terms.map(crate::expr::tree::Expr::form).collect()
}

impl<'a> Guards<'a> {
    /// What the guards of all steps say.
    pub(crate) fn of(plan: &'a Plan, order: &Order<'_>) -> Self {
        let mut guards = Self::default();
        for step in &plan.steps {
            let mut asserted = asserted(step);
            asserted.extend(super::asserted(plan, order, step));
            if step.when.is_none() && asserted.is_empty() {
                continue;
            }
            let id = step.id.value.as_str();
            let when = step.when.as_ref();
            let mut terms = when.map(terms_of).unwrap_or_default();
            let parent = plan.parent(id).and_then(|(parent, _)| parent.when.as_ref());
            terms.extend(parent.map(terms_of).unwrap_or_default());
            for term in &terms {
                let with = guards.with.entry(term.clone()).or_default();
                with.push(guards.numbered.len());
            }
            guards.numbered.push(id);
            guards.counts.push(terms.len());
            let facts = when.map(Template::facts_if_true).unwrap_or_default();
            let guard = StepGuard {
                facts: NumberedFacts::of(facts, &mut guards.all),
                asserted: NumberedFacts::of(asserted, &mut guards.all),
                terms,
                is_all: !step.on_failure.may_go_on(),
            };
            guards.of_steps.insert(id, guard);
        }
        guards
    }

    /// What holds where a step runs: found once, however many passes ask.
    pub(super) fn given(&self, step: &Step, find: impl FnOnce() -> GuardFacts) -> Rc<GuardFacts> {
        let id = step.id.value.as_str();
        if let Some(given) = self.given.borrow().get(id) {
            return Rc::clone(given);
        }
        let given = Rc::new(find());
        let kept = self.kept.get().saturating_add(given.len());
        if kept <= FACTS_KEPT_MAX {
            self.kept.set(kept);
            self.given
                .borrow_mut()
                .insert(id.to_owned(), Rc::clone(&given));
        }
        given
    }

    /// What the condition of a step says if it is true.
    pub(super) fn facts(&self, id: &str) -> Option<&GuardFacts> {
        self.of_steps.get(id).map(|guard| &guard.facts.facts)
    }

    /// The terms that hold where a step runs.
    pub(super) fn terms(&self, step: &Step) -> Terms {
        // Why none: they were asked again, of readings that the other steps have not seen.
        if step.fresh.is_some() {
            return Terms::new();
        }
        let guard = self.of_steps.get(step.id.value.as_str());
        guard.map(|guard| guard.terms.clone()).unwrap_or_default()
    }

    /// The facts with all that follows from them and from the terms: a step that succeeded was not
    /// skipped by its `when`, and one whose `when` is known to hold has succeeded where the plan
    /// does not go on without it.
    pub(crate) fn implied(&self, mut facts: GuardFacts, terms: Terms) -> GuardFacts {
        // Each step's guard is added once, the nearest first.
        let mut added = 0usize;
        // With each, whether it has ended: what is only sure to run may still be to come.
        let mut new = StepQueue::default();
        let mut held = vec![false; self.all.len()];
        for fact in &facts {
            new.follow(fact);
            let number = self.all.get(fact).copied();
            if let Some(is_held) = number.and_then(|at| held.get_mut(at)) {
                *is_held = true;
            }
        }
        let mut known = Terms::new();
        let mut heard: Vec<String> = terms.into_iter().collect();
        // Why counted: a step of which a term is heard need not be compared with all that is known.
        let mut missing = self.counts.clone();
        loop {
            while let Some(term) = heard.pop() {
                if known.contains(&term) {
                    continue;
                }
                for at in self.with.get(&term).into_iter().flatten() {
                    let (Some(left), Some(id)) = (missing.get_mut(*at), self.numbered.get(*at))
                    else {
                        continue;
                    };
                    *left = left.saturating_sub(1);
                    let guard = self.of_steps.get(id).filter(|guard| guard.is_all);
                    if *left == 0 && guard.is_some() {
                        new.push(id, false);
                        facts.insert(Fact::Status {
                            step: (*id).to_owned(),
                            words: BTreeSet::from(["succeeded".to_owned()]),
                        });
                    }
                }
                known.insert(term);
            }
            let Some((id, has_ended)) = new.pop() else {
                break;
            };
            if added >= GUARDS_FOLLOWED_MAX || facts.len() >= GUARD_FACTS_MAX {
                break;
            }
            added += 1;
            let Some(more) = self.of_steps.get(id.as_str()) else {
                continue;
            };
            more.facts.add(&mut facts, &mut held, &mut new);
            let unheard = more.terms.iter().filter(|term| !known.contains(*term));
            heard.extend(unheard.cloned());
            if has_ended {
                more.asserted.add(&mut facts, &mut held, &mut new);
            }
        }
        facts
    }
}

/// The steps whose guards are still to be followed, each once.
#[derive(Default)]
struct StepQueue {
    queue: VecDeque<(String, bool)>,
    /// Those that were ever in it: as ended, and as sure to run.
    seen: [BTreeSet<String>; 2],
}

impl StepQueue {
    fn push(&mut self, id: &str, has_ended: bool) {
        let [sure, ended] = &mut self.seen;
        let seen = if has_ended { ended } else { sure };
        if !seen.contains(id) {
            seen.insert(id.to_owned());
            self.queue.push_back((id.to_owned(), has_ended));
        }
    }

    /// The step that has succeeded if a fact holds: somebody has asked, so it has ended.
    fn follow(&mut self, fact: &Fact) {
        if let Fact::Status { step, words } = fact
            && words.iter().all(|word| word == "succeeded")
        {
            self.push(step, true);
        }
    }

    fn pop(&mut self) -> Option<(String, bool)> {
        self.queue.pop_front()
    }
}

/// What an assertion says if it holds.
fn asserted(step: &Step) -> GuardFacts {
    let asserted = step.assertion();
    let asserted = asserted.map(|asserted| asserted.condition.facts_if_true());
    asserted.unwrap_or_default()
}
