//! A second reading of the journal: what people said of a run, and what that forbids.
//!
//! Owns what each statement binds, read off events alone. Never looks at the state of the machine,
//! which is what it judges. INVARIANT: a reading is a function of the events of one journal.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::digest::{Digest, Domain};
use provost_plan::plan::undo::undone_by;
use provost_plan::policy::Decision;
use provost_run::call::{Purpose, Slot};
use provost_run::card::{Card, CardSubject};
use provost_run::event::{AttemptStarted, Event, SettledBy, Settlement};
use provost_run::statement::RecordedStatement;
use serde_json::json;

use super::people::original;
use crate::polls::Polls;

/// A call began that a statement heard before forbids.
pub const BEGUN_AGAINST: &str = "a call began against a statement heard before";
/// A statement counted more than once.
pub const COUNTED_TWICE: &str = "a statement counted twice";
/// A statement counted for another attempt, revision, card or question than it names.
pub const COUNTED_FOR_ANOTHER: &str = "a statement counted for something else than it names";
/// An answer counted after its question had lapsed, or a question lapsed before its time.
pub const LAPSED_WRONGLY: &str = "a question lapsed and was answered, or lapsed too early";
/// A statement counted although whoever made it may not.
pub const COUNTED_OF_ANYBODY: &str = "a statement counted of somebody who may not make it";
/// A write began under a goal that nobody had planned it for.
pub const OTHER_GOAL: &str = "a write began under a goal it was not planned for";

/// What happened later was undone after what happened before it.
pub const UNDONE_FORWARDS: &str = "an older write was undone before a newer one";

/// A card, and what was said to it.
#[derive(Clone, Debug)]
struct Asked {
    card: Card,
    agreed: BTreeSet<String>,
    is_open: bool,
    refused: bool,
}

/// How far a run is stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Stopped {
    #[default]
    No,
    /// It is cancelled; whether what happened is undone first.
    ForGood(bool),
}

/// What a journal says of people.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    listed: &'static [&'static str],
    solo: bool,
    run: String,
    revision: u32,
    /// The steps of the plan in force.
    steps: BTreeSet<String>,
    cards: BTreeMap<Digest, Asked>,
    /// Questions, and whether they wait for an answer.
    questions: BTreeMap<Digest, bool>,
    /// When those lapse that do: so long after they were asked as their plan says.
    lapses: BTreeMap<Digest, i64>,
    /// How long that is.
    lasts: Option<i64>,
    /// The last attempt of each write, as a settlement names it.
    last: BTreeMap<Slot, Digest>,
    /// Attempts that were in doubt and are not the last of their write.
    stale: BTreeMap<Slot, Digest>,
    /// Calls that nothing may be said of any more but that they are over.
    over: BTreeSet<Slot>,
    nonces: BTreeSet<String>,
    is_paused: bool,
    stopped: Stopped,
    unplanned: bool,
    /// Requests to a planner that were made for the goal in force.
    requests: BTreeSet<u64>,
    /// Steps that began.
    begun: BTreeSet<String>,
    /// Steps that wrote something, and those of them that did under an earlier goal.
    wrote: BTreeSet<String>,
    former: BTreeSet<String>,
    polls: Polls,
    /// Whether the run is over.
    is_over: bool,
    /// Writes that undo nothing, in the order in which they began.
    order: Vec<Slot>,
    /// How far back this undo is in that order.
    back_to: usize,
}

impl Reading {
    /// Of a run in a workspace that lists these people.
    pub(crate) fn of(listed: &'static [&'static str]) -> Self {
        Self {
            listed,
            back_to: usize::MAX,
            ..Self::default()
        }
    }

    /// The same, which judges when polls begin by these.
    pub(crate) fn with_polls(self, polls: Polls) -> Self {
        Self { polls, ..self }
    }

    /// The same, which judges when questions lapse by this, in milliseconds.
    pub(crate) fn with_questions_of(self, lasts: Option<i64>) -> Self {
        Self { lasts, ..self }
    }

    /// Reads on, an event and when it was recorded; says what must not be.
    pub(crate) fn read(&mut self, event: &Event, at: i64) -> Vec<&'static str> {
        let mut broken = self.polls.read(event, at);
        if let Some(recorded) = event.statement() {
            self.judge_statement(event, &recorded, &mut broken);
        }
        if let Event::AttemptStarted(started) = event {
            self.judge_start(started, &mut broken);
        }
        broken.extend(self.judge_lapse(event, at).then_some(LAPSED_WRONGLY));
        self.note(event);
        broken
    }

    /// Whether a question lapses too early, is answered too late or is both at once.
    fn judge_lapse(&mut self, event: &Event, at: i64) -> bool {
        match event {
            Event::QuestionAsked { question, digest } => {
                let lasts = self.lasts.filter(|_| question.expires.is_some());
                self.lapses.extend(lasts.map(|lasts| (*digest, at + lasts)));
                false
            }
            Event::QuestionAnswered { question, .. } => self
                .lapses
                .get(question)
                .is_some_and(|lapses| at >= *lapses),
            Event::QuestionExpired { question } => {
                let early = self.lapses.get(question).is_none_or(|lapses| at < *lapses);
                early || self.questions.get(question) != Some(&true)
            }
            _ => false,
        }
    }

    fn judge_statement(
        &self,
        event: &Event,
        recorded: &RecordedStatement,
        broken: &mut Vec<&'static str>,
    ) {
        if !self.solo && !self.listed.contains(&recorded.by.as_str()) {
            broken.push(COUNTED_OF_ANYBODY);
        }
        let revision = match event {
            Event::ApprovalGiven { card, by, .. } | Event::ApprovalRejected { card, by, .. } => {
                let Some(asked) = self.cards.get(card).filter(|asked| asked.is_open) else {
                    return broken.push(COUNTED_FOR_ANOTHER);
                };
                // Why not of a no: who agreed may say no as long as the card is open.
                let agrees = matches!(event, Event::ApprovalGiven { .. });
                if agrees && asked.agreed.contains(by) {
                    broken.push(COUNTED_TWICE);
                }
                if !self.solo && self.is_barred(&asked.card, by) {
                    broken.push(COUNTED_OF_ANYBODY);
                }
                asked.card.revision
            }
            Event::QuestionAnswered { question, .. } => {
                if self.questions.get(question) != Some(&true) {
                    broken.push(COUNTED_FOR_ANOTHER);
                }
                self.revision
            }
            Event::DoubtSettled { slot, attempt, .. } => {
                if attempt.is_none() || *attempt != self.last.get(slot).copied() {
                    broken.push(COUNTED_FOR_ANOTHER);
                }
                self.revision
            }
            Event::UndoRequested { .. } => {
                if !self.is_over {
                    broken.push(COUNTED_FOR_ANOTHER);
                }
                self.revision
            }
            // Why of the first event alone: an amendment of both is recorded in two.
            Event::PlanAmended { goal: Some(_), .. } => return,
            Event::PlanAmended { .. } | Event::GoalAmended { .. } => self.revision,
            _ => recorded.record.as_ref().map_or(0, |record| record.revision),
        };
        let Some(record) = &recorded.record else {
            return;
        };
        if record.revision != revision {
            broken.push(COUNTED_FOR_ANOTHER);
        }
        if self.nonces.contains(original(&record.nonce)) {
            broken.push(COUNTED_TWICE);
        }
    }

    fn judge_start(&self, started: &AttemptStarted, broken: &mut Vec<&'static str>) {
        let slot = &started.slot;
        let undoes = undone_by(&slot.step).is_some();
        if undoes && !started.read && self.place_of(slot) > self.back_to {
            broken.push(UNDONE_FORWARDS);
        }
        let may = match self.stopped {
            _ if self.is_paused || self.is_over => false,
            Stopped::No => true,
            // Why: what became of a call is asked before it is undone.
            Stopped::ForGood(undo) => undo && (undoes || started.purpose == Purpose::Reconcile),
        };
        let asks = started.purpose.is_auxiliary();
        let ended = self.over.contains(slot) && !started.read && !asks;
        let gone = !undoes && !self.steps.contains(&slot.step);
        let asked = started.verdict.decision == Decision::Ask && !asks;
        if !may || ended || gone || asked && !self.is_agreed(started) {
            broken.push(BEGUN_AGAINST);
        }
        let another = self.unplanned || self.former.contains(&slot.step);
        if another && !started.read && !asks && !undoes {
            broken.push(OTHER_GOAL);
        }
    }

    /// Whether people said yes to this very call, and nobody no.
    fn is_agreed(&self, started: &AttemptStarted) -> bool {
        let card = started.approval.and_then(|digest| self.cards.get(&digest));
        card.is_some_and(|asked| {
            let enough = asked.agreed.len() as u64 >= u64::from(asked.card.terms.quorum);
            let shown = match &asked.card.subject {
                CardSubject::Step { step, calls, .. } => {
                    *step == started.slot.step
                        && calls.iter().any(|call| {
                            call.item == started.slot.item
                                && call.args_digest == started.args_digest
                        })
                }
                CardSubject::Plan { steps } => steps.contains_key(&started.slot.step),
            };
            enough && shown && !asked.refused
        })
    }

    fn is_barred(&self, card: &Card, by: &str) -> bool {
        card.requester == by || card.amended_by.contains(by)
    }

    fn note(&mut self, event: &Event) {
        let nonce = event
            .record()
            .map(|record| original(&record.nonce).to_owned());
        self.nonces.extend(nonce);
        match event {
            Event::RunCreated(created) => {
                self.run.clone_from(&created.run);
                self.solo = created.solo;
            }
            Event::AttemptStarted(started) => self.begins(started),
            Event::Paused { .. } => self.is_paused = true,
            Event::Resumed { by: Some(_), .. } => self.is_paused = false,
            Event::CancelRequested { undo, .. } => self.stopped = Stopped::ForGood(*undo),
            Event::UndoRequested { .. } => {
                (self.is_over, self.is_paused) = (false, false);
                self.stopped = Stopped::ForGood(true);
                self.back_to = usize::MAX;
                // Why: what is asked about a run that is over is not answered any more.
                self.cards
                    .values_mut()
                    .for_each(|asked| asked.is_open = false);
                self.questions.values_mut().for_each(|open| *open = false);
            }
            Event::RunEnded(_) => self.is_over = true,
            Event::DoubtSettled {
                slot,
                settled,
                by: SettledBy::Person { .. },
                ..
            } => {
                if *settled != Settlement::DidNotHappen {
                    self.over.insert(slot.clone());
                }
            }
            _ => self.note_asked(event),
        }
    }

    fn note_asked(&mut self, event: &Event) {
        match event {
            Event::ApprovalRequested { card, digest } => {
                let asked = Asked {
                    card: card.clone(),
                    agreed: BTreeSet::new(),
                    is_open: true,
                    refused: false,
                };
                self.cards.insert(*digest, asked);
            }
            Event::ApprovalGiven { card, by, .. } => {
                if let Some(asked) = self.cards.get_mut(card) {
                    asked.agreed.insert(by.clone());
                    let enough = u64::from(asked.card.terms.quorum);
                    asked.is_open = (asked.agreed.len() as u64) < enough;
                }
            }
            Event::ApprovalRejected { card, .. } | Event::ApprovalExpired { card } => {
                if let Some(asked) = self.cards.get_mut(card) {
                    (asked.is_open, asked.refused) = (false, true);
                }
            }
            Event::ApprovalsRevised { replace, clear, .. } => {
                for asked in self.cards.values_mut() {
                    let of = |step: &str| replace.iter().chain(clear).any(|id| id == step);
                    if asked.card.step().is_some_and(of) {
                        (asked.is_open, asked.refused) = (false, true);
                    }
                }
            }
            Event::QuestionAsked { digest, .. } => {
                self.questions.insert(*digest, true);
            }
            Event::QuestionAnswered { question, .. } | Event::QuestionExpired { question } => {
                self.questions.insert(*question, false);
            }
            _ => self.note_planned(event),
        }
    }

    fn note_planned(&mut self, event: &Event) {
        match event {
            Event::PlanRequested { id, .. } => {
                self.requests.insert(*id);
            }
            Event::PlanAmended { .. } => self.unplanned = false,
            Event::GoalAmended { .. } => {
                self.unplanned = true;
                self.requests.clear();
                self.former.clone_from(&self.wrote);
                // Why: what people were asked and agreed to was for the goal before.
                for asked in self.cards.values_mut() {
                    (asked.is_open, asked.refused) = (false, true);
                }
                self.questions.values_mut().for_each(|open| *open = false);
            }
            Event::PlanChecked { id, record, .. } => {
                self.revision = record.revision;
                self.steps = record.steps.keys().cloned().collect();
                if self.requests.contains(id) {
                    self.unplanned = false;
                }
            }
            _ => {}
        }
    }

    /// The place of the write that a slot undoes in the order in which they began.
    fn place_of(&self, slot: &Slot) -> usize {
        let of = undone_by(&slot.step);
        let is_it = |write: &Slot| of == Some((write.step.as_str(), write.item));
        let mut order = self.order.iter();
        order.position(is_it).unwrap_or(usize::MAX)
    }

    fn begins(&mut self, started: &AttemptStarted) {
        let slot = &started.slot;
        self.begun.insert(slot.step.clone());
        if started.read || started.purpose.is_auxiliary() {
            return;
        }
        self.wrote.insert(slot.step.clone());
        match undone_by(&slot.step) {
            Some(_) => self.back_to = self.place_of(slot),
            None if !self.order.contains(slot) => self.order.push(slot.clone()),
            None => {}
        }
        let named = json!({
            "run": self.run,
            "slot": slot,
            "attempt": started.attempt,
            "operation": started.operation,
            "args": started.args_digest,
        });
        let named = Digest::of_value(Domain::Attempt, &named);
        if let Some(before) = self.last.insert(slot.clone(), named) {
            self.stale.insert(slot.clone(), before);
        }
    }
}

/// What the search and the statements that must not count look at.
impl Reading {
    /// Whether a person may say yes or no to this card, by who stands on it.
    pub(super) fn may_answer(&self, card: &Digest, by: &str) -> bool {
        let asked = self.cards.get(card).filter(|asked| asked.is_open);
        asked.is_some_and(|asked| {
            self.solo || !self.is_barred(&asked.card, by) && !asked.agreed.contains(by)
        })
    }

    /// Whether the posted statement of this number is in the journal.
    pub(super) fn holds(&self, nonce: &str) -> bool {
        self.nonces.contains(nonce)
    }

    /// The revision of the plan in force.
    pub(super) fn revision(&self) -> u32 {
        self.revision
    }

    /// How many writes began, each counted once however often it was tried.
    pub(super) fn writes(&self) -> u64 {
        self.last.len() as u64
    }

    /// Steps that began.
    pub(super) fn begun(&self) -> &BTreeSet<String> {
        &self.begun
    }

    /// Cards that no answer may count for, and questions.
    pub(super) fn closed(&self) -> (Vec<Digest>, Vec<Digest>) {
        let cards = self.cards.iter().filter(|(_, asked)| !asked.is_open);
        let questions = self.questions.iter().filter(|(_, open)| !**open);
        (
            cards.map(|(digest, _)| *digest).collect(),
            questions.map(|(digest, _)| *digest).collect(),
        )
    }

    /// Open questions that lapse, and when.
    pub(super) fn due(&self) -> impl Iterator<Item = (Digest, i64)> {
        let open = |digest: &Digest| self.questions.get(digest) == Some(&true);
        let due = self.lapses.iter().filter(move |(digest, _)| open(digest));
        due.map(|(digest, at)| (*digest, *at))
    }

    /// Attempts that no settlement may count for.
    pub(super) fn stale(&self) -> &BTreeMap<Slot, Digest> {
        &self.stale
    }

    /// What of it is about no step in particular, as far as a later judgement looks at it.
    pub(super) fn whole(&self) -> impl std::hash::Hash {
        let closed = self.cards.values().any(|asked| !asked.is_open);
        let answered = self.questions.values().any(|open| !open);
        let refused = self.cards.values().any(|asked| asked.refused);
        (
            (self.is_paused, self.stopped, self.unplanned),
            (closed, answered, refused),
            (self.is_over, self.back_to),
            // Why then only: nothing else rests on it.
            (self.back_to < usize::MAX).then_some(&self.order),
        )
    }

    /// What of it is about one call.
    pub(super) fn of_slot(&self, slot: &Slot) -> impl std::hash::Hash {
        (
            self.former.contains(&slot.step),
            self.over.contains(slot),
            self.stale.contains_key(slot),
            self.steps.contains(&slot.step),
        )
    }
}
