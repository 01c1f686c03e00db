//! `reject`: a person's no; it is recorded, and the run goes where that leads.

use clap::Args;
use provost_engine::run::machine::Input;

use super::Watching;
use super::approve::approver;
use super::target::{Target, Waiting};
use crate::drive::{Start, drive};
use crate::failure::{Exit, Failure};
use crate::place::Place;

/// Arguments of `reject`.
#[derive(Debug, Args)]
pub struct Reject {
    /// the run, and the digest of the card where several are open
    #[arg(value_name = "RUN[@DIGEST]")]
    target: Target,
    /// why not; the planner gets to read it
    #[arg(long, value_name = "WHY", default_value = "no reason was given")]
    reason: String,
    #[command(flatten)]
    watching: Watching,
}

/// Does it.
pub fn run(verb: Reject, place: &Place) -> Result<Exit, Failure> {
    let (run, card) = {
        let engine = place.to_read()?;
        let record = verb.target.read(&engine)?;
        let state = record.run.state();
        let card = verb
            .target
            .pick(state, Waiting::Cards, place)?
            .ok_or_else(|| {
                Failure::usage(format!("several cards of run `{}` are open", state.run))
                    .hint("`provost inbox` lists them, with commands")
            })?;
        (state.run.clone(), card)
    };
    let engine = place.to_drive()?;
    let input = Input::Reject {
        card,
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
    // Why whatever the run came to: the no was asked for, and it is recorded.
    Ok(Exit::Done)
}
