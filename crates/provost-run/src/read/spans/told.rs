//! What an event tells of itself in a trace.
//!
//! Owns which events are records, which open and close a span that another answer ends, and their
//! attributes. INVARIANT: words of the program, digests, counts and names from the plan; never what
//! a person, a planner or a tool wrote.

use std::collections::BTreeMap;

use provost_plan::plan::request::FindingView;
use serde::Serialize;

use super::{Attributes, SpanValue, text};
use crate::call::{Purpose, Slot};
use crate::event::Event;

/// What is told of an event.
pub(super) enum EventTold {
    /// It happened.
    Record {
        name: &'static str,
        attributes: Attributes,
    },
    /// Something begins that another event ends.
    Opens {
        key: String,
        name: &'static str,
        attributes: Attributes,
    },
    /// It ends.
    Closes { key: String, outcome: String },
    /// Nothing by itself.
    Nothing,
}

/// The word of a value that is stored as one.
pub(super) fn word_of(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

pub(super) fn purpose(purpose: &Purpose) -> &'static str {
    match purpose {
        Purpose::Effect => "call",
        Purpose::Retake { .. } => "retake",
        Purpose::Preview { .. } => "preview",
        Purpose::Confirm => "confirm",
        Purpose::Reconcile => "reconcile",
    }
}

/// The step or the item that an event is about.
pub(super) fn slot_of(event: &Event) -> Option<&Slot> {
    match event {
        Event::StepSkipped { slot, .. }
        | Event::AdmissionRefused { slot, .. }
        | Event::Deferred { slot, .. }
        | Event::DoubtSettled { slot, .. }
        | Event::StepSettled { slot, .. } => Some(slot),
        _ => None,
    }
}

fn number(count: usize) -> SpanValue {
    SpanValue::Number(u64::try_from(count).unwrap_or(u64::MAX))
}

fn codes(findings: &[FindingView]) -> SpanValue {
    let codes: Vec<&str> = findings
        .iter()
        .map(|finding| finding.code.as_str())
        .collect();
    text(codes.join(" "))
}

pub(super) fn told(event: &Event) -> EventTold {
    match event {
        Event::PlanProposed { id, .. } => closes(format!("request {id}"), "proposed"),
        Event::PlanGivenUp { id, class, .. } | Event::PlanHandedOn { id, class, .. } => {
            let outcome = class.as_ref().map(word_of);
            closes(
                format!("request {id}"),
                &outcome.unwrap_or_else(|| "given_up".to_owned()),
            )
        }
        Event::ApprovalRequested { digest, .. } => {
            let attributes = vec![("provost.card", text(digest.to_string()))];
            opens(format!("card {digest}"), "provost.approval", attributes)
        }
        Event::ApprovalGiven {
            card,
            complete: true,
            ..
        } => closes(format!("card {card}"), "given"),
        Event::ApprovalRejected { card, .. } => closes(format!("card {card}"), "rejected"),
        Event::ApprovalExpired { card } => closes(format!("card {card}"), "expired"),
        Event::QuestionAsked { digest, .. } => {
            opens(format!("question {digest}"), "provost.question", Vec::new())
        }
        Event::QuestionAnswered { question, .. } => {
            closes(format!("question {question}"), "answered")
        }
        Event::QuestionExpired { question } => closes(format!("question {question}"), "expired"),
        _ => of_plan(event)
            .or_else(|| of_execution(event))
            .unwrap_or(EventTold::Nothing),
    }
}

fn closes(key: String, outcome: &str) -> EventTold {
    EventTold::Closes {
        key,
        outcome: outcome.to_owned(),
    }
}

fn opens(key: String, name: &'static str, attributes: Attributes) -> EventTold {
    EventTold::Opens {
        key,
        name,
        attributes,
    }
}

fn record(name: &'static str, attributes: Attributes) -> Option<EventTold> {
    Some(EventTold::Record { name, attributes })
}

fn of_plan(event: &Event) -> Option<EventTold> {
    match event {
        Event::PlanChecked {
            record: checked,
            findings,
            ..
        } => {
            let mut risks: BTreeMap<String, u64> = BTreeMap::new();
            for step in checked.steps.values() {
                *risks.entry(word_of(&step.risk)).or_default() += 1;
            }
            let risks: Vec<String> = risks
                .iter()
                .map(|(risk, n)| format!("{n} {risk}"))
                .collect();
            let attributes = vec![
                ("provost.plan.digest", text(checked.digest.to_string())),
                ("provost.plan.steps", number(checked.steps.len())),
                ("provost.plan.risks", text(risks.join(", "))),
                ("provost.plan.codes", codes(findings)),
            ];
            record("plan.checked", attributes)
        }
        Event::PlanRefused { findings, .. } => record(
            "plan.refused",
            vec![("provost.plan.codes", codes(findings))],
        ),
        Event::ProposalMended { fixes, .. } => record(
            "plan.mended",
            vec![("provost.plan.fixes", number(fixes.len()))],
        ),
        Event::PlanRevised {
            revision,
            added,
            changed,
            removed,
            ..
        } => {
            let attributes = vec![
                ("provost.revision", SpanValue::Number((*revision).into())),
                ("provost.plan.added", number(added.len())),
                ("provost.plan.changed", number(changed.len())),
                ("provost.plan.removed", number(removed.len())),
            ];
            record("plan.revised", attributes)
        }
        _ => None,
    }
}

fn of_execution(event: &Event) -> Option<EventTold> {
    let step = |slot: &Slot| ("provost.step", text(slot.to_string()));
    match event {
        Event::Deferred { slot, .. } => record("deferred", vec![step(slot)]),
        Event::AdmissionRefused { slot, reached, .. } => {
            let mut attributes = vec![step(slot)];
            if let Some(reached) = reached {
                attributes.push(("provost.limit", text(word_of(&reached.of))));
            }
            record("admission_refused", attributes)
        }
        Event::StepSkipped { slot, because } => {
            let because = ("provost.because", text(word_of(because)));
            record("step_skipped", vec![step(slot), because])
        }
        Event::StepBlocked { step, on } => {
            let attributes = vec![
                ("provost.step", text(step.clone())),
                ("provost.on", text(on.clone())),
            ];
            record("step_blocked", attributes)
        }
        Event::DoubtSettled { slot, settled, .. } => {
            let settled = ("provost.settled", text(settled.word()));
            record("doubt_settled", vec![step(slot), settled])
        }
        Event::Paused { .. } => record("paused", Vec::new()),
        Event::Resumed { lost, .. } => {
            record("resumed", vec![("provost.lost", number(lost.len()))])
        }
        _ => None,
    }
}
