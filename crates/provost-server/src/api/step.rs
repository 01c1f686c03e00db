//! A step, or one of its items: what it was to do, what was sent, what came, who said yes.
//!
//! Owns the form. Values leave as the run machine shows them: what is secret says so in its place.
//! INVARIANT: whoever may not have values revealed gets none, and is told why under `hidden`.

use axum::Json;
use axum::extract::{Path, State};
use provost_engine::run::call::{Purpose, Slot};
use provost_engine::run::card::CardSubject;
use provost_engine::run::event::{AnswerPart, Event, StepStatus};
use provost_engine::run::outcome::{Class, Landing};
use provost_engine::run::shown;
use provost_engine::run::state::{ItemState, State as RunState, StepState};
use provost_plan::catalog::Catalog;
use provost_plan::check::StepRecord;
use provost_plan::digest::Digest;
use provost_plan::plan::Step;
use serde_json::{Value, json};

use crate::app::{App, Shared};
use crate::attempts::{self, ShownAttempt};
use crate::door::Viewer;
use crate::problem::Problem;
use crate::view::SeenRun;

/// `GET /v1/runs/{run}/steps/{step}`.
pub(crate) async fn get(
    State(app): State<App>,
    viewer: Viewer,
    Path((run, step)): Path<(String, String)>,
) -> Result<Json<Value>, Problem> {
    let value = app.read(move |shared| of_step(shared, &viewer, (&run, &step, None)));
    Ok(Json(value.await?))
}

/// `GET /v1/runs/{run}/steps/{step}/{item}`.
pub(crate) async fn item(
    State(app): State<App>,
    viewer: Viewer,
    Path((run, step, item)): Path<(String, String, String)>,
) -> Result<Json<Value>, Problem> {
    let number = item.parse().map_err(|_| Problem::not_found("item"))?;
    let value = app.read(move |shared| of_step(shared, &viewer, (&run, &step, Some(number))));
    Ok(Json(value.await?))
}

/// What is told of: a step of the plan in force, and one of its items or all.
struct Told<'r> {
    run: &'r SeenRun,
    catalog: &'r Catalog,
    step: &'r Step,
    record: &'r StepRecord,
    known: Option<&'r StepState>,
    item: Option<(usize, &'r ItemState)>,
}

fn of_step(
    shared: &Shared,
    viewer: &Viewer,
    (run, id, item): (&str, &str, Option<usize>),
) -> Result<Value, Problem> {
    let run = shared.desk.run(&shared.engine(), viewer, run)?;
    let state = run.state();
    let planned = state.plan().and_then(|plan| plan.checked().step(id));
    let (step, record) = planned.ok_or_else(|| Problem::not_found("step"))?;
    let known = state.steps.get(id);
    let of = |number| known?.items.get(number).map(|of| (number, of));
    let item = item.map(|number| of(number).ok_or_else(|| Problem::not_found("item")));
    let workspace = shared.workspace();
    let told = Told {
        run: &run,
        catalog: workspace.catalog(),
        step,
        record,
        known,
        item: item.transpose()?,
    };
    let hidden = shared.desk.reveals(&shared.engine(), viewer, &run).err();
    let mut value = told.statuses(hidden.is_none());
    if let Value::Object(map) = &mut value {
        let hidden = hidden.map(|problem| problem.detail);
        if hidden.is_none() {
            map.extend(told.values());
        }
        map.insert("hidden".to_owned(), json!(hidden));
    }
    Ok(value)
}

impl Told<'_> {
    fn id(&self) -> &str {
        &self.step.id.value
    }

    fn state(&self) -> &RunState {
        self.run.state()
    }

    /// Whether this is of the step, or of the item that is asked for.
    fn is_about(&self, slot: &Slot) -> bool {
        let asked = |(number, _)| number == slot.item.unwrap_or(0);
        slot.step == self.id() && self.item.is_none_or(asked)
    }

    /// What everybody is told who sees the run; with values if they are revealed.
    fn statuses(&self, revealed: bool) -> Value {
        let attempts = attempts::of_step(&self.run.events, self.id()).into_iter();
        let attempts = attempts.filter(|one| self.is_about(&one.started.slot));
        let attempts: Vec<Value> = attempts.map(|one| of_attempt(&one, revealed)).collect();
        let message = self.known.and_then(|known| known.message.as_ref());
        json!({
            "schema": "provost/step/v1",
            "run": self.state().head.run,
            "step": self.id(),
            "item": self.item.map(|(number, _)| number),
            "status": self.status().word(),
            "class": self.class().map(Class::word),
            "message": message.filter(|_| revealed && self.item.is_none()),
            "items": self.known.map_or(0, |known| known.items.len()),
            "definition": self.step.value,
            "record": self.record,
            "attempts": attempts,
            "cards": self.cards(),
        })
    }

    fn status(&self) -> StepStatus {
        match self.item {
            Some((_, item)) => item.status().unwrap_or(match item.in_flight {
                Some(_) => StepStatus::Running,
                None => StepStatus::Pending,
            }),
            None => self.known.map_or(StepStatus::Pending, |known| known.status),
        }
    }

    fn class(&self) -> Option<Class> {
        match self.item {
            Some((_, item)) => item.history.class,
            None => self.known?.class,
        }
    }

    /// The cards that ask about it, each with who said yes.
    fn cards(&self) -> Vec<Value> {
        let cards = self.state().people.cards.iter();
        let about = cards.filter(|(_, known)| match &known.card.subject {
            CardSubject::Plan { steps } => steps.contains_key(self.id()),
            CardSubject::Step { step, calls, .. } => {
                let of = |(number, _)| {
                    let mut items = calls.iter().map(|call| call.item.unwrap_or(0));
                    items.any(|item| item == number)
                };
                step == self.id() && self.item.is_none_or(of)
            }
        });
        about
            .map(|(digest, known)| {
                json!({
                    "digest": digest,
                    "open": known.open,
                    "approved_by": known.approved_by,
                })
            })
            .collect()
    }

    /// What a tool or a person gave, what vouches for it, and which claims rest on it.
    fn values(&self) -> serde_json::Map<String, Value> {
        let mut values = serde_json::Map::new();
        let mut put = |name: &str, value: Value| values.insert(name.to_owned(), value);
        let item = self.item.map(|(number, _)| number);
        let output = shown::output_or_secret(self.state(), self.catalog, self.id(), item);
        if let Some(output) = output {
            put("output", output);
        }
        let mut labels = self.observed().map(|(label, _)| label).rev();
        put("label", json!(labels.next()));
        put("evidence", self.digests());
        put("cited_by", json!(self.claims()));
        values
    }

    /// What was observed, oldest first: its label and the digest of the bytes behind it.
    fn observed(&self) -> impl DoubleEndedIterator<Item = (&provost_plan::label::Label, &Digest)> {
        let events = self.run.events.iter();
        events.filter_map(|(event, _)| match event {
            Event::ObservationMade {
                slot,
                label,
                evidence,
                ..
            } if self.is_about(slot) => Some((label, evidence)),
            _ => None,
        })
    }

    /// The digests of the bytes behind it, each once, with whether they are kept from everybody.
    fn digests(&self) -> Value {
        let events = || self.run.events.iter().map(|(event, _)| event);
        let of_attempts = events().filter_map(|event| match event {
            Event::AttemptEnded(ended) if self.is_about(&ended.slot) => ended.evidence.as_ref(),
            _ => None,
        });
        let mut all: Vec<&Digest> = Vec::new();
        for digest in of_attempts.chain(self.observed().map(|(_, digest)| digest)) {
            if !all.contains(&digest) {
                all.push(digest);
            }
        }
        let each = all.into_iter().map(|digest| {
            let secret = !shown::evidence(events(), digest);
            json!({ "digest": digest, "secret": secret })
        });
        each.collect()
    }

    /// The claims of the answer that cite it.
    fn claims(&self) -> Vec<&AnswerPart> {
        let ended = self.state().ending.ended.as_ref();
        let parts = ended.into_iter().flat_map(|ended| &ended.answer);
        let behind = |(_, item): (usize, &ItemState)| item.history.evidence;
        let cites = |part: &&AnswerPart| {
            let mut cites = part.cites.iter().filter(|cite| cite.step == self.id());
            cites.any(|cite| {
                self.item.is_none_or(|item| {
                    behind(item).is_some_and(|digest| cite.evidence.contains(&digest))
                })
            })
        };
        parts.filter(cites).collect()
    }
}

/// An attempt; what was sent and what came back only if it is revealed.
fn of_attempt(attempt: &ShownAttempt, revealed: bool) -> Value {
    let started = &attempt.started;
    let ended = attempt.ended.as_ref();
    let end = ended.map(|(end, _)| end);
    let mut value = json!({
        "item": started.slot.item,
        "attempt": started.attempt,
        "operation": started.operation,
        "purpose": purpose(&started.purpose),
        "began_ms": attempt.began_ms,
        "ended_ms": ended.map(|(_, at_ms)| at_ms),
        "key": started.key,
        "verdict": started.verdict,
        "approval": started.approval,
        "class": end.map(|end| end.class.word()),
        "landing": end.map(|end| Landing::word(end.landing)),
        "lost": end.is_some_and(|end| end.lost),
    });
    if let (Value::Object(map), true) = (&mut value, revealed) {
        map.insert("args".to_owned(), shown::started_args(started));
        map.insert("message".to_owned(), json!(end.map(|end| &end.message)));
        map.insert("evidence".to_owned(), json!(end.map(|end| end.evidence)));
    }
    value
}

fn purpose(purpose: &Purpose) -> &'static str {
    match purpose {
        Purpose::Effect => "effect",
        Purpose::Retake { .. } => "retake",
        Purpose::Preview { .. } => "preview",
        Purpose::Confirm => "confirm",
        Purpose::Reconcile => "reconcile",
    }
}
