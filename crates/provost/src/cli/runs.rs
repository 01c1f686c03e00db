//! `runs`: what ran and runs in this workspace.

use clap::Args;
use provost_engine::store::{RunFilter, RunRow};
use provost_engine::summary::Summary;
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::output;
use crate::place::Place;
use crate::screen::page::{Cell, Look, Page};
use crate::screen::run::waiting_for;
use crate::screen::words::moment;

/// Arguments of `runs`.
#[derive(Clone, Copy, Debug, Args)]
pub struct Runs {
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: Runs, place: &Place) -> Result<Exit, Failure> {
    let rows = match place.journal()? {
        Some(store) => store.runs(&RunFilter::default())?,
        None => Vec::new(),
    };
    if verb.json {
        let runs: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({
                    "id": row.id,
                    "goal": row.goal,
                    "status": row.status,
                    "waiting_for": waiting_for(&summary(row), place),
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
    let cells: Vec<Vec<Cell>> = rows.iter().map(cells).collect();
    page.table(0, &cells);
    output::data(&page.finish());
    Ok(Exit::Done)
}

/// The summary that stands beside a run in the listing.
pub fn summary(row: &RunRow) -> Summary {
    serde_json::from_str(&row.summary).unwrap_or_default()
}

fn cells(row: &RunRow) -> Vec<Cell> {
    let summary = summary(row);
    let waits = summary
        .waiting_for
        .map_or_else(String::new, |waiting| match waiting.step {
            Some(step) => format!("step {step}"),
            None => String::new(),
        });
    let look = match row.status.as_str() {
        "succeeded" => Look::Good,
        "running" | "planning" => Look::Strong,
        "waiting_approval" | "waiting_answer" | "paused" => Look::Warn,
        _ => Look::Bad,
    };
    vec![
        Cell::new(Look::Strong, row.id.clone()),
        Cell::new(Look::Faint, moment(row.created_at_ms)),
        Cell::new(look, row.status.replace('_', " ")),
        Cell::plain(row.goal.clone()),
        Cell::new(Look::Faint, waits),
    ]
}
