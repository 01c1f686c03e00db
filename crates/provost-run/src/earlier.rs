//! Equal calls: writes with the same operation and the same arguments that were made before.
//!
//! Owns what is known of them, and how the events of a run tell its own. Never decides what
//! follows: policy does, and whoever is asked. INVARIANT: a call that surely did not take place is
//! none of them.

use std::collections::BTreeMap;

use provost_plan::digest::Digest;
use serde::{Deserialize, Serialize};

use crate::call::Slot;
use crate::event::{AttemptEnded, AttemptStarted, Event, Settlement};
use crate::outcome::Landing;

/// Most calls that are named of those that were counted.
pub const EARLIER_NAMED_MAX: usize = 5;

/// What makes two calls equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallKey {
    /// The operation.
    pub operation: String,
    /// The digest of the concrete arguments.
    pub args: Digest,
}

impl CallKey {
    /// What a call that an event begins is known by; none of a read.
    #[must_use]
    pub fn of(event: &Event) -> Option<Self> {
        match event {
            Event::AttemptStarted(started) if !started.read => Some(Self {
                operation: started.operation.clone(),
                args: started.args_digest,
            }),
            _ => None,
        }
    }

    /// A number that equal calls have in common, for an index of a store: the first 8 bytes of the
    /// arguments' digest, with the operation mixed in byte by byte (FNV-1a). Other calls may have
    /// it too.
    #[must_use]
    pub fn short(&self) -> i64 {
        let (first, _) = self.args.bytes().split_at(8);
        let first = first
            .iter()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let mix = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        i64::from_ne_bytes(self.operation.bytes().fold(first, mix).to_ne_bytes())
    }
}

/// The equal calls of other runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierCalls {
    /// How many took effect, or may have.
    pub count: u64,
    /// The latest of them, newest first.
    pub latest: Vec<EarlierCall>,
}

/// A call that was made before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierCall {
    /// The run.
    pub run: String,
    /// Its step, and the item of it.
    pub slot: Slot,
    /// When its last attempt began, in milliseconds since the epoch.
    pub at: i64,
    /// Whether it took effect; unknown also while it is in flight.
    pub landing: Landing,
}

impl EarlierCall {
    /// What became of it, in words.
    #[must_use]
    pub fn outcome(&self) -> &'static str {
        match self.landing {
            Landing::Happened => "took effect",
            Landing::Unknown => "may have taken effect",
            Landing::None => "did not take effect",
        }
    }
}

impl std::fmt::Display for EarlierCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (run, slot) = (&self.run, &self.slot);
        write!(f, "step `{slot}` of run {run} {}", self.outcome())
    }
}

impl EarlierCalls {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds an older one.
    pub fn push(&mut self, call: EarlierCall) {
        self.count += 1;
        if self.latest.len() < EARLIER_NAMED_MAX {
            self.latest.push(call);
        }
    }

    /// Whether whoever saw these saw the `others` too, whatever became of them since.
    #[must_use]
    pub fn cover(&self, others: &Self) -> bool {
        let shown = |call: &EarlierCall| {
            let mut own = self.latest.iter();
            own.any(|own| (&own.run, &own.slot) == (&call.run, &call.slot))
        };
        others.latest.iter().all(shown)
    }
}

/// A write of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlierWrite {
    /// When its last attempt began, in milliseconds since the epoch.
    pub at: i64,
    /// Whether it took effect; unknown also while it is in flight.
    pub landing: Landing,
    /// Whether an attempt may have landed, whatever later ones did.
    doubtful: bool,
}

/// The writes of a run, event by event.
#[derive(Clone, Debug, Default)]
pub struct Writes {
    made: BTreeMap<(Slot, CallKey), EarlierWrite>,
    flights: BTreeMap<Slot, CallKey>,
    last: BTreeMap<Slot, CallKey>,
}

impl Writes {
    /// The kinds of events that bear on them.
    pub const KINDS: [&str; 3] = ["AttemptStarted", "AttemptEnded", "DoubtSettled"];

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.made.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.made.is_empty()
    }

    /// Takes in the next event of the run.
    pub fn apply(&mut self, event: &Event, at_ms: i64) {
        match event {
            Event::AttemptStarted(started) => self.started(started, at_ms),
            Event::AttemptEnded(ended) => self.ended(ended),
            Event::DoubtSettled { slot, settled, .. } => {
                let last = self.last.get(slot).cloned();
                let write = last.and_then(|key| self.made.get_mut(&(slot.clone(), key)));
                if let Some(write) = write {
                    write.landing = match settled {
                        Settlement::Happened => Landing::Happened,
                        Settlement::DidNotHappen => Landing::None,
                        Settlement::Abandoned => Landing::Unknown,
                    };
                    write.doubtful = false;
                }
            }
            _ => {}
        }
    }

    fn started(&mut self, started: &AttemptStarted, at: i64) {
        let slot = &started.slot;
        // Why: reads beside a write are reads too, and their ends say nothing of it.
        if started.read {
            self.flights.remove(slot);
            return;
        }
        let key = CallKey {
            operation: started.operation.clone(),
            args: started.args_digest,
        };
        let known = self.made.get(&(slot.clone(), key.clone()));
        let write = EarlierWrite {
            at,
            landing: Landing::Unknown,
            doubtful: known.is_some_and(|known| known.doubtful),
        };
        self.made.insert((slot.clone(), key.clone()), write);
        self.flights.insert(slot.clone(), key.clone());
        self.last.insert(slot.clone(), key);
    }

    fn ended(&mut self, ended: &AttemptEnded) {
        let slot = &ended.slot;
        let Some(key) = self.flights.remove(slot) else {
            return;
        };
        if let Some(write) = self.made.get_mut(&(slot.clone(), key)) {
            // Why: an earlier try that may have landed is not undone by a later one that did not.
            write.doubtful |= ended.landing == Landing::Unknown;
            write.landing = match ended.landing {
                Landing::None if write.doubtful => Landing::Unknown,
                landing => landing,
            };
        }
    }

    /// Those that took effect, or may have.
    pub fn landed(&self) -> impl Iterator<Item = (&Slot, &CallKey, &EarlierWrite)> {
        let made = self.made.iter();
        let made = made.filter(|(_, write)| write.landing != Landing::None);
        made.map(|((slot, key), write)| (slot, key, write))
    }

    /// Takes in a write of which somebody kept what became of it, in the place of its events.
    pub fn keep(&mut self, slot: Slot, key: CallKey, at: i64, landing: Landing) {
        let write = EarlierWrite {
            at,
            landing,
            doubtful: landing == Landing::Unknown,
        };
        self.made.insert((slot, key), write);
    }

    /// Those that equal a call and took effect, or may have.
    pub fn equal<'w>(
        &'w self,
        call: &'w CallKey,
    ) -> impl Iterator<Item = (&'w Slot, &'w EarlierWrite)> {
        let made = self.made.iter();
        made.filter(move |((_, key), write)| key == call && write.landing != Landing::None)
            .map(|((slot, _), write)| (slot, write))
    }
}
