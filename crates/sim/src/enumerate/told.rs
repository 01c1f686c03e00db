//! What the machine is told: each choice of the search as an input, and what it commands.
//!
//! Owns the endings of a call and the words of planner and people. Never chooses. INVARIANT: a step
//! is made once of each state, input and moment; a process that takes a run up begins from its
//! stored events.

use std::rc::Rc;

use provost_plan::label::Label;
use provost_plan::plan::request::PlanReply;
use provost_plan::policy::{Principal, PrincipalKind};
use provost_run::event::Settlement;
use provost_run::machine::{Command, Input, Receipt, Run, Sealed};
use provost_run::outcome::{Class, Landing, Reply};
use provost_run::state::State;
use provost_run::statement::Statement;
use serde_json::json;

use super::explore::Search;
use super::machine::{Machine, Settled, Stepped, Told, flight_of, slot_of};
use super::world::{self, Flight};
use crate::table::Heard;

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

/// Every ending; the first is no fault. Why timeouts say the same: the machine must not tell.
pub(super) const ENDINGS: [Ending; 6] = [
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
];

/// The one person of the enumeration.
pub(super) fn ada() -> Principal {
    Principal {
        kind: PrincipalKind::User,
        id: "ada".to_owned(),
        groups: Default::default(),
    }
}

impl Search<'_> {
    /// The step from a state of the machine after so many milliseconds, made now or before.
    pub(super) fn stepped(
        &mut self,
        from: &Rc<Machine>,
        told: Told,
        after: i64,
    ) -> Result<Rc<Stepped>, String> {
        if let Some(stepped) = from.steps.borrow().get(&(told, after)) {
            return Ok(stepped.clone());
        }
        let now = from.now + after;
        let mut run = match told {
            Told::Resume => self.folded(from)?,
            _ => from.run.clone(),
        };
        let input = self.input(from.run.state(), told)?;
        let heard = Heard::of(&input);
        let output = run.step(input, now).map_err(|error| error.to_string())?;
        let again = match told {
            Told::Again(place) => Some(place),
            _ => from.again,
        };
        let stepped = self.arrived(run, Some(from.as_ref()), again, heard, output, now)?;
        self.tally.steps += 1;
        let stepped = Rc::new(stepped);
        from.steps
            .borrow_mut()
            .insert((told, after), stepped.clone());
        Ok(stepped)
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
    pub(super) fn input(&self, state: &State, told: Told) -> Result<Input, String> {
        let card = |number: usize| {
            let mut cards = state.open_cards().map(|(digest, _)| *digest);
            cards.nth(number).ok_or("no such card is open")
        };
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
            Told::Ended(flight, number, found) => self.ended(state, flight, number, found)?,
            Told::Plan => planned(plan(self.case.text.clone()))?,
            Told::Again(place) => {
                let place = self.case.places.get(place).ok_or("no such place")?;
                planned(plan(self.case.again(place)))?
            }
            Told::Decline => planned(PlanReply::Decline("nothing better is known".to_owned()))?,
            Told::Yes(number) => says(Statement::Approve {
                card: card(number)?,
                steps: Vec::new(),
            }),
            Told::No(number) => says(Statement::Reject {
                card: card(number)?,
                reason: "no".to_owned(),
                all: false,
            }),
            Told::Settle(place, again, settled) => self.settle(state, (place, again), settled)?,
            Told::Pause => says(Statement::Pause {
                reason: "wait".to_owned(),
            }),
            Told::GoOn => says(Statement::Resume),
            Told::Cancel => says(Statement::Cancel {
                reason: None,
                undo: false,
            }),
            Told::Undo => says(Statement::Cancel {
                reason: None,
                undo: true,
            }),
            Told::Tick => Input::Tick,
            Told::Resume => Input::Resume,
            Told::Proceed => Input::Proceed,
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
                    _ => json!({ "done": true }),
                };
                Reply::ok(output, b"done".to_vec(), "text/plain")
            }
            class => Reply::failed(class, ending.landing, class.word()),
        };
        let known = state.item(&slot);
        let attempt = known.map_or(0, |item| item.flying().unwrap_or(item.attempt));
        Ok(Input::Ended {
            slot,
            attempt,
            reply,
        })
    }

    fn settle(
        &self,
        state: &State,
        (place, again): (usize, bool),
        settled: Settled,
    ) -> Result<Input, String> {
        let flight = Flight {
            place,
            again,
            class: world::Class::Plain,
        };
        let (settled, output) = match settled {
            Settled::Happened => (Settlement::Happened, Some(json!({ "done": true }))),
            Settled::DidNotHappen => (Settlement::DidNotHappen, None),
            Settled::Abandoned => (Settlement::Abandoned, None),
        };
        let slot = slot_of(self.case, flight).ok_or("no such place")?;
        Ok(says(Statement::Settle {
            attempt: state.attempt_in_doubt(&slot),
            slot,
            settled,
            output,
            reason: "seen".to_owned(),
        }))
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
            run: state.run.clone(),
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

fn says(statement: Statement) -> Input {
    Input::unsigned(ada(), statement)
}

fn plan(text: String) -> PlanReply {
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
