//! `record`: a statement that somebody signed elsewhere is taken into the workspace.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use provost_engine::limits::STATEMENT_BYTES_MAX;
use provost_engine::people::StatementEnvelope;

use super::Watching;
use crate::document::reason;
use crate::drive::{TakeUp, record};
use crate::failure::{Exit, Failure};
use crate::workspace_path::WorkspacePath;

/// Arguments of `record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// statement file from `provost approve CARD.json -o FILE`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    watching: Watching,
}

/// Does it.
pub fn run(verb: &RecordArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let envelope = StatementEnvelope::read_given(&text(&verb.file)?).map_err(|error| {
        Failure::usage(format!("`{}`: {error}", verb.file.display()))
            .hint("`provost approve CARD.json -o FILE` writes a statement")
    })?;
    let engine = place.to_drive()?;
    if envelope.store != engine.inbox().store() {
        return Err(
            Failure::usage("this statement is for a run of another workspace")
                .hint("`-C DIR` names the workspace that a statement is for"),
        );
    }
    let spoken = TakeUp {
        folded: Box::new(engine.fold(&envelope.run)?),
        envelope: Some(Box::new(envelope)),
    };
    record(place, &engine, spoken, verb.watching)
}

/// The text of a card file or a word.
pub fn text(path: &Path) -> Result<String, Failure> {
    let failed = |error: std::io::Error| {
        let shown = path.display();
        Failure::usage(format!("`{shown}` cannot be read: {}", reason(&error)))
    };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(STATEMENT_BYTES_MAX as u64 + 1)
        .read_to_string(&mut text)
        .map_err(failed)?;
    Ok(text)
}
