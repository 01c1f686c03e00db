//! What happened, in lines: one event at a time.
//!
//! Owns the words for events. The live view shows those about plans, the plain view all of them.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use provost_engine::run::call::Slot;
use provost_engine::run::event::{AttemptEnded, Event, NextPlanner, PlannerChoice, StepStatus};
use provost_engine::run::outcome::{Class, Landing};
use provost_engine::run::state::State;
use provost_engine::run::statement::StatementRecord;
use provost_plan::catalog::Catalog;
use provost_plan::codes::Code;
use provost_plan::diagnostic::Severity;
use provost_plan::plan::request::{FindingView, Why};

use super::page::{Page, TextStyle};
use super::plan;
use super::words::{lasted, skipped, step_look, step_status};

mod halted;

/// Said once of a run in a solo workspace.
const SOLO: &str = "solo workspace: who asks may also approve";

/// Tells a run as it happens.
#[derive(Debug)]
pub struct Narrator {
    catalog: std::sync::Arc<Catalog>,
    started: BTreeMap<Slot, i64>,
    took: BTreeMap<Slot, i64>,
    // Why: a check that an amendment led to is no sign of moved rules.
    amended: Cell<bool>,
}

impl Narrator {
    /// A narrator who knows the operations.
    pub fn new(catalog: std::sync::Arc<Catalog>) -> Self {
        Self {
            catalog,
            started: BTreeMap::new(),
            took: BTreeMap::new(),
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

    /// What an event about planning says; `state` is the run after it.
    pub fn planning(&self, event: &Event, state: &State) -> Option<Page> {
        let mut page = Page::new();
        match event {
            Event::RunCreated(created) => {
                page.strong(&format!("run {}", created.run))
                    .text(": ")
                    .line(&created.goal.text);
                if created.solo {
                    page.faint(SOLO).end();
                }
            }
            Event::RunStarted { revision } => self.first_plan(&mut page, *revision, state),
            Event::PlanRevised {
                revision,
                added,
                changed,
                removed,
                because,
            } => {
                page.end().strong(&format!("revision {revision}"));
                match because {
                    Some(because) => page.text(": ").line(because),
                    None => page.end(),
                };
                self.changes(&mut page, state, [added, changed, removed]);
                page.end();
            }
            // Why only then: a playbook answers at once, and who is not asked does not think.
            Event::PlanRequested { .. } if is_asked(state) => {
                page.faint("asked: ").line(&state.planner.author());
            }
            Event::ProposalMended { fixes, .. } => {
                for fix in fixes {
                    page.faint("mended: ").line(fix);
                }
            }
            Event::PlanRefused { .. } | Event::PlanGivenUp { .. } | Event::PlanHandedOn { .. } => {
                no_plan(&mut page, event, state);
            }
            Event::ReplanRequested { why } => {
                page.text("replan: ").line(&because(why));
            }
            // Why as an amendment: the check that follows it is of what is put in force.
            Event::UndoPlanned { steps, .. } if !steps.is_empty() => {
                self.amended.set(true);
                return None;
            }
            Event::GoalAmended { .. } => {
                page.line(&amendment(event));
            }
            Event::PlanAmended { .. } => {
                self.amended.set(true);
                page.line(&amendment(event));
            }
            Event::PlanChecked { id: 0, .. } if self.amended.take() => return None,
            Event::PlanChecked { id: 0, .. } => {
                page.line("the rules moved, and the plan was checked again");
            }
            Event::Resumed { lost, by, .. } => resumed(&mut page, state, lost, by.as_deref()),
            _ => return None,
        }
        Some(page)
    }

    fn first_plan(&self, page: &mut Page, revision: u32, state: &State) {
        let Some(approved) = &state.plan else { return };
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
        let Some(approved) = &state.plan else { return };
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

    /// What an event of the execution says; `at` is when it was recorded.
    pub fn execution(&mut self, event: &Event, at: i64) -> Option<Page> {
        if let Some(page) = halted::page(event) {
            return Some(page);
        }
        let mut page = Page::new();
        match event {
            Event::AttemptStarted(started) => {
                self.started.insert(started.slot.clone(), at);
                page.strong(&started.slot.to_string())
                    .text(&format!(": {}", started.operation));
                if started.attempt > 1 {
                    page.text(&format!(", attempt {}", started.attempt));
                }
                page.end();
            }
            Event::AttemptEnded(ended) => return attempt_ended(ended),
            Event::StepSettled {
                slot,
                status,
                class,
                message,
                ..
            } => {
                self.settled(&mut page, slot, (*status, *class), message.as_deref(), at);
            }
            Event::ListEvaluated { step, items, .. } => {
                page.strong(step)
                    .line(&format!(": {} to go through", items.len()));
            }
            Event::StepSkipped { slot, because } => {
                settle_line(&mut page, slot, StepStatus::Skipped);
                page.line(&format!(", {}", skipped(Some(*because))));
            }
            Event::StepBlocked { step, on } => {
                page.strong(step)
                    .text(": ")
                    .put(step_look(StepStatus::Blocked), "blocked");
                page.line(&format!(", `{on}` did not come"));
            }
            Event::AdmissionRefused { slot, limit } => {
                page.strong(&slot.to_string())
                    .text(": ")
                    .bad("not started")
                    .text(", ")
                    .line(limit);
            }
            other => return people(other),
        }
        Some(page)
    }

    fn settled(
        &mut self,
        page: &mut Page,
        slot: &Slot,
        (status, class): (StepStatus, Option<Class>),
        message: Option<&str>,
        at: i64,
    ) {
        settle_line(page, slot, status);
        if let Some(started) = self.started.remove(slot) {
            page.faint(&format!(" after {}", lasted(at - started)));
            self.took.insert(slot.clone(), at - started);
        }
        if let Some(class) = class {
            page.text(&format!(", {}", class.word()));
        }
        if let Some(message) = message.filter(|message| !message.is_empty()) {
            page.text(": ").text(message);
        }
        page.end();
    }
}

/// Why there is no plan, or no other.
fn no_plan(page: &mut Page, event: &Event, state: &State) {
    match event {
        Event::PlanRefused { findings, .. } => {
            page.bad("the plan is refused").end();
            // Why errors alone: nothing else keeps a plan from being admissible.
            let errors = findings.iter().filter(|finding| is_error(finding));
            errors.for_each(|finding| put_finding(page, finding));
        }
        Event::PlanGivenUp { reason, .. } => {
            let plan = state.plan.as_ref();
            let word = plan.map_or("no plan", |_| "the plan stays as it is");
            page.faint(&format!("{word}: ")).line(reason);
        }
        Event::PlanHandedOn { reason, to, .. } => {
            page.bad("no plan: ").line(reason);
            if *to != NextPlanner::Person {
                page.faint("asked next: ").line(&to.words());
            }
        }
        _ => {}
    }
}

fn resumed(page: &mut Page, state: &State, lost: &[Slot], by: Option<&str>) {
    if let Some(by) = by {
        page.line(&format!("run {} goes on, says {by}", state.run));
        return;
    }
    page.line(&format!("run {} is taken up again", state.run));
    for slot in lost {
        page.line(&format!(
            "  {slot}: was in flight when the process before ended"
        ));
    }
}

fn settle_line(page: &mut Page, slot: &Slot, status: StepStatus) {
    let word = step_status(status);
    page.strong(&slot.to_string())
        .text(": ")
        .put(step_look(status), word);
}

fn attempt_ended(ended: &AttemptEnded) -> Option<Page> {
    let retries = ended.retry_at.is_some();
    if !retries && !ended.lost {
        return None;
    }
    let mut page = Page::new();
    page.strong(&ended.slot.to_string())
        .text(&format!(": {}", ended.class.word()));
    if let Some(message) = &ended.message {
        page.text(": ").text(message);
    }
    if ended.landing == Landing::Unknown && ended.lost {
        page.text(", its effect is unknown");
    }
    if retries {
        page.text(", tried again");
    }
    page.end();
    Some(page)
}

/// What a person put in the place of what was there.
fn amendment(event: &Event) -> String {
    match event {
        Event::GoalAmended {
            goal,
            by,
            reason,
            record,
            ..
        } => {
            let signed = signed(record.as_ref());
            format!("{by} put another goal{signed}: {} ({reason})", goal.text)
        }
        Event::PlanAmended {
            by, reason, record, ..
        } => {
            let signed = signed(record.as_ref());
            format!("{by} put another plan{signed}: {reason}")
        }
        _ => String::new(),
    }
}

fn people(event: &Event) -> Option<Page> {
    let mut page = Page::new();
    match event {
        Event::ApprovalRequested { card, .. } => {
            let about = card.step().unwrap_or("the plan");
            page.strong(about)
                .text(": ")
                .put(TextStyle::Warn, "waits for approval")
                .end();
        }
        Event::ApprovalGiven {
            by,
            steps,
            complete,
            record,
            ..
        } => {
            let what = if steps.is_empty() {
                String::new()
            } else {
                format!(" {}", steps.join(", "))
            };
            let more = if *complete { "" } else { ", others must too" };
            page.put(TextStyle::Good, "approved")
                .line(&format!("{what} by {by}{}{more}", signed(record.as_ref())));
        }
        Event::ApprovalRejected {
            by, reason, record, ..
        } => {
            let signed = signed(record.as_ref());
            page.bad("rejected")
                .line(&format!(" by {by}{signed}: {reason}"));
        }
        Event::ApprovalExpired { .. } => {
            page.bad("lapsed").line(": nobody answered in time");
        }
        Event::QuestionAsked { question, .. } => {
            page.put(TextStyle::Warn, "question: ").line(&question.text);
        }
        Event::QuestionAnswered {
            value, by, record, ..
        } => {
            let signed = signed(record.as_ref());
            page.line(&format!("answered by {by}{signed}: {value}"));
        }
        Event::CancelRequested {
            by, reason, undo, ..
        } => {
            let why = reason
                .as_ref()
                .map_or_else(String::new, |reason| format!(": {reason}"));
            let first = if *undo {
                ", what happened is undone first"
            } else {
                ""
            };
            page.line(&format!("cancelled by {by}{first}{why}"));
        }
        _ => return None,
    }
    Some(page)
}

/// Whether a person signed what they said.
fn signed(record: Option<&StatementRecord>) -> &'static str {
    match record {
        Some(record) if record.signature.is_some() => ", signed",
        _ => "",
    }
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

/// Why a revision is asked for, in words.
pub fn because(why: &Why) -> String {
    match why {
        Why::Observed { step } => format!("step `{step}` is there to be looked at"),
        Why::StepFailed { step, class } => format!("step `{step}` failed ({class})"),
        Why::Rejected {
            step: Some(step),
            reason,
        } => {
            format!("step `{step}` was rejected: {reason}")
        }
        Why::Rejected { step: None, reason } => format!("the plan was rejected: {reason}"),
        Why::Expired { step } => format!("nobody answered about step `{step}` in time"),
        Why::Unmet { criteria } => format!("not shown to hold: {}", criteria.join(", ")),
        Why::Refine { step } => format!("the subgoal `{step}` is to be refined"),
        Why::Amended { reason } => format!("a person put another goal: {reason}"),
    }
}

/// Whether somebody is asked who takes his time.
fn is_asked(state: &State) -> bool {
    let slow = matches!(
        state.planner,
        PlannerChoice::Model { .. } | PlannerChoice::Process { .. }
    );
    slow && state.planning.outstanding.is_some()
}
