//! `cancel`: a person ends a run.

use clap::Args;
use provost_engine::inbox::Statement;

use super::Watching;
use super::say::{self, SigningArgs};
use super::target::Target;
use crate::failure::{Exit, Failure};
use crate::place::Place;

/// Arguments of `cancel`.
#[derive(Debug, Args)]
pub struct Cancel {
    /// the run
    #[arg(value_name = "RUN")]
    target: Target,
    /// why
    #[arg(long, value_name = "WHY")]
    reason: Option<String>,
    /// take back what happened first, by the `undo` of its steps, the newest first
    #[arg(long)]
    undo: bool,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    watching: Watching,
}

/// Does it.
pub fn run(verb: Cancel, place: &Place) -> Result<Exit, Failure> {
    let envelope = {
        let engine = place.to_read()?;
        let record = verb.target.read(&engine)?;
        let (reason, undo) = (verb.reason, verb.undo);
        let statement = Statement::Cancel { reason, undo };
        say::envelope(&engine, record.run.state(), statement, &verb.signing)?
    };
    say::say(envelope, &verb.signing, verb.watching, place)?;
    Ok(Exit::Done)
}
