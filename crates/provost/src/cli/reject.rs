//! `reject`: a person's no; it is recorded, and the run goes where that leads.

use std::path::PathBuf;

use clap::Args;
use provost_engine::inbox::{CardFile, Statement};

use super::Watching;
use super::say::{self, SigningArgs};
use super::target::{Target, Waiting};
use crate::failure::{Exit, Failure};
use crate::place::Place;

/// Arguments of `reject`.
#[derive(Debug, Args)]
pub struct Reject {
    /// the run, and the digest of the card where several are open; or a card that came as a file
    #[arg(value_name = "RUN[@DIGEST]|CARD.json")]
    target: Target,
    /// why not; the planner gets to read it
    #[arg(long, value_name = "WHY", default_value = "no reason was given")]
    reason: String,
    /// write the signed no to a card that came as a file, for `provost record`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    watching: Watching,
}

/// Does it.
pub fn run(verb: Reject, place: &Place) -> Result<Exit, Failure> {
    let reason = verb.reason;
    if let Some(path) = say::card_path(&verb.target.run) {
        let no = |file: &CardFile| Statement::Reject {
            card: file.digest,
            reason,
        };
        return say::sign_offline(&path, verb.output.as_deref(), no, &verb.signing);
    }
    say::refuse_output(verb.output.as_deref())?;
    let envelope = {
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
        say::envelope(
            &engine,
            state,
            Statement::Reject { card, reason },
            &verb.signing,
        )?
    };
    say::say(envelope, &verb.signing, verb.watching, place)?;
    // Why whatever the run came to: the no was asked for, and it is recorded.
    Ok(Exit::Done)
}
