//! `audit export`: a run as one file, for whoever has neither the workspace nor the journal.
//!
//! Owns what is in it. INVARIANT: values are those that the trace shows, so nothing secret leaves.

use std::path::PathBuf;

use clap::Args;
use provost_engine::history::History;
use provost_engine::run::read::trace::{line_data, trace};
use serde_json::{Value, json};

use crate::cli::show::statements;
use crate::cli::target::Target;
use crate::cli::trace::is_open;
use crate::cli::validity;
use crate::document::reason;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::run;
use crate::screen::words::moment;
use crate::workspace_path::WorkspacePath;

/// Arguments of `audit export`.
#[derive(Debug, Args)]
pub struct Export {
    /// run id, or a unique prefix
    #[arg(value_name = "RUN")]
    run: Target,
    /// file to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// print one JSON object, also for an error
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: &Export, place: &WorkspacePath) -> Result<Exit, Failure> {
    let store = place.journal()?;
    let history = verb.run.history(&store)?;
    let workspace = place.unlocked().ok();
    let found = validity::contradiction(workspace.as_ref(), &store, &history);
    let data = line_data(&history.events, &|started| {
        is_open(workspace.as_ref(), started)
    });
    let head = &history.state.head;
    let exported = json!({
        "schema": "provost/export/v1",
        "store": store.name()?,
        "requested_by": head.principal.id,
        "requested_at": moment(head.created_at),
        "contradiction": validity::to_json(found.as_deref()),
        "run": run::to_json(&history.state, place),
        "statements": statements::to_json(&history),
        "events": events(&history, data.into_iter().map(|line| line.data)),
    });
    let Some(path) = &verb.output else {
        output::json(&exported);
        return Ok(Exit::Done);
    };
    let text = serde_json::to_string_pretty(&exported).unwrap_or_default();
    std::fs::write(path, format!("{text}\n")).map_err(|error| {
        let shown = path.display();
        Failure::usage(format!("`{shown}` cannot be written: {}", reason(&error)))
            .hint("name a file in a directory that you may write to")
    })?;
    if verb.json {
        output::json(&exported);
    }
    output::note(&format!(
        "run {} with {} events is in {}\n",
        head.run,
        history.events.len(),
        path.display()
    ));
    Ok(Exit::Done)
}

/// Every event of the run, with what it says and holds.
fn events(history: &History, data: impl Iterator<Item = Value>) -> Value {
    let traced = trace(&history.events);
    let mut lines = traced.planning;
    lines.extend(traced.execution);
    lines.sort_by_key(|line| line.seq);
    let each = lines.into_iter().zip(data).map(|(line, data)| {
        json!({
            "seq": line.seq, "at": moment(line.at_ms), "kind": line.kind, "text": line.text,
            "data": data,
        })
    });
    each.collect()
}
