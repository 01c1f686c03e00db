//! `export`: runs in the forms of other tools.

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use provost_engine::telemetry::{otlp_lines, send_runs};

use crate::document::reason;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::words::count;
use crate::workspace_path::WorkspacePath;

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(subcommand)]
    form: ExportForm,
}

#[derive(Debug, Subcommand)]
enum ExportForm {
    /// traces of OpenTelemetry, as JSON lines that a collector reads
    Otlp(OtlpArgs),
}

/// Arguments of `export otlp`.
#[derive(Debug, Args)]
struct OtlpArgs {
    /// run ids, or unique prefixes
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
    /// write to this file instead of stdout; it must not exist
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// send to the receiver of `[telemetry]` instead, whatever was sent before
    #[arg(long, conflicts_with = "output")]
    send: bool,
}

/// Does it.
pub fn run(verb: &ExportArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let ExportForm::Otlp(verb) = &verb.form;
    let store = place.journal()?;
    let mut text = String::new();
    let runs = verb.runs.iter().map(|typed| store.find(typed));
    let runs: Result<Vec<String>, _> = runs.collect();
    let runs = runs.map_err(|error| Failure::usage(error.to_string()))?;
    if verb.send {
        let workspace = place.workspace()?;
        let sent = send_runs(&workspace, &store, &runs);
        sent.map_err(|why| Failure::usage(format!("the runs were not sent: {why}")))?;
        output::note(&format!("sent {}\n", count(runs.len(), "run")));
        return Ok(Exit::Done);
    }
    for run in &runs {
        for line in otlp_lines(&store, run)? {
            text.push_str(&line);
            text.push('\n');
        }
    }
    let Some(path) = &verb.output else {
        output::data(&text);
        return Ok(Exit::Done);
    };
    let written =
        std::fs::File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        let path = path.display();
        Failure::usage(format!("`{path}` cannot be written: {}", reason(&error)))
    })?;
    Ok(Exit::Done)
}
