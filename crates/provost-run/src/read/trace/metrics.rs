//! What can be counted in a journal: how good the planning was, and how good the execution.
//!
//! Owns the counts and nothing else. INVARIANT: every number is a count over events, so two
//! readers of one journal get the same numbers.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::money::Money;
use provost_plan::plan::request::{FindingView, PlanReply, RequestKind};
use serde::Serialize;

use crate::call::Purpose;
use crate::card::{CardSubject, QuestionPurpose};
use crate::event::{Event, Proven, StepStatus};
use crate::facts::{OpenToPeople, PlannerSpend, time_open};
use crate::outcome::Class;

/// Codes of findings about what waits for what and reads what.
const DEPENDENCY_CODES: [&str; 4] = ["R102", "R103", "R104", "R106"];
/// The code of a read whose output nothing uses.
const UNNEEDED_CODE: &str = "S702";

/// The counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Metrics {
    /// Plans that were proposed.
    pub proposals: u64,
    /// Of these, those that did not pass the check.
    pub proposals_refused: u64,
    /// Findings in all, of refused and of checked plans.
    pub diagnostics: u64,
    /// Completeness: criteria that held at the end.
    pub criteria_held: u64,
    /// Criteria that were evaluated at the end.
    pub criteria: u64,
    /// Unneeded steps: reads of the last plan whose output nothing uses.
    pub steps_unneeded: u64,
    /// Requests to a model or another process that plans.
    #[serde(skip_serializing_if = "is_zero")]
    pub planner_requests: u64,
    /// Tokens sent to it.
    #[serde(skip_serializing_if = "is_zero")]
    pub planner_tokens_in: u64,
    /// Of these, tokens that its provider had kept.
    #[serde(skip_serializing_if = "is_zero")]
    pub planner_tokens_cached: u64,
    /// Tokens it sent.
    #[serde(skip_serializing_if = "is_zero")]
    pub planner_tokens_out: u64,
    /// What it cost, as far as that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planner_cost: Option<Money>,
    /// Revisions, without those that only refined a subgoal.
    pub revisions: u64,
    /// Revisions that only refined a subgoal.
    #[serde(skip_serializing_if = "is_zero")]
    pub refinements: u64,
    /// Dependency faults: findings about order and guards, failed expressions, blocked steps.
    pub dependency_faults: u64,
    /// Clarifications: questions of a planner to a person.
    pub clarifications: u64,
    /// Steps of the last plan.
    pub steps: u64,
    /// Of these, by last status.
    pub steps_by_status: BTreeMap<&'static str, u64>,
    /// Attempts.
    pub attempts: u64,
    /// Retries: attempts after the first of their step or item, without its polls.
    pub retries: u64,
    /// Polls: attempts after one whose output did not meet `until`.
    #[serde(skip_serializing_if = "is_zero")]
    pub polls: u64,
    /// Attempts that failed, by class.
    pub failures: BTreeMap<&'static str, u64>,
    /// Validation failures: steps and items whose arguments, output or acceptance did not hold.
    pub validation_failures: u64,
    /// Duplicates held back: calls that would have repeated an effect.
    pub duplicates_held: u64,
    /// How the run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<&'static str>,
    /// From the first event to the last, in milliseconds.
    pub elapsed_ms: i64,
    /// Of this, with a card or a question open, in milliseconds.
    pub waiting_for_people_ms: i64,
}

impl Metrics {
    /// Counts a journal.
    #[must_use]
    pub fn of(events: &[(Event, i64)]) -> Self {
        let mut metrics = Self::default();
        let mut steps: BTreeMap<&str, StepStatus> = BTreeMap::new();
        for (event, _) in events {
            metrics.count_planning(event);
            metrics.count_execution(event, events);
            follow(&mut steps, event);
        }
        metrics.steps = steps.len() as u64;
        for status in steps.values() {
            *metrics.steps_by_status.entry(status.word()).or_default() += 1;
        }
        if let (Some((_, first)), Some((_, last))) = (events.first(), events.last()) {
            metrics.elapsed_ms = (last - first).max(0);
        }
        let asked = |open: &OpenToPeople<'_>| {
            matches!(open, OpenToPeople::Card(..) | OpenToPeople::Question(_))
        };
        metrics.waiting_for_people_ms =
            time_open(events.iter().map(|(event, at)| (event, *at)), asked);
        metrics.planned(&PlannerSpend::of(events.iter().map(|(event, _)| event)));
        metrics.refinements = refinements(events);
        metrics.revisions -= metrics.refinements;
        metrics.polls = polls(events);
        metrics.retries -= metrics.polls;
        metrics
    }

    fn planned(&mut self, by: &PlannerSpend) {
        self.planner_requests = by.requests;
        self.planner_tokens_in = by.tokens_in;
        self.planner_tokens_cached = by.tokens_cached;
        self.planner_tokens_out = by.tokens_out;
        self.planner_cost = by.cost;
    }

    fn count_planning(&mut self, event: &Event) {
        match event {
            Event::PlanProposed {
                reply: PlanReply::Plan { .. } | PlanReply::Unreadable { .. },
                ..
            } => self.proposals += 1,
            Event::PlanRefused { findings, .. } => {
                self.proposals_refused += 1;
                self.diagnostics += findings.len() as u64;
                self.dependency_faults += with_code(findings, &DEPENDENCY_CODES);
            }
            Event::PlanChecked { findings, .. } => {
                self.diagnostics += findings.len() as u64;
                self.steps_unneeded = with_code(findings, &[UNNEEDED_CODE]);
            }
            Event::PlanRevised { .. } => self.revisions += 1,
            Event::QuestionAsked { question, .. } => {
                if matches!(question.purpose, QuestionPurpose::Planner { .. }) {
                    self.clarifications += 1;
                }
            }
            Event::ApprovalRequested { card, .. } => {
                if let CardSubject::Step { calls, .. } = &card.subject {
                    let repeats = calls.iter().filter(|call| call.repeats.is_some());
                    self.duplicates_held += repeats.count() as u64;
                }
            }
            Event::RunEnded(ended) => {
                self.criteria = ended.criteria.len() as u64;
                let held = ended.criteria.values().filter(|p| **p == Proven::Held);
                self.criteria_held = held.count() as u64;
                self.ended = Some(ended.status.word());
            }
            Event::UndoRequested { .. } => self.ended = None,
            _ => {}
        }
    }

    fn count_execution(&mut self, event: &Event, events: &[(Event, i64)]) {
        match event {
            Event::AttemptStarted(started) => {
                self.attempts += 1;
                let is_own = started.purpose == Purpose::Effect;
                self.retries += u64::from(is_own && started.attempt > 1);
            }
            Event::AttemptEnded(ended) if ended.class != Class::Ok => {
                *self.failures.entry(ended.class.word()).or_default() += 1;
            }
            Event::StepBlocked { .. } => self.dependency_faults += 1,
            Event::StepSettled {
                slot,
                class: Some(class),
                ..
            } => {
                let invalid = [
                    Class::InvalidArguments,
                    Class::OutputInvalid,
                    Class::AcceptanceFailed,
                ];
                self.validation_failures += u64::from(invalid.contains(class));
                self.dependency_faults += u64::from(*class == Class::Expression);
                let attempted = events.iter().any(|(event, _)| {
                    matches!(event, Event::AttemptStarted(started)
                        if started.slot == *slot && !started.purpose.is_preview())
                });
                // Why: a conflict without an attempt is the machine's own, over a write in doubt.
                self.duplicates_held += u64::from(*class == Class::Conflict && !attempted);
            }
            _ => {}
        }
    }
}

fn with_code(findings: &[FindingView], codes: &[&str]) -> u64 {
    let found = findings.iter().filter(|f| codes.contains(&f.code.as_str()));
    found.count() as u64
}

/// The last status of each step of the plan in force.
fn follow<'e>(steps: &mut BTreeMap<&'e str, StepStatus>, event: &'e Event) {
    match event {
        Event::PlanChecked { record, .. } => {
            steps.retain(|id, _| record.steps.contains_key(*id));
            for id in record.steps.keys() {
                steps.entry(id).or_insert(StepStatus::Pending);
            }
        }
        Event::AttemptStarted(started)
            if !matches!(
                started.purpose,
                Purpose::Retake { .. } | Purpose::Preview { .. }
            ) =>
        {
            steps.insert(&started.slot.step, StepStatus::Running);
        }
        Event::StepSkipped { slot, .. } if slot.item.is_none() => {
            steps.insert(&slot.step, StepStatus::Skipped);
        }
        Event::StepBlocked { step, .. } => {
            steps.insert(step, StepStatus::Blocked);
        }
        Event::StepSettled { slot, status, .. } if slot.item.is_none() => {
            steps.insert(&slot.step, *status);
        }
        Event::RunEnded(_) => {
            for status in steps.values_mut().filter(|status| !status.is_final()) {
                *status = StepStatus::Cancelled;
            }
        }
        _ => {}
    }
}

/// Revisions that answered a request for a refinement.
fn refinements(events: &[(Event, i64)]) -> u64 {
    let mut refines = false;
    let mut count = 0;
    for (event, _) in events {
        match event {
            Event::PlanRequested { kind, .. } => refines = *kind == RequestKind::Refine,
            // Why taken: what revises the plan next may be a person's word.
            Event::PlanRevised { .. } => count += u64::from(std::mem::take(&mut refines)),
            _ => {}
        }
    }
    count
}

fn polls(events: &[(Event, i64)]) -> u64 {
    let mut not_yet = BTreeSet::new();
    let mut count = 0;
    for (event, _) in events {
        match event {
            Event::AttemptStarted(started) if started.purpose == Purpose::Effect => {
                count += u64::from(not_yet.remove(&started.slot));
            }
            Event::AttemptEnded(ended) if ended.not_yet => {
                not_yet.insert(&ended.slot);
            }
            _ => {}
        }
    }
    count
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde wants")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
