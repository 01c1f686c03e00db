//! Statements that must not count, tried in every state of the machine.
//!
//! Owns what is stale, said twice, or said by somebody who may not. Never follows what comes of
//! one: nothing may. INVARIANT: what must not count is known from the journal, not from the state.

use provost_plan::digest::{Digest, Domain};
use provost_run::call::Slot;
use provost_run::machine::{Input, Run};
use provost_run::statement::Statement;
use serde_json::json;

use super::explore::Search;
use super::fingerprint::Prints;
use super::machine::{Machine, Settled, slot_of};
use super::people::{Amendment, NONCE, Person, Saying, settlement};
use super::reading::{COUNTED_FOR_ANOTHER, COUNTED_OF_ANYBODY, COUNTED_TWICE, LAPSED_WRONGLY};
use super::world::{Class, Flight};

/// A statement that was refused changed the run.
const CHANGED: &str = "a statement that was refused changed the run";
/// A statement to a run that is over counted.
const COUNTED_LATE: &str = "a statement to a run that is over counted";

/// What is for a run that is over counted before.
const COUNTED_EARLY: &str = "an undo after the end counted before the end";

/// Inputs, and what it would be if they counted.
type Wrong = Vec<(Input, &'static str)>;

impl Search<'_> {
    /// Says to a machine whatever must not count.
    pub(super) fn judge_refusals(&mut self, machine: &Machine) -> Result<(), String> {
        let mut wrong = self.of_anybody(machine)?;
        wrong.extend(self.stale(machine));
        wrong.extend(self.replayed(machine)?);
        if machine.facts.ended.is_none() {
            let early = self.statement(machine, Saying::UndoEnded)?;
            wrong.push((direct(Person::Ada, early), COUNTED_EARLY));
        }
        if machine.facts.ended.is_some() {
            let late = [Saying::Pause, Saying::GoOn, Saying::Cancel, Saying::Undo];
            for saying in late {
                let statement = self.statement(machine, saying)?;
                wrong.push((direct(Person::Ada, statement), COUNTED_LATE));
            }
        }
        let mut run = machine.run.clone();
        for (input, what) in wrong {
            // Why one that records nothing: who pauses what is paused has changed nothing.
            if run
                .step(input, machine.now)
                .is_ok_and(|output| !output.append.is_empty())
            {
                self.broke(what, Vec::new());
                return Ok(());
            }
        }
        self.judge_late(machine, &mut run);
        self.judge_unchanged(machine, &run);
        self.tally.faults.insert("a statement that must not count");
        Ok(())
    }

    /// Answers each open question at the very moment at which it lapses.
    fn judge_late(&mut self, machine: &Machine, run: &mut Run) {
        for (question, at) in machine.reading.due() {
            let value = json!("go");
            let late = direct(Person::Bob, Statement::Answer { question, value });
            if run.step(late, at).is_ok() {
                self.broke(LAPSED_WRONGLY, Vec::new());
            }
        }
    }

    /// Looks at a run that refused something in this state.
    pub(super) fn judge_unchanged(&mut self, machine: &Machine, run: &Run) {
        let about = (self.case, machine.again);
        let after = Prints::of(run, &machine.reading, about, machine.now);
        if after != machine.prints || run.seq() != machine.run.seq() {
            self.broke(CHANGED, Vec::new());
        }
    }

    /// What would be right, by who may not say it.
    fn of_anybody(&self, machine: &Machine) -> Result<Wrong, String> {
        let state = machine.run.state();
        let mut sayings = vec![
            Saying::Pause,
            Saying::Cancel,
            Saying::Undo,
            Saying::UndoEnded,
        ];
        sayings.extend(machine.facts.paused.then_some(Saying::GoOn));
        for card in 0..machine.facts.cards.len() {
            sayings.extend([Saying::Yes(card), Saying::No(card, false)]);
        }
        for question in 0..machine.facts.questions.len() {
            sayings.push(Saying::Answer(question, 0));
        }
        for (place, again, _) in &machine.facts.doubts {
            sayings.push(Saying::Settle(*place, *again, Settled::Abandoned));
        }
        if self.case.is_amended() {
            let amendments = [Amendment::Goal, Amendment::Longer].map(Saying::Amend);
            sayings.extend(amendments);
        }
        let mut wrong = Wrong::new();
        for saying in sayings {
            let statement = self.statement(machine, saying)?;
            wrong.push((direct(Person::Agent, statement.clone()), COUNTED_OF_ANYBODY));
            if !state.head.solo {
                wrong.push((
                    direct(Person::Mallory, statement.clone()),
                    COUNTED_OF_ANYBODY,
                ));
            }
            for by in [Person::Ada, Person::Bob] {
                let card = statement.card();
                let may = card.is_none_or(|card| machine.reading.may_answer(&card, by.id()));
                if !may {
                    wrong.push((direct(by, statement.clone()), COUNTED_OF_ANYBODY));
                }
            }
        }
        Ok(wrong)
    }

    /// Answers to what waits for none, and settlements of another attempt.
    fn stale(&self, machine: &Machine) -> Wrong {
        let nobody = Digest::of_value(Domain::Card, &json!("nobody's"));
        let (mut cards, mut questions) = machine.reading.closed();
        cards.push(nobody);
        questions.push(nobody);
        let mut wrong = Wrong::new();
        for by in [Person::Ada, Person::Bob] {
            for card in &cards {
                let (card, steps, reason) = (*card, Vec::new(), "no".to_owned());
                let yes = Statement::Approve { card, steps };
                let no = Statement::Reject {
                    card,
                    reason,
                    all: false,
                };
                wrong.extend([yes, no].map(|said| (direct(by, said), COUNTED_FOR_ANOTHER)));
            }
            for question in &questions {
                let (question, value) = (*question, json!("go"));
                let answer = Statement::Answer { question, value };
                wrong.push((direct(by, answer), COUNTED_FOR_ANOTHER));
            }
            for (slot, attempt) in machine.reading.stale() {
                let said = settlement(slot.clone(), Some(*attempt), Settled::Abandoned);
                wrong.push((direct(by, said), COUNTED_FOR_ANOTHER));
            }
            for slot in self.doubtful(machine) {
                for attempt in [None, Some(nobody)] {
                    let said = settlement(slot.clone(), attempt, Settled::Abandoned);
                    wrong.push((direct(by, said), COUNTED_FOR_ANOTHER));
                }
            }
        }
        wrong
    }

    fn doubtful(&self, machine: &Machine) -> Vec<Slot> {
        let doubts = machine.facts.doubts.iter();
        let flights = doubts.map(|(place, again, _)| Flight {
            place: *place,
            again: *again,
            class: Class::Plain,
        });
        flights
            .filter_map(|flight| slot_of(self.case, flight))
            .collect()
    }

    /// What was heard before, and what is about another revision.
    fn replayed(&mut self, machine: &Machine) -> Result<Wrong, String> {
        let state = machine.run.state();
        let mut wrong = Wrong::new();
        let revision = machine.reading.revision();
        if machine.reading.holds(NONCE) {
            for saying in [Saying::Pause, Saying::Cancel] {
                let statement = self.statement(machine, saying)?;
                let input = self.posted(state, Person::Ada, (statement, revision), false)?;
                wrong.push((input, COUNTED_TWICE));
            }
        }
        let amends = self.statement(machine, Saying::Amend(Amendment::Goal))?;
        let mut about = vec![amends];
        for question in 0..machine.facts.questions.len() {
            about.push(self.statement(machine, Saying::Answer(question, 0))?);
        }
        for card in 0..machine.facts.cards.len() {
            about.push(self.statement(machine, Saying::Yes(card))?);
        }
        for statement in about {
            let of = statement.card().and_then(|card| state.card(&card));
            let of = of.map_or(revision, |known| known.card.revision);
            let taken = self.posted(state, Person::Bob, (statement, of + 1), false);
            if taken.is_ok() {
                self.broke(COUNTED_FOR_ANOTHER, Vec::new());
            }
        }
        Ok(wrong)
    }
}

/// A statement that somebody makes who takes the run up, or drives it.
pub(super) fn direct(by: Person, statement: Statement) -> Input {
    Input::unsigned(by.principal(), statement)
}
