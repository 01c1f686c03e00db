//! Seeded worlds: one seed, one plan, one life of a run with everything that goes wrong in it.
//!
//! Owns the histories that no enumeration reaches: long plans, every feature of a step, people,
//! planners, clocks and tools that misbehave. Never reads a clock or the system's entropy.
//! INVARIANT: a seed gives the same history, event by event, for ever.

use std::collections::BTreeSet;

use provost_plan::digest::{Digest, Domain};
use provost_run::event::RunStatus;
use provost_run::machine::Rules;

use crate::repeats::Looks;

mod clock;
mod faults;
mod harness;
mod judge;
mod people;
mod planner;
mod process;
mod scenario;
mod sketch;
mod tools;

pub use faults::names as fault_names;

/// What became of a world.
#[derive(Clone, Debug)]
pub struct History {
    /// Its seed.
    pub seed: u64,
    /// The digest of every event and every effect, in order.
    pub digest: Digest,
    /// Events recorded.
    pub events: usize,
    /// Effects that took place.
    pub effects: usize,
    /// The status in which nothing more could happen.
    pub end: &'static str,
    /// Faults that struck.
    pub faults: BTreeSet<&'static str>,
    /// Marks of the transition table that were hit.
    pub marks: BTreeSet<&'static str>,
    /// Ways in which the machine did not take an input.
    pub refusals: BTreeSet<&'static str>,
    /// What must not be, and was.
    pub broken: Vec<String>,
    /// The journal, a line an event.
    pub lines: Vec<String>,
}

/// The rules of every scenario, to be made once.
///
/// # Errors
/// A sentence, if a schema or a policy does not load.
pub fn scenarios() -> Result<Vec<Rules>, String> {
    (0..scenario::SCENES).map(scenario::rules).collect()
}

/// Plays the world of a seed to its end.
#[must_use]
pub fn play(seed: u64, scenarios: &[Rules]) -> History {
    play_looking(seed, scenarios, Looks::Always)
}

/// Plays it with a driver that has the store confirm what a turn rests on in this way.
#[must_use]
pub fn play_looking(seed: u64, scenarios: &[Rules], looks: Looks) -> History {
    let mut harness = harness::Harness::new(seed, scenarios, looks);
    harness.play();
    let process = &harness.process;
    let status = process.run.as_ref().map(|run| run.state().status());
    let mut broken = process.broken.clone();
    if broken.is_empty() {
        let journal = &process.disk.events;
        broken.extend(judge::Judge::new(journal, &harness.tools.effects).read());
        broken.extend(stands_still(status));
    }
    let mut lines = Vec::new();
    for (event, at) in &process.disk.events {
        let (kind, version, payload) = event.to_stored();
        lines.push(format!("{at} {kind} {version} {payload}"));
    }
    let mut trace = lines.join("\n");
    for effect in &harness.tools.effects {
        trace.push_str(&format!(
            "\n{} {} {}",
            effect.at, effect.operation, effect.target
        ));
    }
    History {
        seed,
        digest: Digest::of_bytes(Domain::Evidence, trace.as_bytes()),
        events: process.disk.events.len(),
        effects: harness.tools.effects.len(),
        end: status.map_or("gone", RunStatus::word),
        faults: harness.faults.struck.clone(),
        marks: process.marks.clone(),
        refusals: harness.refusals.clone(),
        broken,
        lines,
    }
}

/// A run in which nothing more will happen is over, or waits for somebody.
fn stands_still(status: Option<RunStatus>) -> Option<String> {
    let waits = |status: RunStatus| {
        status.is_ended()
            || matches!(
                status,
                RunStatus::WaitingApproval
                    | RunStatus::WaitingAnswer
                    | RunStatus::InDoubt
                    | RunStatus::Paused
            )
    };
    let stuck = !status.is_some_and(waits);
    let word = status.map_or("gone", RunStatus::word);
    stuck.then(|| format!("nothing moves the run, and it is {word}"))
}
