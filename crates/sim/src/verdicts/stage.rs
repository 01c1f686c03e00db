//! One run of the corpus, from its first event to where nothing more happens.
//!
//! Owns the clock and the queue. Draws nothing: what happens is a function of the stage. INVARIANT:
//! one fault more, or one less, changes nothing before it strikes.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::label::Label;
use provost_plan::plan::request::{NoPlan, PlanReply};
use provost_plan::plan::{Goal, Limits};
use provost_run::admission::{Admission, Denial};
use provost_run::call::{Call, Slot};
use provost_run::card::{Card, CardSubject, Question, QuestionPurpose};
use provost_run::event::{AskMode, Event, PlannerChoice, RunCreated};
use provost_run::machine::{Command, Input, Output, Receipt, Rules, Run};
use provost_run::outcome::{Class, Landing, Reply};
use provost_run::statement::Statement;
use serde_json::Value;

use super::rules::{Moved, person};

/// A journal: events with the moments they were recorded at.
pub type Journal = Vec<(Event, i64)>;

/// When a run begins.
pub(super) const BEGIN_MS: i64 = 1_000_000;
const HAPPENINGS_MAX: usize = 2_000;
/// How long a call takes where nothing slows it.
const CALL_MS: i64 = 100;

/// The records that tools work on, by id.
pub(super) type World = BTreeMap<String, Value>;

/// What a planner replies, in turn; after the last it has nothing more.
#[derive(Clone, Debug)]
pub(super) enum Turn {
    Plan(String, Vec<String>),
    Declines,
    Fails(NoPlan),
    Garbage,
}

/// What goes wrong.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// Attempts of a step fail, from the first on, so often.
    Fails(&'static str, Class, Landing, usize),
    /// The adapter of a step itself refuses an argument, before anything leaves.
    Refuses(&'static str, &'static str),
    /// Calls of a step take so long.
    Slow(&'static str, i64),
    /// A step is answered as if the world were this.
    Lies(&'static str, World),
    /// A step is answered with this.
    Answers(&'static str, Value),
    /// The process dies while a call of the step is on its way.
    Dies(&'static str),
    /// The process dies before the step begins, and the rules are others after it.
    Moves(&'static str, Moved),
    /// Admission puts a step off.
    Denied(&'static str, Denial),
    /// A person says no to a card.
    No,
    /// Nobody answers a card or a question.
    Silence,
    /// A person leaves a step of the plan's card out.
    LeavesOut(&'static str),
    /// A person cancels once an attempt of the step has failed.
    Cancels(&'static str),
    /// The world becomes this once the step was answered.
    WorldMoves(&'static str, World),
}

/// All that a run is made of.
#[derive(Clone)]
pub(super) struct Stage {
    pub(super) rules: fn(Moved) -> Result<Rules, String>,
    pub(super) honest: fn(&str, &Value, &mut World) -> Reply,
    pub(super) goal: Goal,
    pub(super) planner: PlannerChoice,
    pub(super) turns: Vec<Turn>,
    pub(super) ask: AskMode,
    pub(super) limits: Limits,
    pub(super) world: World,
    pub(super) answers: BTreeMap<String, Value>,
    pub(super) faults: Vec<Fault>,
    /// When it begins, in milliseconds.
    pub(super) begins: i64,
}

enum Happening {
    Ends(u64, Slot, u32, Box<Reply>),
    Rings(u64),
    Replies(u64, PlanReply),
    Said(Box<Input>),
    Returns,
}

struct Player<'s> {
    stage: &'s Stage,
    rules: Rules,
    run: Run,
    journal: Journal,
    queue: BTreeMap<(i64, u64), Happening>,
    queued: u64,
    now: i64,
    epoch: u64,
    world: World,
    turns: usize,
    attempts: BTreeMap<String, usize>,
    seen: BTreeSet<String>,
    struck: BTreeSet<&'static str>,
}

/// Plays a stage.
///
/// # Errors
/// A sentence, if the machine refuses what a stage is made of.
pub(super) fn play(stage: &Stage) -> Result<Journal, String> {
    let rules = (stage.rules)(Moved::Nothing)?;
    let created = RunCreated {
        run: "run".to_owned(),
        goal: stage.goal.clone(),
        planner: stage.planner.clone(),
        fallback: None,
        mode: None,
        principal: person("ada"),
        limits: stage.limits.clone(),
        ask: stage.ask,
        solo: false,
        signed: false,
        vouched: false,
        rights: None,
        provost: None,
        traceparent: None,
    };
    let begun = Run::create(created, "corpus", rules.clone(), stage.begins);
    let (run, output) = begun.map_err(|error| error.to_string())?;
    let mut player = Player {
        stage,
        rules,
        run,
        journal: Vec::new(),
        queue: BTreeMap::new(),
        queued: 0,
        now: stage.begins,
        epoch: 0,
        world: stage.world.clone(),
        turns: 0,
        attempts: BTreeMap::new(),
        seen: BTreeSet::new(),
        struck: BTreeSet::new(),
    };
    player.keep(output)?;
    for _ in 0..HAPPENINGS_MAX {
        let Some(((at, _), happening)) = player.queue.pop_first() else {
            return Ok(player.journal);
        };
        player.now = player.now.max(at);
        player.happens(happening)?;
    }
    Err("it does not come to an end".to_owned())
}

impl Player<'_> {
    fn later(&mut self, after: i64, happening: Happening) {
        self.queued += 1;
        self.queue
            .insert((self.now + after.max(1), self.queued), happening);
    }

    fn happens(&mut self, happening: Happening) -> Result<(), String> {
        match happening {
            Happening::Ends(epoch, slot, attempt, reply) if epoch == self.epoch => {
                let failed = reply.class != Class::Ok;
                let step = slot.step.clone();
                self.give(Input::Ended {
                    slot,
                    attempt,
                    reply: *reply,
                })?;
                self.moved_by(&step, failed)
            }
            Happening::Rings(epoch) if epoch == self.epoch => self.give(Input::Tick),
            Happening::Replies(id, reply) => self.give(Input::Planned {
                id,
                reply,
                usage: None,
            }),
            Happening::Said(input) => self.give(*input),
            Happening::Returns => self.returns(),
            Happening::Ends(..) | Happening::Rings(..) => Ok(()),
        }
    }

    /// What follows from it that a step was answered.
    fn moved_by(&mut self, step: &str, failed: bool) -> Result<(), String> {
        for fault in &self.stage.faults {
            match fault {
                Fault::WorldMoves(at, world) if *at == step && self.struck.insert("world") => {
                    self.world.clone_from(world);
                }
                Fault::Cancels(at) if *at == step && failed && self.struck.insert("cancel") => {
                    let (reason, undo) = (None, false);
                    let cancel = Statement::Cancel { reason, undo };
                    self.later(
                        10,
                        Happening::Said(Box::new(Input::unsigned(person("ada"), cancel))),
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn give(&mut self, input: Input) -> Result<(), String> {
        if self.run.state().ending.ended.is_some() {
            return Ok(());
        }
        let mut said = Admission::default();
        for fault in &self.stage.faults {
            if let Fault::Denied(step, denial) = fault {
                let slot = Slot {
                    step: (*step).to_owned(),
                    item: None,
                };
                said.denials.insert(slot, denial.clone());
            }
        }
        match self.run.step_beside(input, self.now, &said) {
            Ok(output) => self.keep(output),
            // Why: who speaks to a card that is gone by then says nothing.
            Err(_) => Ok(()),
        }
    }

    fn keep(&mut self, output: Output) -> Result<(), String> {
        let at = self.run.state().spend.last_at;
        let events = output.append.into_iter().map(|event| (event, at));
        self.journal.extend(events);
        let receipt = Receipt {
            run: "run".to_owned(),
            through: self.journal.len() as u64,
            durable: output.sync,
        };
        let commands = output.commands.open(&receipt).map_err(|e| e.to_string())?;
        for command in commands {
            if !self.obey(command) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Does it; false if the process died over it.
    fn obey(&mut self, command: Command) -> bool {
        match command {
            Command::Call(call) => return self.send(&call),
            Command::WaitUntil(at) => {
                let wait = at - self.now;
                self.later(wait, Happening::Rings(self.epoch));
            }
            Command::Ask(card, digest) if self.seen.insert(digest.to_string()) => {
                self.asked(&card, digest);
            }
            Command::Question(question, digest) if self.seen.insert(digest.to_string()) => {
                self.questioned(&question, digest);
            }
            Command::Plan(request) => {
                let reply = self.reply();
                self.later(50, Happening::Replies(request.id, reply));
            }
            Command::Ask(..) | Command::Question(..) | Command::Done(_) => {}
        }
        true
    }

    fn asked(&mut self, card: &Card, digest: provost_plan::digest::Digest) {
        let faults = &self.stage.faults;
        if faults.iter().any(|fault| matches!(fault, Fault::Silence)) {
            return;
        }
        let no = faults.iter().any(|fault| matches!(fault, Fault::No));
        let left_out = faults.iter().find_map(|fault| match fault {
            Fault::LeavesOut(step) => Some(*step),
            _ => None,
        });
        let steps = match (&card.subject, left_out) {
            (CardSubject::Plan { steps, .. }, Some(out)) => {
                let all = steps.keys().filter(|step| *step != out);
                all.cloned().collect()
            }
            _ => Vec::new(),
        };
        let statement = match no {
            true => Statement::Reject {
                card: digest,
                reason: "not now".to_owned(),
                all: false,
            },
            false => Statement::Approve {
                card: digest,
                steps,
            },
        };
        let said = Input::unsigned(person("bob"), statement);
        self.later(60_000, Happening::Said(Box::new(said)));
    }

    fn questioned(&mut self, question: &Question, digest: provost_plan::digest::Digest) {
        if self
            .stage
            .faults
            .iter()
            .any(|fault| matches!(fault, Fault::Silence))
        {
            return;
        }
        let id = match &question.purpose {
            QuestionPurpose::Step { step } => step.clone(),
            QuestionPurpose::Planner { id, .. } => id.clone(),
            QuestionPurpose::Escalation { .. } | QuestionPurpose::Review { .. } => return,
        };
        let Some(value) = self.stage.answers.get(&id).cloned() else {
            return;
        };
        let statement = Statement::Answer {
            question: digest,
            value,
        };
        let said = Input::unsigned(person("bob"), statement);
        self.later(5_000, Happening::Said(Box::new(said)));
    }

    fn reply(&mut self) -> PlanReply {
        let turn = self.stage.turns.get(self.turns).cloned();
        self.turns += 1;
        match turn {
            Some(Turn::Plan(text, consult)) => PlanReply::Plan {
                text,
                name: "plan".to_owned(),
                author: "whoever plans".to_owned(),
                literals: Label::trusted(),
                control: Label::trusted(),
                consult,
                because: None,
            },
            Some(Turn::Fails(class)) => PlanReply::Failed {
                class,
                reason: "the planner did not answer".to_owned(),
            },
            Some(Turn::Garbage) => PlanReply::Plan {
                text: "}{ no plan".to_owned(),
                name: "plan".to_owned(),
                author: "whoever plans".to_owned(),
                literals: Label::trusted(),
                control: Label::trusted(),
                consult: Vec::new(),
                because: None,
            },
            Some(Turn::Declines) | None => PlanReply::Decline("nothing better is known".to_owned()),
        }
    }

    /// A call leaves; false if the process dies over it.
    fn send(&mut self, call: &Call) -> bool {
        let step = call.slot().step.as_str();
        let count = self.attempts.entry(call.slot().to_string()).or_default();
        *count += 1;
        let count = *count;
        let (mut takes, mut failed) = (CALL_MS, None);
        let (mut lie, mut answer) = (None, None);
        for fault in &self.stage.faults {
            match fault {
                Fault::Fails(at, class, landing, times) if *at == step && count <= *times => {
                    failed = Some(Reply::failed(*class, *landing, "it went wrong"));
                }
                Fault::Refuses(at, arg) if *at == step => failed = Some(refusal(arg)),
                Fault::Slow(at, ms) if *at == step => takes = *ms,
                Fault::Lies(at, world) if *at == step => lie = Some(world.clone()),
                Fault::Answers(at, value) if *at == step => answer = Some(value.clone()),
                Fault::Dies(at) if *at == step && self.struck.insert("dies") => {
                    self.epoch += 1;
                    self.later(20_000, Happening::Returns);
                    return false;
                }
                _ => {}
            }
        }
        let honest = self.stage.honest;
        let name = &call.operation().name;
        let reply = match (failed, answer, lie) {
            (Some(failed), ..) => failed,
            (None, Some(answer), _) => ok(answer),
            (None, None, Some(mut lie)) => honest(name, call.args(), &mut lie),
            (None, None, None) => honest(name, call.args(), &mut self.world),
        };
        let most = i64::try_from(call.timeout().as_millis()).unwrap_or(i64::MAX);
        let reads = call.operation().effect.is_read();
        let silent = takes >= most || reply.class == Class::Timeout;
        let reply = match silent {
            true if reads => Reply::failed(Class::Timeout, Landing::None, "no answer in time"),
            true => Reply::failed(Class::Timeout, Landing::Unknown, "no answer in time"),
            false => reply,
        };
        let takes = if silent { most } else { takes };
        let (slot, attempt) = (call.slot().clone(), call.attempt());
        let ends = Happening::Ends(self.epoch, slot, attempt, Box::new(reply));
        self.later(takes, ends);
        self.dies_before_next(step)
    }

    /// The process dies once this call is away, where the rules move before the step behind it.
    fn dies_before_next(&mut self, step: &str) -> bool {
        let moves = self
            .stage
            .faults
            .iter()
            .any(|fault| matches!(fault, Fault::Moves(at, _) if *at == step));
        if moves && self.struck.insert("moves") {
            self.epoch += 1;
            self.later(20_000, Happening::Returns);
            return false;
        }
        true
    }

    /// Another process takes the run up, under the rules of then.
    fn returns(&mut self) -> Result<(), String> {
        let moved = self.stage.faults.iter().find_map(|fault| match fault {
            Fault::Moves(_, moved) => Some(*moved),
            _ => None,
        });
        if let Some(moved) = moved {
            self.rules = (self.stage.rules)(moved)?;
        }
        let events = self.journal.iter().map(|(event, at)| (event, *at));
        let run = Run::from_journal(events, self.rules.clone());
        self.run = run.map_err(|error| error.to_string())?;
        self.give(Input::Resume)?;
        self.give(Input::Proceed)
    }
}

/// What an adapter says that never takes this argument.
fn refusal(arg: &str) -> Reply {
    Reply {
        refused_args: vec![arg.to_owned()],
        ..Reply::failed(Class::PermissionDenied, Landing::None, "it may not be had")
    }
}

/// A success with this output.
pub(super) fn ok(output: Value) -> Reply {
    let bytes = output.to_string().into_bytes();
    Reply::ok(output, bytes, "application/json")
}
