//! What must not be, looked for after every turn and in every state.
//!
//! Owns the names of what a history may break. Never stops the search: it counts, and keeps the
//! first history as a witness. INVARIANT: it looks at the world and at events, not at what the
//! machine says of itself.

use provost_run::event::{Event, Proven, RunStatus, StepStatus};
use provost_run::machine::{Input, StepError};
use provost_run::state::State;

use super::explore::Search;
use super::fingerprint::Prints;
use super::machine::{Machine, MachineInput};
use super::node::Node;
use super::world::Class;
use crate::table::{self, TurnInput};

/// A plain write took place twice, and nobody said yes to that.
pub const DOUBLED_PLAIN: &str = "a plain write took place twice";
/// A keyed write took place twice.
pub const DOUBLED_KEYED: &str = "a keyed write took place twice";
/// A write took place that the journal does not know.
pub const LOST: &str = "a write took place whose intent is lost";

/// A call was made that an assertion held back which did not hold.
pub const HELD_BACK: &str = "a call was made that an assertion held back";

/// A call began before what a person had posted was heard.
pub const BEGUN_UNHEARD: &str = "a call began before a posted statement was heard";

/// A write was undone that had not taken place.
pub const UNDONE_UNDONE: &str = "what had not happened was undone";

/// A write was undone more than once.
pub const UNDONE_TWICE: &str = "what happened was undone twice";

/// A person was told that nothing can be undone, and something could.
pub const NOT_UNDONE: &str = "an undo was refused that could take something back";

/// How far a clock goes back, in milliseconds.
const DAY_MS: i64 = 86_400_000;

impl Search<'_> {
    pub(super) fn broke(&mut self, what: &'static str, story: Vec<String>) {
        *self.tally.broken.entry(what).or_default() += 1;
        if self.tally.witness.is_none() {
            let mut lines = vec![format!("{}: {what}", self.case.name)];
            lines.extend(story);
            self.tally.witness = Some(lines);
        }
    }

    /// Looks at what a turn recorded; `state` is the one after it.
    pub(super) fn judge_turn(&mut self, state: &State, heard: TurnInput, events: &[Event]) {
        table::note(&table::Turn { heard, events }, &mut self.tally.marks);
        let kinds = || events.iter().map(|event| event.kind().to_owned()).collect();
        if state.ending.ended.is_some() && state.in_flight() > 0 {
            self.broke("a run ended with a call in flight", kinds());
        }
        for event in events {
            if let Event::PlanRefused { findings, .. } = event {
                let codes = findings.iter().map(|finding| finding.code.clone());
                self.tally.refused.extend(codes);
            }
        }
        let limits = state.limits_in_force();
        let passed = state.spend.attempts > limits.attempts
            || state.spend.calls > limits.calls
            || state.in_flight() as u64 > limits.concurrency
            || u64::from(state.in_force.revision) > limits.revisions + 1;
        if passed {
            self.broke("a limit was passed", kinds());
        }
    }

    /// Looks at a state of the machine that was not seen before.
    pub(super) fn judge_machine(&mut self, machine: &Machine) -> Result<(), String> {
        let state = machine.run.state();
        self.judge_claims(state);
        let fold = Prints::of_state(
            (&machine.fold, machine.run.is_hearing()),
            &machine.reading,
            (self.case, machine.again),
            machine.now,
        );
        if fold != machine.prints {
            self.broke("a journal folds to another state", Vec::new());
        }
        self.tally.ambiguous += machine.facts.ambiguous;
        self.tally.in_doubt += machine.facts.in_doubt;
        if self.bounds.probes {
            self.judge_refusals(machine)?;
        }
        // Why not while people are heard: what lapsed meanwhile lapses when the run goes on.
        if state.ending.ended.is_some() || machine.facts.hears || !self.bounds.probes {
            return Ok(());
        }
        self.tally.faults.insert("a clock goes back");
        let mut run = machine.run.clone();
        let told = run.step(Input::Tick, machine.now - DAY_MS);
        let output = told.map_err(|error| error.to_string())?;
        if !output.append.is_empty() {
            self.broke("something moved before its time", Vec::new());
        }
        self.answers_once(machine);
        Ok(())
    }

    /// A result that comes twice counts once.
    fn answers_once(&mut self, machine: &Machine) {
        let state = machine.run.state();
        let flying = state.items().find(|(_, item)| item.in_flight.is_some());
        let place =
            flying.and_then(|(slot, _)| super::machine::place_of(self.case, machine.again, &slot));
        let Some((place, again)) = place else {
            return;
        };
        let class = Class::Plain;
        let flight = super::world::Flight {
            place,
            again,
            class,
        };
        let Ok(input) = self.input(machine, MachineInput::Ended(flight, 0, true)) else {
            return;
        };
        self.tally.faults.insert("an answer comes twice");
        let (mut run, now) = (machine.run.clone(), machine.now);
        if run.step(input.clone(), now).is_ok() && run.step(input, now).is_ok() {
            self.broke("a result counted twice", Vec::new());
        }
    }

    /// Looks at the world beside what the machine recorded of it.
    pub(super) fn judge_state(&mut self, node: &Node) {
        let counts = node.world.counts();
        let facts = &node.at.facts;
        let story = || node.story.lines(&self.case.places);
        let mut found = Vec::new();
        if counts.iter().any(|count| count.keyed > 1) {
            found.push((DOUBLED_KEYED, story()));
        }
        if counts.iter().any(|count| count.plain > 1) {
            found.push((DOUBLED_PLAIN, story()));
        }
        for (place, count) in counts.iter().enumerate() {
            let [own, added] = count.called;
            let lost = (own && !facts.intended.contains(&(place, false)))
                || (added && !facts.intended.contains(&(place, true)));
            if lost {
                found.push((LOST, story()));
            }
            let held = self
                .case
                .places
                .get(place)
                .filter(|place| self.case.is_held_back(place));
            if held.is_some() && count.called.contains(&true) {
                found.push((HELD_BACK, story()));
            }
        }
        if !facts
            .claimed
            .iter()
            .all(|place| node.world.count(*place).is_there())
        {
            found.push(("a write is said to have succeeded and did not", story()));
        }
        for (place, count) in self.case.places.iter().zip(counts) {
            let of = self.case.undone_by(place);
            if of.is_some_and(|of| count.is_there() && !node.world.count(of).is_there()) {
                found.push((UNDONE_UNDONE, story()));
            }
            let again = self.case.times_undone(place).filter(|place| {
                let count = node.world.count(*place);
                count.is_there()
            });
            if again.count() > 1 {
                found.push((UNDONE_TWICE, story()));
            }
        }
        for (what, story) in found {
            self.broke(what, story);
        }
    }

    /// Whoever is told that nothing is left to undo is told the truth.
    pub(super) fn judge_nothing_to_undo(&mut self, from: &Machine, refused: &StepError) {
        if !matches!(refused, StepError::NothingToUndo { .. }) {
            return;
        }
        let facts = &from.facts;
        let begun = |place: usize| facts.intended.contains(&(place, false));
        let could = facts.claimed.iter().any(|claimed| {
            let place = self.case.places.get(*claimed);
            let mut times = place
                .into_iter()
                .flat_map(|p| self.case.times_undone(p))
                .peekable();
            times.peek().is_some() && !times.any(begun)
        });
        if could {
            self.broke(NOT_UNDONE, Vec::new());
        }
    }

    /// A step that succeeded has an output and evidence; a run that succeeded has proof.
    fn judge_claims(&mut self, state: &State) {
        let empty = state.items().any(|(_, item)| {
            let done = item.status() == Some(StepStatus::Succeeded);
            done && (item.observed.is_none() || item.history.evidence.is_none())
        });
        if empty {
            self.broke("a step succeeded without an outcome", Vec::new());
        }
        let Some(ended) = &state.ending.ended else {
            return;
        };
        let held = ended
            .criteria
            .values()
            .all(|proven| *proven == Proven::Held);
        let open = state.doubts().next().is_some();
        if ended.status == RunStatus::Succeeded && (open || !held) {
            self.broke("a run succeeded without proof", Vec::new());
        }
    }
}
