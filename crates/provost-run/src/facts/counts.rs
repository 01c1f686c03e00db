//! What a run adds to the series of a monitoring system: counts by closed sets of words.
//!
//! Owns which counts there are and what they are counted by. INVARIANT: a label is a word of the
//! program or a name from `provost.toml`, and never a run, a person, a goal or a message.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::digest::Digest;
use serde::{Deserialize, Serialize};

use super::RunFacts;
use super::slots::{AboutSlot, SlotIndex};
use crate::call::Purpose;
use crate::card::QuestionPurpose;
use crate::event::{AttemptEnded, AttemptStarted, Event, Proven, RunStatus, StepStatus};
use crate::outcome::{Class, Landing};
use crate::read::why::{Witnesses, why};

/// What stands between the words of a key: no name holds it.
const BETWEEN: char = '\t';

/// SeriesCounts by the name of their series and the values of its labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SeriesCounts(BTreeMap<String, u64>);

impl SeriesCounts {
    fn more(&mut self, series: &str, labels: &[&str], count: u64) {
        if count > 0 {
            let key = key(series, labels);
            match self.0.get_mut(&key) {
                Some(known) => *known += count,
                None => drop(self.0.insert(key, count)),
            }
        }
    }

    fn one(&mut self, series: &str, labels: &[&str]) {
        self.more(series, labels, 1);
    }

    /// Adds those of another run.
    pub(super) fn add(&mut self, other: &Self) {
        for (key, count) in &other.0 {
            *self.0.entry(key.clone()).or_default() += count;
        }
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each series with the values of its labels and its count.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Vec<&str>, u64)> {
        self.0.iter().map(|(key, count)| {
            let mut words = key.split(BETWEEN);
            (words.next().unwrap_or_default(), words.collect(), *count)
        })
    }
}

fn key(series: &str, labels: &[&str]) -> String {
    let length = labels.iter().map(|label| 1 + label.len()).sum::<usize>();
    let mut key = String::with_capacity(series.len() + length);
    key.push_str(series);
    for label in labels {
        key.push(BETWEEN);
        if label.contains(BETWEEN) {
            key.push_str(&label.replace(BETWEEN, " "));
        } else {
            key.push_str(label);
        }
    }
    key
}

pub(super) fn count(events: &[(&Event, i64)], index: &SlotIndex<'_>, facts: &mut RunFacts) {
    let planner = facts.groups.get("planner").cloned();
    let mut tally = SeriesTally {
        planner: planner.unwrap_or_else(|| "unknown".to_owned()),
        slots: vec![TalliedSlot::default(); index.count],
        ..SeriesTally::default()
    };
    for about in index.with(events) {
        let event = about.event;
        tally.of_planning(event);
        tally.of_people(event, about.at);
        tally.of_calls(&about);
        if let Event::RunEnded(ended) = event {
            tally.criteria = ended.criteria.values().map(Proven::word).collect();
            tally.ended = Some(ended.status);
        }
        if matches!(event, Event::UndoRequested { .. }) {
            tally.ended = None;
        }
    }
    tally.finish(events);
    facts.counts = tally.counts;
    facts.approval_wait_ms = tally.waits_ms;
}

/// A step or an item.
#[derive(Clone, Copy, Default)]
struct TalliedSlot<'e> {
    status: Option<StepStatus>,
    /// The operation that was called for it last.
    called: Option<&'e str>,
}

/// Counts of a few things that come often. Why no map: there are fewer of them than a search in one
/// would compare.
struct Counted<K>(Vec<(K, u64)>);

impl<K> Default for Counted<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: PartialEq> Counted<K> {
    fn one(&mut self, of: K) {
        match self.0.iter_mut().find(|(known, _)| *known == of) {
            Some((_, count)) => *count += 1,
            None => self.0.push((of, 1)),
        }
    }
}

#[derive(Default)]
struct SeriesTally<'e> {
    counts: SeriesCounts,
    planner: String,
    /// Cards that nobody answered yet, since when.
    cards: BTreeMap<&'e Digest, i64>,
    waits_ms: Vec<i64>,
    /// Questions of planners.
    questions: BTreeSet<&'e Digest>,
    slots: Vec<TalliedSlot<'e>>,
    tries: Counted<(Class, &'e str)>,
    effects: Counted<(Landing, &'e str)>,
    criteria: Vec<&'static str>,
    ended: Option<RunStatus>,
}

impl<'e> SeriesTally<'e> {
    fn of_planning(&mut self, event: &'e Event) {
        let counts = &mut self.counts;
        let planner = self.planner.as_str();
        match event {
            Event::PlanChecked { id, findings, .. } => {
                if *id > 0 {
                    counts.one("proposals", &[planner, "checked"]);
                }
                findings
                    .iter()
                    .for_each(|one| counts.one("findings", &[&one.code]));
            }
            Event::PlanRefused { findings, .. } => {
                counts.one("proposals", &[planner, "refused"]);
                findings
                    .iter()
                    .for_each(|one| counts.one("findings", &[&one.code]));
            }
            Event::PlanGivenUp { .. } => counts.one("proposals", &[planner, "given_up"]),
            Event::PlanHandedOn { .. } => counts.one("proposals", &[planner, "handed_on"]),
            Event::BudgetSpent { usage, .. } => {
                let model = usage.model.as_deref().unwrap_or("unknown");
                counts.more("tokens", &[model, "in", "planner"], usage.tokens_in);
                counts.more("tokens", &[model, "out", "planner"], usage.tokens_out);
            }
            _ => {}
        }
    }

    fn of_people(&mut self, event: &'e Event, at: i64) {
        let outcome = match event {
            Event::ApprovalRequested { digest, .. } => {
                self.cards.insert(digest, at);
                return;
            }
            Event::QuestionAsked { question, digest } => {
                if matches!(question.purpose, QuestionPurpose::Planner { .. }) {
                    self.questions.insert(digest);
                }
                return;
            }
            Event::QuestionAnswered { question, .. } if self.questions.remove(question) => {
                return self.counts.one("clarifications", &["answered"]);
            }
            Event::QuestionExpired { question } if self.questions.remove(question) => {
                return self.counts.one("clarifications", &["expired"]);
            }
            Event::ApprovalGiven {
                card,
                complete: true,
                ..
            } => (card, "given"),
            Event::ApprovalRejected { card, .. } => (card, "rejected"),
            Event::ApprovalExpired { card } => (card, "expired"),
            _ => return,
        };
        let (card, outcome) = outcome;
        if let Some(since) = self.cards.remove(card) {
            self.waits_ms.push((at - since).max(0));
            self.counts.one("approvals", &[outcome]);
        }
    }

    fn of_calls(&mut self, about: &AboutSlot<'e>) {
        let Some(slot) = about.slot.and_then(|number| self.slots.get_mut(number)) else {
            if matches!(about.event, Event::StepBlocked { .. }) {
                self.counts.one("steps", &[StepStatus::Blocked.word()]);
            }
            return;
        };
        match about.event {
            Event::AttemptStarted(started) if started.purpose == Purpose::Effect => {
                slot.called = Some(&started.operation);
            }
            Event::AttemptEnded(ended) => {
                if let Some(started) = about.begun {
                    self.ended(started, ended);
                }
            }
            Event::StepSettled { status, class, .. } => {
                slot.status = Some(*status);
                let place = match class {
                    Some(Class::InvalidArguments) => "arguments",
                    Some(Class::OutputInvalid) => "output",
                    Some(Class::AcceptanceFailed) => "acceptance",
                    _ => return,
                };
                let operation = slot.called.unwrap_or("none");
                self.counts.one("validation_failures", &[operation, place]);
            }
            Event::StepSkipped { .. } => slot.status = Some(StepStatus::Skipped),
            _ => {}
        }
    }

    fn ended(&mut self, started: &'e AttemptStarted, ended: &'e AttemptEnded) {
        let operation = started.operation.as_str();
        let counts = &mut self.counts;
        if let Some(used) = &ended.used {
            counts.more("tokens", &[&used.model, "in", "tool"], used.tokens_in);
            counts.more("tokens", &[&used.model, "out", "tool"], used.tokens_out);
        }
        if started.purpose != Purpose::Effect {
            return;
        }
        if !started.read {
            self.effects.one((ended.landing, operation));
        }
        if ended.is_try() {
            self.tries.one((ended.class, operation));
        }
        if ended.retry_at.is_some() && !ended.not_yet {
            counts.one("retries", &[operation, ended.class.word()]);
        }
    }

    /// What only the end of the journal tells.
    fn finish(&mut self, events: &[(&Event, i64)]) {
        let counts = &mut self.counts;
        let mut steps = Counted::default();
        for slot in &self.slots {
            match slot.status {
                Some(StepStatus::InDoubt) => {
                    counts.one("in_doubt", &[slot.called.unwrap_or("none")]);
                }
                Some(status) => steps.one(status),
                None => {}
            }
        }
        for (status, count) in steps.0 {
            counts.more("steps", &[status.word()], count);
        }
        for ((class, operation), count) in &self.tries.0 {
            counts.more("attempts", &[operation, class.word()], *count);
        }
        for ((landing, operation), count) in &self.effects.0 {
            counts.more("effects", &[operation, landing.word()], *count);
        }
        for word in &self.criteria {
            counts.one("criteria", &[word]);
        }
        // Why not of a success: nobody is to blame for it.
        if self
            .ended
            .is_some_and(|status| status != RunStatus::Succeeded)
        {
            let events = events.iter().map(|(event, at)| (Event::clone(event), *at));
            let judged = why(&events.collect::<Vec<_>>(), &[], &Witnesses::default());
            let party = judged.party.map_or("none", crate::read::why::Party::word);
            let cause = judged.cause.unwrap_or("none");
            counts.one("verdicts", &[judged.guilty.word(), party, cause]);
        }
    }
}
