//! `approve`: a person's yes, and the run goes on.

use std::path::PathBuf;

use clap::Args;
use provost_engine::people::{CardFile, Statement};
use provost_engine::run::state::State;
use provost_engine::workspace::prepare_to_judge;
use provost_plan::digest::Digest;

use super::Watching;
use super::statement::{self, SigningArgs};
use super::target::{Target, TargetWait};
use crate::drive::typed_yes;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::card;
use crate::workspace_path::WorkspacePath;

/// Arguments of `approve`.
#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// run id with @DIGEST of the card, or a card file
    #[arg(value_name = "RUN[@DIGEST]|CARD.json")]
    target: Target,
    /// steps to approve on a plan's card; others are skipped
    #[arg(value_name = "STEP")]
    steps: Vec<String>,
    /// write the card to a file and approve nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["steps", "output"])]
    card: Option<PathBuf>,
    /// write the signed approval of a card file, for `provost record`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// refuse unless all values come from the goal, answers or trusted output
    #[arg(long)]
    only_goal_values: bool,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    watching: Watching,
}

/// Does it.
pub fn run(verb: ApproveArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    if let Some(path) = statement::card_path(&verb.target.run) {
        let steps = verb.steps;
        let yes = |file: &CardFile| Statement::Approve {
            card: file.digest,
            steps,
        };
        return statement::sign_offline(
            &path,
            verb.output.as_deref(),
            yes,
            &verb.signing,
            verb.watching,
        );
    }
    statement::refuse_output(verb.output.as_deref())?;
    if let Some(path) = &verb.card {
        // Why apart: to write a card needs no tool to be as it was locked.
        let engine = place.to_read()?;
        let record = verb.target.read(&engine)?;
        let state = record.run.state();
        let picked = verb.target.pick(state, TargetWait::Cards, place)?;
        return statement::save_card(path, &engine, state, picked, verb.watching);
    }
    prepare_to_judge();
    let run = verb.target.open(place)?;
    let state = run.state();
    let picked = verb.target.pick(state, TargetWait::Cards, place)?;
    if verb.only_goal_values {
        refuse_foreign(picked, state)?;
    }
    let card = match picked {
        Some(card) if verb.target.digest.is_some() => card,
        only => ask(only, state, place)?,
    };
    let steps = verb.steps;
    let yes = Statement::Approve { card, steps };
    statement::say(run, yes, &verb.signing, verb.watching, place)
}

/// Refuses a card with a value that only an untrusted planner or tool brought.
fn refuse_foreign(picked: Option<Digest>, state: &State) -> Result<(), Failure> {
    let mut cards = state.open_cards();
    let card = cards.find(|(digest, _)| picked.is_none_or(|picked| **digest == picked));
    let foreign = card
        .map(|(_, card)| card.foreign_values())
        .unwrap_or_default();
    if foreign.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = foreign.iter().map(String::as_str).collect();
    let message = format!(
        "values come from no goal, answer or trusted output: {}",
        names.join(", ")
    );
    Err(Failure::usage(message)
        .hint("check them on the card, then approve without `--only-goal-values`"))
}

/// Shows a card and asks; without a terminal nobody can have seen it.
fn ask(only: Option<Digest>, state: &State, place: &WorkspacePath) -> Result<Digest, Failure> {
    let cards: Vec<_> = state.open_cards().collect();
    let first = only.or_else(|| cards.first().map(|(digest, _)| **digest));
    let found = first.and_then(|first| cards.iter().find(|(digest, _)| **digest == first));
    let Some((digest, asked)) = found else {
        return Err(Failure::usage(format!(
            "run `{}` has no open card",
            state.head.run
        )));
    };
    let id = digest.in_command();
    let command = place.command(&format!("provost approve {}@{id}", state.head.run));
    output::note(&card::page(digest, asked).finish());
    if !output::is_attended() {
        return Err(
            Failure::usage("an approval needs the digest of the card, or a terminal")
                .hint(format!("read the card, then type:\n  {command}")),
        );
    }
    if typed_yes("approve? y = yes, anything else = not now: ")? {
        return Ok(**digest);
    }
    Err(Failure::usage("nothing was approved").hint(format!("to approve it later: {command}")))
}
