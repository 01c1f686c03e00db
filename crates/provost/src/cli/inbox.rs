//! `inbox`: everything that waits for a person, with the commands to type.

use clap::Args;
use provost_engine::store::RunFilter;
use serde_json::json;

use super::runs::summary;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::place::Place;
use crate::screen::page::Page;
use crate::screen::run::{waiting, waiting_for};

/// Arguments of `inbox`.
#[derive(Clone, Copy, Debug, Args)]
pub struct Inbox {
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: Inbox, place: &Place) -> Result<Exit, Failure> {
    let engine = place.to_read_if_any()?;
    let statuses = ["waiting_approval", "waiting_answer", "in_doubt"];
    let filter = RunFilter {
        statuses: statuses.map(str::to_owned).to_vec(),
        ..RunFilter::default()
    };
    let rows = match &engine {
        Some(engine) => engine.store().runs(&filter).map_err(Failure::from)?,
        None => Vec::new(),
    };
    if verb.json {
        let waiting: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({
                    "run": row.id,
                    "goal": row.goal,
                    "status": row.status,
                    "waiting_for": waiting_for(&summary(row), place),
                })
            })
            .collect();
        output::json(&json!({ "schema": "provost/inbox/v1", "waiting": waiting }));
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        output::note("nothing waits for a person\n");
    }
    let mut page = Page::new();
    for row in &rows {
        let Some(engine) = &engine else { break };
        if !page.is_empty() {
            page.end();
        }
        match engine.read(&row.id) {
            Ok(record) => {
                page.page(waiting(record.run.state(), place));
            }
            // Why on: one run that cannot be read must not hide the others.
            Err(error) => {
                page.bad("error: ").line(&error.to_string());
            }
        }
    }
    output::data(&page.finish());
    Ok(Exit::Done)
}
