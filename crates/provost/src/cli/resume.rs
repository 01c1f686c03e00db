//! `resume`: a run goes on where its journal says it stands.

use clap::Args;

use super::Watching;
use super::target::Target;
use crate::drive::{Start, drive};
use crate::failure::{Exit, Failure};
use crate::place::Place;

/// Arguments of `resume`.
#[derive(Debug, Args)]
pub struct Resume {
    /// the run
    #[arg(value_name = "RUN")]
    target: Target,
    #[command(flatten)]
    watching: Watching,
}

/// Does it.
pub fn run(verb: &Resume, place: &Place) -> Result<Exit, Failure> {
    let engine = place.to_drive()?;
    let run = verb.target.find(&engine)?;
    drive(
        place,
        &engine,
        Start::TakeUp { run, input: None },
        verb.watching,
    )
}
