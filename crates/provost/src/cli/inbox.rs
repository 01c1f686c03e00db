//! `inbox`: everything that waits for a person, with the commands to type.

use std::path::{Path, PathBuf};

use clap::Args;
use provost_engine::history::{self, History};
use provost_engine::run::state::{WaitKind, Waiting};
use provost_engine::store::{RunFilter, RunRow, Store};
use serde_json::{Value, json};

use super::statement::write_card;
use super::undriven::{Drivers, NO_DRIVER};
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Page, TextStyle};
use crate::screen::run::waiting;
use crate::screen::waits;
use crate::screen::words::count;
use crate::workspace_path::WorkspacePath;

/// Arguments of `inbox`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "exit codes of --check: 0 nothing waits for a person · 3 something does, or no \
                        process drives a run · \
                        4 something is in doubt"
)]
pub struct InboxArgs {
    /// print one JSON object
    #[arg(long)]
    json: bool,
    /// print nothing; exit 3 if something waits, 4 if in doubt
    #[arg(long, conflicts_with_all = ["json", "cards"])]
    check: bool,
    /// write every open card to a file in this directory
    #[arg(long, value_name = "DIR", conflicts_with = "json")]
    cards: Option<PathBuf>,
}

/// Does it.
pub fn run(verb: &InboxArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let journal = place.journal_if_any()?;
    let (rows, lost) = match &journal {
        Some(store) => (waiting_runs(store)?, lost_runs(store, place)?),
        None => (Vec::new(), Vec::new()),
    };
    if verb.check {
        return Ok(check(&rows, &lost));
    }
    if let (Some(dir), Some(store)) = (&verb.cards, &journal) {
        return write_cards(dir, store, &rows);
    }
    if verb.json {
        let waiting: Vec<_> = rows
            .iter()
            .map(|(row, waiting)| {
                json!({
                    "run": row.id,
                    "goal": row.goal,
                    "status": row.status,
                    "waiting_for": waits::first(&row.id, waiting, place),
                    "waits": waits::all(&row.id, waiting, place),
                })
            })
            .collect();
        let lost: Vec<_> = lost.iter().map(|row| lost_json(row, place)).collect();
        output::json(&json!({
            "schema": "provost/inbox/v1",
            "waiting": waiting,
            "undriven": lost,
        }));
        return Ok(Exit::Done);
    }
    if rows.is_empty() && lost.is_empty() {
        output::note("nothing waits for a person\n");
    }
    let mut page = Page::new();
    for (row, _) in &rows {
        let Some(store) = &journal else { break };
        if !page.is_empty() {
            page.end();
        }
        match History::read(store, &row.id) {
            Ok(history) => {
                page.page(waiting(&history.state, place));
            }
            // Why on: one run that cannot be read must not hide the others.
            Err(error) => {
                page.bad("error: ").line(&error.to_string());
            }
        }
    }
    for row in &lost {
        if !page.is_empty() {
            page.end();
        }
        page.strong(&format!("run {}", row.id)).text(": ");
        page.put(TextStyle::Warn, NO_DRIVER).end();
        page.field("goal", &row.goal);
        page.line("  the process that drove it is gone; what it called last is not known yet");
        page.faint("go on with: ").line(&resume(row, place));
    }
    output::data(&page.finish());
    Ok(Exit::Done)
}

/// The runs whose process is gone, and that nobody has taken up.
fn lost_runs(store: &Store, place: &WorkspacePath) -> Result<Vec<RunRow>, Failure> {
    let drivers = Drivers::of(place)?;
    let rows = store.runs(&RunFilter::unfinished())?.into_iter();
    Ok(rows.filter(|row| drivers.lost(row)).collect())
}

fn resume(row: &RunRow, place: &WorkspacePath) -> String {
    place.command(&format!("provost resume {}", row.id))
}

fn lost_json(row: &RunRow, place: &WorkspacePath) -> Value {
    json!({
        "run": row.id,
        "goal": row.goal,
        "status": row.status,
        "command": resume(row, place),
    })
}

/// A run, and what it waits for.
type WaitingRun = (RunRow, Vec<Waiting>);

/// The runs that wait for somebody, whatever else of them is busy.
fn waiting_runs(store: &Store) -> Result<Vec<WaitingRun>, Failure> {
    let mut waits = history::waits(store)?;
    let rows = store.runs(&RunFilter::unfinished())?.into_iter();
    let rows = rows.filter_map(|row| {
        let waiting = waits.remove(&row.id)?;
        let lacks = waiting.iter().any(|one| one.kind == WaitKind::Secret);
        // Why: a run that somebody stopped by hand waits for nobody else.
        let stopped = row.status == "paused" && !lacks;
        (!waiting.is_empty() && !stopped).then_some((row, waiting))
    });
    Ok(rows.collect())
}

/// The gravest of what waits, and how much there is of it.
fn check(rows: &[WaitingRun], lost: &[RunRow]) -> Exit {
    let doubt = |(_, waiting): &&WaitingRun| {
        let mut kinds = waiting.iter().map(|one| one.kind);
        kinds.any(|kind| kind == WaitKind::Settlement)
    };
    let in_doubt = rows.iter().filter(doubt).count();
    let mut page = Page::new();
    let lost = match lost.len() {
        0 => String::new(),
        n => format!(", {} without a process", count(n, "run")),
    };
    page.line(&format!(
        "{} for a person, {in_doubt} in doubt{lost}",
        match rows.len() - in_doubt {
            0 => "nothing waits".to_owned(),
            1 => "1 run waits".to_owned(),
            n => format!("{n} runs wait"),
        }
    ));
    output::note(&page.finish());
    match (in_doubt, rows.is_empty() && lost.is_empty()) {
        (1.., _) => Exit::InDoubt,
        (0, false) => Exit::Waiting,
        (0, true) => Exit::Done,
    }
}

fn write_cards(dir: &Path, store: &Store, rows: &[WaitingRun]) -> Result<Exit, Failure> {
    std::fs::create_dir_all(dir).map_err(|error| {
        let reason = crate::document::reason(&error);
        Failure::usage(format!("`{}` cannot be made: {reason}", dir.display()))
    })?;
    let name = store.name()?;
    let mut page = Page::new();
    for (row, _) in rows {
        let history = History::read(store, &row.id)?;
        for (digest, card) in history.state.open_cards() {
            let path = dir.join(format!("{}-{}.json", row.id, digest.in_command()));
            write_card(&path, &name, card)?;
            page.line(&path.to_string_lossy());
        }
    }
    if page.is_empty() {
        output::note("no card waits for a person\n");
    }
    output::data(&page.finish());
    Ok(Exit::Done)
}
