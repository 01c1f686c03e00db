//! `schedules`: the goals that the clock begins, when they are due and what became of them.

use clap::Args;
use provost_engine::proposal::{RoutedGoal, route};
use provost_engine::run::event::{PlannerChoice, RunStatus};
use provost_engine::schedule::{Overlap, Schedule, Timing};
use provost_engine::store::{ScheduleRow, Store};
use provost_engine::workspace::Workspace;
use provost_plan::duration;
use serde_json::{Value, json};

use super::work::works;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Cell, Page, TextStyle};
use crate::screen::words::{moment, now_ms, run_look, run_status};
use crate::workspace_path::WorkspacePath;

/// Arguments of `schedules`.
#[derive(Clone, Copy, Debug, Args)]
pub struct SchedulesArgs {
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// A schedule, and how far it is.
struct Listed<'w> {
    schedule: &'w Schedule,
    /// None until a process works.
    row: Option<ScheduleRow>,
    last_status: Option<String>,
    trouble: Option<String>,
}

/// Does it.
pub fn run(verb: SchedulesArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let workspace = place.workspace()?;
    let store = place.journal_if_any()?;
    let listed = list(&workspace, store.as_ref())?;
    if verb.json {
        let schedules: Vec<Value> = listed.iter().map(to_json).collect();
        output::json(&json!({
            "schema": "provost/schedules/v1",
            "working": works(place)?,
            "schedules": schedules,
        }));
        return Ok(Exit::Done);
    }
    if listed.is_empty() {
        output::note("provost.toml has no `[schedule.NAME]`\n");
        return Ok(Exit::Done);
    }
    let mut page = Page::new();
    for one in &listed {
        put(&mut page, one);
    }
    if !works(place)? {
        let work = place.command("provost work");
        let says = format!("no process works here, so none of these begins: `{work}`");
        page.put(TextStyle::Warn, &says).end();
    }
    output::data(&page.finish());
    Ok(Exit::Done)
}

fn list<'w>(workspace: &'w Workspace, store: Option<&Store>) -> Result<Vec<Listed<'w>>, Failure> {
    let rows = store.map_or_else(|| Ok(Vec::new()), Store::schedules)?;
    let mut all = Vec::new();
    for schedule in workspace.schedules() {
        let row = rows.iter().find(|row| row.name == schedule.name).cloned();
        let last = row.as_ref().and_then(|row| row.last_run.as_deref());
        let last = last.zip(store).and_then(|(run, store)| store.run(run).ok());
        let trouble = match route(workspace, &schedule.goal, None) {
            Err(error) => Some(error.to_string()),
            Ok(routed) => waits_for_person(&routed),
        };
        all.push(Listed {
            schedule,
            trouble: trouble.or_else(|| row.as_ref()?.said.clone()),
            // Why: what it was due at under other times says nothing now.
            row: row.filter(|row| row.timing == schedule.timing.to_string()),
            last_status: last.map(|row| row.status),
        });
    }
    Ok(all)
}

/// Why every run would ask a person before anything is planned, if it would.
fn waits_for_person(routed: &RoutedGoal) -> Option<String> {
    let PlannerChoice::Interpreter { playbooks } = &routed.assignment.planner else {
        return None;
    };
    let why = match playbooks.as_slice() {
        [only] => format!("the goal leaves out or misspells a value of the playbook `{only}`"),
        several => format!("the goal may be for {}", several.join(", ")),
    };
    Some(format!("{why}, so every run would wait for a person"))
}

/// When a schedule is due next, in words.
fn next(one: &Listed<'_>) -> String {
    match (&one.row, &one.schedule.timing) {
        (Some(row), _) => moment(row.due_ms),
        // Why: an interval is counted from the moment at which a process first sees it.
        (None, Timing::Every(every)) => {
            format!("{} after a process first works", duration::print(*every))
        }
        (None, Timing::Cron(_)) => next_of_cron(one).map_or_else(|| "never".to_owned(), moment),
    }
}

fn next_of_cron(one: &Listed<'_>) -> Option<i64> {
    match one.schedule.timing {
        Timing::Cron(_) => one.schedule.first(now_ms()),
        Timing::Every(_) => None,
    }
}

fn put(page: &mut Page, one: &Listed<'_>) {
    let schedule = one.schedule;
    page.strong(&schedule.name).text(": ").line(&schedule.goal);
    let overlap = match schedule.on_overlap {
        Overlap::Skip => "skips a time while its last run is not over",
        Overlap::Queue => "runs once more after a run that took longer",
    };
    let mut rows = vec![vec![
        Cell::new(TextStyle::Faint, "due"),
        Cell::plain(format!("{}; {overlap}", schedule.timing)),
    ]];
    rows.push(vec![
        Cell::new(TextStyle::Faint, "next"),
        Cell::plain(next(one)),
    ]);
    let last = one
        .row
        .as_ref()
        .and_then(|row| row.last_ms.zip(row.last_run.as_deref()));
    if let Some((at, run)) = last {
        let status = one.last_status.as_deref().and_then(RunStatus::of);
        let (look, words) = status.map_or((TextStyle::Plain, ""), |status| {
            (run_look(status), run_status(status))
        });
        rows.push(vec![
            Cell::new(TextStyle::Faint, "last"),
            Cell::plain(format!("{}, run {run}", moment(at))),
            Cell::new(look, words),
        ]);
    }
    if let Some(trouble) = &one.trouble {
        rows.push(vec![
            Cell::new(TextStyle::Faint, "but"),
            Cell::new(TextStyle::Warn, trouble.clone()),
        ]);
    }
    page.table(2, &rows);
}

fn to_json(one: &Listed<'_>) -> Value {
    let overlap = Overlap::WORDS
        .iter()
        .find(|(_, it)| *it == one.schedule.on_overlap);
    let row = one.row.as_ref();
    json!({
        "name": one.schedule.name,
        "goal": one.schedule.goal,
        "due": one.schedule.timing.to_string(),
        "on_overlap": overlap.map(|(word, _)| word),
        "next": row.map(|row| row.due_ms).or_else(|| next_of_cron(one)).map(moment),
        "last": row.and_then(|row| row.last_ms).map(moment),
        "last_run": row.and_then(|row| row.last_run.as_deref()),
        "last_status": one.last_status,
        "trouble": one.trouble,
    })
}
