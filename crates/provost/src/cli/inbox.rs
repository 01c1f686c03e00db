//! `inbox`: everything that waits for a person, with the commands to type.

use std::path::{Path, PathBuf};

use clap::Args;
use provost_engine::engine::Engine;
use provost_engine::store::{RunFilter, RunRow};
use serde_json::json;

use super::runs::summary;
use super::say::write_card;
use super::target::short;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::place::Place;
use crate::screen::page::Page;
use crate::screen::run::{waiting, waiting_for};

/// Arguments of `inbox`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "exit codes of --check: 0 nothing waits for a person · 3 something does · \
                        4 something is in doubt"
)]
pub struct Inbox {
    /// print one JSON object
    #[arg(long)]
    json: bool,
    /// say by the exit code alone whether something waits, for a monitor
    #[arg(long, conflicts_with_all = ["json", "cards"])]
    check: bool,
    /// write every open card to a file in this directory, for somebody to sign elsewhere
    #[arg(long, value_name = "DIR", conflicts_with = "json")]
    cards: Option<PathBuf>,
}

/// Does it.
pub fn run(verb: &Inbox, place: &Place) -> Result<Exit, Failure> {
    let engine = place.to_read_if_any()?;
    let statuses = ["waiting_approval", "waiting_answer", "in_doubt", "paused"];
    let filter = RunFilter {
        statuses: statuses.map(str::to_owned).to_vec(),
        ..RunFilter::default()
    };
    let mut rows = match &engine {
        Some(engine) => engine.store().runs(&filter).map_err(Failure::from)?,
        None => Vec::new(),
    };
    // Why: a run that somebody stopped by hand waits for nobody else.
    rows.retain(|row| row.status != "paused" || summary(row).waiting_for.is_some());
    if verb.check {
        return Ok(check(&rows));
    }
    if let (Some(dir), Some(engine)) = (&verb.cards, &engine) {
        return write_cards(dir, engine, &rows);
    }
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

/// The gravest of what waits, and how much there is of it.
fn check(rows: &[RunRow]) -> Exit {
    let in_doubt = rows.iter().filter(|row| row.status == "in_doubt").count();
    let mut page = Page::new();
    page.line(&format!(
        "{} for a person, {in_doubt} in doubt",
        match rows.len() - in_doubt {
            0 => "nothing waits".to_owned(),
            1 => "1 run waits".to_owned(),
            n => format!("{n} runs wait"),
        }
    ));
    output::note(&page.finish());
    match (in_doubt, rows.is_empty()) {
        (1.., _) => Exit::InDoubt,
        (0, false) => Exit::Waiting,
        (0, true) => Exit::Done,
    }
}

fn write_cards(dir: &Path, engine: &Engine, rows: &[RunRow]) -> Result<Exit, Failure> {
    std::fs::create_dir_all(dir).map_err(|error| {
        let reason = crate::document::reason(&error);
        Failure::usage(format!("`{}` cannot be made: {reason}", dir.display()))
    })?;
    let mut page = Page::new();
    for row in rows {
        let record = engine.read(&row.id)?;
        for (digest, card) in record.run.state().open_cards() {
            let path = dir.join(format!("{}-{}.json", row.id, short(digest)));
            write_card(&path, engine.inbox().store(), card)?;
            page.line(&path.to_string_lossy());
        }
    }
    if page.is_empty() {
        output::note("no card waits for a person\n");
    }
    output::data(&page.finish());
    Ok(Exit::Done)
}
