//! `cancel`: a person ends a run.

use clap::Args;
use provost_engine::inbox::Saying;

use super::Watching;
use super::say::{self, Speaking};
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
    speaking: Speaking,
    #[command(flatten)]
    watching: Watching,
}

/// Does it.
pub fn run(verb: Cancel, place: &Place) -> Result<Exit, Failure> {
    let word = {
        let engine = place.to_read()?;
        let record = verb.target.read(&engine)?;
        let (reason, undo) = (verb.reason, verb.undo);
        let saying = Saying::Cancel { reason, undo };
        say::word(&engine, record.run.state(), saying, &verb.speaking)?
    };
    say::say(word, &verb.speaking, verb.watching, place)?;
    Ok(Exit::Done)
}
