//! Where a run stands in its plan, so that a turn looks only at steps at which something can
//! happen.
//!
//! Owns nothing that is remembered: all of it follows from the steps and effects of the state.
//! INVARIANT: after every event it is what it would be if it were made anew; only which pending
//! step waits for which other is learned by looking, and forgotten once that one settles.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use provost_plan::digest::Digest;
use provost_plan::plan::Step;

use super::{ItemState, State, StepState, WriteRecord};
use crate::call::Slot;
use crate::event::{Event, StepStatus};
use crate::outcome::Landing;

/// Steps up to which a debug build makes the frontier anew after every event, to compare.
const CHECKED_STEPS_MAX: usize = 50;

/// The steps of the plan in force by what can happen at them, each by its place in the plan; and
/// the effects, by what is asked about them.
#[derive(Clone, Default)]
pub(super) struct Frontier {
    places: BTreeMap<String, usize>,
    standing: StepSets,
    /// Pending, and not known to wait for another.
    pending: BTreeSet<usize>,
    /// Pending steps by the one they wait for.
    waits: BTreeMap<usize, BTreeSet<usize>>,
    effects: BTreeMap<Slot, usize>,
    calls: BTreeMap<(String, Digest), BTreeSet<usize>>,
    /// In doubt, or of a step that is gone.
    unsure: BTreeSet<usize>,
}

/// What follows from the status and the items of each step.
#[derive(Clone, Debug, Default, PartialEq)]
struct StepSets {
    /// Not final.
    open: BTreeSet<usize>,
    /// With an attempt in flight, or waiting for its next try.
    busy: BTreeSet<usize>,
    /// Attempts in flight.
    flying: BTreeMap<usize, usize>,
    in_flight: usize,
    failed: BTreeSet<usize>,
    doubted: BTreeSet<usize>,
    /// Begun, with an item that neither is settled nor waits for a reply or a person.
    startable: BTreeSet<usize>,
}

// Why: it says nothing that the rest of the state does not say.
impl fmt::Debug for Frontier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Frontier")
    }
}

impl StepSets {
    fn sort_in(&mut self, place: usize, step: &StepState) {
        let put = |set: &mut BTreeSet<usize>, holds: bool| {
            if holds {
                set.insert(place);
            } else {
                set.remove(&place);
            }
        };
        let flying = |item: &&ItemState| item.in_flight.is_some();
        let count = step.items.iter().filter(flying).count();
        let before = match count {
            0 => self.flying.remove(&place),
            count => self.flying.insert(place, count),
        };
        self.in_flight = (self.in_flight + count).saturating_sub(before.unwrap_or(0));
        let waits = step.items.iter().any(|item| item.retry_at.is_some());
        put(&mut self.busy, count > 0 || waits);
        put(&mut self.open, !step.status.is_final());
        put(&mut self.failed, step.status == StepStatus::Failed);
        // Why its items too: the others of a list may wait for the end of that doubt.
        let doubted = !step.status.is_final() && step.items.iter().any(ItemState::is_in_doubt);
        put(
            &mut self.doubted,
            doubted || step.status == StepStatus::InDoubt,
        );
        let begun = matches!(
            step.status,
            StepStatus::Ready | StepStatus::Running | StepStatus::WaitingApproval
        );
        let idle = |item: &ItemState| {
            item.is_open() && item.in_flight.is_none() && item.consent.card.is_none()
        };
        put(&mut self.startable, begun && step.items.iter().any(idle));
    }
}

impl Frontier {
    fn of(state: &State) -> Self {
        let mut frontier = Self::default();
        if let Some(plan) = &state.in_force.plan {
            let steps = plan.checked().plan().steps.iter().enumerate();
            frontier.places = steps
                .map(|(at, step)| (step.id.value.clone(), at))
                .collect();
        }
        for (id, step) in &state.steps {
            frontier.sort_in(id, step);
        }
        for (at, effect) in state.writes.effects.iter().enumerate() {
            frontier.add_effect(state, at, effect);
        }
        frontier
    }

    fn sort_in(&mut self, id: &str, step: &StepState) {
        let Some(place) = self.places.get(id).copied() else {
            return;
        };
        self.standing.sort_in(place, step);
        if step.status == StepStatus::Pending {
            self.pending.insert(place);
        } else {
            self.pending.remove(&place);
        }
    }

    fn add_effect(&mut self, state: &State, at: usize, effect: &WriteRecord) {
        self.effects.insert(effect.slot.clone(), at);
        let call = (effect.operation.clone(), effect.args_digest);
        self.calls.entry(call).or_default().insert(at);
        self.judge_effect(state, at, effect);
    }

    fn judge_effect(&mut self, state: &State, at: usize, effect: &WriteRecord) {
        let doubted = state.item(&effect.slot).is_none_or(ItemState::is_in_doubt);
        if doubted && effect.landing != Landing::None {
            self.unsure.insert(at);
        } else {
            self.unsure.remove(&at);
        }
    }

    /// Takes in what an event changed.
    fn follow(&mut self, state: &State, event: &Event) {
        let (step, slot) = match event {
            Event::AttemptStarted(started) => (&started.slot.step, Some(&started.slot)),
            Event::AttemptEnded(ended) => (&ended.slot.step, Some(&ended.slot)),
            Event::StepSettled { slot, .. } => (&slot.step, Some(slot)),
            Event::StepSkipped { slot, .. } => (&slot.step, None),
            Event::StepBlocked { step, .. } | Event::ListEvaluated { step, .. } => (step, None),
            Event::ObservationMade { .. } => return,
            _ => {
                *self = Self::of(state);
                return;
            }
        };
        if let Some(known) = state.steps.get(step) {
            self.sort_in(step, known);
            if known.status.is_final()
                && let Some(freed) = self.places.get(step).and_then(|p| self.waits.remove(p))
            {
                self.pending.extend(freed);
            }
        }
        for (at, effect) in state
            .writes
            .effects
            .iter()
            .enumerate()
            .skip(self.effects.len())
        {
            self.add_effect(state, at, effect);
        }
        if let Some(at) = slot.and_then(|slot| self.effects.get(slot)).copied()
            && let Some(effect) = state.writes.effects.get(at)
        {
            self.judge_effect(state, at, effect);
        }
    }

    /// Whether it is what it would be if it were made anew.
    fn holds(&self, state: &State) -> bool {
        let anew = Self::of(state);
        let waiting = self.waits.values().flatten();
        let pending: BTreeSet<usize> = self.pending.iter().chain(waiting).copied().collect();
        anew.standing == self.standing
            && (anew.places, anew.pending) == (self.places.clone(), pending)
            && (anew.effects, anew.calls, anew.unsure)
                == (
                    self.effects.clone(),
                    self.calls.clone(),
                    self.unsure.clone(),
                )
    }
}

impl State {
    /// Brings the frontier to where the state is after an event.
    pub(super) fn advance_frontier(&mut self, event: &Event) {
        let mut frontier = std::mem::take(&mut self.frontier);
        frontier.follow(self, event);
        // Why small ones only: it looks at every step after every event.
        let small = self.steps.len() <= CHECKED_STEPS_MAX;
        debug_assert!(!small || frontier.holds(self), "the frontier strays");
        self.frontier = frontier;
    }

    /// Whether an attempt is in flight or waits for its next try.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.frontier.standing.busy.is_empty()
    }

    /// How many attempts are in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.frontier.standing.in_flight
    }

    /// Whether every step of the plan is final.
    #[must_use]
    pub fn all_final(&self) -> bool {
        self.in_force.plan.is_some() && self.frontier.standing.open.is_empty()
    }

    /// The steps of the plan that are not final, in its order.
    pub(crate) fn open_steps(&self) -> impl Iterator<Item = &Step> {
        self.in_force.plan.iter().flat_map(|plan| {
            let steps = &plan.checked().plan().steps;
            let open = self.frontier.standing.open.iter();
            open.filter_map(|place| steps.get(*place))
        })
    }

    /// Whether a step failed.
    pub(crate) fn any_failed(&self) -> bool {
        !self.frontier.standing.failed.is_empty()
    }

    /// Whether a step is in doubt, or an item of one that is not over.
    #[must_use]
    pub fn any_doubted(&self) -> bool {
        !self.frontier.standing.doubted.is_empty()
    }

    /// The moments at which attempts that failed may be made again.
    pub(super) fn retries(&self) -> impl Iterator<Item = i64> {
        let steps = self.in_force.plan.iter().flat_map(|plan| {
            let steps = &plan.checked().plan().steps;
            let busy = self.frontier.standing.busy.iter();
            busy.filter_map(|place| steps.get(*place))
        });
        steps
            .filter_map(|step| self.steps.get(&step.id.value))
            .flat_map(|step| step.items.iter().filter_map(|item| item.retry_at))
    }

    /// The next place in the plan, from `from` on, of a step at which something may begin: all
    /// others are final, wait for another step, or have all their items under way.
    pub(crate) fn next_to_look_at(&self, from: usize) -> Option<usize> {
        let next = |set: &BTreeSet<usize>| set.range(from..).next().copied();
        let frontier = &self.frontier;
        let begun = next(&frontier.standing.startable);
        next(&frontier.pending).into_iter().chain(begun).min()
    }

    /// Remembers that the step `id` cannot begin before the step `on` is final.
    pub(crate) fn waits_for(&mut self, id: &str, on: &str) {
        let Frontier {
            places,
            pending,
            waits,
            ..
        } = &mut self.frontier;
        if let (Some(place), Some(on)) = (places.get(id), places.get(on)) {
            pending.remove(place);
            waits.entry(*on).or_default().insert(*place);
        }
    }

    /// The effect of a slot, if its attempt began.
    #[must_use]
    pub fn effect(&self, slot: &Slot) -> Option<&WriteRecord> {
        self.writes.effects.get(*self.frontier.effects.get(slot)?)
    }

    pub(super) fn effect_mut(&mut self, slot: &Slot) -> Option<&mut WriteRecord> {
        self.writes
            .effects
            .get_mut(*self.frontier.effects.get(slot)?)
    }

    /// The effects of calls that were the same: operation and arguments.
    pub(crate) fn effects_of(
        &self,
        operation: &str,
        args: Digest,
    ) -> impl Iterator<Item = &WriteRecord> {
        let call = (operation.to_owned(), args);
        let places = self.frontier.calls.get(&call).into_iter().flatten();
        places.filter_map(|at| self.writes.effects.get(*at))
    }

    /// The effects that are in doubt, or of steps that are gone.
    pub(crate) fn unsure_effects(&self) -> impl Iterator<Item = &WriteRecord> {
        let places = self.frontier.unsure.iter();
        places.filter_map(|at| self.writes.effects.get(*at))
    }
}
