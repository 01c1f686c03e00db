//! The live view: the steps of the plan, redrawn in place, and the record that is left of them.
//!
//! Owns which steps are shown where not all of them fit. Draws only from the run's state, so it
//! shows the same after a resume. INVARIANT: a region is never higher nor a line wider than the
//! window it was made for, so that the number of lines drawn is the number of lines to go back.

use std::collections::BTreeMap;

use provost_engine::run::call::Slot;
use provost_engine::run::event::StepStatus;
use provost_engine::run::outcome::Class;
use provost_engine::run::state::{ItemState, State, StepState};
use provost_plan::check::CheckedPlan;

use super::narrate::Narrator;
use super::page::{Cell, Page, TextStyle, cut};
use super::plan::{waves, what};
use super::region::Window;
use super::words::{count, lasted, now_ms, skipped, step_look, step_status};

/// Most lines of steps, however high the window is.
const STEPS_SHOWN_MAX: usize = 30;
/// Fewest columns of a window in which the tools have a column of their own.
const TOOL_COLUMNS_MIN: usize = 90;

/// The region as it should look now; `below` lines are kept free for what stands under it.
pub fn region(narrator: &Narrator, state: &State, window: Window, below: usize) -> Page {
    if state.in_force.plan.is_none() && state.ending.ended.is_none() {
        let mut page = Page::new();
        page.faint("planning").end();
        return page;
    }
    // Why two more: the cursor stands on a line of its own behind the region, and some terminals
    // keep a copy of a screen that is erased from its first line on.
    let lines = window.lines.saturating_sub(2 + below);
    steps(narrator, state, window.columns, lines)
}

/// What is left of the region when nothing more is drawn in it.
pub fn record(narrator: &Narrator, state: &State, columns: usize) -> Page {
    steps(narrator, state, columns, STEPS_SHOWN_MAX)
}

/// How far the steps are, in a line.
pub fn sum(state: &State, columns: usize) -> Page {
    let mut page = Page::new();
    let Some(approved) = &state.in_force.plan else {
        return page;
    };
    let ids = approved.checked().plan().steps.iter();
    let known: Vec<&StepState> = ids.filter_map(|s| state.steps.get(&s.id.value)).collect();
    let text = format!("{}: {}", count(known.len(), "step"), by_status(&known));
    page.faint(&cut(&text, columns)).end();
    page
}

fn steps(narrator: &Narrator, state: &State, columns: usize, lines: usize) -> Page {
    let mut page = Page::new();
    let Some(approved) = &state.in_force.plan else {
        return page;
    };
    let checked = approved.checked();
    let now = if state.ending.ended.is_some() {
        state.spend.last_at
    } else {
        now_ms()
    };
    let all: Vec<(&str, &str, &StepState)> = waves(checked)
        .into_iter()
        .filter_map(|(_, step, _)| {
            let id = step.id.value.as_str();
            Some((id, what(step), state.steps.get(id)?))
        })
        .collect();
    let known: Vec<&StepState> = all.iter().map(|(_, _, known)| *known).collect();
    let shown = chosen(&known, lines.min(STEPS_SHOWN_MAX));
    let mut rows = Vec::new();
    let mut hidden = Vec::new();
    for ((id, tool, known), shown) in all.iter().zip(&shown) {
        if !shown {
            hidden.push(*known);
            continue;
        }
        let mut row = vec![Cell::plain(cut(id, 20))];
        if columns >= TOOL_COLUMNS_MIN {
            row.push(Cell::new(TextStyle::Faint, cut(tool, 24)));
        }
        let status = status_of(known);
        row.push(Cell::new(step_look(status), step_status(status)));
        let note = note(narrator, checked, state, id, now);
        row.push(Cell::new(TextStyle::Faint, note));
        rows.push(row);
    }
    page.table_within(2, &rows, columns);
    if !hidden.is_empty() {
        let text = format!("  and {} more: {}", hidden.len(), by_status(&hidden));
        page.faint(&cut(&text, columns)).end();
    }
    page
}

/// Which of the steps are shown in so many lines, one of which sums up the others if there are
/// any: what waits and what runs, then what failed, then those on either side of where the run is.
fn chosen(all: &[&StepState], lines: usize) -> Vec<bool> {
    if all.len() <= lines {
        return vec![true; all.len()];
    }
    let is = |known: &StepState, status| status_of(known) == status;
    let mut done = all
        .iter()
        .filter(|known| is(known, StepStatus::Succeeded))
        .count();
    let mut next = 0;
    let mut ranked: Vec<((u8, usize), usize)> = Vec::new();
    for (at, known) in all.iter().enumerate() {
        let rank = match status_of(known) {
            StepStatus::WaitingApproval | StepStatus::WaitingAnswer | StepStatus::InDoubt => {
                (0, at)
            }
            StepStatus::Running => (1, at),
            _ if known.items.iter().any(|item| item.retry_at.is_some()) => (2, at),
            StepStatus::Failed => (3, at),
            StepStatus::Succeeded => {
                done -= 1;
                (4, done)
            }
            StepStatus::Ready | StepStatus::Pending => {
                next += 1;
                (4, next - 1)
            }
            StepStatus::Blocked | StepStatus::Cancelled | StepStatus::Skipped => (5, at),
        };
        ranked.push((rank, at));
    }
    ranked.sort_unstable();
    let mut shown = vec![false; all.len()];
    for (_, at) in ranked.iter().take(lines.saturating_sub(1)) {
        if let Some(shown) = shown.get_mut(*at) {
            *shown = true;
        }
    }
    shown
}

/// How many steps there are of each status: `2 running, 40 pending`.
fn by_status(known: &[&StepState]) -> String {
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    for known in known {
        *counted.entry(step_status(status_of(known))).or_default() += 1;
    }
    let parts: Vec<String> = counted
        .iter()
        .map(|(word, n)| format!("{n} {word}"))
        .collect();
    parts.join(", ")
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
