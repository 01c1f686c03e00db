//! Equal calls of other runs: what a store knows of them, and what a run may do beside them.
//!
//! Owns the answers of a store that is asked to confirm what a turn rests on, and a second reading
//! of the journal that judges what began and what was shown. Never asks the machine what was
//! right. INVARIANT: a turn is judged by what the store knows when it is committed.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::digest::Digest;
use provost_run::admission::{Admission, AdmissionEntry};
use provost_run::call::Slot;
use provost_run::card::{Card, CardSubject};
use provost_run::earlier::{CallKey, EarlierCall, EarlierCalls};
use provost_run::event::{AttemptStarted, Event, Settlement};
use provost_run::outcome::Landing;

/// A call began that policy forbids over the equal calls that the store knows.
pub const BEGUN_FORBIDDEN: &str = "a call began that policy forbids over equal calls";
/// A call that policy asks about over equal calls began without a card that names them.
pub const BEGUN_UNSHOWN: &str = "a call began that no card showed to be made before";
/// A card does not name an equal call that the store knew.
pub const CARD_SILENT: &str = "a card does not name an equal call made before";
/// A call began, and its intent does not say over which equal calls.
pub const NOT_RECORDED: &str = "a call began whose intent does not name equal calls";

/// What a policy does about equal calls, by operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// It takes them for calls like any other.
    Allows,
    /// It asks about every call that repeats another.
    Asks,
    /// It forbids them.
    Forbids,
}

/// How the driver has the store confirm what a turn rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Looks {
    /// Whenever the turn says so.
    #[default]
    Always,
    /// When a card is made, and not when the call begins: a control.
    AtCards,
    /// Never: a control.
    Never,
}

/// The equal calls of other runs, as the store of a workspace knows them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Others(BTreeMap<CallKey, EarlierCalls>);

impl Others {
    /// Another run made this call, or may have.
    pub(crate) fn made(&mut self, call: CallKey, at: i64) {
        let before = self.0.remove(&call).unwrap_or_default();
        let (step, item) = ("s0".to_owned(), None);
        let mut known = EarlierCalls::default();
        known.push(EarlierCall {
            run: format!("other{}", before.count),
            slot: Slot { step, item },
            at,
            landing: Landing::Unknown,
        });
        // Why: the newest are named first.
        before.latest.into_iter().for_each(|call| known.push(call));
        known.count = before.count + 1;
        self.0.insert(call, known);
    }

    /// The calls that equal one.
    fn of(&self, call: &CallKey) -> EarlierCalls {
        self.0.get(call).cloned().unwrap_or_default()
    }

    /// Takes in what is not as a turn knows it. Whether the turn has to be made again.
    pub(crate) fn confirm(
        &self,
        (entries, events): (&[AdmissionEntry], &[Event]),
        looks: Looks,
        said: &mut Admission,
    ) -> bool {
        let begins = |call: &CallKey| {
            let mut started = events.iter().filter_map(|event| match event {
                Event::AttemptStarted(started) => Some(started),
                _ => None,
            });
            started.any(|started| key(started) == *call)
        };
        let mut again = false;
        for entry in entries {
            let AdmissionEntry::Earlier(look) = entry else {
                continue;
            };
            let is_asked = match looks {
                Looks::Always => true,
                Looks::AtCards => !begins(&look.call),
                Looks::Never => false,
            };
            let known = self.of(&look.call);
            if is_asked && known != look.known {
                said.earlier.insert(look.call.clone(), known);
                again = true;
            }
        }
        again
    }
}

fn key(started: &AttemptStarted) -> CallKey {
    CallKey {
        operation: started.operation.clone(),
        args: started.args_digest,
    }
}

/// A write of the run that is judged.
#[derive(Clone, Debug)]
struct Write {
    call: CallKey,
    /// Whether it may have taken place, or is on its way.
    counts: bool,
}

/// What a journal says of cards and writes, as far as equal calls bear on them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RepeatReading {
    writes: BTreeMap<Slot, Write>,
    /// Writes in flight; whether an earlier try of them may have taken place.
    flying: BTreeMap<Slot, bool>,
    cards: BTreeMap<Digest, Card>,
}

impl RepeatReading {
    /// Of a journal, judged nowhere.
    pub(crate) fn of<'e>(events: impl Iterator<Item = &'e Event>) -> Self {
        let mut reading = Self::default();
        events.for_each(|event| reading.note(event));
        reading
    }

    /// Judges an event that is recorded beside these calls of other runs, and reads on.
    pub(crate) fn read(
        &mut self,
        event: &Event,
        others: &Others,
        rule: impl Fn(&str) -> Rule,
    ) -> Vec<&'static str> {
        let mut broken = Vec::new();
        match event {
            Event::AttemptStarted(started) if !started.read => {
                self.judge_start(started, others, rule, &mut broken);
            }
            Event::ApprovalRequested { card, .. } => self.judge_card(card, others, &mut broken),
            _ => {}
        }
        self.note(event);
        broken
    }

    fn judge_start(
        &self,
        started: &AttemptStarted,
        others: &Others,
        rule: impl Fn(&str) -> Rule,
        broken: &mut Vec<&'static str>,
    ) {
        let call = key(started);
        let again = self.writes.get(&started.slot);
        // Why: another try of what may have taken place is the same call, not an equal one.
        if again.is_some_and(|write| write.call == call && write.counts) {
            return;
        }
        let known = others.of(&call);
        if names(&started.earlier) != names(&known) {
            broken.push(NOT_RECORDED);
        }
        let mut own = self
            .writes
            .iter()
            .filter(|(slot, _)| **slot != started.slot);
        let own = own.any(|(_, write)| write.call == call && write.counts);
        let is_repeated = own || known.count > 0;
        match rule(&call.operation) {
            Rule::Forbids if is_repeated => broken.push(BEGUN_FORBIDDEN),
            Rule::Asks if known.count > 0 => {
                let card = started.approval.and_then(|card| self.cards.get(&card));
                let shown = card.and_then(|card| shown(card, &started.slot, &call));
                if !shown.is_some_and(|shown| names(shown).is_superset(&names(&known))) {
                    broken.push(BEGUN_UNSHOWN);
                }
            }
            _ => {}
        }
    }

    fn judge_card(&self, card: &Card, others: &Others, broken: &mut Vec<&'static str>) {
        let CardSubject::Step { ask, calls, .. } = &card.subject else {
            return;
        };
        for concrete in calls {
            let call = CallKey {
                operation: ask.operation.clone(),
                args: concrete.args_digest,
            };
            if !names(&concrete.earlier).is_superset(&names(&others.of(&call))) {
                broken.push(CARD_SILENT);
            }
        }
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::AttemptStarted(started) if !started.read => {
                let call = key(started);
                let before = self.writes.get(&started.slot);
                let may = before.is_some_and(|write| write.call == call && write.counts);
                self.flying.insert(started.slot.clone(), may);
                let write = Write { call, counts: true };
                self.writes.insert(started.slot.clone(), write);
            }
            Event::AttemptEnded(ended) => {
                let before = self.flying.remove(&ended.slot);
                let write = self.writes.get_mut(&ended.slot);
                if let Some((may, write)) = before.zip(write) {
                    write.counts = may || ended.landing != Landing::None;
                }
            }
            Event::DoubtSettled { slot, settled, .. } => {
                if let Some(write) = self.writes.get_mut(slot) {
                    write.counts = *settled != Settlement::DidNotHappen;
                }
            }
            Event::ApprovalRequested { card, digest } => {
                self.cards.insert(*digest, card.clone());
            }
            _ => {}
        }
    }
}

/// What a card shows of the calls that equal one of its own.
fn shown<'c>(card: &'c Card, slot: &Slot, call: &CallKey) -> Option<&'c EarlierCalls> {
    match &card.subject {
        CardSubject::Plan { steps } => steps.get(&slot.step).map(|ask| &ask.earlier),
        CardSubject::Step { step, calls, .. } => {
            let mut calls = calls.iter().filter(|_| *step == slot.step);
            let one = calls.find(|one| one.item == slot.item && one.args_digest == call.args);
            one.map(|one| &one.earlier)
        }
    }
}

fn names(calls: &EarlierCalls) -> BTreeSet<(&str, String)> {
    let named = calls.latest.iter();
    named
        .map(|call| (&*call.run, call.slot.to_string()))
        .collect()
}
