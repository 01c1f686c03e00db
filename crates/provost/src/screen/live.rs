//! The live view: the steps of the plan, redrawn in place.
//!
//! Owns the region at the end of the terminal. Draws only from the run's state, so it shows the
//! same after a resume. INVARIANT: a line is never wider than the terminal, so that the number of
//! lines drawn is the number of lines to go back.

use provost_engine::run::call::Slot;
use provost_engine::run::event::StepStatus;
use provost_engine::run::outcome::Class;
use provost_engine::run::state::{ItemState, State, StepState};
use provost_plan::check::CheckedPlan;

use super::narrate::Narrator;
use super::page::{Cell, Page, cut};
use super::plan::{waves, what};
use super::words::{lasted, now_ms, skipped, step_look, step_status};

/// Lines of steps shown at once; of a longer plan those that matter now.
const STEPS_SHOWN_MAX: usize = 30;
/// Widest text about a step.
const NOTE_COLUMNS_MAX: usize = 60;

/// The region as it should look now.
pub fn region(narrator: &Narrator, state: &State, columns: usize) -> Page {
    let mut page = Page::new();
    let Some(approved) = &state.in_force.plan else {
        if state.ending.ended.is_none() {
            page.faint("planning").end();
        }
        return page;
    };
    let checked = approved.checked();
    let now = if state.ending.ended.is_some() {
        state.spend.last_at
    } else {
        now_ms()
    };
    let mut rows = Vec::new();
    let mut hidden = 0_usize;
    let note_columns = columns.saturating_sub(70).clamp(8, NOTE_COLUMNS_MAX);
    for (_, step, _) in waves(checked) {
        let id = step.id.value.as_str();
        let Some(known) = state.steps.get(id) else {
            continue;
        };
        let moves = !matches!(known.status, StepStatus::Pending | StepStatus::Succeeded);
        if rows.len() >= STEPS_SHOWN_MAX && !moves {
            hidden += 1;
            continue;
        }
        let note = note(narrator, checked, state, id, now);
        rows.push(row(id, what(step), known, &cut(&note, note_columns)));
    }
    page.table(2, &rows);
    if hidden > 0 {
        page.faint(&format!("  and {hidden} more")).end();
    }
    page
}

fn row(id: &str, tool: &str, known: &StepState, note: &str) -> Vec<Cell> {
    let status = status_of(known);
    vec![
        Cell::plain(cut(id, 20)),
        Cell::new(super::page::TextStyle::Faint, cut(tool, 24)),
        Cell::new(step_look(status), step_status(status)),
        Cell::new(super::page::TextStyle::Faint, note.to_owned()),
    ]
}

/// The status, with attempts in flight seen.
fn status_of(known: &StepState) -> StepStatus {
    let flies = known.items.iter().any(|item| item.in_flight.is_some());
    if flies && !known.status.is_final() {
        StepStatus::Running
    } else {
        known.status
    }
}

fn note(narrator: &Narrator, checked: &CheckedPlan, state: &State, id: &str, now: i64) -> String {
    let mut parts = Vec::new();
    let Some(known) = state.steps.get(id) else {
        return String::new();
    };
    if known.is_list && known.listed {
        let over = known.items.iter().filter(|item| !item.is_open()).count();
        parts.push(format!("{over} of {}", known.items.len()));
    }
    let slots: Vec<Slot> = (0..known.items.len().max(1))
        .map(|index| Slot {
            step: id.to_owned(),
            item: known.is_list.then_some(index),
        })
        .collect();
    let started = slots.iter().filter_map(|slot| narrator.started(slot)).min();
    let took = slots.iter().filter_map(|slot| narrator.took(slot)).max();
    if let Some(ms) = started.map(|started| now - started).or(took) {
        parts.push(lasted(ms));
    }
    let waits = |item: &ItemState| item.retry_at.map(|at| (at, item.history.class));
    if let Some((at, class)) = known.items.iter().filter_map(waits).min() {
        let what = match class {
            Some(Class::Ok) => "next poll",
            _ => "retry",
        };
        parts.push(format!("{what} in {}", lasted(at - now)));
    }
    match known.status {
        StepStatus::Pending => {
            let waits: Vec<&str> = checked
                .step(id)
                .into_iter()
                .flat_map(|(_, record)| &record.after)
                .filter(|dep| {
                    state
                        .steps
                        .get(*dep)
                        .is_some_and(|dep| !dep.status.is_final())
                })
                .map(String::as_str)
                .collect();
            if !waits.is_empty() {
                parts.push(format!("after {}", waits.join(", ")));
            }
        }
        StepStatus::Skipped => parts.push(skipped(known.skipped).to_owned()),
        _ => {}
    }
    if let Some(class) = known.class {
        parts.push(class.word().to_owned());
    }
    if let Some(message) = known.message.as_ref().filter(|message| !message.is_empty()) {
        parts.push(message.clone());
    }
    parts.join(", ")
}
