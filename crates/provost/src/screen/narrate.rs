//! What happened, in lines: one event at a time.
//!
//! Owns which events a view shows, and what of the run stands below them: tables, findings. The
//! sentence of an event is `provost_engine::run::read::words`.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use provost_engine::run::call::{Purpose, Slot};
use provost_engine::run::event::Event;
use provost_engine::run::read::words::{Words, duration, words};
use provost_engine::run::state::State;
use provost_plan::catalog::Catalog;
use provost_plan::codes::Code;
use provost_plan::diagnostic::Severity;
use provost_plan::plan::request::FindingView;

use super::page::Page;
use super::plan;

/// Shown once of a run in a solo workspace.
const SOLO: &str = "solo workspace: the requester may also approve";

/// Narrates a run as it happens.
#[derive(Debug)]
pub struct Narrator {
    catalog: std::sync::Arc<Catalog>,
    started: BTreeMap<Slot, i64>,
    /// When the first attempt of a slot began that has not settled.
    began: BTreeMap<Slot, i64>,
    took: BTreeMap<Slot, i64>,
    /// Slots of which a poll was told.
    polled: BTreeSet<Slot>,
    /// What a slot waits for, once that is told, until the slot begins.
    deferred: BTreeMap<Slot, String>,
    // Why: the check that follows an amendment or an undo is part of it.
    amended: Cell<bool>,
}

impl Narrator {
    /// A narrator who knows the operations.
    pub fn new(catalog: std::sync::Arc<Catalog>) -> Self {
        Self {
            catalog,
            started: BTreeMap::new(),
            began: BTreeMap::new(),
            took: BTreeMap::new(),
            polled: BTreeSet::new(),
            deferred: BTreeMap::new(),
            amended: Cell::new(false),
        }
    }

    /// When the attempt of a slot that is in flight began.
    pub fn started(&self, slot: &Slot) -> Option<i64> {
        self.started.get(slot).copied()
    }

    /// How long a settled slot took, if its beginning was seen.
    pub fn took(&self, slot: &Slot) -> Option<i64> {
        self.took.get(slot).copied()
    }

    /// The lines of an event about planning; `state` is the run after it.
    pub fn planning(&self, event: &Event, state: &State) -> Option<Page> {
        let mut page = Page::new();
        let mut words = words(event);
        match event {
            Event::RunCreated(created) => {
                put(&mut page, &words);
                if created.solo {
                    page.faint(SOLO).end();
                }
            }
            Event::RunStarted { revision } => self.first_plan(&mut page, *revision, state),
            Event::PlanRevised {
                added,
                changed,
                removed,
                ..
            } => {
                page.end();
                put(&mut page, &words);
                self.changes(&mut page, state, [added, changed, removed]);
                page.end();
            }
            // Why only then: a playbook answers at once.
            Event::PlanRequested { .. } if is_slow(state) => {
                let author = format!(", {}", state.route.planner.author());
                let rest = format!("{}{author}", words.rest);
                let why = None;
                put(
                    &mut page,
                    &Words {
                        rest,
                        text: why,
                        ..words
                    },
                );
            }
            Event::PlanRefused { findings, .. } => {
                put(
                    &mut page,
                    &Words {
                        text: None,
                        ..words
                    },
                );
                // Why errors alone: nothing else keeps a plan from being admissible.
                let errors = findings.iter().filter(|finding| is_error(finding));
                errors.for_each(|finding| put_finding(&mut page, finding));
            }
            Event::ProposalMended { .. }
            | Event::PlanGivenUp { .. }
            | Event::PlanHandedOn { .. }
            | Event::ReplanRequested { .. }
            | Event::GoalAmended { .. } => put(&mut page, &words),
            Event::Resumed { .. } => {
                words.subject = format!("run {}", state.head.run);
                put(&mut page, &words);
            }
            Event::PlanAmended { .. } => {
                self.amended.set(true);
                put(&mut page, &words);
            }
            Event::UndoPlanned { steps, .. } if !steps.is_empty() => {
                self.amended.set(true);
                return None;
            }
            Event::PlanChecked { id: 0, .. } if !self.amended.take() => put(&mut page, &words),
            _ => return None,
        }
        Some(page)
    }

    fn first_plan(&self, page: &mut Page, revision: u32, state: &State) {
        let Some(approved) = &state.in_force.plan else {
            return;
        };
        let checked = approved.checked();
        let summary = plan::summary(checked, &self.catalog);
        page.end()
            .strong("plan")
            .text(&format!(", revision {revision}: "));
        page.line(&summary);
        plan::table(page, checked, &self.catalog, |_| true);
        page.end();
    }

    fn changes(&self, page: &mut Page, state: &State, [added, changed, removed]: [&[String]; 3]) {
        let Some(approved) = &state.in_force.plan else {
            return;
        };
        for (word, ids) in [("added", added), ("changed", changed)] {
            if ids.is_empty() {
                continue;
            }
            page.line(word);
            let ids: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
            plan::table(page, approved.checked(), &self.catalog, |id| {
                ids.contains(id)
            });
        }
        if !removed.is_empty() {
            page.line(&format!("removed: {}", removed.join(", ")));
        }
    }

    /// The line of an event of the execution; `at` is when it was recorded.
    pub fn execution(&mut self, event: &Event, at: i64) -> Option<Page> {
        let mut words = words(event);
        match event {
            Event::AttemptStarted(started) => {
                if started.purpose == Purpose::Effect {
                    self.deferred.remove(&started.slot);
                    self.started.insert(started.slot.clone(), at);
                    self.began.entry(started.slot.clone()).or_insert(at);
                }
            }
            // Why nothing of a preview that succeeded: the card shows it.
            Event::AttemptEnded(ended) if ended.attempt == 0 => {
                let failed = ended.message.is_some() && !ended.lost;
                failed.then_some(())?;
            }
            Event::AttemptEnded(ended) => {
                // Why not each: a job may be polled for thousands of times.
                let goes_on = ended.not_yet && !self.polled.insert(ended.slot.clone());
                (!goes_on && (ended.retry_at.is_some() || ended.lost)).then_some(())?;
            }
            Event::StepSettled { slot, .. } => {
                self.started.remove(slot);
                if let Some(began) = self.began.remove(slot) {
                    self.took.insert(slot.clone(), at - began);
                    words.rest = format!(" after {}{}", duration(at - began), words.rest);
                }
            }
            // Why not each: a full tool is asked again several times a second.
            Event::Deferred { slot, because, .. } => {
                let told = self.deferred.insert(slot.clone(), because.clone());
                (told.as_ref() != Some(because)).then_some(())?;
            }
            Event::ListEvaluated { .. }
            | Event::StepSkipped { .. }
            | Event::StepBlocked { .. }
            | Event::AdmissionRefused { .. }
            | Event::ApprovalRequested { .. }
            | Event::ApprovalGiven { .. }
            | Event::ApprovalRejected { .. }
            | Event::ApprovalExpired { .. }
            | Event::QuestionAsked { .. }
            | Event::QuestionAnswered { .. }
            | Event::QuestionExpired { .. }
            | Event::CancelRequested { .. }
            | Event::UndoRequested { .. }
            | Event::DoubtSettled { .. }
            | Event::ReconcileGivenUp { .. }
            | Event::Paused { .. } => {}
            _ => return None,
        }
        let mut page = Page::new();
        put(&mut page, &words);
        Some(page)
    }
}

/// Puts a sentence on a line of its own.
fn put(page: &mut Page, words: &Words) {
    if !words.subject.is_empty() {
        page.strong(&words.subject);
    }
    if !words.subject.is_empty() && !words.verb.is_empty() {
        page.text(": ");
    }
    page.put(words.tone.into(), &words.verb).text(&words.rest);
    if let Some(text) = &words.text {
        page.text(": ").text(text);
    }
    page.end();
}

fn is_error(finding: &FindingView) -> bool {
    Code::from_text(&finding.code).is_none_or(|code| code.severity() == Severity::Error)
}

fn put_finding(page: &mut Page, finding: &FindingView) {
    page.text("  ")
        .strong(&finding.code)
        .text(": ")
        .line(&finding.message);
    if let Some(hint) = &finding.hint {
        page.faint("    hint: ").line(hint);
    }
}

/// Whether the planner that is asked takes its time.
fn is_slow(state: &State) -> bool {
    state.route.planner.may_fail() && state.planning.outstanding.is_some()
}
