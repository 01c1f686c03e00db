//! One state of the search: the machine, its journal, what is in flight, and the world.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use provost_plan::catalog::Idempotency;
use provost_plan::plan::request::PlanRequest;
use provost_run::call::Call;
use provost_run::event::Event;
use provost_run::machine::Run;

use super::Bounds;

/// A call that left the process.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub(super) call: Call,
}

/// The world: how often each effect took place.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct World {
    /// Of keyed writes, by key: the tool remembers it.
    pub(super) keyed: BTreeMap<String, u32>,
    /// Of keyed writes, by step: whatever the key was.
    pub(super) by_step: BTreeMap<String, u32>,
    /// Of plain writes, by step.
    pub(super) plain: BTreeMap<String, u32>,
}

impl World {
    /// The effect of a call takes place.
    pub(super) fn perform(&mut self, call: &Call) {
        if call.operation().effect.is_read() {
            return;
        }
        let step = call.slot().to_string();
        match (call.key(), &call.operation().idempotency) {
            (Some(key), Idempotency::Key { .. }) => {
                if self.keyed.insert(key.to_owned(), 1).is_none() {
                    *self.by_step.entry(step).or_default() += 1;
                }
            }
            _ => *self.plain.entry(step).or_default() += 1,
        }
    }
}

/// One state of the search.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) run: Run,
    pub(super) journal: Vec<(Event, i64)>,
    /// How many of the events would survive a loss of power.
    pub(super) durable: usize,
    pub(super) flights: Vec<Flight>,
    pub(super) request: Option<PlanRequest>,
    pub(super) timer: Option<i64>,
    pub(super) world: World,
    pub(super) crashes: u32,
    pub(super) faults: u32,
    pub(super) now: i64,
    pub(super) story: Vec<String>,
}

impl Node {
    pub(super) fn new(run: Run, bounds: Bounds) -> Self {
        Self {
            run,
            journal: Vec::new(),
            durable: 0,
            flights: Vec::new(),
            request: None,
            timer: None,
            world: World::default(),
            crashes: bounds.crashes,
            faults: bounds.faults,
            now: 0,
            story: Vec::new(),
        }
    }

    /// What makes two states equal for everything that can still happen.
    pub(super) fn fingerprint(&self) -> String {
        let mut text = String::new();
        let state = self.run.state();
        let _ = write!(
            text,
            "{:?}|{}|{}|{}|{}|{:?}|",
            self.world,
            self.crashes,
            self.faults,
            self.journal.len() - self.durable,
            state.status().word(),
            self.request.as_ref().map(|request| request.id),
        );
        for (id, step) in &state.steps {
            let _ = write!(text, "{id}:{}", step.status.word());
            for item in &step.items {
                let _ = write!(
                    text,
                    "/{}.{}.{}.{}.{:?}.{}.{}",
                    item.attempt,
                    item.tries,
                    item.in_flight.is_some(),
                    item.retry_at.is_some(),
                    item.landing,
                    item.card.is_some(),
                    item.approved.is_some(),
                );
            }
        }
        for effect in &state.effects {
            let _ = write!(
                text,
                "~{}{:?}{}",
                effect.slot, effect.landing, effect.doubtful
            );
        }
        for flight in &self.flights {
            let _ = write!(text, "^{}#{}", flight.call.slot(), flight.call.attempt());
        }
        // Why: what a loss of power takes away decides what is left to resume from.
        for (event, _) in self.journal.iter().skip(self.durable) {
            let _ = write!(text, "+{}", event.kind());
        }
        text
    }
}
