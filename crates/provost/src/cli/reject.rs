//! `reject`: a person's no; it is recorded, and the run goes where that leads.

use std::path::PathBuf;

use clap::Args;
use provost_engine::people::{CardFile, Statement};

use super::Watching;
use super::statement::{self, SigningArgs};
use super::target::{Target, TargetWait};
use crate::failure::{Exit, Failure};
use crate::workspace_path::WorkspacePath;

/// Arguments of `reject`.
#[derive(Debug, Args)]
pub struct RejectArgs {
    /// run id with @DIGEST of the card, or a card file
    #[arg(value_name = "RUN[@DIGEST]|CARD.json")]
    target: Target,
    /// step to reject, if several cards are open
    #[arg(long, value_name = "STEP", conflicts_with = "all")]
    step: Option<String>,
    /// reject everything that is left; the run ends
    #[arg(long)]
    all: bool,
    /// reason; the planner can read it
    #[arg(long, value_name = "WHY", default_value = "no reason was given")]
    reason: String,
    /// write the signed rejection of a card file, for `provost record`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    watching: Watching,
}

/// Does it.
pub fn run(verb: RejectArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let reason = verb.reason;
    if let Some(path) = statement::card_path(&verb.target.run) {
        let no = |file: &CardFile| Statement::Reject {
            card: file.digest,
            reason,
            all: verb.all,
        };
        return statement::sign_offline(
            &path,
            verb.output.as_deref(),
            no,
            &verb.signing,
            verb.watching,
        );
    }
    statement::refuse_output(verb.output.as_deref())?;
    let run = verb.target.open(place)?;
    let state = run.state();
    let picked = verb.target.pick(state, TargetWait::Cards, place)?;
    let of_step = |step: &str| {
        let mut open = state.open_cards();
        let found = open.find(|(_, card)| card.step() == Some(step));
        found.map(|(digest, _)| *digest).ok_or_else(|| {
            Failure::usage(format!("no open card is about step `{step}`"))
                .hint("`provost inbox` lists them, with commands")
        })
    };
    let card = match (&verb.step, picked) {
        (Some(step), _) => of_step(step)?,
        (None, Some(card)) => card,
        (None, None) => {
            let any = state.open_cards().map(|(digest, _)| *digest).next();
            any.filter(|_| verb.all).ok_or_else(|| {
                Failure::usage(format!(
                    "several cards of run `{}` are open",
                    state.head.run
                ))
                .hint("`--step STEP` names one of them, `--all` rejects all")
            })?
        }
    };
    let all = verb.all;
    let no = Statement::Reject { card, reason, all };
    statement::say(run, no, &verb.signing, verb.watching, place)?;
    // Why whatever the run came to: the no was asked for, and it is recorded.
    Ok(Exit::Done)
}
