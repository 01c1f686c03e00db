//! The trace: a run's journal as two views, planning and execution, with counts.
//!
//! Owns which view an event belongs to, and what is counted. Pure: the moments come with the
//! events. Never shortens, colours or escapes a text: whoever prints it does. INVARIANT: every
//! event is in exactly one view.

use serde::Serialize;

use crate::event::Event;

mod data;
mod metrics;

pub use data::{LineData, line_data};
pub use metrics::Metrics;

use super::words::{latency, words};

/// A run's journal in two views.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trace {
    /// How the plan came about: requests, proposals, checks, revisions, people.
    pub planning: Vec<TraceLine>,
    /// What was done: attempts, observations, settlements, the end.
    pub execution: Vec<TraceLine>,
    /// What can be counted.
    pub metrics: Metrics,
}

/// One event in a view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceLine {
    /// The number of the event, from 1.
    pub seq: u64,
    /// When it was recorded, in milliseconds since the epoch.
    pub at_ms: i64,
    /// Its kind.
    pub kind: &'static str,
    /// What it says.
    pub text: String,
    /// Of the end of an attempt: how long the tool took, in microseconds; none if that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_us: Option<u64>,
}

/// The two views of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TraceView {
    Planning,
    Execution,
}

/// Reads a journal: events with the moments they were recorded at.
#[must_use]
pub fn trace(events: &[(Event, i64)]) -> Trace {
    let mut planning = Vec::new();
    let mut execution = Vec::new();
    for (index, (event, at)) in events.iter().enumerate() {
        let words = words(event);
        let latency_us = match event {
            Event::AttemptEnded(ended) => ended.took_us,
            _ => None,
        };
        let words = match latency_us {
            Some(us) => words.detail(latency(us)),
            None => words,
        };
        let line = TraceLine {
            seq: index as u64 + 1,
            at_ms: *at,
            kind: event.kind(),
            text: words.full(),
            latency_us,
        };
        match view_of(event) {
            TraceView::Planning => planning.push(line),
            TraceView::Execution => execution.push(line),
        }
    }
    Trace {
        planning,
        execution,
        metrics: Metrics::of(events),
    }
}

fn view_of(event: &Event) -> TraceView {
    match event {
        Event::RunCreated(_)
        | Event::GoalInterpreted { .. }
        | Event::PlanRequested { .. }
        | Event::BudgetSpent { .. }
        | Event::PlanProposed { .. }
        | Event::PlanChecked { .. }
        | Event::ProposalMended { .. }
        | Event::PlanRefused { .. }
        | Event::PlanGivenUp { .. }
        | Event::PlanHandedOn { .. }
        | Event::PlanRevised { .. }
        | Event::ApprovalRequested { .. }
        | Event::ApprovalGiven { .. }
        | Event::ApprovalRejected { .. }
        | Event::ApprovalExpired { .. }
        | Event::ApprovalsRevised { .. }
        | Event::QuestionAsked { .. }
        | Event::QuestionAnswered { .. }
        | Event::QuestionExpired { .. }
        | Event::GoalAmended { .. }
        | Event::PlanAmended { .. }
        | Event::ReplanRequested { .. } => TraceView::Planning,
        Event::RunStarted { .. }
        | Event::ListEvaluated { .. }
        | Event::StepSkipped { .. }
        | Event::StepBlocked { .. }
        | Event::AdmissionRefused { .. }
        | Event::AttemptStarted(_)
        | Event::AttemptEnded(_)
        | Event::ObservationMade { .. }
        | Event::StepSettled { .. }
        | Event::DoubtSettled { .. }
        | Event::ReconcileGivenUp { .. }
        | Event::Deferred { .. }
        | Event::Paused { .. }
        | Event::Resumed { .. }
        | Event::CancelRequested { .. }
        | Event::UndoRequested { .. }
        | Event::UndoPlanned { .. }
        | Event::RunEnded(_) => TraceView::Execution,
    }
}
