//! `audit export`: a run as one file, for whoever has neither the workspace nor the journal.
//!
//! Owns what is in it. INVARIANT: values are those that the trace shows, so nothing secret leaves.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::show::statements;
use crate::cli::target::Target;
use crate::cli::trace::{all_lines, line_json};
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
    let events = all_lines(&history, workspace.as_ref());
    let events: Vec<Value> = events.map(|(line, data)| line_json(&line, &data)).collect();
    let head = &history.state.head;
    let exported = json!({
        "schema": "provost/export/v1",
        "store": store.name()?,
        "requested_by": head.principal.id,
        "requested_at": moment(head.created_at),
        "contradiction": validity::to_json(found.as_deref()),
        "run": run::to_json(&history.state, place),
        "statements": statements::to_json(&history),
        "events": events,
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
