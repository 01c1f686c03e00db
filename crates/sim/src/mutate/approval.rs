//! What happens between a person's yes and the call, when something moves in between.
//!
//! Owns a plan with approvals, its history over the real run machine, and trials: the process ends
//! at a boundary of the journal and another takes the run up under rules that moved. Never
//! approves anything but what was shown before. INVARIANT: what a yes covers is computed here
//! from what was shown (operation and arguments), by no digest.

use std::sync::Arc;

use provost_plan::catalog::{Catalog, Effect, Idempotency, KeyCarrier, Operation};
use provost_plan::digest::Digest;
use provost_plan::label::Label;
use provost_plan::plan::request::{PlanReply, PlanRequest};
use provost_plan::plan::{Criterion, Goal, Limits};
use provost_plan::policy::{CallFacts, DEFAULT_POLICY, Decision, People, Policy};
use provost_plan::policy::{Principal, PrincipalKind};
use provost_plan::schema::Schema;
use provost_plan::source::Source;
use provost_run::admission::AdmissionRules;
use provost_run::call::Call;
use provost_run::event::{AskMode, Event, PlannerChoice, RunCreated};
use provost_run::machine::{Command, Input, Output, Receipt, Rules, Run};
use provost_run::outcome::{Class, Landing, Reply};
use provost_run::statement::Statement;
use serde_json::{Value, json};

use crate::enumerate::catalog;

/// The plan that is approved.
pub const PLAN: &str = r#"
schema: provost/plan/v1
steps:
  - { id: look, tool: look.up, args: { to: team } }
  - id: mail
    description: Tell the team what was counted
    tool: mail.send
    needs: [look]
    args: { to: team@example.org, text: hello }
    accept: ['${ output.done }']
    retry: { attempts: 3, backoff: 1s }
  - id: pay
    description: Pay what is owed to the account
    tool: pay.out
    needs: [mail]
    args: { to: account-7, amount: 12, parts: [1, 2.5] }
    accept: ['${ output.done }']
  - { id: last, tool: look.up, needs: [pay], args: { to: end } }
success:
  - { for: goal, check: '${ steps.pay.status == "succeeded" && steps.look.output.done }' }
answer: "done ${ steps.last.output.done }"
"#;

/// The goal of the plan.
#[must_use]
pub fn goal() -> Goal {
    Goal {
        text: "Mail team@example.org hello and pay 12 to account-7".to_owned(),
        success: vec![Criterion {
            id: "goal".to_owned(),
            text: "the team was told and the account paid".to_owned(),
        }],
        params: serde_json::Map::new(),
        untrusted: false,
    }
}

/// Who asks for the run.
#[must_use]
pub fn person(id: &str) -> Principal {
    Principal {
        kind: PrincipalKind::User,
        id: id.to_owned(),
        groups: Default::default(),
    }
}

/// The operations of the plan, and one that it does not use.
///
/// # Errors
/// A sentence, if a schema does not load.
pub fn operations() -> Result<Vec<Operation>, String> {
    let known = catalog::operations(false)?;
    let base = known.first().ok_or("no operation to begin with")?;
    let schema = |value: Value| Schema::compile(value).map_err(|error| error.to_string());
    let of = |name: &str, effect: Effect, idempotency: Idempotency, properties: Value| {
        Ok::<Operation, String>(Operation {
            name: name.to_owned(),
            effect,
            idempotency,
            input: schema(json!({
                "type": "object", "required": ["to"], "properties": properties,
                "additionalProperties": false,
            }))?,
            endpoint: json!({ "url": "http://127.0.0.1/tools", "method": "POST" }),
            ..base.clone()
        })
    };
    let key = Idempotency::Key {
        carrier: KeyCarrier::Header("Idempotency-Key".to_owned()),
        ttl_ms: 86_400_000,
    };
    let to = json!({ "to": { "type": "string" } });
    let mail =
        json!({ "to": { "type": "string", "format": "email" }, "text": { "type": "string" } });
    let pay = json!({
        "to": { "type": "string" },
        "amount": { "type": "integer", "minimum": 1, "maximum": 100 },
        "parts": { "type": "array", "items": { "type": "number" } },
    });
    let mut all = vec![
        of("look.up", Effect::Read, Idempotency::Natural, to.clone())?,
        of("mail.send", Effect::External, Idempotency::None, mail)?,
        of("pay.out", Effect::Write, key, pay)?,
        of("disk.wipe", Effect::Destructive, Idempotency::None, to)?,
    ];
    for operation in &mut all {
        if operation.name == "mail.send" {
            operation.tags.insert("email".to_owned());
            operation.content.insert("text".to_owned());
        }
        if operation.name == "pay.out" {
            operation.tags.insert("money".to_owned());
        }
    }
    Ok(all)
}

/// Rules over these operations and this policy; none if the policy does not load.
#[must_use]
pub fn rules(operations: Vec<Operation>, policy: &str, people: &str) -> Option<Rules> {
    let catalog = Arc::new(Catalog::new(operations));
    let people = People::read(&Source::new("entities.json", people)).ok()?;
    let policy = Policy::load(&catalog, &[Source::new("rules.cedar", policy)], &people).ok()?;
    Some(Rules {
        catalog,
        policy: Arc::new(policy),
        admission: AdmissionRules::default(),
    })
}

/// Who there is.
pub const PEOPLE: &str = r#"{ "users": { "ada": {}, "bob": {}, "eve": {} } }"#;

/// The rules under which people said yes.
///
/// # Errors
/// A sentence, if they do not load.
pub fn first_rules() -> Result<Rules, String> {
    rules(operations()?, DEFAULT_POLICY, PEOPLE).ok_or_else(|| "no rules".to_owned())
}

/// A call that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// The step.
    pub step: String,
    /// The operation.
    pub operation: Arc<Operation>,
    /// The arguments.
    pub args: Value,
}

/// A run in this process.
#[derive(Clone)]
pub struct Session {
    /// The machine.
    pub run: Run,
    rules: Rules,
    /// What is stored.
    pub journal: Vec<(Event, i64)>,
    /// The lengths of the journal after each commit.
    pub cuts: Vec<usize>,
    /// The calls that left.
    pub made: Vec<Made>,
    /// What a planner replies when it is shown the first reading; nothing: it declines.
    pub revision: Option<String>,
    flights: Vec<Call>,
    request: Option<PlanRequest>,
    timer: Option<i64>,
    now: i64,
}

impl Session {
    /// A run of the plan that begins.
    ///
    /// # Errors
    /// A sentence, if the machine refuses an input it must take.
    pub fn begin(rules: &Rules, ask: AskMode, revision: Option<String>) -> Result<Self, String> {
        let created = RunCreated {
            run: "approved".to_owned(),
            goal: goal(),
            planner: PlannerChoice::File {
                name: "plan".to_owned(),
                text: PLAN.to_owned(),
                playbook: None,
            },
            fallback: None,
            mode: None,
            principal: person("ada"),
            limits: Limits::default(),
            ask,
            solo: false,
            signed: false,
            vouched: false,
            rights: None,
            provost: None,
            traceparent: None,
        };
        let begun = Run::create(created, "a test", rules.clone(), 0);
        let (run, output) = begun.map_err(|error| error.to_string())?;
        let mut session = Self::of(run, rules, Vec::new());
        session.revision = revision;
        session.keep(output)?;
        Ok(session)
    }

    fn of(run: Run, rules: &Rules, journal: Vec<(Event, i64)>) -> Self {
        Self {
            now: run.state().spend.last_at,
            run,
            rules: rules.clone(),
            journal,
            cuts: Vec::new(),
            made: Vec::new(),
            revision: None,
            flights: Vec::new(),
            request: None,
            timer: None,
        }
    }

    /// A run taken up from a journal, under these rules.
    ///
    /// # Errors
    /// A sentence, if the journal cannot be folded.
    pub fn resume(journal: Vec<(Event, i64)>, rules: &Rules) -> Result<Self, String> {
        let events = journal.iter().map(|(event, at)| (event, *at));
        let run = Run::from_journal(events, rules.clone()).map_err(|e| e.to_string())?;
        let over = run.state().ending.ended.is_some();
        let mut session = Self::of(run, rules, journal);
        // Why: a card that is asked again at the same moment with the same words is the same card.
        session.now = session.now.saturating_add(1_000);
        if !over {
            session.input(Input::Resume)?;
        }
        if session.run.state().ending.ended.is_none() {
            session.input(Input::Proceed)?;
        }
        Ok(session)
    }

    /// Gives the machine an input.
    ///
    /// # Errors
    /// What the machine says to it.
    pub fn input(&mut self, input: Input) -> Result<(), String> {
        let output = self.run.step(input, self.now).map_err(|e| e.to_string())?;
        self.keep(output)
    }

    fn keep(&mut self, output: Output) -> Result<(), String> {
        let at = self.run.state().spend.last_at;
        self.journal
            .extend(output.append.into_iter().map(|event| (event, at)));
        self.cuts.push(self.journal.len());
        let receipt = Receipt {
            run: self.run.state().head.run.clone(),
            through: self.journal.len() as u64,
            durable: true,
        };
        for command in output.commands.open(&receipt).map_err(|e| e.to_string())? {
            match command {
                Command::Call(call) => {
                    self.made.push(Made {
                        step: call.slot().step.clone(),
                        operation: call.operation().clone(),
                        args: call.args().clone(),
                    });
                    self.flights.push(*call);
                }
                Command::Plan(request) => self.request = Some(*request),
                Command::WaitUntil(at) => self.timer = Some(at),
                Command::Ask(..) | Command::Question(..) | Command::Done(_) => {}
            }
        }
        Ok(())
    }

    /// The cards that wait.
    #[must_use]
    pub fn open(&self) -> Vec<Digest> {
        self.run
            .state()
            .open_cards()
            .map(|(digest, _)| *digest)
            .collect()
    }

    /// Says yes to a card.
    ///
    /// # Errors
    /// What the machine says to it.
    pub fn approve(&mut self, card: Digest, by: Principal) -> Result<(), String> {
        let steps = Vec::new();
        self.input(Input::unsigned(by, Statement::Approve { card, steps }))
    }

    /// Does all that happens by itself, until people or nobody is waited for.
    ///
    /// # Errors
    /// A sentence, if the machine refuses an input it must take.
    pub fn go(&mut self) -> Result<(), String> {
        for _ in 0..200 {
            if let Some(call) = self.flights.pop() {
                // Why: the first attempt fails for certain, so that a yes has to last.
                let fails = call.slot().step == "mail" && call.attempt() == 1;
                let reply = if fails {
                    Reply::failed(Class::Unavailable, Landing::None, "not now")
                } else {
                    Reply::ok(json!({ "done": true }), b"done".to_vec(), "text/plain")
                };
                let (slot, attempt) = (call.slot().clone(), call.attempt());
                self.input(Input::Ended {
                    slot,
                    attempt,
                    reply,
                })?;
            } else if let Some(request) = self.request.take() {
                let id = request.id;
                let reply = self.reply(request.why.is_some());
                self.input(Input::Planned {
                    id,
                    reply,
                    usage: None,
                })?;
            } else if let Some(at) = self
                .timer
                .take()
                .filter(|_| self.run.state().ending.ended.is_none())
            {
                self.now = self.now.max(at);
                self.input(Input::Tick)?;
            } else {
                return Ok(());
            }
        }
        Err("it never comes to rest".to_owned())
    }

    fn reply(&mut self, again: bool) -> PlanReply {
        let text = match (again, self.revision.clone()) {
            (false, _) => PLAN.to_owned(),
            (true, Some(text)) => text,
            (true, None) => return PlanReply::Decline("there is one plan only".to_owned()),
        };
        let consult = if self.revision.is_some() && !again {
            vec!["look".to_owned()]
        } else {
            Vec::new()
        };
        PlanReply::Plan {
            text,
            name: "plan".to_owned(),
            author: "a test".to_owned(),
            literals: Label::trusted(),
            control: Label::trusted(),
            consult,
            because: None,
        }
    }

    /// Goes on to the end, with bob's yes to everything that is asked.
    ///
    /// # Errors
    /// A sentence, if the machine refuses an input it must take.
    pub fn finish(&mut self) -> Result<(), String> {
        for _ in 0..20 {
            self.go()?;
            let Some(card) = self.open().first().copied() else {
                return Ok(());
            };
            self.approve(card, person("bob"))?;
        }
        Err("people are asked for ever".to_owned())
    }

    /// Whether people said yes to a step, by what is stored.
    #[must_use]
    pub fn said_yes(&self) -> bool {
        let given = |(event, _): &(Event, i64)| matches!(event, Event::ApprovalGiven { .. });
        self.journal.iter().any(given)
    }
}

/// What people said yes to: the calls of a run in which nothing moved.
#[derive(Clone, Debug)]
pub struct Covered {
    /// The calls.
    pub calls: Vec<Made>,
    /// The policy under which they were asked.
    pub policy: Digest,
}

impl Covered {
    /// Whether a call is one that people saw, or one that policy permits without them.
    #[must_use]
    pub fn covers(&self, made: &Made, yes: bool, rules: &Rules) -> bool {
        let same = |seen: &Made| {
            seen.step == made.step
                && seen.args == made.args
                && seen.operation.value() == made.operation.value()
        };
        let seen = yes && self.policy == rules.policy.digest() && self.calls.iter().any(same);
        seen || permits(made, rules)
    }
}

/// Whether the policy in force permits a call without asking anybody.
fn permits(made: &Made, rules: &Rules) -> bool {
    let empty = serde_json::Map::new();
    let in_force = rules.catalog.get(&made.operation.name);
    let same = in_force.is_some_and(|known| known.value() == made.operation.value());
    let args = made.args.as_object().unwrap_or(&empty);
    // Why trusted: a person wrote every argument of this plan.
    let labels = args.keys().map(|name| (name.clone(), Label::trusted()));
    let verdict = rules.policy.decide(&CallFacts {
        principal: &person("ada"),
        operation: &made.operation,
        role: "",
        args,
        unknown: &Default::default(),
        labels: &labels.collect(),
        control: &Label::trusted(),
        inputs_validated: true,
        values_from_goal: true,
        repeats: Some(0),
        totals: None,
    });
    same && verdict.decision == Decision::Permit
}

impl Session {
    /// The calls that nothing covers.
    #[must_use]
    pub fn uncovered(&self, covered: &Covered) -> Vec<Made> {
        let yes = self.said_yes();
        let free = self
            .made
            .iter()
            .filter(|made| !covered.covers(made, yes, &self.rules));
        free.cloned().collect()
    }
}
