//! `approve`: a person's yes, and the run goes on.

use clap::Args;
use provost_engine::engine::Engine;
use provost_engine::run::machine::Input;
use provost_engine::run::state::State;
use provost_plan::digest::Digest;

use super::Watching;
use super::target::{Target, Waiting, short};
use crate::drive::{Start, drive, typed_yes};
use crate::failure::{Exit, Failure};
use crate::output;
use crate::place::Place;
use crate::screen::card;

/// Arguments of `approve`.
#[derive(Debug, Args)]
pub struct Approve {
    /// the run, and the digest of the card as it was shown
    #[arg(value_name = "RUN[@DIGEST]")]
    target: Target,
    /// of a plan's card, the steps that are approved; the others are skipped
    #[arg(value_name = "STEP")]
    steps: Vec<String>,
    #[command(flatten)]
    watching: Watching,
}

/// Does it.
pub fn run(verb: Approve, place: &Place) -> Result<Exit, Failure> {
    let (run, card) = {
        let engine = place.to_read()?;
        let record = verb.target.read(&engine)?;
        let state = record.run.state();
        let card = match verb.target.pick(state, Waiting::Cards, place)? {
            Some(card) if verb.target.digest.is_some() => card,
            only => ask(only, state, place)?,
        };
        (state.run.clone(), card)
    };
    let engine = place.to_drive()?;
    let by = approver(&engine);
    let input = Input::Approve {
        card,
        by,
        steps: verb.steps,
    };
    drive(
        place,
        &engine,
        Start::TakeUp {
            run,
            input: Some(Box::new(input)),
        },
        verb.watching,
    )
}

/// Who says yes.
pub fn approver(engine: &Engine) -> provost_plan::policy::Principal {
    engine.workspace().user().clone()
}

/// Shows a card and asks; without a terminal nobody can have seen it.
fn ask(only: Option<Digest>, state: &State, place: &Place) -> Result<Digest, Failure> {
    let cards: Vec<_> = state.open_cards().collect();
    let first = only.or_else(|| cards.first().map(|(digest, _)| **digest));
    let found = first.and_then(|first| cards.iter().find(|(digest, _)| **digest == first));
    let Some((digest, asked)) = found else {
        return Err(Failure::usage(format!(
            "run `{}` has no open card",
            state.run
        )));
    };
    let id = short(digest);
    let command = place.command(&format!("provost approve {}@{id}", state.run));
    output::note(&card::page(digest, asked).finish());
    if !output::is_attended() {
        return Err(
            Failure::usage("a yes needs the digest of the card, or a terminal to ask at")
                .hint(format!("read the card, then type:\n  {command}")),
        );
    }
    if typed_yes("approve? y = yes, anything else = not now: ")? {
        return Ok(**digest);
    }
    Err(Failure::usage("nothing was approved").hint(format!("to approve it later: {command}")))
}
