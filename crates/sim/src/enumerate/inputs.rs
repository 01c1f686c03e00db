//! What the machine is told: each choice of the search as an input, and what it commands.
//!
//! Owns the endings of a call and the words of planner and people. Never chooses. INVARIANT: a step
//! is made once of each state, input and moment; a process that takes a run up begins from its
//! stored events.

use std::rc::Rc;

use provost_plan::label::Label;
use provost_plan::plan::request::PlanReply;
use provost_run::machine::{Command, Input, Receipt, Run, Sealed, StepError};
use provost_run::outcome::{Class, Landing, Reply};
use provost_run::state::State;
use serde_json::json;

use super::explore::Search;
use super::machine::{Machine, MachineInput, Outside, Stepped, flight_of, slot_of};
use super::people::Saying;
use super::refusals::direct;
use super::world::{self, Flight};
use crate::table::TurnInput;

/// How a call ends.
pub(super) struct Ending {
    pub(super) name: &'static str,
    class: Class,
    landing: Landing,
    /// Whether the effect takes place.
    pub(super) effect: bool,
}

const fn ending(name: &'static str, class: Class, landing: Landing, effect: bool) -> Ending {
    Ending {
        name,
        class,
        landing,
        effect,
    }
}

/// The ending of a write that takes place when nobody waits for it any more.
pub(super) const LATE: usize = 5;

/// The ending of a poll that goes on: no fault either.
pub(super) const NOT_YET: usize = 6;

/// Every ending; the first is no fault. Why timeouts say the same: the machine must not tell.
pub(super) const ENDINGS: [Ending; 7] = [
    ending("ok", Class::Ok, Landing::Happened, true),
    ending("refused", Class::Unavailable, Landing::None, false),
    ending("denied", Class::PermissionDenied, Landing::None, false),
    ending(
        "timeout before the effect",
        Class::Timeout,
        Landing::Unknown,
        false,
    ),
    ending(
        "timeout after the effect",
        Class::Timeout,
        Landing::Unknown,
        true,
    ),
    ending(
        "timeout long before the effect",
        Class::Timeout,
        Landing::Unknown,
        false,
    ),
    ending("not yet", Class::Ok, Landing::Happened, false),
];

impl Search<'_> {
    /// The step from a state of the machine after so many milliseconds, made now or before; none
    /// if the run does not take it. What is outside is told to it as a store tells it.
    pub(super) fn stepped(
        &mut self,
        from: &Rc<Machine>,
        told: MachineInput,
        (after, outside): (i64, Outside),
    ) -> Result<Option<Rc<Stepped>>, String> {
        let key = (told, after, outside);
        if let Some(stepped) = from.steps.borrow().get(&key) {
            return Ok(Some(stepped.clone()));
        }
        let now = from.now + after;
        let mut run = match told {
            MachineInput::Resume => self.folded(from)?,
            // Why folded: nobody drives a run that has ended.
            MachineInput::Says(_, Saying::UndoEnded) => self.folded(from)?.as_folded(),
            _ => from.run.clone(),
        };
        let input = match self.input(from, told) {
            // Why: what was posted is about a run that may have lost what it was about.
            Err(_) if matches!(told, MachineInput::Posted(..)) => return Ok(None),
            input => input?,
        };
        let heard = TurnInput::of(&input);
        let beside = self.beside(outside);
        let output = match beside.step(&mut run, &input, now) {
            Err(refused) if self.may_be_refused(told, &refused) => {
                // Why: it was folded to hear this, and is compared with what it was before.
                if !from.facts.hears {
                    run.go_on();
                }
                self.judge_unchanged(from, &run);
                self.judge_nothing_to_undo(from, &refused);
                return Ok(None);
            }
            output => output.map_err(|error| format!("{told:?}: {error}"))?,
        };
        let again = match told {
            MachineInput::Again(place) => Some(place),
            _ => from.again,
        };
        self.judge_repeats(from, &output.append, &beside);
        let stepped = self.arrived(run, Some(from.as_ref()), again, heard, output, now)?;
        self.tally.steps += 1;
        let stepped = Rc::new(stepped);
        from.steps.borrow_mut().insert(key, stepped.clone());
        Ok(Some(stepped))
    }

    /// Whether a run may refuse what is right by all that the search knows of it.
    fn may_be_refused(&mut self, told: MachineInput, refused: &StepError) -> bool {
        match told {
            // Why: after a loss of power the run may be another than it was posted to.
            MachineInput::Posted(..) => true,
            MachineInput::Says(_, Saying::Amend(_)) => {
                self.tally.faults.insert("an amendment is refused");
                matches!(refused, StepError::Amendment { .. })
            }
            MachineInput::Says(_, Saying::UndoEnded) => {
                self.tally.faults.insert("nothing is left to undo");
                matches!(refused, StepError::NothingToUndo { .. })
            }
            _ => false,
        }
    }

    /// What a process finds that takes the run up.
    fn folded(&mut self, machine: &Machine) -> Result<Run, String> {
        if !self.bounds.probes {
            // Why: every state was compared with the fold of its events when it was reached.
            return Ok(machine.run.clone());
        }
        let events = machine.journal.events().into_iter();
        let run = Run::from_journal(events, self.rules.clone()).map_err(|e| e.to_string())?;
        if run.seq() != machine.run.seq() {
            self.broke("a journal folds to another state", Vec::new());
        }
        Ok(run)
    }

    /// The input that a choice stands for.
    pub(super) fn input(&self, from: &Machine, told: MachineInput) -> Result<Input, String> {
        let state = from.run.state();
        let planned = |reply: PlanReply| {
            let waiting = state.planning.outstanding.as_ref();
            let id = waiting.ok_or("no planner is asked")?.id;
            Ok::<Input, &str>(Input::Planned {
                id,
                reply,
                usage: None,
            })
        };
        Ok(match told {
            MachineInput::Ended(flight, number, found) => {
                self.ended(state, flight, number, found)?
            }
            MachineInput::Plan => planned(plan(self.case.text.clone()))?,
            MachineInput::Again(place) => {
                let place = self.case.places.get(place).ok_or("no such place")?;
                planned(plan(self.case.again(place)))?
            }
            MachineInput::Decline => {
                planned(PlanReply::Decline("nothing better is known".to_owned()))?
            }
            MachineInput::Longer => planned(plan(self.case.amended(None)))?,
            MachineInput::Says(by, saying) => direct(by, self.statement(from, saying)?),
            MachineInput::Posted(by, saying, anew) => {
                let statement = self.statement(from, saying)?;
                let of = statement.card().and_then(|card| state.card(&card));
                let revision = of.map_or(from.reading.revision(), |known| known.card.revision);
                self.posted(state, by, (statement, revision), anew)?
            }
            MachineInput::Tick => Input::Tick,
            MachineInput::Resume => Input::Resume,
            MachineInput::Proceed => Input::Proceed,
        })
    }

    fn ended(
        &self,
        state: &State,
        flight: Flight,
        number: usize,
        found: bool,
    ) -> Result<Input, String> {
        let slot = slot_of(self.case, flight).ok_or("no such place")?;
        let ending = ENDINGS.get(number).ok_or("no such ending")?;
        let reply = match ending.class {
            Class::Ok => {
                let output = match flight.class {
                    world::Class::Find => json!({ "found": found }),
                    _ => json!({ "done": number != NOT_YET }),
                };
                Reply::ok(output, b"done".to_vec(), "text/plain")
            }
            class => Reply::failed(class, ending.landing, class.word()),
        };
        let known = state.item(&slot);
        let attempt = known.map_or(0, |item| item.flying().unwrap_or(item.history.attempt));
        Ok(Input::Ended {
            slot,
            attempt,
            reply,
        })
    }

    /// What an output commands, once it is committed.
    pub(super) fn open(
        &self,
        state: &State,
        again: Option<usize>,
        through: u64,
        commands: Sealed,
    ) -> Result<(Vec<Flight>, bool, Option<i64>), String> {
        let receipt = Receipt {
            run: state.head.run.clone(),
            through,
            durable: true,
        };
        let (mut flights, mut asks_planner, mut timer) = (Vec::new(), false, None);
        for command in commands.open(&receipt).map_err(|error| error.to_string())? {
            match command {
                Command::Call(call) => {
                    let flight = flight_of(&call, state, self.case, again);
                    flights.push(flight.ok_or("a call of no step of the plan")?);
                }
                Command::Plan(_) => asks_planner = true,
                Command::WaitUntil(at) => timer = Some(at),
                Command::Ask(..) | Command::Question(..) | Command::Done(_) => {}
            }
        }
        Ok((flights, asks_planner, timer))
    }
}

pub(super) fn plan(text: String) -> PlanReply {
    PlanReply::Plan {
        text,
        name: "plan".to_owned(),
        author: "enumeration".to_owned(),
        literals: Label::trusted(),
        control: Label::trusted(),
        consult: Vec::new(),
        because: None,
    }
}
