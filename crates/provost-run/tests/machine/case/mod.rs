//! One fluent case: inputs in, a transcript of events and commands out.
//!
//! Owns a small catalog, a policy and the bookkeeping of calls in flight. Lines beginning with `+`
//! are events kept, with `>` commands handed over, with `<` inputs, with `!` refusals.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use provost_plan::catalog::{Catalog, Effect, Idempotency, KeyCarrier, Operation, Role};
use provost_plan::digest::Digest;
use provost_plan::label::Label;
use provost_plan::plan::request::{
    PlanReply, PlanRequest, PlannerCost, PlannerUsage, PlanningMode,
};
use provost_plan::plan::{Criterion, Goal, Limits};
use provost_plan::policy::{
    DEFAULT_POLICY, People, Policy, Principal, PrincipalKind, SOLO_FILE, SOLO_POLICY,
};
use provost_plan::schema::Schema;
use provost_plan::source::Source;
use provost_run::admission::{Admission, AdmissionEntry, Denial};
use provost_run::call::Slot;
use provost_run::card::{Card, CardPreview, CardSubject, ConcreteCall, PreviewResult, StepAsk};
use provost_run::event::{AskMode, Event, PlannerChoice, PlannerView, RunCreated, Settlement};
use provost_run::machine::{Blob, Command, Input, Output, Receipt, Rules, Run};
use provost_run::outcome::{Class, Landing, Reply};
use provost_run::state::State;
use provost_run::statement::{PlanText, Statement};
use serde_json::{Value, json};

mod lines;
mod others;
mod shared;
pub mod world;

pub use lines::line;
use others::Others;
use shared::Shared;
pub use world::{asked_about, reconciled, rules, rules_of, rules_with};

pub fn person(name: &str) -> Principal {
    Principal {
        kind: PrincipalKind::User,
        id: name.to_owned(),
        groups: Default::default(),
    }
}

/// Another process takes a run up, to whom nobody said anything; what that appends.
pub fn take_up(run: &mut Run, at: i64) -> Vec<Event> {
    let mut events = Vec::new();
    for input in [Input::Resume, Input::Proceed] {
        if run.state().ending.ended.is_none() {
            events.extend(run.step(input, at).unwrap().append);
        }
    }
    events
}

pub struct Case {
    pub run: Option<Run>,
    pub journal: Vec<(Event, i64)>,
    rules: Rules,
    replies: VecDeque<PlanReply>,
    flights: Vec<(Slot, u32)>,
    keys: Vec<(String, String)>,
    transcript: String,
    now: i64,
    limits: Limits,
    ask: AskMode,
    signed: bool,
    goal: Goal,
    waiting: Option<u64>,
    absent_planner: bool,
    planner: PlannerChoice,
    fallback: Option<String>,
    mode: Option<PlanningMode>,
    requests: Vec<PlanRequest>,
    said: Admission,
    others: Others,
    entries: Vec<AdmissionEntry>,
    evidence: BTreeSet<Digest>,
    shared: Shared,
}

/// `step` or `step[2]`.
fn slot_of(text: &str) -> Slot {
    let (step, item) = match text.trim_end_matches(']').split_once('[') {
        Some((step, item)) => (step, Some(item.parse().unwrap())),
        None => (text, None),
    };
    Slot {
        step: step.to_owned(),
        item,
    }
}

pub fn plan_reply(text: &str, consult: &[&str]) -> PlanReply {
    PlanReply::Plan {
        text: text.to_owned(),
        name: "plan".to_owned(),
        author: "test".to_owned(),
        literals: Label::trusted(),
        control: Label::trusted(),
        consult: consult.iter().map(|step| (*step).to_owned()).collect(),
        because: None,
    }
}

impl Case {
    /// A case under the solo policy with one plan.
    pub fn new(plan: &str) -> Self {
        Self::of(rules_with(|_| {}), plan)
    }

    pub fn planned_by(mut self, planner: PlannerChoice) -> Self {
        self.planner = planner;
        self
    }

    /// What people say to it has to be signed.
    pub fn signed(mut self) -> Self {
        self.signed = true;
        self
    }

    /// A case in a workspace of several people.
    pub fn under(policy: &str, plan: &str) -> Self {
        Self::of(rules(policy), plan)
    }

    pub fn of(rules: Rules, plan: &str) -> Self {
        Self {
            run: None,
            journal: Vec::new(),
            rules,
            replies: VecDeque::from([plan_reply(plan, &[])]),
            flights: Vec::new(),
            keys: Vec::new(),
            transcript: String::new(),
            now: 1_000,
            limits: Limits::default(),
            ask: AskMode::Step,
            signed: false,
            goal: Goal::of_text("test"),
            waiting: None,
            absent_planner: false,
            planner: PlannerChoice::Playbook {
                name: "test".to_owned(),
            },
            fallback: None,
            mode: None,
            requests: Vec::new(),
            said: Admission::default(),
            others: Others::default(),
            entries: Vec::new(),
            evidence: BTreeSet::new(),
            shared: Shared::default(),
        }
    }

    pub fn consulting(mut self, plan: &str, steps: &[&str]) -> Self {
        self.replies = VecDeque::from([plan_reply(plan, steps)]);
        self
    }

    /// The plan is by a planner whose literals and choice carry these labels.
    pub fn labelled(mut self, of_literals: &Label, of_control: &Label) -> Self {
        for reply in &mut self.replies {
            if let PlanReply::Plan {
                literals, control, ..
            } = reply
            {
                literals.clone_from(of_literals);
                control.clone_from(of_control);
            }
        }
        self
    }

    pub fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    pub fn ask_for_plan(mut self) -> Self {
        self.ask = AskMode::Plan;
        self
    }

    /// The planner's next reply is a plan.
    pub fn replans(mut self, plan: &str) -> Self {
        self.replies.push_back(plan_reply(plan, &[]));
        self
    }

    pub fn replies(mut self, reply: PlanReply) -> Self {
        self.replies.push_back(reply);
        self
    }

    /// Drops the planner's next reply, if it was not asked for one; whether there was any.
    pub fn drop_reply(&mut self) -> bool {
        self.replies.pop_front().is_some()
    }

    /// The goal has these criteria.
    pub fn criteria(mut self, ids: &[&str]) -> Self {
        let criterion = |id: &&str| Criterion {
            id: (*id).to_owned(),
            text: format!("{id} holds"),
        };
        self.goal.success = ids.iter().map(criterion).collect();
        self
    }

    /// The goal has this text.
    pub fn goal_text(mut self, text: &str) -> Self {
        text.clone_into(&mut self.goal.text);
        self
    }

    /// The goal has this parameter.
    pub fn param(mut self, name: &str, value: Value) -> Self {
        self.goal.params.insert(name.to_owned(), value);
        self
    }

    /// The planner does not reply from here on: its replies are given by `planner_replies`.
    pub fn planner_is_away(mut self) -> Self {
        self.absent_planner = true;
        self
    }

    /// A model plans, at this cost.
    pub fn planner_costs(mut self, cost: PlannerCost) -> Self {
        let name = "test".to_owned();
        let view = PlannerView::default();
        self.planner = PlannerChoice::Model { name, cost, view };
        self
    }

    /// Planning proceeds so.
    pub fn in_mode(mut self, mode: PlanningMode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// A program plans.
    pub fn by_a_program(mut self) -> Self {
        self.planner = PlannerChoice::Process {
            program: "test".to_owned(),
            view: PlannerView::References,
        };
        self
    }

    /// A program plans that is shown text in clear.
    pub fn in_full_view(mut self) -> Self {
        self.planner = PlannerChoice::Process {
            program: "test".to_owned(),
            view: PlannerView::Full,
        };
        self
    }

    pub fn planner_replies(self, reply: PlanReply) -> Self {
        self.planner_takes(None, reply)
    }

    /// The same with what the reply took.
    pub fn planner_takes(mut self, usage: Option<PlannerUsage>, reply: PlanReply) -> Self {
        let id = self.waiting.take().expect("a request waits");
        self.push("< the planner replies");
        self.give(Input::Planned { id, reply, usage })
    }

    /// What the planner was asked, in order.
    pub fn requests(&self) -> &[PlanRequest] {
        &self.requests
    }

    /// Begins, and drops what was written of it: the first plan is in force.
    pub fn started(self) -> Self {
        self.begin().quietly()
    }

    pub fn begin(mut self) -> Self {
        let created = RunCreated {
            run: "run".to_owned(),
            goal: self.goal.clone(),
            planner: self.planner.clone(),
            fallback: self.fallback.clone(),
            mode: self.mode,
            principal: person("ada"),
            limits: self.limits.clone(),
            ask: self.ask,
            solo: self.rules.policy.is_solo(),
            signed: self.signed,
            vouched: false,
            rights: None,
            provost: None,
            traceparent: None,
        };
        let (rules, now) = (self.rules.clone(), self.now);
        let begun = Run::create_beside(created, "test", rules, now, &self.said);
        let (run, output) = begun.unwrap();
        self.run = Some(run);
        self.keep(output);
        self
    }

    pub fn at(mut self, ms: i64) -> Self {
        self.now = ms;
        self
    }

    /// Gives an input and keeps what follows.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a test gives an input where it makes it"
    )]
    pub fn give(mut self, input: Input) -> Self {
        self.input(&input);
        self
    }

    fn input(&mut self, input: &Input) {
        let before = format!("{:?}", self.state());
        let begun = self.run.clone().expect("begun");
        let said = self.said.clone();
        let (run, result) = self.others.step(&begun, said, input, self.now);
        self.run = Some(run);
        match result {
            Ok(output) => self.keep(output),
            Err(error) => {
                writeln!(self.transcript, "! {error}").unwrap();
                assert_eq!(
                    before,
                    format!("{:?}", self.state()),
                    "a refusal changes nothing"
                );
            }
        }
    }

    pub fn state(&self) -> &State {
        self.run.as_ref().expect("begun").state()
    }

    /// A line of the test's own in the transcript.
    fn push(&mut self, line: &str) {
        writeln!(self.transcript, "{line}").unwrap();
    }

    /// The call of a slot (`step` or `step[2]`) ends.
    pub fn ends(mut self, slot: &str, reply: Reply) -> Self {
        let found = self
            .flights
            .iter()
            .position(|(known, _)| known.to_string() == slot);
        let index = found.unwrap_or_else(|| panic!("no call of {slot}:\n{}", self.transcript));
        let (slot, attempt) = self.flights.remove(index);
        writeln!(
            self.transcript,
            "< {slot}#{attempt} {} {}",
            reply.class.word(),
            reply.landing.word()
        )
        .unwrap();
        self.give(Input::Ended {
            slot,
            attempt,
            reply,
        })
    }

    pub fn tick(mut self, ms: i64) -> Self {
        self.now = ms;
        writeln!(self.transcript, "< tick {ms}").unwrap();
        self.give(Input::Tick)
    }

    /// The process dies and another takes the run up from the journal.
    pub fn crash(mut self) -> Self {
        writeln!(self.transcript, "< crash").unwrap();
        self.flights.clear();
        self.waiting = None;
        self.run = Some(self.folded(self.journal.len()));
        self.give(Input::Resume).proceed()
    }

    /// People were heard, if the run is not over by then.
    pub fn proceed(self) -> Self {
        match self.state().ending.ended {
            None => self.give(Input::Proceed),
            Some(_) => self,
        }
    }

    /// The same, and before anything begins these statements are heard.
    pub fn crash_and_hear(mut self, statements: Vec<(&str, Statement)>) -> Self {
        writeln!(self.transcript, "< crash").unwrap();
        self.flights.clear();
        self.waiting = None;
        self.run = Some(self.folded(self.journal.len()));
        let mut case = self.give(Input::Resume);
        for (by, statement) in statements {
            writeln!(case.transcript, "< {by} {}", statement.verb()).unwrap();
            case = case.says(by, statement);
        }
        case.push("< people are heard");
        case.proceed()
    }

    /// The run that the first `length` events of the journal fold to.
    pub fn folded(&self, length: usize) -> Run {
        let events = self
            .journal
            .iter()
            .take(length)
            .map(|(event, at)| (event, *at));
        Run::from_journal(events, self.rules.clone()).unwrap()
    }

    /// Nothing new begins from here on in this process.
    pub fn hold(mut self) -> Self {
        self.push("< hold");
        self.run.as_mut().unwrap().hold();
        self
    }

    /// The rules change under the run, which is then taken up.
    pub fn crash_into(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self.crash()
    }

    pub fn open_card(&self) -> Digest {
        *self.state().open_cards().next().expect("an open card").0
    }

    /// What the open card shows.
    pub fn card(&self) -> &Card {
        self.state().open_cards().next().expect("an open card").1
    }

    /// A person makes a statement, without an envelope.
    pub fn says(self, by: &str, statement: Statement) -> Self {
        self.give(Input::unsigned(person(by), statement))
    }

    pub fn approve_card(mut self, by: &str, card: Digest) -> Self {
        writeln!(self.transcript, "< {by} says yes to that card").unwrap();
        let steps = Vec::new();
        self.says(by, Statement::Approve { card, steps })
    }

    pub fn approve(self, by: &str) -> Self {
        self.approve_steps(by, &[])
    }

    pub fn approve_steps(mut self, by: &str, steps: &[&str]) -> Self {
        let named: String = steps.iter().map(|step| format!(" {step}")).collect();
        writeln!(self.transcript, "< {by} says yes{named}").unwrap();
        let card = self.open_card();
        let steps = steps.iter().map(|step| (*step).to_owned()).collect();
        self.says(by, Statement::Approve { card, steps })
    }

    /// A no to a card, or to all that is left.
    pub fn rejects(mut self, by: &str, card: Digest, all: bool) -> Self {
        writeln!(self.transcript, "< {by} says no to that card").unwrap();
        let reason = "not so".to_owned();
        self.says(by, Statement::Reject { card, reason, all })
    }

    pub fn reject(mut self, by: &str, reason: &str) -> Self {
        writeln!(self.transcript, "< {by} says no").unwrap();
        let card = self.open_card();
        let reason = reason.to_owned();
        self.says(
            by,
            Statement::Reject {
                card,
                reason,
                all: false,
            },
        )
    }

    pub fn answer(mut self, by: &str, value: Value) -> Self {
        writeln!(self.transcript, "< {by} answers {value}").unwrap();
        let question = *self
            .state()
            .open_questions()
            .next()
            .unwrap_or_else(|| panic!("no question:\n{}", self.transcript))
            .0;
        self.says(by, Statement::Answer { question, value })
    }

    pub fn cancel(mut self, by: &str) -> Self {
        writeln!(self.transcript, "< {by} cancels").unwrap();
        let (reason, undo) = (None, false);
        self.says(by, Statement::Cancel { reason, undo })
    }

    pub fn cancel_and_undo(mut self, by: &str) -> Self {
        writeln!(self.transcript, "< {by} cancels, undoing").unwrap();
        let (reason, undo) = (None, true);
        self.says(by, Statement::Cancel { reason, undo })
    }

    /// Somebody takes a run up that has ended, and has undone what it did.
    pub fn undo(mut self, by: &str) -> Self {
        writeln!(self.transcript, "< {by} has it undone").unwrap();
        let reason = Some("wrong list".to_owned());
        self.says(by, Statement::Undo { reason })
    }

    /// A person settles a doubt.
    pub fn settle(mut self, slot: &str, settled: Settlement, output: Option<Value>) -> Self {
        writeln!(self.transcript, "< ada settles {slot}: {}", settled.word()).unwrap();
        let slot = slot_of(slot);
        let statement = Statement::Settle {
            attempt: self.state().attempt_in_doubt(&slot),
            slot,
            settled,
            output,
            reason: "I looked".to_owned(),
        };
        self.says("ada", statement)
    }

    pub fn pause(mut self) -> Self {
        self.push("< bob pauses");
        let reason = "lunch".to_owned();
        self.says("bob", Statement::Pause { reason })
    }

    pub fn go_on(mut self) -> Self {
        self.push("< ada lets it go on");
        self.says("ada", Statement::Resume)
    }

    /// From here on admission lets these slots not begin; empty: everything is admitted.
    pub fn denying(mut self, denials: Vec<(&str, Denial)>) -> Self {
        let named = denials
            .into_iter()
            .map(|(slot, denial)| (slot_of(slot), denial));
        self.said.denials = named.collect();
        self
    }

    pub fn amends(mut self, by: &str, plan: Option<&str>, goal: Option<&str>) -> Self {
        writeln!(self.transcript, "< {by} amends").unwrap();
        let plan = plan.map(|text| PlanText {
            name: "amended".to_owned(),
            text: text.to_owned(),
        });
        let statement = Statement::Amend {
            plan,
            goal: goal.map(str::to_owned),
            reason: "for a test".to_owned(),
        };
        self.says(by, statement)
    }

    /// Drops what was written so far from the transcript.
    pub fn quietly(mut self) -> Self {
        self.transcript.clear();
        self
    }

    /// The keys sent, by slot and attempt.
    pub fn keys(&self) -> &[(String, String)] {
        &self.keys
    }

    pub fn transcript(&self) -> String {
        self.transcript.clone()
    }

    pub fn status(&self) -> &'static str {
        self.state().status().word()
    }

    fn keep(&mut self, output: Output) {
        let Output {
            append,
            first_seq,
            sync,
            commands,
            admission,
            blobs,
        } = output;
        self.shared.take(&admission);
        self.entries = admission;
        self.evidence.extend(blobs.iter().map(Blob::digest));
        for event in &append {
            writeln!(self.transcript, "+ {}", line(event)).unwrap();
            // Why: every event must survive being stored.
            let (kind, version, payload) = event.to_stored();
            assert_eq!(
                &Event::from_stored(&kind, version, &payload).unwrap(),
                event
            );
            if let Event::ObservationMade { evidence, .. } = event {
                assert!(self.evidence.contains(evidence), "its bytes are kept");
            }
        }
        let through = first_seq + append.len() as u64 - 1;
        let at = self.state().spend.last_at;
        self.journal
            .extend(append.into_iter().map(|event| (event, at)));
        assert_eq!(
            through,
            self.journal.len() as u64,
            "sequence numbers have no gaps"
        );
        // Why: a process that dies here must come back to exactly this state.
        let folded = self.folded(self.journal.len());
        assert_eq!(
            format!("{:?}", folded.state()),
            format!("{:?}", self.state())
        );
        assert_eq!(folded.seq(), self.run.as_ref().unwrap().seq());
        self.shared.check(&self.journal);
        let receipt = Receipt {
            run: "run".to_owned(),
            through,
            durable: sync,
        };
        for command in commands.open(&receipt).unwrap() {
            self.command(command);
        }
        if self.absent_planner {
            return;
        }
        if let Some(id) = self.waiting.take() {
            let none = PlanReply::Decline("nothing better is known".to_owned());
            let reply = self.replies.pop_front().unwrap_or(none);
            self.input(&Input::Planned {
                id,
                reply,
                usage: None,
            });
        }
    }

    fn command(&mut self, command: Command) {
        let text = match command {
            Command::Call(call) => {
                self.flights.push((call.slot().clone(), call.attempt()));
                if let Some(key) = call.key() {
                    self.keys.push((
                        format!("{}#{}", call.slot(), call.attempt()),
                        key.to_owned(),
                    ));
                }
                let (slot, attempt) = (call.slot(), call.attempt());
                format!(
                    "call {slot}#{attempt} {} {}",
                    call.operation().name,
                    call.args()
                )
            }
            Command::WaitUntil(at) => format!("wait until {at}"),
            Command::Ask(card, _) => format!("ask about {}", card.step().unwrap_or("the plan")),
            Command::Question(question, _) => format!("question {:?}", question.text),
            Command::Plan(request) => {
                self.waiting = Some(request.id);
                let why = serde_json::to_value(&request.why).unwrap();
                let why = why["kind"]
                    .as_str()
                    .map_or_else(String::new, |kind| format!(": {kind}"));
                let id = request.id;
                self.requests.push(*request);
                format!("plan request {id}{why}")
            }
            Command::Done(ended) => format!("done {}", ended.status.word()),
        };
        writeln!(self.transcript, "> {text}").unwrap();
    }
}

pub fn ok(output: Value) -> Reply {
    let bytes = output.to_string().into_bytes();
    Reply::ok(output, bytes, "application/json")
}

pub fn failed(class: Class, landing: Landing) -> Reply {
    Reply::failed(class, landing, "it went wrong")
}
