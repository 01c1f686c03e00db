//! `schedules`: the goals that the clock begins, when they are due and what became of them.

use clap::Args;
use provost_engine::proposal::route;
use provost_engine::run::event::RunStatus;
use provost_engine::schedule::{Overlap, Schedule};
use provost_engine::store::{ScheduleRow, Store};
use provost_engine::workspace::Workspace;
use serde_json::{Value, json};

use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Cell, Page, TextStyle};
use crate::screen::words::{moment, run_look, run_status};
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
        output::json(&json!({ "schema": "provost/schedules/v1", "schedules": schedules }));
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
    if listed.iter().any(|one| one.row.is_none()) {
        let work = place.command("provost work");
        page.faint(&format!("the clock runs while `{work}` does"))
            .end();
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
        let unrouted = route(workspace, &schedule.goal, None).err();
        all.push(Listed {
            schedule,
            trouble: unrouted
                .map(|error| error.to_string())
                .or_else(|| row.as_ref()?.said.clone()),
            // Why: what it was due at under other times says nothing now.
            row: row.filter(|row| row.timing == schedule.timing.to_string()),
            last_status: last.map(|row| row.status),
        });
    }
    Ok(all)
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
    let next = one.row.as_ref().map(|row| moment(row.due_ms));
    rows.push(vec![
        Cell::new(TextStyle::Faint, "next"),
        Cell::plain(next.unwrap_or_else(|| "when a process works".to_owned())),
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
        "next": row.map(|row| moment(row.due_ms)),
        "last": row.and_then(|row| row.last_ms).map(moment),
        "last_run": row.and_then(|row| row.last_run.as_deref()),
        "last_status": one.last_status,
        "trouble": one.trouble,
    })
}
