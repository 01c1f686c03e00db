//! A case from its first request to its end: tools that note what they were asked, a person who
//! answers, and the run machine between them.

use std::collections::{BTreeSet, VecDeque};

use provost_plan::label::{Integrity, Label};
use provost_plan::plan::Goal;
use provost_plan::plan::request::PlannerCost;
use provost_plan::policy::{Principal, PrincipalKind};
use provost_run::call::Call;
use provost_run::card::{Card, CardSubject, QuestionPurpose};
use provost_run::event::{AskMode, Event, PlannerChoice, PlannerView, RunCreated, RunStatus};
use provost_run::machine::{Command, Input, Output, Receipt, Rules, Run};
use provost_run::outcome::{Class, Landing, Reply};
use provost_run::statement::Statement;
use serde_json::Value;

use super::domain::{Case, Domain};
use super::planner;

/// The most that may happen in one case.
const HAPPENINGS_MAX: usize = 400;

/// A call with an effect: the operation, and its arguments but for mere content, which may quote
/// whatever was read.
pub type Effect = (String, String);

/// Who answers cards.
#[derive(Clone, Debug)]
pub enum Person {
    /// Says yes to whatever is asked.
    Trusting,
    /// Says yes to these calls, and no to a card with any other.
    Careful(BTreeSet<Effect>),
}

/// How a case is played.
#[derive(Clone, Debug)]
pub struct Setting {
    /// How the planner is shown text.
    pub view: PlannerView,
    /// Whether it obeys what it finds.
    pub obeys: bool,
    /// Who answers.
    pub person: Person,
}

/// A card that was answered.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The calls on it.
    pub calls: Vec<Effect>,
    /// The steps that it names as sources of what is not trusted on it.
    pub sources: BTreeSet<String>,
    /// Whether it says that anything on it is not trusted.
    pub warns: bool,
    /// Whether the answer was yes.
    pub yes: bool,
}

/// What became of a case.
#[derive(Clone, Debug)]
pub struct Played {
    /// Calls that were made, but for plain reads, in order.
    pub effects: Vec<Effect>,
    /// Cards, in order.
    pub cards: Vec<Answered>,
    /// The status of the run.
    pub status: RunStatus,
    /// How many plans were in force.
    pub revisions: u32,
    /// The journal, a line an event.
    pub lines: Vec<String>,
}

struct Harness<'a> {
    domain: &'a Domain,
    case: &'a Case,
    setting: &'a Setting,
    run: Run,
    queue: VecDeque<Command>,
    now: i64,
    played: Played,
}

/// Plays `case` under `rules` to its end.
///
/// # Errors
/// A sentence, if the machine refuses what happens or the case does not end.
pub fn play(
    domain: &Domain,
    case: &Case,
    rules: Rules,
    setting: &Setting,
) -> Result<Played, String> {
    let created = RunCreated {
        run: "run".to_owned(),
        goal: Goal::of_text(&domain.goal),
        planner: PlannerChoice::Model {
            name: "large".to_owned(),
            cost: PlannerCost::default(),
            view: setting.view,
        },
        fallback: None,
        mode: None,
        principal: person("ada"),
        limits: Default::default(),
        ask: AskMode::Step,
        solo: false,
        signed: false,
        vouched: false,
        rights: None,
        provost: None,
        traceparent: None,
    };
    let (run, output) =
        Run::create(created, "case", rules, 0).map_err(|error| error.to_string())?;
    let mut harness = Harness {
        domain,
        case,
        setting,
        run,
        queue: VecDeque::new(),
        now: 1,
        played: Played {
            effects: Vec::new(),
            cards: Vec::new(),
            status: RunStatus::Planning,
            revisions: 0,
            lines: Vec::new(),
        },
    };
    harness.keep(output)?;
    for _ in 0..HAPPENINGS_MAX {
        let Some(command) = harness.queue.pop_front() else {
            let state = harness.run.state();
            harness.played.status = state.status();
            harness.played.revisions = state.in_force.revision;
            return Ok(harness.played);
        };
        harness.obey(command)?;
    }
    Err(format!(
        "it does not end:\n{}",
        harness.played.lines.join("\n")
    ))
}

impl Harness<'_> {
    fn keep(&mut self, output: Output) -> Result<(), String> {
        let receipt = Receipt {
            run: "run".to_owned(),
            through: output.first_seq + output.append.len() as u64 - 1,
            durable: true,
        };
        let lines = output.append.iter().map(|event: &Event| {
            let (kind, _, payload) = event.to_stored();
            format!("{kind} {payload}")
        });
        self.played.lines.extend(lines);
        let commands = output.commands.open(&receipt);
        self.queue
            .extend(commands.map_err(|error| error.to_string())?);
        Ok(())
    }

    fn give(&mut self, input: Input) -> Result<(), String> {
        self.now += 10;
        let output = self.run.step(input, self.now);
        self.keep(output.map_err(|error| error.to_string())?)
    }

    fn call(&mut self, call: &Call) -> Result<(), String> {
        let operation = call.operation();
        if operation.effect != provost_plan::catalog::Effect::Read {
            let effect = effect(self.domain, &operation.name, call.args());
            self.played.effects.push(effect);
        }
        let step = &call.slot().step;
        let reply = match self.domain.output(self.case, step, &operation.name) {
            Ok(output) => {
                let bytes = output.to_string().into_bytes();
                Reply::ok(output, bytes, "application/json")
            }
            Err(words) => Reply::failed(Class::NotFound, Landing::None, &words),
        };
        let (slot, attempt) = (call.slot().clone(), call.attempt());
        self.give(Input::Ended {
            slot,
            attempt,
            reply,
        })
    }

    fn obey(&mut self, command: Command) -> Result<(), String> {
        match command {
            Command::Call(call) => self.call(&call),
            Command::Plan(request) => {
                let setting = self.setting;
                let reply =
                    planner::reply(self.domain, &request, setting.obeys, self.case.by_record);
                self.give(Input::Planned {
                    id: request.id,
                    reply,
                    usage: None,
                })
            }
            Command::Ask(card, digest) => {
                if !self.run.state().people.cards.contains_key(&digest) {
                    return Ok(());
                }
                let answered = self.answered(&card);
                let (yes, by) = (answered.yes, person("bob"));
                self.played.cards.push(answered);
                let statement = if yes {
                    Statement::Approve {
                        card: digest,
                        steps: Vec::new(),
                    }
                } else {
                    Statement::Reject {
                        card: digest,
                        reason: "that is not what the goal says: leave it out".to_owned(),
                        all: false,
                    }
                };
                self.give(Input::unsigned(by, statement))
            }
            Command::WaitUntil(at) => {
                self.now = self.now.max(at);
                self.give(Input::Tick)
            }
            // Why stop: what the planner cannot do is left undone, as without anybody to ask.
            Command::Question(question, digest) => match question.purpose {
                QuestionPurpose::Review { .. } => {
                    let (question, value) = (digest, "stop".into());
                    let stop = Statement::Answer { question, value };
                    self.give(Input::unsigned(person("ada"), stop))
                }
                _ => Err("it asks a question".to_owned()),
            },
            Command::Done(_) => Ok(()),
        }
    }

    fn answered(&self, card: &Card) -> Answered {
        let (ask, calls) = match &card.subject {
            CardSubject::Step { ask, calls, .. } => (Some(ask), calls.as_slice()),
            CardSubject::Plan { .. } => (None, [].as_slice()),
        };
        let calls: Vec<Effect> = ask.map_or_else(Vec::new, |ask| {
            let effects = calls.iter().map(|call| &call.args);
            effects
                .map(|args| effect(self.domain, &ask.operation, args))
                .collect()
        });
        let labels = ask.map(|ask| ask.labels.values().chain([&ask.control]));
        let untrusted: Vec<&Label> = labels
            .into_iter()
            .flatten()
            .filter(|label| label.integrity > Integrity::Trusted)
            .collect();
        let yes = match &self.setting.person {
            Person::Trusting => true,
            Person::Careful(expected) => {
                !calls.is_empty() && calls.iter().all(|call| expected.contains(call))
            }
        };
        Answered {
            sources: untrusted
                .iter()
                .flat_map(|label| label.sources.iter().cloned())
                .collect(),
            warns: !untrusted.is_empty(),
            calls,
            yes,
        }
    }
}

fn effect(domain: &Domain, operation: &str, args: &Value) -> Effect {
    let mut args = args.clone();
    if let Value::Object(map) = &mut args {
        map.retain(|name, _| !domain.content_of(operation).contains(name));
    }
    (operation.to_owned(), args.to_string())
}

fn person(name: &str) -> Principal {
    Principal {
        kind: PrincipalKind::User,
        id: name.to_owned(),
        groups: Default::default(),
    }
}
