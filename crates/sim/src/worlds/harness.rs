//! The harness: one world from its first event to the last thing that can happen in it.
//!
//! Owns the queue of what will happen and the order in which it does. Draws nothing itself: tools,
//! people, planner and faults do. INVARIANT: what happens next depends on the seed alone.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::digest::Digest;
use provost_plan::plan::Goal;
use provost_plan::plan::request::PlanReply;
use provost_run::call::{Call, Slot};
use provost_run::card::CardSubject;
use provost_run::event::{AskMode, RunCreated, Settlement};
use provost_run::machine::{Command, Input, Rules, Run};
use provost_run::outcome::{Class, Landing, Reply};
use provost_run::state::State;
use provost_run::statement::{Statement, StatementRecord};
use serde_json::json;

use super::clock::{Clock, DAY_MS};
use super::faults::{Fault, FaultPlan};
use super::people::People;
use super::planner::{self, Planner};
use super::process::{InputResult, Process, refusal};
use super::scenario::person;
use super::sketch;
use super::tools::{Request, Tools};
use crate::repeats::Looks;
use crate::rng::Rng;
use crate::table::TurnInput;

/// After this time nothing more goes wrong, in milliseconds.
const CALM_AT_MS: i64 = 1_200_000;
/// The most that may happen in one world.
const HAPPENINGS_MAX: usize = 20_000;

/// Something that will happen.
enum Happening {
    /// A request reaches its tool.
    Arrives(Box<Request>),
    /// A call ends for the process that made it.
    Ends(u64, Slot, u32, Box<Reply>),
    /// A timer of a process rings, if it is still the last that was set.
    Rings(u64, u64),
    /// A planner replies.
    Replies(u64, u64, PlanReply),
    /// A person says something.
    Said(Box<Input>),
    /// A person looks what became of a doubtful call, and says so.
    Settles(Slot),
    /// A person lets a paused run go on.
    GoesOn,
    /// A person amends the plan or the goal.
    Amends,
    /// The process dies.
    Dies,
    /// Another takes the run up.
    Returns,
    /// The clock of the machine does something.
    Shifts(Shift),
    /// No fault strikes from here on.
    Calms,
}

enum Shift {
    By(i64),
    Freezes,
    Thaws,
}

/// One world.
pub(super) struct Harness<'r> {
    scenarios: &'r [Rules],
    scenario: usize,
    pub(super) clock: Clock,
    queue: BTreeMap<(i64, u64), Happening>,
    queued: u64,
    pub(super) process: Process,
    pub(super) tools: Tools,
    people: People,
    planner: Planner,
    pub(super) faults: FaultPlan,
    rings: u64,
    /// Statements that people made.
    statements: u64,
    seen: BTreeSet<Digest>,
    unheard: Vec<Input>,
    /// Doubts that people have seen.
    doubted: BTreeSet<(Slot, u32)>,
    /// The attempt that was settled last of each.
    settled: BTreeMap<Slot, Option<Digest>>,
    paused: bool,
    /// Calls of the process in the order they left.
    flying: Vec<(Slot, u32)>,
    pub(super) refusals: BTreeSet<&'static str>,
}

impl<'r> Harness<'r> {
    pub(super) fn new(seed: u64, scenarios: &'r [Rules], looks: Looks) -> Self {
        let mut rng = Rng::new(seed, "stage");
        let mut sketch = sketch::draw(&mut Rng::new(seed, "plan"));
        if planner::is_coarse(seed) {
            sketch.coarse();
        }
        let limits = sketch.limits(&mut rng);
        let scenario = usize::try_from(rng.draw()).unwrap_or(0) % scenarios.len().max(1);
        let mut harness = Self {
            scenarios,
            scenario,
            clock: Clock::default(),
            queue: BTreeMap::new(),
            queued: 0,
            process: Process::new(looks),
            tools: Tools::default(),
            people: People::new(seed),
            planner: Planner::new(seed, sketch),
            faults: FaultPlan::new(seed),
            rings: 0,
            statements: 0,
            seen: BTreeSet::new(),
            unheard: Vec::new(),
            doubted: BTreeSet::new(),
            settled: BTreeMap::new(),
            paused: false,
            flying: Vec::new(),
            refusals: BTreeSet::new(),
        };
        let created = RunCreated {
            run: format!("world{seed}"),
            goal: Goal::of_text("whatever was drawn"),
            planner: harness.planner.choice(),
            fallback: harness.planner.fallback(),
            mode: None,
            principal: person("ada"),
            limits,
            ask: match rng.permille(200) {
                true => AskMode::Plan,
                false => AskMode::Step,
            },
            solo: false,
            signed: false,
            vouched: false,
            rights: None,
            provost: None,
            traceparent: None,
        };
        harness.forecast();
        harness.begin(created);
        harness
    }

    fn rules(&self) -> Option<Rules> {
        self.scenarios.get(self.scenario).cloned()
    }

    fn begin(&mut self, created: RunCreated) {
        let Some(rules) = self.rules() else {
            return;
        };
        let read = self.clock.read();
        match Run::create(created, "drawn", rules, read) {
            Ok((run, output)) => {
                self.process.run = Some(run);
                let faults = &mut self.faults;
                let given = self.process.keep(TurnInput::Create, output, false, faults);
                self.go_on(given);
            }
            Err(error) => self.process.broken.push(error.to_string()),
        }
    }

    /// Queues what will go wrong at a moment of its own.
    fn forecast(&mut self) {
        let at = |harness: &mut Self| harness.faults.ms(0, 240_000);
        for _ in 0..3 {
            if self.faults.strikes(Fault::Crash) {
                let at = at(self);
                self.queue(at, Happening::Dies);
            }
            if self.faults.strikes(Fault::ClockAhead) {
                let at = at(self);
                self.queue(at, Happening::Shifts(Shift::By(DAY_MS)));
            }
            if self.faults.strikes(Fault::ClockBack) {
                let at = at(self);
                self.queue(at, Happening::Shifts(Shift::By(-DAY_MS)));
            }
            if self.faults.strikes(Fault::ClockFrozen) {
                let at = at(self);
                let thaws = at + self.faults.ms(1_000, 120_000);
                self.queue(at, Happening::Shifts(Shift::Freezes));
                self.queue(thaws, Happening::Shifts(Shift::Thaws));
            }
        }
        if self.faults.strikes(Fault::Cancel) {
            let at = at(self);
            let cancel = Statement::Cancel {
                reason: Some("enough".to_owned()),
                undo: false,
            };
            let input = Box::new(Input::unsigned(person("ada"), cancel));
            self.queue(at, Happening::Said(input));
        }
        if self.faults.strikes(Fault::Undo) {
            let at = at(self);
            let (reason, undo) = (None, true);
            let cancel = Statement::Cancel { reason, undo };
            let input = Box::new(Input::unsigned(person("dan"), cancel));
            self.queue(at, Happening::Said(input));
        }
        for _ in 0..2 {
            if self.faults.strikes(Fault::Pause) {
                let at = at(self);
                let reason = "hold on".to_owned();
                let pause = Input::unsigned(person("dan"), Statement::Pause { reason });
                self.queue(at, Happening::Said(Box::new(pause)));
            }
            if self.faults.strikes(Fault::Amend) {
                let at = at(self);
                self.queue(at, Happening::Amends);
            }
        }
        self.queue(CALM_AT_MS, Happening::Calms);
        if self.faults.strikes(Fault::UndoEnded) {
            for at in self.faults.late() {
                let undo = Statement::Undo { reason: None };
                let input = Box::new(Input::unsigned(person("dan"), undo));
                self.queue(at, Happening::Said(input));
            }
        }
    }

    fn queue(&mut self, at: i64, happening: Happening) {
        self.queued += 1;
        self.queue.insert((at, self.queued), happening);
    }

    fn later(&mut self, after: i64, happening: Happening) {
        let at = self.clock.now() + after.max(0);
        self.queue(at, happening);
    }

    /// Lets everything happen that will.
    pub(super) fn play(&mut self) {
        for _ in 0..HAPPENINGS_MAX {
            let Some(((at, _), happening)) = self.queue.pop_first() else {
                return;
            };
            self.clock.go_to(at);
            self.happens(happening);
            if !self.process.broken.is_empty() {
                return;
            }
        }
        self.process
            .broken
            .push("it does not come to an end".to_owned());
    }

    fn happens(&mut self, happening: Happening) {
        let epoch = self.process.epoch;
        match happening {
            Happening::Arrives(request) => self.arrives(&request),
            Happening::Ends(of, slot, attempt, reply) if of == epoch => {
                let at = self
                    .flying
                    .iter()
                    .position(|one| *one == (slot.clone(), attempt));
                if let Some(at) = at {
                    self.flying.remove(at);
                    if at > 0 {
                        self.faults.note(Fault::Reorder);
                    }
                }
                let reply = *reply;
                self.give(&Input::Ended {
                    slot,
                    attempt,
                    reply,
                });
            }
            Happening::Rings(of, ring) if of == epoch && ring == self.rings => {
                self.give(&Input::Tick);
            }
            Happening::Replies(of, id, reply) if of == epoch => {
                self.give(&Input::Planned {
                    id,
                    reply,
                    usage: None,
                });
            }
            Happening::Said(input) => {
                self.said(*input);
                self.proceeds();
            }
            Happening::Settles(slot) => self.settles(slot),
            Happening::GoesOn => {
                self.said(Input::unsigned(person("eve"), Statement::Resume));
            }
            Happening::Amends => {
                let amendment = self.planner.amendment();
                self.said(Input::unsigned(person("dan"), amendment));
            }
            Happening::Dies => self.dies(),
            Happening::Returns => self.returns(),
            Happening::Shifts(Shift::By(by)) => self.shifts(by),
            Happening::Shifts(Shift::Freezes) => self.clock.freeze(),
            Happening::Shifts(Shift::Thaws) => self.clock.thaw(),
            Happening::Calms => {
                self.faults.calm = true;
                self.clock.thaw();
            }
            Happening::Ends(..) | Happening::Rings(..) | Happening::Replies(..) => {}
        }
    }

    /// The clock is set. Why what is under way arrives before it is set ahead: how long a tool is
    /// given is known from the clock alone.
    fn shifts(&mut self, by: i64) {
        if by > 0 {
            let arrives = |happening: &Happening| matches!(happening, Happening::Arrives(_));
            let places = self.queue.iter().filter(|(_, it)| arrives(it));
            let places: Vec<_> = places.map(|(place, _)| *place).collect();
            for place in places {
                if let Some(arrival) = self.queue.remove(&place) {
                    self.happens(arrival);
                }
            }
        }
        self.clock.jump(by);
    }

    fn arrives(&mut self, request: &Request) {
        let now = self.clock.now();
        let replies = self.tools.arrive(request, now, &mut self.faults);
        let epoch = self.process.epoch;
        let (slot, attempt) = (request.call.slot().clone(), request.call.attempt());
        for (at, reply) in replies {
            let ends = Happening::Ends(epoch, slot.clone(), attempt, Box::new(reply));
            self.queue(at, ends);
        }
    }

    /// Somebody says something, whose number stays the same however often it is heard; and now and
    /// then it is said once more after it was heard.
    fn said(&mut self, input: Input) {
        let input = self.numbered(input);
        if self.process.run.is_none() {
            // Why: people wait until somebody is there to hear them.
            self.unheard.push(input);
            return;
        }
        let again = input.clone();
        if !self.give(&input) || self.faults.strikes(Fault::Stale) {
            self.later(5_000, Happening::Said(Box::new(again)));
        }
    }

    /// The input with the number of its statement, and the revision that stands.
    fn numbered(&mut self, input: Input) -> Input {
        let Input::Statement {
            by,
            statement,
            record,
        } = input
        else {
            return input;
        };
        let state = self.process.run.as_ref().map(Run::state);
        let of_card = |state: &State| {
            let card = statement.card().and_then(|card| state.card(&card));
            card.map_or(state.in_force.revision, |known| known.card.revision)
        };
        let revision = state.map_or(0, of_card);
        self.statements += u64::from(record.is_none());
        let nonce = record.map_or_else(|| self.statements.to_string(), |known| known.nonce);
        let record = Some(StatementRecord {
            nonce,
            revision,
            at: self.clock.now(),
            expires_at: i64::MAX,
            key: None,
            signature: None,
            rights: None,
            operation: None,
            via: None,
            vouched: None,
        });
        Input::Statement {
            by,
            statement,
            record,
        }
    }

    /// Gives an input and does what follows; false if the process died over it.
    fn give(&mut self, input: &Input) -> bool {
        if self.process.run.is_none() {
            return false;
        }
        let read = self.clock.read();
        let given = self.process.give(input, read, &mut self.faults);
        self.go_on(given)
    }

    fn go_on(&mut self, given: InputResult) -> bool {
        match given {
            InputResult::Taken(commands) => {
                for command in commands {
                    self.obey(command);
                }
                self.people_look();
                true
            }
            InputResult::Refused(error) => {
                self.refusals.insert(refusal(&error));
                true
            }
            InputResult::Died => {
                self.dies();
                false
            }
        }
    }

    /// People see that a run is paused or in doubt, and will do something about it.
    fn people_look(&mut self) {
        let Some(state) = self.process.run.as_ref().map(Run::state) else {
            return;
        };
        let doubts: Vec<(Slot, u32)> = state
            .items()
            .filter(|(_, item)| item.is_in_doubt())
            .map(|(slot, item)| (slot, item.history.attempt))
            .collect();
        let paused = state.ending.paused.is_some();
        for doubt in doubts {
            let slot = doubt.0.clone();
            if self.doubted.insert(doubt) && self.faults.strikes(Fault::Settle) {
                let after = self.faults.ms(120_000, 600_000);
                self.later(after, Happening::Settles(slot));
            }
        }
        if paused && !self.paused {
            let after = self.faults.ms(1_000, 300_000);
            self.later(after, Happening::GoesOn);
        }
        self.paused = paused;
    }

    /// A person says whether a doubtful call took place, or that nobody will know.
    fn settles(&mut self, slot: Slot) {
        let under_way = self.queue.values().any(|happening| {
            matches!(happening, Happening::Arrives(request) if *request.call.slot() == slot)
        });
        let run = self.process.run.as_ref();
        let attempt = run.and_then(|run| run.state().attempt_in_doubt(&slot));
        if under_way || run.is_none() {
            // Why: who looks before the call can have arrived knows nothing of it.
            self.later(120_000, Happening::Settles(slot));
            return;
        }
        let mut done = self.tools.effects.iter();
        let happened = done.any(|effect| effect.step == slot.to_string());
        let (settled, output) = if self.faults.strikes(Fault::Abandon) {
            (Settlement::Abandoned, None)
        } else if happened {
            let output = json!({ "done": true, "total": 1, "items": [1] });
            (Settlement::Happened, Some(output))
        } else {
            (Settlement::DidNotHappen, None)
        };
        // Why: what was seen before this attempt was in doubt counts for none.
        let before = self.settled.insert(slot.clone(), attempt).flatten();
        let stale = attempt.is_some() && self.faults.strikes(Fault::Stale);
        let attempt = if stale { before } else { attempt };
        if stale {
            self.later(5_000, Happening::Settles(slot.clone()));
        }
        let statement = Statement::Settle {
            slot,
            attempt,
            settled,
            output,
            reason: "looked at it".to_owned(),
        };
        self.said(Input::unsigned(person("bob"), statement));
    }

    fn obey(&mut self, command: Command) {
        let epoch = self.process.epoch;
        match command {
            Command::Call(call) => self.send(*call),
            Command::WaitUntil(at) => {
                self.rings += 1;
                let wait = (at - self.clock.read()).max(1);
                let ring = Happening::Rings(epoch, self.rings);
                self.later(wait, ring);
            }
            Command::Ask(card, digest) if self.seen.insert(digest) => {
                let words = self.people.see_card(&card, digest, &mut self.faults);
                for (after, word) in words {
                    self.later(after, Happening::Said(Box::new(word)));
                }
            }
            Command::Question(question, digest) if self.seen.insert(digest) => {
                let words = self
                    .people
                    .see_question(&question, digest, &mut self.faults);
                for (after, word) in words {
                    self.later(after, Happening::Said(Box::new(word)));
                }
            }
            Command::Plan(request) => {
                let (after, reply) = self.planner.reply(&request, &mut self.faults);
                self.later(after, Happening::Replies(epoch, request.id, reply));
            }
            Command::Ask(..) | Command::Question(..) | Command::Done(_) => {}
        }
    }

    fn send(&mut self, call: Call) {
        let state = self.process.run.as_ref().map(Run::state);
        let repeated = state.is_some_and(|state| is_repetition(state, &call));
        let (slot, attempt) = (call.slot().clone(), call.attempt());
        if !call.operation().effect.is_read() {
            self.process.sends(&slot, attempt);
        }
        self.flying.push((slot.clone(), attempt));
        let now = self.clock.now();
        let (arrives, request) = self.tools.send(call, repeated, now, &mut self.faults);
        let silent = Reply::failed(Class::Timeout, Landing::Unknown, "no answer in time");
        let ends = Happening::Ends(self.process.epoch, slot, attempt, Box::new(silent));
        self.queue(request.until, ends);
        if let Some(at) = arrives {
            self.queue(at, Happening::Arrives(Box::new(request)));
        }
    }

    fn dies(&mut self) {
        let power = self.faults.strikes(Fault::PowerLoss);
        self.process.die(power, &mut self.faults);
        self.flying.clear();
        let away = if self.faults.strikes(Fault::LongAbsence) {
            DAY_MS + self.faults.ms(0, DAY_MS)
        } else {
            self.faults.ms(100, 20_000)
        };
        self.later(away, Happening::Returns);
    }

    fn returns(&mut self) {
        if self.process.run.is_some() {
            return;
        }
        if self.faults.strikes(Fault::RulesMove) {
            self.scenario = (self.scenario + 1) % self.scenarios.len().max(1);
        }
        if let Some(rules) = self.rules() {
            self.process.fold(rules);
        }
        let run = self.process.run.as_ref();
        let last_at = run.map_or(0, |run| run.state().spend.last_at);
        self.clock.begin(last_at);
        let over = self
            .process
            .run
            .as_ref()
            .is_some_and(|run| run.state().ending.ended.is_some());
        if !over {
            self.give(&Input::Resume);
        }
        for word in std::mem::take(&mut self.unheard) {
            self.said(word);
        }
        self.proceeds();
    }

    /// What people said is heard, and what can begin begins: of a run that was over when it was
    /// taken up, once somebody opened it again.
    fn proceeds(&mut self) {
        let run = self.process.run.as_ref();
        if run.is_some_and(|run| run.is_hearing() && run.state().ending.ended.is_none()) {
            self.give(&Input::Proceed);
        }
    }
}

/// Whether a person said yes to a call as to a repetition.
fn is_repetition(state: &State, call: &Call) -> bool {
    let item = state.item(call.slot());
    let approved = item.and_then(|item| item.consent.approved);
    let card = approved.and_then(|(card, _)| state.card(&card));
    card.is_some_and(|card| match &card.card.subject {
        CardSubject::Step { calls, .. } => calls
            .iter()
            .any(|shown| shown.item == call.slot().item && shown.repeats.is_some()),
        CardSubject::Plan { .. } => false,
    })
}
