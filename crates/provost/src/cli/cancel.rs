//! `cancel`: a person ends a run.

use clap::Args;
use provost_engine::people::Statement;

use super::Watching;
use super::statement::{self, SigningArgs};
use super::target::Target;
use crate::failure::{Exit, Failure};
use crate::workspace_path::WorkspacePath;

/// Arguments of `cancel`.
#[derive(Debug, Args)]
pub struct CancelArgs {
    /// run id, or a unique prefix
    #[arg(value_name = "RUN")]
    target: Target,
    /// reason, recorded in the journal
    #[arg(long, value_name = "WHY")]
    reason: Option<String>,
    /// first undo the steps that declare `undo`, newest first
    #[arg(long)]
    undo: bool,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    watching: Watching,
}

/// Does it, where the workspace cannot be read by a statement that whoever drives the run hears
/// before anything else of it begins.
pub fn run(verb: CancelArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let run = verb.target.find_in(&place.journal()?)?;
    let (reason, undo) = (verb.reason, verb.undo);
    let statement = Statement::Cancel { reason, undo };
    statement::stop(&run, statement, &verb.signing, verb.watching, place)?;
    Ok(Exit::Done)
}
