//! Open effects: what began in a run and of which it is not settled whether it took place.
//!
//! Owns how the events of a run tell them, with no plan and no catalog at hand. Never decides what
//! follows: that is [`crate::admission`]'s. INVARIANT: after every event they are what the entries
//! that went with the events made of the shared rows.

use std::collections::BTreeMap;

use provost_plan::digest::Digest;

use crate::call::{Purpose, Slot};
use crate::event::{AttemptEnded, AttemptStarted, Event, Settlement, StepStatus};
use crate::outcome::Landing;

/// How an open effect stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpenEffectStatus {
    /// In flight with a key, or to be tried again with it.
    Keyed,
    /// In flight without a key.
    Plain,
    /// In doubt.
    Doubtful,
}

impl OpenEffectStatus {
    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Keyed => "keyed",
            Self::Plain => "plain",
            Self::Doubtful => "doubtful",
        }
    }

    /// How an attempt stands that just began.
    #[must_use]
    pub fn of_begun(plain: bool) -> Self {
        if plain { Self::Plain } else { Self::Keyed }
    }
}

/// An effect that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenEffect {
    /// The operation.
    pub operation: String,
    /// The digest of the values at sinks.
    pub sinks: Digest,
    /// How it stands.
    pub standing: OpenEffectStatus,
    /// When its last attempt began, in milliseconds since the epoch.
    pub at_ms: i64,
}

/// The open effects of a run, event by event.
#[derive(Clone, Debug, Default)]
pub struct OpenEffects {
    open: BTreeMap<Slot, OpenEffect>,
    flights: BTreeMap<Slot, Flight>,
    /// What is known of each write, and whether an earlier try of it may have landed.
    landings: BTreeMap<Slot, (Landing, bool)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flight {
    /// An attempt of the step itself.
    Own,
    /// The read that asks whether it took place.
    Reconciling,
    /// Another read beside the step.
    Beside,
}

impl OpenEffects {
    /// The kinds of events that bear on them.
    pub const KINDS: [&str; 4] = [
        "AttemptStarted",
        "AttemptEnded",
        "StepSettled",
        "DoubtSettled",
    ];

    /// Takes in the next event of the run.
    pub fn apply(&mut self, event: &Event, at_ms: i64) {
        match event {
            Event::AttemptStarted(started) => self.started(started, at_ms),
            Event::AttemptEnded(ended) => self.ended(ended),
            Event::StepSettled {
                slot,
                status: StepStatus::InDoubt,
                ..
            } if self.is_unknown(slot) => {
                if let Some(open) = self.open.get_mut(slot) {
                    open.standing = OpenEffectStatus::Doubtful;
                }
            }
            Event::DoubtSettled { slot, settled, .. } => {
                self.open.remove(slot);
                if let Some(known) = self.landings.get_mut(slot) {
                    *known = (landing_of(*settled), false);
                }
            }
            _ => {}
        }
    }

    fn started(&mut self, started: &AttemptStarted, at_ms: i64) {
        let slot = &started.slot;
        let flight = match started.purpose {
            Purpose::Reconcile => Flight::Reconciling,
            Purpose::Confirm | Purpose::Retake { .. } | Purpose::Preview { .. } => Flight::Beside,
            Purpose::Effect => Flight::Own,
        };
        self.flights.insert(slot.clone(), flight);
        if flight == Flight::Own && !started.read {
            let first = (Landing::Unknown, false);
            self.landings.entry(slot.clone()).or_insert(first);
        }
        if let Some(sinks) = started.sinks {
            let plain = !started.read && started.key.is_none();
            let open = OpenEffect {
                operation: started.operation.clone(),
                sinks,
                standing: OpenEffectStatus::of_begun(plain),
                at_ms,
            };
            self.open.insert(slot.clone(), open);
        }
    }

    fn ended(&mut self, ended: &AttemptEnded) {
        let slot = &ended.slot;
        let Some(flight) = self.flights.remove(slot) else {
            return;
        };
        if flight == Flight::Own
            && let Some((landing, doubtful)) = self.landings.get_mut(slot)
        {
            // Why: an earlier try that may have landed is not undone by a later one that did not.
            *doubtful |= ended.landing == Landing::Unknown;
            *landing = match ended.landing {
                Landing::None if *doubtful => Landing::Unknown,
                landing => landing,
            };
        }
        if flight != Flight::Reconciling && !self.is_unknown(slot) {
            self.open.remove(slot);
        }
    }

    fn is_unknown(&self, slot: &Slot) -> bool {
        let known = self.landings.get(slot);
        known.is_some_and(|(landing, _)| *landing == Landing::Unknown)
    }

    /// What is open now, by step and item.
    #[must_use]
    pub fn open(&self) -> &BTreeMap<Slot, OpenEffect> {
        &self.open
    }
}

fn landing_of(settled: Settlement) -> Landing {
    match settled {
        Settlement::Happened => Landing::Happened,
        Settlement::DidNotHappen => Landing::None,
        Settlement::Abandoned => Landing::Unknown,
    }
}
