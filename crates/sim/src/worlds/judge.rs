//! What must hold of a world when nothing more can happen in it.
//!
//! Owns the reading of a journal beside what the tools did. Uses the fold to know what was in
//! force, never to know what was right. INVARIANT: every promise is looked at in events and
//! effects, not in what the machine says of itself.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::digest::{Digest, Domain};
use provost_plan::policy::Decision;
use provost_run::call::{Purpose, Slot};
use provost_run::card::{Card, CardSubject};
use provost_run::event::{AttemptEnded, AttemptStarted, Event, Proven, RunEnded, RunStatus};
use provost_run::event::{SettledBy, Settlement, StepStatus};
use provost_run::outcome::{Class, Landing};
use provost_run::state::{ItemState, State, UndoProgress};

use super::scenario::PEOPLE;
use super::sketch::{CHILDREN_MAX, QUESTION_MS};
use super::tools::Effect;
use crate::enumerate::reading::Reading;

/// A reading of one journal.
pub(super) struct Judge<'j> {
    events: &'j [(Event, i64)],
    effects: &'j [Effect],
    broken: Vec<String>,
    cards: BTreeMap<Digest, Seen>,
    starts: BTreeMap<Slot, AttemptStarted>,
    ends: BTreeMap<Slot, AttemptEnded>,
    observed: BTreeMap<String, BTreeSet<Digest>>,
    tries: BTreeMap<Slot, u32>,
    /// Slots whose outcome was observed since their last attempt began.
    had: BTreeSet<Slot>,
    flying: BTreeSet<Slot>,
    /// Slots about which a read is asking.
    asking: BTreeSet<Slot>,
    /// Slots of which nobody will know.
    abandoned: BTreeSet<Slot>,
    /// Plans that people put in the place of the one in force.
    amended: u64,
    /// Whether nobody has planned for the goal since a person put it.
    unplanned: bool,
    /// Steps that wrote something for an earlier goal.
    former: BTreeSet<String>,
    stopped: bool,
}

/// A card, and who said yes to it.
struct Seen {
    card: Card,
    said: BTreeSet<String>,
    closed: bool,
}

impl<'j> Judge<'j> {
    pub(super) fn new(events: &'j [(Event, i64)], effects: &'j [Effect]) -> Self {
        Self {
            events,
            effects,
            broken: Vec::new(),
            cards: BTreeMap::new(),
            starts: BTreeMap::new(),
            ends: BTreeMap::new(),
            observed: BTreeMap::new(),
            tries: BTreeMap::new(),
            had: BTreeSet::new(),
            flying: BTreeSet::new(),
            asking: BTreeSet::new(),
            abandoned: BTreeSet::new(),
            amended: 0,
            unplanned: false,
            former: BTreeSet::new(),
            stopped: false,
        }
    }

    /// Everything that must not be and is.
    pub(super) fn read(mut self) -> Vec<String> {
        let Some(((first, began), rest)) = self.events.split_first() else {
            return vec!["the journal is empty".to_owned()];
        };
        let mut reading = Reading::of(&PEOPLE).with_questions_of(Some(QUESTION_MS));
        reading.read(first, *began);
        let mut state = match State::begin(first, *began) {
            Ok(state) => state,
            Err(error) => return vec![error.to_string()],
        };
        let mut last = *began;
        for (event, at) in rest {
            if *at < last {
                self.broke("an event was recorded before the one it follows");
            }
            // Why: what an ended run left in doubt can still be settled, and what it did be undone.
            let settles = matches!(
                event,
                Event::DoubtSettled { .. }
                    | Event::ObservationMade { .. }
                    | Event::StepSettled { .. }
                    | Event::UndoRequested { .. }
            );
            if state.ending.ended.is_some() && !settles {
                self.broke("something was recorded after the end");
            }
            last = *at;
            for what in reading.read(event, *at) {
                self.broke(&format!("{what}: {}", event.kind()));
            }
            self.event(event, *at, &state);
            if let Err(error) = state.apply(event, *at) {
                self.broke(&error.to_string());
                break;
            }
            self.limits(&state);
        }
        self.effects_of(&state);
        self.broken
    }

    fn broke(&mut self, what: &str) {
        self.broken.push(what.to_owned());
    }

    fn event(&mut self, event: &Event, at: i64, state: &State) {
        match event {
            Event::AttemptStarted(started) => self.started(started, at, state),
            Event::AttemptEnded(ended) => self.ended(ended),
            Event::ApprovalRequested { card, digest } => {
                let seen = Seen {
                    card: card.clone(),
                    said: BTreeSet::new(),
                    closed: false,
                };
                self.cards.insert(*digest, seen);
            }
            Event::ApprovalGiven { card, by, .. } => self.approved(*card, by, at),
            Event::ApprovalRejected { card, .. } | Event::ApprovalExpired { card } => {
                self.closed(*card, matches!(event, Event::ApprovalExpired { .. }), at);
            }
            Event::ObservationMade { slot, evidence, .. } => {
                self.had.insert(slot.clone());
                let known = self.observed.entry(slot.to_string()).or_default();
                known.insert(*evidence);
                self.observed
                    .entry(slot.step.clone())
                    .or_default()
                    .insert(*evidence);
            }
            Event::StepSettled { slot, status, .. } => self.settled(slot, *status, state),
            // Why not one that undoes: the reading of what people said knows what may begin then.
            Event::CancelRequested { undo: false, .. } | Event::Paused { .. } => {
                self.stopped = true;
            }
            Event::Resumed { by: Some(_), .. } => {
                self.stopped =
                    state.ending.cancelled.is_some() && state.ending.undo == UndoProgress::Unwanted;
            }
            Event::UndoRequested { .. } => {
                self.stopped = false;
                if state.ending.ended.is_none() {
                    self.broke("a run was opened again that had not ended");
                }
            }
            // Why: the plan that undoes is a person's, and no planner's revision.
            Event::UndoPlanned { .. } => self.amended += 1,
            Event::PlanAmended { .. } => {
                self.amended += 1;
                self.unplanned = false;
            }
            Event::GoalAmended { .. } => {
                self.amended += 1;
                self.unplanned = true;
                let written = self.starts.iter().filter(|(_, started)| !started.read);
                self.former
                    .extend(written.map(|(slot, _)| slot.step.clone()));
            }
            Event::PlanChecked { id, .. } if *id != 0 => self.unplanned = false,
            Event::DoubtSettled {
                slot, settled, by, ..
            } => self.doubt_over(slot, *settled, by),
            Event::RunEnded(ended) => self.run_ended(ended, state),
            _ => {}
        }
    }

    /// What somebody said of a doubt is what is known of it from here on.
    fn doubt_over(&mut self, slot: &Slot, settled: Settlement, by: &SettledBy) {
        if settled == Settlement::DidNotHappen {
            self.ends.remove(slot);
            // Why: a person's word opens it anew.
            if matches!(by, SettledBy::Person { .. }) {
                self.tries.remove(slot);
            }
        }
        if settled == Settlement::Abandoned {
            self.abandoned.insert(slot.clone());
        }
    }

    fn started(&mut self, started: &AttemptStarted, at: i64, state: &State) {
        let slot = &started.slot;
        if matches!(
            started.purpose,
            Purpose::Reconcile | Purpose::Preview { .. }
        ) {
            self.flying.insert(slot.clone());
            self.asking.insert(slot.clone());
            if self.stopped {
                self.broke(&format!("a question about {slot} began after a stop"));
            }
            return;
        }
        if self.stopped {
            self.broke(&format!("an attempt of {slot} began after a stop"));
        }
        let other = self.unplanned || self.former.contains(&slot.step);
        if other
            && !started.read
            && started.purpose != Purpose::Confirm
            && state.ending.cancelled.is_none()
        {
            self.broke(&format!("{slot} began under a goal it was not planned for"));
        }
        let wait = self.ends.get(slot).and_then(|ended| ended.retry_at);
        if wait.is_some_and(|wait| at < wait) {
            self.broke(&format!("an attempt of {slot} began before its time"));
        }
        if Digest::of_value(Domain::Args, &started.args) != started.args_digest {
            self.broke(&format!(
                "the arguments of {slot} are not those of their digest"
            ));
        }
        self.repetition(started);
        match started.verdict.decision {
            Decision::Permit => {}
            Decision::Forbid => self.broke(&format!("a forbidden call of {slot}")),
            Decision::Ask => self.covered(started, state),
        }
        let doubtful = |effect: &provost_run::state::WriteRecord| {
            let item = state.item(&effect.slot);
            effect.slot != *slot
                && effect.landing == Landing::Unknown
                && item.is_none_or(ItemState::is_in_doubt)
                && effect.operation == started.operation
                && effect.args.get("to") == started.args.get("to")
                && effect.args.get("place") == started.args.get("place")
        };
        if !started.read && state.writes.effects.iter().any(doubtful) {
            self.broke(&format!("{slot} repeats a call that is in doubt"));
        }
        // Why: each time a reading is taken again, for whichever step, it has tries of its own.
        let before = self.starts.get(slot).and_then(|s| s.purpose.retaken_for());
        let again = started.purpose.retaken_for();
        let had = self.had.remove(slot);
        if again.is_some() && (had || before != again) {
            self.tries.remove(slot);
        }
        self.flying.insert(slot.clone());
        self.starts.insert(slot.clone(), started.clone());
    }

    /// A plain write is not tried again unless it surely did not happen.
    fn repetition(&mut self, started: &AttemptStarted) {
        let slot = &started.slot;
        let natural = started.operation == "note.set";
        if self.flying.contains(slot) {
            self.broke(&format!("two attempts of {slot} at once"));
        }
        let before = self.starts.get(slot);
        if before.is_some_and(|before| before.key != started.key) {
            self.broke(&format!("another key for {slot}"));
        }
        let unknown = self
            .ends
            .get(slot)
            .is_some_and(|ended| ended.landing != Landing::None);
        if unknown && !started.read && started.key.is_none() && !natural {
            self.broke(&format!("the plain write of {slot} was tried again"));
        }
    }

    /// A call that needed a yes had one, to these arguments.
    fn covered(&mut self, started: &AttemptStarted, state: &State) {
        let slot = &started.slot;
        let card = started.approval.and_then(|digest| self.cards.get(&digest));
        let Some(seen) = card else {
            return self.broke(&format!("a call of {slot} without the yes it needed"));
        };
        let enough = seen.said.len() as u64 >= u64::from(seen.card.terms.quorum);
        let shows = match &seen.card.subject {
            CardSubject::Step { step, ask, calls } => {
                *step == slot.step
                    && ask.closure == started.closure
                    && calls.iter().any(|call| {
                        call.item == slot.item && call.args_digest == started.args_digest
                    })
            }
            CardSubject::Plan { steps } => steps
                .get(&slot.step)
                .is_some_and(|ask| ask.closure == started.closure),
        };
        if !enough || !shows || seen.card.run != state.head.run {
            self.broke(&format!("the yes for {slot} does not cover its call"));
        }
    }

    fn approved(&mut self, digest: Digest, by: &str, at: i64) {
        let Some(seen) = self.cards.get_mut(&digest) else {
            return self.broke("a yes to a card that was never shown");
        };
        let late = seen.card.expires_at.is_some_and(|expires| at >= expires);
        let twice = !seen.said.insert(by.to_owned());
        let asked_for = by == seen.card.requester || seen.card.amended_by.contains(by);
        let allowed = !asked_for && PEOPLE.contains(&by);
        let closed = seen.closed;
        if late {
            self.broke("a yes counted after the card had lapsed");
        }
        if twice || !allowed {
            self.broke(&format!("a yes of `{by}` counted"));
        }
        if closed {
            self.broke("a yes counted to a card that was closed");
        }
    }

    fn closed(&mut self, digest: Digest, lapsed: bool, at: i64) {
        let Some(seen) = self.cards.get_mut(&digest) else {
            return self.broke("a card was closed that was never shown");
        };
        seen.closed = true;
        let early = seen.card.expires_at.is_none_or(|expires| at < expires);
        if lapsed && early {
            self.broke("a card lapsed before its time");
        }
    }

    fn ended(&mut self, ended: &AttemptEnded) {
        if !self.flying.remove(&ended.slot) {
            self.broke(&format!(
                "an attempt of {} ended that was not in flight",
                ended.slot
            ));
        }
        if self.asking.remove(&ended.slot) {
            return;
        }
        let tries = self.tries.entry(ended.slot.clone()).or_default();
        // Why anew: each poll has the tries of a read of its own.
        *tries = match ended.not_yet {
            true => 0,
            false => *tries + u32::from(!ended.lost),
        };
        self.ends.insert(ended.slot.clone(), ended.clone());
    }

    fn settled(&mut self, slot: &Slot, status: StepStatus, state: &State) {
        let Some(step) = state.steps.get(&slot.step) else {
            return self.broke(&format!("{slot} was settled and is not there"));
        };
        let parent = step.is_list && slot.item.is_none();
        if status == StepStatus::Succeeded && parent {
            let fine = [StepStatus::Succeeded, StepStatus::Skipped].map(Some);
            if !step.items.iter().all(|item| fine.contains(&item.status())) {
                self.broke(&format!("{slot} succeeded and an item did not"));
            }
        } else if status == StepStatus::Succeeded && !self.observed.contains_key(&slot.to_string())
        {
            self.broke(&format!("{slot} succeeded without an outcome"));
        }
        let unknown = |effect: &provost_run::state::WriteRecord| {
            effect.slot == *slot && effect.landing == Landing::Unknown
        };
        let given_up = self.abandoned.contains(slot);
        if status == StepStatus::Failed
            && !parent
            && !given_up
            && state.writes.effects.iter().any(unknown)
        {
            self.broke(&format!("{slot} failed and may have taken place"));
        }
    }

    fn run_ended(&mut self, ended: &RunEnded, state: &State) {
        if !self.flying.is_empty() {
            self.broke("the run ended with a call in flight");
        }
        if ended.status != RunStatus::Succeeded {
            return;
        }
        let held = ended
            .criteria
            .values()
            .all(|proven| *proven == Proven::Held);
        if !held || ended.criteria.is_empty() || state.doubts().next().is_some() {
            self.broke("the run succeeded without proof");
        }
        let cites = ended.answer.iter().flat_map(|part| &part.cites);
        let unseen = cites.clone().any(|cite| {
            let seen = self.observed.get(&cite.step);
            let known = |digest| seen.is_some_and(|seen| seen.contains(digest));
            cite.evidence.is_empty() || !cite.evidence.iter().all(known)
        });
        if unseen {
            self.broke("an answer cites what was never observed");
        }
    }

    /// No limit is passed, at any moment.
    fn limits(&mut self, state: &State) {
        let limits = state.limits_in_force();
        let most = [
            (state.spend.calls, limits.calls, "calls"),
            (state.spend.attempts, limits.attempts, "attempts"),
            // Why more: what people amend is theirs to do, and bounded by them.
            (
                u64::from(
                    state
                        .in_force
                        .revision
                        .saturating_sub(state.in_force.refinements),
                ),
                limits.revisions + 1 + self.amended,
                "revisions",
            ),
            // Why one more than its steps: the last one says what it comes to.
            (
                u64::from(state.in_force.refinements),
                CHILDREN_MAX + 1,
                "refinements",
            ),
            (
                state.in_flight() as u64,
                limits.concurrency,
                "calls at once",
            ),
            (
                state.spend.tokens,
                limits.tokens.unwrap_or(u64::MAX),
                "tokens",
            ),
            (state.planning.refused, limits.proposals, "proposals"),
        ];
        for (used, limit, what) in most {
            if used > limit {
                self.broke(&format!("{used} {what}, at most {limit}"));
            }
        }
        if limits.money.is_some_and(|limit| state.spend.money > limit) {
            self.broke("more money than the limit");
        }
        let Some(plan) = &state.in_force.plan else {
            return;
        };
        let mut passed = Vec::new();
        for (slot, tries) in &self.tries {
            let step = plan.checked().step(&slot.step).map(|(step, _)| step);
            let most = step
                .and_then(|step| step.retry)
                .map_or(provost_plan::plan::Retry::DEFAULT.attempts, |retry| {
                    retry.attempts
                });
            if *tries > most {
                passed.push(format!("{tries} tries of {slot}, at most {most}"));
            }
        }
        self.broken.append(&mut passed);
    }

    /// What the tools did, held against the journal.
    fn effects_of(&mut self, state: &State) {
        // Why two counts: another message to the same recipient is another call, by whichever
        // step; one step, or one call, has its effect once.
        let mut calls: BTreeMap<_, Vec<i64>> = BTreeMap::new();
        let mut steps: BTreeMap<_, Vec<i64>> = BTreeMap::new();
        for effect in self.effects.iter().filter(|e| !e.natural && !e.repeated) {
            let (operation, args) = (&effect.operation, &effect.args);
            calls.entry((operation, args)).or_default().push(effect.at);
            let step = (operation, &effect.step);
            steps.entry(step).or_default().push(effect.at);
        }
        for ((operation, what), at) in calls.into_iter().chain(steps) {
            if at.len() > 1 {
                let times = at.len();
                let line = format!("{operation} took place {times} times on {what}, at {at:?}");
                self.broken.push(line);
            }
        }
        let intended: BTreeSet<String> = self.starts.keys().map(Slot::to_string).collect();
        if self
            .effects
            .iter()
            .any(|effect| !intended.contains(&effect.step))
        {
            self.broke("a write took place without an intent");
        }
        for (slot, ended) in &self.ends {
            let write = self.starts.get(slot).is_some_and(|started| !started.read);
            let effect = self.effects.iter().any(|e| e.step == slot.to_string());
            if write && ended.class == Class::Ok && !effect {
                self.broken
                    .push(format!("{slot} is said to have happened and did not"));
            }
        }
        for effect in &state.writes.effects {
            let item = state.item(&effect.slot);
            let settled = item.and_then(ItemState::status);
            let flying = item.is_some_and(|item| item.in_flight.is_some());
            let plain = item.is_some_and(|item| item.history.key.is_none());
            let unknown = effect.landing == Landing::Unknown && plain && !flying;
            let natural = effect.operation == "note.set";
            let given_up = self.abandoned.contains(&effect.slot);
            if unknown && !natural && !given_up && settled != Some(StepStatus::InDoubt) {
                let what = format!("{} may have taken place and is not in doubt", effect.slot);
                self.broken.push(what);
            }
        }
    }
}
