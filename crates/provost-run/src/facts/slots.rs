//! The steps and items that events are about, by numbers, and the attempts that ended.
//!
//! Owns that look-up: the formulas of execution count by numbers, and each step or item is looked
//! up once. Counts nothing. INVARIANT: one slot has one number, in the order of first mention.

use std::collections::BTreeMap;

use crate::call::Slot;
use crate::event::{AttemptStarted, Event};

/// What events are about.
pub(super) struct SlotIndex<'e> {
    /// For each event, the number of its slot.
    about: Vec<Option<usize>>,
    /// For each event, the beginning of the attempt that it ends.
    begun: Vec<Option<&'e AttemptStarted>>,
    /// How many slots there are.
    pub(super) count: usize,
}

impl<'e> SlotIndex<'e> {
    pub(super) fn of(events: &[(&'e Event, i64)]) -> Self {
        let mut numbers: BTreeMap<&Slot, usize> = BTreeMap::new();
        let mut started: Vec<Vec<&AttemptStarted>> = Vec::new();
        let mut last: Option<(&Slot, usize)> = None;
        let mut index = Self {
            about: Vec::with_capacity(events.len()),
            begun: Vec::with_capacity(events.len()),
            count: 0,
        };
        for (event, _) in events {
            let number = slot_of(event).map(|slot| match last {
                // Why: most events are about the slot of the one before.
                Some((known, number)) if known == slot => number,
                _ => {
                    let next = numbers.len();
                    let number = *numbers.entry(slot).or_insert(next);
                    last = Some((slot, number));
                    number
                }
            });
            started.resize_with(numbers.len(), Vec::new);
            let of_slot = number.and_then(|number| started.get_mut(number));
            let begun = match (event, of_slot) {
                (Event::AttemptStarted(one), Some(of_slot)) => {
                    of_slot.push(one);
                    None
                }
                (Event::AttemptEnded(ended), Some(of_slot)) => {
                    let mut latest = of_slot.iter().rev();
                    latest.find(|one| one.attempt == ended.attempt).copied()
                }
                _ => None,
            };
            index.about.push(number);
            index.begun.push(begun);
        }
        index.count = numbers.len();
        index
    }

    /// Each event with the number of its slot.
    pub(super) fn with<'a>(
        &'a self,
        events: &'a [(&'e Event, i64)],
    ) -> impl Iterator<Item = AboutSlot<'e>> + 'a {
        let about = self.about.iter().zip(&self.begun);
        let all = events.iter().zip(about);
        all.map(|((event, at), (slot, begun))| AboutSlot {
            event,
            at: *at,
            slot: *slot,
            begun: *begun,
        })
    }
}

/// An event, and what it is about.
pub(super) struct AboutSlot<'e> {
    pub(super) event: &'e Event,
    pub(super) at: i64,
    /// The number of its slot.
    pub(super) slot: Option<usize>,
    /// The beginning of the attempt that it ends.
    pub(super) begun: Option<&'e AttemptStarted>,
}

fn slot_of(event: &Event) -> Option<&Slot> {
    match event {
        Event::AttemptStarted(started) => Some(&started.slot),
        Event::AttemptEnded(ended) => Some(&ended.slot),
        Event::ObservationMade { slot, .. }
        | Event::StepSettled { slot, .. }
        | Event::StepSkipped { slot, .. }
        | Event::DoubtSettled { slot, .. } => Some(slot),
        _ => None,
    }
}
