//! A journal as the spans and records of a trace.
//!
//! Owns which events are a span, under which it stands, and what is told of it. Sends nothing.
//! INVARIANT: ids follow from the store, the run and the number of an event, so a trace that is
//! told twice is the same trace; a reason, a message and a person are in none of it, and a goal, an
//! argument and a result only as far as `content` is asked for.

use std::collections::BTreeMap;

use provost_plan::check::PlanRecord;
use provost_plan::digest::{Digest, Domain};
use provost_plan::label::Label;
use serde::Serialize;
use serde_json::Value;

use crate::call::{Purpose, Slot};
use crate::event::{AttemptEnded, AttemptStarted, EndedBy, Event, RunEnded, StepStatus};
use crate::outcome::Class;
use crate::read::why::{Party, Witnesses, why};
use crate::shown::result;
use crate::trace_parent::TraceParent;

mod content;
mod told;

pub use content::SpanContent;
use told::{EventTold, purpose, slot_of, told, word_of};

/// The part of an event that begins a call which is the call itself.
const ATTEMPT: &str = "attempt";

/// What a trace is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TraceId(pub [u8; 16]);

/// What a span is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpanId(pub [u8; 8]);

/// Whether a span is work of ours or a request to somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// Work of ours.
    Internal,
    /// A request to a tool or a model.
    Client,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanValue {
    /// A text.
    Text(String),
    /// A whole number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// What a run was about. Whoever sends it takes known secrets out, and cuts it.
    Content(Value),
}

/// Attributes in the order in which they were told.
pub type Attributes = Vec<(&'static str, SpanValue)>;

/// Something that took time and is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSpan {
    /// Its id.
    pub id: SpanId,
    /// The span it is a part of; none of a run.
    pub parent: Option<SpanId>,
    /// Where whoever began the run was, of the span of a run.
    pub link: Option<TraceParent>,
    /// What it is.
    pub name: String,
    /// Whose work.
    pub kind: SpanKind,
    /// When it began, in milliseconds since 1970.
    pub begin_ms: i64,
    /// When it ended.
    pub end_ms: i64,
    /// The number of the event that ended it.
    pub end: u64,
    /// What is told of it.
    pub attributes: Attributes,
    /// The class by which it failed.
    pub error: Option<String>,
}

/// Something that happened at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanRecord {
    /// The span in which it happened.
    pub span: SpanId,
    /// What happened.
    pub name: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// The number of the event that tells it.
    pub seq: u64,
    /// What is told of it.
    pub attributes: Attributes,
}

/// What a journal tells of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSpans {
    /// The trace of the run.
    pub trace: TraceId,
    /// The spans that are over, in the order in which they ended.
    pub spans: Vec<TraceSpan>,
    /// What happened in them.
    pub records: Vec<SpanRecord>,
}

/// Reads the journal of a run of a store: events with the moments they were recorded at. A span
/// that is not over is left out, and its children are not.
#[must_use]
pub fn spans(store: &str, run: &str, events: &[(Event, i64)], content: SpanContent) -> RunSpans {
    let origin = format!("{store}{run}");
    let mut walk = SpanWalk {
        origin: origin.clone(),
        seq: 0,
        spans: Vec::new(),
        records: Vec::new(),
        planner: String::new(),
        version: None,
        plan: None,
        open: BTreeMap::new(),
        attempts: BTreeMap::new(),
        slots: BTreeMap::new(),
        content,
        goal: "",
    };
    for (at, (event, at_ms)) in events.iter().enumerate() {
        walk.event(at as u64 + 1, event, *at_ms);
        if let Event::RunEnded(ended) = event {
            walk.run_ended(ended, events.get(..=at).unwrap_or(events), *at_ms);
        }
    }
    RunSpans {
        trace: trace_of(&origin),
        spans: walk.spans,
        records: walk.records,
    }
}

fn trace_of(origin: &str) -> TraceId {
    let digest = Digest::of_bytes(Domain::Trace, origin.as_bytes());
    let (trace, _) = digest.bytes().split_at(16);
    TraceId(trace.try_into().unwrap_or_default())
}

/// The id of a part of what the event of this number opens.
fn span_of(origin: &str, seq: u64, part: &str) -> SpanId {
    let mut bytes = origin.as_bytes().to_vec();
    bytes.extend(seq.to_be_bytes());
    bytes.extend(part.bytes());
    let digest = Digest::of_bytes(Domain::Trace, &bytes);
    let (id, _) = digest.bytes().split_at(8);
    SpanId(id.try_into().unwrap_or_default())
}

/// The place in its trace of the attempt that begins with the event of this number: that of the
/// span which is told once it is over.
#[must_use]
pub fn attempt_place(store: &str, run: &str, seq: u64) -> TraceParent {
    let origin = format!("{store}{run}");
    TraceParent::recorded(trace_of(&origin).0, span_of(&origin, seq, ATTEMPT).0)
}

/// A span that is not over.
struct OpenSpan<'e> {
    seq: u64,
    begin_ms: i64,
    of: OpenSpanPart<'e>,
}

enum OpenSpanPart<'e> {
    Request {
        kind: String,
    },
    Wait {
        name: &'static str,
        attributes: Attributes,
    },
    Attempt(&'e AttemptStarted),
}

/// The calls of a step or an item.
struct SlotSpan<'e> {
    seq: u64,
    begin_ms: i64,
    first: &'e AttemptStarted,
    tries: u64,
    landing: Option<&'static str>,
    /// The labels of its arguments.
    labels: Option<&'e BTreeMap<String, Label>>,
    /// Its label, and what it is unless that is secret.
    result: Option<(&'e Label, Option<&'e Value>)>,
}

struct SpanWalk<'e> {
    origin: String,
    /// The number of the event that is looked at.
    seq: u64,
    spans: Vec<TraceSpan>,
    records: Vec<SpanRecord>,
    planner: String,
    version: Option<String>,
    /// The plan in force.
    plan: Option<&'e PlanRecord>,
    /// Requests and cards, by what ends them.
    open: BTreeMap<String, OpenSpan<'e>>,
    attempts: BTreeMap<(&'e Slot, u32), OpenSpan<'e>>,
    slots: BTreeMap<&'e Slot, SlotSpan<'e>>,
    /// How much is told of what it was about.
    content: SpanContent,
    goal: &'e str,
}

fn text(value: impl Into<String>) -> SpanValue {
    SpanValue::Text(value.into())
}

impl<'e> SpanWalk<'e> {
    fn id(&self, seq: u64) -> SpanId {
        self.id_of(seq, "")
    }

    /// The id of a part of what an event opens.
    fn id_of(&self, seq: u64, part: &str) -> SpanId {
        span_of(&self.origin, seq, part)
    }

    /// The span of the run, which its first event opens.
    fn root(&self) -> SpanId {
        self.id(1)
    }

    fn event(&mut self, seq: u64, event: &'e Event, at_ms: i64) {
        self.seq = seq;
        match told(event) {
            EventTold::Record { name, attributes } => {
                let span = match slot_of(event).and_then(|slot| self.slots.get(slot)) {
                    Some(slot) => self.id(slot.seq),
                    None => self.root(),
                };
                let mut all = vec![("provost.seq", SpanValue::Number(seq))];
                all.extend(attributes);
                self.records.push(SpanRecord {
                    span,
                    name: format!("provost.{name}"),
                    at_ms,
                    seq,
                    attributes: all,
                });
            }
            EventTold::Opens {
                key,
                name,
                attributes,
            } => {
                let of = OpenSpanPart::Wait { name, attributes };
                self.begin(key, seq, at_ms, of);
            }
            EventTold::Closes { key, outcome } => self.close(&key, &outcome, at_ms),
            EventTold::Nothing => {}
        }
        match event {
            Event::RunCreated(created) => {
                created.planner.label().clone_into(&mut self.planner);
                (self.content, self.goal) = (self.content.of(created), &created.goal.text);
            }
            Event::GoalInterpreted {
                planner: Some(planner),
                ..
            } => planner.label().clone_into(&mut self.planner),
            Event::ObservationMade { .. } => self.observed(event),
            Event::PlanRequested { id, kind, .. } => {
                let of = OpenSpanPart::Request {
                    kind: word_of(kind),
                };
                self.begin(format!("request {id}"), seq, at_ms, of);
            }
            Event::BudgetSpent { id, usage } => self.asked_model(*id, usage, at_ms),
            Event::PlanChecked { record, .. } => self.plan = Some(record),
            Event::AttemptStarted(started) => self.attempt(seq, started, at_ms),
            Event::AttemptEnded(ended) => self.attempt_ended(ended, at_ms),
            Event::StepSettled {
                slot,
                status,
                class,
                ..
            } if *status != StepStatus::InDoubt => {
                self.settled(slot, *status, class.map(Class::word), at_ms);
            }
            _ => {}
        }
    }

    fn begin(&mut self, key: String, seq: u64, begin_ms: i64, of: OpenSpanPart<'e>) {
        let open = OpenSpan { seq, begin_ms, of };
        self.open.insert(key, open);
    }

    /// Adds a span that is over, as a part of the run.
    fn over(&mut self, span: SpanFacts, end_ms: i64) {
        let seq = span.seq;
        let mut attributes = vec![("provost.seq", SpanValue::Number(seq))];
        attributes.extend(span.attributes);
        if let Some(error) = &span.error {
            attributes.push(("error.type", text(error.clone())));
        }
        self.spans.push(TraceSpan {
            id: self.id(seq),
            parent: Some(self.root()),
            link: None,
            name: span.name,
            kind: SpanKind::Internal,
            begin_ms: span.begin_ms,
            end_ms,
            end: self.seq,
            attributes,
            error: span.error,
        });
    }

    fn close(&mut self, key: &str, outcome: &str, end_ms: i64) {
        let Some(open) = self.open.remove(key) else {
            return;
        };
        let (name, mut attributes, error) = match open.of {
            OpenSpanPart::Request { kind } => {
                let failed = outcome != "proposed";
                let attributes = vec![
                    ("gen_ai.operation.name", text("plan")),
                    ("gen_ai.agent.name", text(self.planner.clone())),
                    ("provost.request.kind", text(kind)),
                ];
                let name = format!("plan {}", self.planner);
                (name, attributes, failed.then(|| outcome.to_owned()))
            }
            OpenSpanPart::Wait { name, attributes } => (name.to_owned(), attributes, None),
            OpenSpanPart::Attempt(_) => return,
        };
        attributes.push(("provost.outcome", text(outcome)));
        let span = SpanFacts {
            seq: open.seq,
            begin_ms: open.begin_ms,
            name,
            attributes,
            error,
        };
        self.over(span, end_ms);
    }

    /// The request to a model of a planner, as a part of the planner's.
    fn asked_model(
        &mut self,
        id: u64,
        usage: &provost_plan::plan::request::PlannerUsage,
        at_ms: i64,
    ) {
        let Some(model) = &usage.model else {
            return;
        };
        self.version.clone_from(&usage.prompt);
        let Some(open) = self.open.get(&format!("request {id}")) else {
            return;
        };
        let (seq, begin_ms) = (open.seq, open.begin_ms);
        let mut attributes = vec![
            ("gen_ai.operation.name", text("chat")),
            ("gen_ai.request.model", text(model.clone())),
            (
                "gen_ai.usage.input_tokens",
                SpanValue::Number(usage.tokens_in),
            ),
            (
                "gen_ai.usage.output_tokens",
                SpanValue::Number(usage.tokens_out),
            ),
            (
                "gen_ai.usage.cache_read.input_tokens",
                SpanValue::Number(usage.tokens_cached),
            ),
        ];
        if let Some(prompt) = &usage.prompt {
            attributes.push(("provost.prompt.version", text(prompt.clone())));
        }
        if let Some(cost) = usage.cost {
            attributes.push(("provost.cost", text(cost.to_string())));
        }
        self.spans.push(TraceSpan {
            // Why not of the event alone: the planner's span has that.
            id: self.id_of(seq, "model"),
            parent: Some(self.id(seq)),
            link: None,
            name: format!("chat {model}"),
            kind: SpanKind::Client,
            begin_ms,
            end_ms: at_ms,
            end: self.seq,
            attributes,
            error: None,
        });
    }

    fn attempt(&mut self, seq: u64, started: &'e AttemptStarted, at_ms: i64) {
        let step = self
            .plan
            .and_then(|plan| plan.steps.get(&started.slot.step));
        let slot = self.slots.entry(&started.slot).or_insert(SlotSpan {
            seq,
            begin_ms: at_ms,
            first: started,
            tries: 0,
            landing: None,
            labels: None,
            result: None,
        });
        if started.purpose == Purpose::Effect {
            // Why: what is shown on a card beforehand is another call than that of the step.
            (slot.first, slot.labels) = (started, step.map(|step| &step.labels));
            slot.tries += 1;
        }
        let open = OpenSpan {
            seq,
            begin_ms: at_ms,
            of: OpenSpanPart::Attempt(started),
        };
        self.attempts.insert((&started.slot, started.attempt), open);
    }

    fn observed(&mut self, event: &'e Event) {
        if let Some((slot, label, output)) = result(event)
            && let Some(calls) = self.slots.get_mut(slot)
        {
            calls.result = Some((label, output));
        }
    }

    fn attempt_ended(&mut self, ended: &'e AttemptEnded, end_ms: i64) {
        let Some(open) = self.attempts.remove(&(&ended.slot, ended.attempt)) else {
            return;
        };
        let OpenSpanPart::Attempt(started) = open.of else {
            return;
        };
        let Some(slot) = self.slots.get_mut(&ended.slot) else {
            return;
        };
        if started.purpose == Purpose::Effect {
            slot.landing = Some(ended.landing.word());
        }
        let parent = slot.seq;
        let mut attributes = vec![
            ("provost.step", text(ended.slot.to_string())),
            ("provost.attempt", SpanValue::Number(ended.attempt.into())),
            ("provost.purpose", text(purpose(&started.purpose))),
            ("provost.class", text(ended.class.word())),
            ("provost.landing", text(ended.landing.word())),
            ("provost.keyed", SpanValue::Flag(started.key.is_some())),
        ];
        if ended.lost {
            attributes.push(("provost.lost", SpanValue::Flag(true)));
        }
        if let Some(took) = ended.took_us {
            attributes.push(("provost.took_us", SpanValue::Number(took)));
        }
        let failed = ended.class != Class::Ok;
        let error = failed.then(|| ended.class.word().to_owned());
        if let Some(error) = &error {
            attributes.push(("error.type", text(error.clone())));
        }
        self.spans.push(TraceSpan {
            // Why not of the event alone: the first of a step opens the span of the step.
            id: self.id_of(open.seq, ATTEMPT),
            parent: Some(self.id(parent)),
            link: None,
            name: format!("provost.attempt {}", started.operation),
            kind: SpanKind::Client,
            begin_ms: open.begin_ms,
            end_ms,
            end: self.seq,
            attributes,
            error,
        });
    }

    fn settled(
        &mut self,
        slot: &'e Slot,
        status: StepStatus,
        class: Option<&'static str>,
        end_ms: i64,
    ) {
        let Some(calls) = self.slots.remove(slot) else {
            return;
        };
        let first = calls.first;
        let mut attributes = vec![
            ("gen_ai.operation.name", text("execute_tool")),
            ("gen_ai.tool.name", text(first.operation.clone())),
            ("provost.step", text(slot.to_string())),
            ("provost.status", text(status.word())),
            ("provost.decision", text(first.verdict.decision.word())),
            ("provost.tool.digest", text(first.tool.to_string())),
            ("provost.read", SpanValue::Flag(first.read)),
            ("provost.tries", SpanValue::Number(calls.tries)),
        ];
        if let Some(landing) = calls.landing {
            attributes.push(("provost.landing", text(landing)));
        }
        if first.purpose == Purpose::Effect {
            attributes.extend(self.content.of_args(first, calls.labels));
            attributes.extend(self.content.of_result(calls.result));
        }
        let span = SpanFacts {
            seq: calls.seq,
            begin_ms: calls.begin_ms,
            name: format!("execute_tool {}", first.operation),
            attributes,
            error: class.map(str::to_owned),
        };
        self.over(span, end_ms);
    }

    fn run_ended(&mut self, ended: &RunEnded, events: &'e [(Event, i64)], end_ms: i64) {
        let judged = why(events, &[], &Witnesses::default());
        for (criterion, proven) in &ended.criteria {
            self.records.push(SpanRecord {
                span: self.root(),
                name: "gen_ai.evaluation.result".to_owned(),
                at_ms: end_ms,
                seq: self.seq,
                attributes: vec![
                    ("gen_ai.evaluation.name", text(criterion.clone())),
                    ("gen_ai.evaluation.score.label", text(proven.word())),
                ],
            });
        }
        let mut attributes = vec![
            ("gen_ai.operation.name", text("invoke_workflow")),
            ("gen_ai.agent.name", text(self.planner.clone())),
            ("provost.status", text(ended.status.word())),
            ("provost.verdict.guilty", text(judged.guilty.word())),
        ];
        if let Some(version) = &self.version {
            attributes.push(("gen_ai.agent.version", text(version.clone())));
        }
        if let Some(plan) = self.plan {
            attributes.push(("provost.plan.digest", text(plan.digest.to_string())));
            attributes.push(("provost.revision", SpanValue::Number(plan.revision.into())));
        }
        for (name, value) in [
            ("provost.verdict.party", judged.party.map(Party::word)),
            ("provost.verdict.cause", judged.cause),
            ("provost.verdict.step", judged.step.as_deref()),
            ("provost.ended_by", ended.by.as_ref().map(EndedBy::word)),
            ("error.type", ended.class.map(Class::word)),
        ] {
            if let Some(value) = value {
                attributes.push((name, text(value)));
            }
        }
        attributes.extend(self.content.of_run(self.goal, ended));
        // Why: a run that was undone after its end has ended twice, and is one span.
        self.spans.retain(|span| span.parent.is_some());
        self.spans.push(TraceSpan {
            id: self.root(),
            parent: None,
            link: events.first().and_then(|(event, _)| match event {
                Event::RunCreated(created) => created.traceparent,
                _ => None,
            }),
            name: format!("invoke_workflow {}", self.planner),
            kind: SpanKind::Internal,
            begin_ms: events.first().map_or(end_ms, |(_, at)| *at),
            end_ms,
            end: self.seq,
            attributes,
            error: ended.class.map(|class| class.word().to_owned()),
        });
    }
}

/// What is told of a part of a run that is over.
struct SpanFacts {
    /// The number of the event that opened it.
    seq: u64,
    begin_ms: i64,
    name: String,
    attributes: Attributes,
    error: Option<String>,
}
