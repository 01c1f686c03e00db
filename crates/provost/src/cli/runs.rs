//! `runs`: what ran and runs in this workspace.

use std::collections::BTreeSet;

use clap::Args;
use provost_engine::history;
use provost_engine::run::event::RunStatus;
use provost_engine::run::state::Waiting;
use provost_engine::store::{RunFilter, RunRow};
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Cell, Page, TextStyle};
use crate::screen::waits;
use crate::screen::words::{moment, run_look, run_status};
use crate::workspace_path::WorkspacePath;

/// Arguments of `runs`.
#[derive(Clone, Copy, Debug, Args)]
pub struct RunsArgs {
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: RunsArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let (rows, waiting) = match place.journal_if_any()? {
        Some(store) => (store.runs(&RunFilter::default())?, history::waits(&store)?),
        None => Default::default(),
    };
    let waits_of = |row: &RunRow| waiting.get(&row.id).map_or(&[][..], Vec::as_slice);
    if verb.json {
        let runs: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({
                    "id": row.id,
                    "goal": row.goal,
                    "status": row.status,
                    "waiting_for": waits::first(&row.id, waits_of(row), place),
                    "waits": waits::all(&row.id, waits_of(row), place),
                })
            })
            .collect();
        output::json(&json!({ "schema": "provost/runs/v1", "runs": runs }));
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        output::note("nothing has run in this workspace yet\n");
        return Ok(Exit::Done);
    }
    let mut page = Page::new();
    let cells: Vec<Vec<Cell>> = rows.iter().map(|row| cells(row, waits_of(row))).collect();
    page.table(0, &cells);
    output::data(&page.finish());
    Ok(Exit::Done)
}

fn cells(row: &RunRow, waits: &[Waiting]) -> Vec<Cell> {
    let slots = waits.iter().filter_map(|waiting| waiting.slot.as_ref());
    let steps: BTreeSet<&str> = slots.map(|slot| slot.step.as_str()).collect();
    let steps: Vec<&str> = steps.into_iter().collect();
    let waits = match steps.as_slice() {
        [] => String::new(),
        [step] => format!("step {step}"),
        several => format!("steps {}", several.join(", ")),
    };
    let status = RunStatus::of(&row.status);
    let look = status.map_or(TextStyle::Bad, run_look);
    let words = status.map_or_else(
        || row.status.clone(),
        |status| run_status(status).to_owned(),
    );
    vec![
        Cell::new(TextStyle::Strong, row.id.clone()),
        Cell::new(TextStyle::Faint, moment(row.created_at_ms)),
        Cell::new(look, words),
        Cell::plain(row.goal.clone()),
        Cell::new(TextStyle::Faint, waits),
    ]
}
