//! `cancel`: a person ends a run.

use clap::Args;
use provost_engine::run::machine::Input;

use super::Watching;
use super::approve::approver;
use super::target::Target;
use crate::drive::{Start, drive};
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
    #[command(flatten)]
    watching: Watching,
}

/// Does it.
pub fn run(verb: Cancel, place: &Place) -> Result<Exit, Failure> {
    let engine = place.to_drive()?;
    let run = verb.target.find(&engine)?;
    let input = Input::Cancel {
        by: approver(&engine),
        reason: verb.reason,
    };
    drive(
        place,
        &engine,
        Start::TakeUp {
            run,
            input: Some(Box::new(input)),
        },
        verb.watching,
    )?;
    Ok(Exit::Done)
}
