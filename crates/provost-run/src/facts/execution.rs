//! The execution of a run, counted: tries, retries, validations, effects and doubts.
//!
//! Owns these formulas. A try is an attempt that ended and was made for its step: what was lost,
//! what was never sent, and reads made on the way are none. INVARIANT: an effect counts once for
//! each step or item that it landed for, however often its call was repeated with one key.

use std::collections::BTreeMap;

use provost_plan::digest::Digest;

use super::slots::SlotIndex;
use super::{RunFacts, put};
use crate::call::Purpose;
use crate::card::CardSubject;
use crate::event::{AttemptEnded, Event, RunStatus, Settlement, StepStatus};
use crate::grade::Rate;
use crate::outcome::{Class, Landing};

/// What became of a step or an item.
#[derive(Default)]
struct SlotStory<'e> {
    operation: &'e str,
    call: Option<Digest>,
    read: bool,
    tries: u64,
    landed: bool,
    unknown: bool,
    doubted: bool,
    /// Whether a read confirmed it, or was to.
    confirmed: bool,
    last: Option<(StepStatus, Option<Class>)>,
}

pub(super) fn count(events: &[(&Event, i64)], index: &SlotIndex<'_>, facts: &mut RunFacts) {
    let mut slots: Vec<SlotStory<'_>> = Vec::new();
    slots.resize_with(index.count, SlotStory::default);
    let mut tries: BTreeMap<&str, Tries> = BTreeMap::new();
    for about in index.with(events) {
        let Some(story) = about.slot.and_then(|number| slots.get_mut(number)) else {
            continue;
        };
        match about.event {
            Event::AttemptStarted(started) => {
                story.confirmed |= started.purpose == Purpose::Confirm;
                if started.purpose == Purpose::Effect {
                    story.operation = &started.operation;
                    (story.call, story.read) = (Some(started.args_digest), started.read);
                }
            }
            Event::AttemptEnded(ended) => {
                let begun = about.begun.filter(|one| one.purpose == Purpose::Effect);
                let Some(started) = begun else {
                    continue;
                };
                if !started.read {
                    story.landed |= ended.landing == Landing::Happened;
                    story.unknown |= ended.landing == Landing::Unknown;
                }
                if ended.is_try() {
                    story.tries += 1;
                    let of_operation = tries.entry(&started.operation).or_default();
                    of_operation.count(ended, facts);
                }
            }
            Event::StepSettled { status, class, .. } => {
                story.doubted |= *status == StepStatus::InDoubt;
                story.last = Some((*status, *class));
            }
            Event::DoubtSettled { settled, .. } => {
                story.landed |= *settled == Settlement::Happened;
            }
            _ => {}
        }
    }
    of_tries(tries, facts);
    of_slots(&slots, facts);
    of_effects(&slots, events, facts);
    completion(events, facts);
}

/// The tries at an operation.
#[derive(Default)]
struct Tries {
    success: Rate,
    timeouts: Rate,
    took_us: Vec<u64>,
}

impl Tries {
    fn count(&mut self, ended: &AttemptEnded, facts: &mut RunFacts) {
        self.success.count(ended.class == Class::Ok);
        self.timeouts.count(ended.class == Class::Timeout);
        self.took_us.extend(ended.took_us);
        if ended.class != Class::Ok {
            let class = ended.class.word().to_owned();
            *facts.failures.entry(class).or_default() += 1;
        }
    }
}

/// Counts tries for the run and for each operation.
fn of_tries(tries: BTreeMap<&str, Tries>, facts: &mut RunFacts) {
    for (operation, tries) in tries {
        let of_operation = facts.operations.entry(operation.to_owned()).or_default();
        for rates in [&mut facts.execution, of_operation] {
            let mut add = |key: &str, rate: Rate| {
                let sum: &mut Rate = rates.entry(key.to_owned()).or_default();
                *sum = sum.and(rate);
            };
            add("tool_success", tries.success);
            add("timeouts", tries.timeouts);
        }
        if !tries.took_us.is_empty() {
            facts.latency_us.insert(operation.to_owned(), tries.took_us);
        }
    }
}

fn of_slots(slots: &[SlotStory<'_>], facts: &mut RunFacts) {
    let (mut ended, mut succeeded) = (0, 0);
    let (mut with_try, mut retries, mut retried, mut recovered) = (0, 0, 0, 0);
    let (mut settled, mut invalid, mut unconfirmed) = (0, 0, 0);
    for story in slots {
        let status = story.last.map(|(status, _)| status);
        let class = story.last.and_then(|(_, class)| class);
        let is_success = status == Some(StepStatus::Succeeded);
        let counts = [
            StepStatus::Succeeded,
            StepStatus::Failed,
            StepStatus::InDoubt,
        ];
        if status.is_some_and(|status| counts.contains(&status)) {
            ended += 1;
            succeeded += u64::from(is_success);
        }
        if story.tries > 0 {
            with_try += 1;
            retries += story.tries - 1;
            retried += u64::from(story.tries > 1);
            recovered += u64::from(story.tries > 1 && is_success);
        }
        if status.is_some() {
            settled += 1;
            let of_validation = [
                Class::InvalidArguments,
                Class::OutputInvalid,
                Class::AcceptanceFailed,
            ];
            let is_invalid = status == Some(StepStatus::Failed)
                && class.is_some_and(|class| of_validation.contains(&class));
            invalid += u64::from(is_invalid);
            let by_confirm =
                is_invalid && class == Some(Class::AcceptanceFailed) && story.confirmed;
            unconfirmed += u64::from(by_confirm);
        }
    }
    let rates = &mut facts.execution;
    put(rates, "step_success", succeeded, ended);
    put(rates, "retries", retries, with_try);
    put(rates, "recovered", recovered, retried);
    put(rates, "validation", invalid, settled);
    put(rates, "validation_confirm", unconfirmed, invalid);
}

fn of_effects(slots: &[SlotStory<'_>], events: &[(&Event, i64)], facts: &mut RunFacts) {
    let repeats = approved_repeats(events);
    let mut groups: BTreeMap<(&str, Digest), (u64, bool, bool)> = BTreeMap::new();
    let (mut attempted, mut doubted, mut landed) = (0, 0, 0);
    for story in slots.iter().filter(|story| !story.read) {
        let Some(call) = story.call else { continue };
        attempted += 1;
        doubted += u64::from(story.doubted);
        landed += u64::from(story.landed);
        let group = groups.entry((story.operation, call)).or_default();
        group.0 += u64::from(story.landed);
        group.1 |= story.unknown && !story.landed;
        group.2 |= story.landed;
    }
    let extra = |(key, group): (&(&str, Digest), &(u64, bool, bool))| {
        let approved = repeats.get(key).copied().unwrap_or(0);
        group.0.saturating_sub(1 + approved)
    };
    let duplicates: u64 = groups.iter().map(extra).sum();
    let possible = groups
        .values()
        .filter(|(_, unknown, later)| *unknown && *later);
    let possible = possible.count() as u64;
    let held = held_back(slots, events);
    let rates = &mut facts.execution;
    put(rates, "duplicates", duplicates, landed);
    put(rates, "duplicates_held", held, landed);
    put(rates, "duplicates_possible", possible, groups.len() as u64);
    put(rates, "in_doubt", doubted, attempted);
}

/// Repeats that a person saw on a card and approved, by operation and arguments.
fn approved_repeats<'e>(events: &[(&'e Event, i64)]) -> BTreeMap<(&'e str, Digest), u64> {
    let mut cards = BTreeMap::new();
    let mut repeats: BTreeMap<(&str, Digest), u64> = BTreeMap::new();
    for (event, _) in events {
        match event {
            Event::ApprovalRequested { card, digest } => drop(cards.insert(digest, card)),
            Event::ApprovalGiven {
                card,
                complete: true,
                ..
            } => {
                let subject = cards.get(card).map(|card| &card.subject);
                if let Some(CardSubject::Step { ask, calls, .. }) = subject {
                    for call in calls.iter().filter(|call| call.repeats.is_some()) {
                        *repeats
                            .entry((ask.operation.as_str(), call.args_digest))
                            .or_default() += 1;
                    }
                }
            }
            _ => {}
        }
    }
    repeats
}

/// Calls on cards that would repeat one, and conflicts that the machine found before a call.
fn held_back(slots: &[SlotStory<'_>], events: &[(&Event, i64)]) -> u64 {
    let on_cards = events.iter().filter_map(|(event, _)| match event {
        Event::ApprovalRequested { card, .. } => match &card.subject {
            CardSubject::Step { calls, .. } => {
                let repeats = calls.iter().filter(|call| call.repeats.is_some());
                Some(repeats.count() as u64)
            }
            CardSubject::Plan { .. } => None,
        },
        _ => None,
    });
    let conflicts = slots.iter().filter(|story| {
        story.call.is_none()
            && story
                .last
                .is_some_and(|(_, class)| class == Some(Class::Conflict))
    });
    on_cards.sum::<u64>() + conflicts.count() as u64
}

fn completion(events: &[(&Event, i64)], facts: &mut RunFacts) {
    let ended = events.iter().rev().find_map(|(event, _)| match event {
        Event::RunEnded(ended) => Some(ended.status),
        _ => None,
    });
    let Some(status) = ended.filter(|_| facts.ended_at.is_some()) else {
        return;
    };
    let succeeded = status == RunStatus::Succeeded;
    let spoken = events.iter().any(|(event, _)| event.statement().is_some());
    let rates = &mut facts.execution;
    put(rates, "completed", u64::from(succeeded), 1);
    put(rates, "completed_alone", u64::from(succeeded && !spoken), 1);
}
