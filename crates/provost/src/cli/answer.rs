//! `answer`: a person's answer to a question, and the run goes on.

use clap::Args;
use provost_engine::people::Statement;

use super::Watching;
use super::statement::{self, SigningArgs};
use super::target::{Target, TargetWait};
use crate::failure::{Exit, Failure};
use crate::screen::question;
use crate::workspace_path::WorkspacePath;

/// Arguments of `answer`.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// run id; with @DIGEST if several questions are open
    #[arg(value_name = "RUN[@DIGEST]")]
    target: Target,
    /// answer: JSON or plain text
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    watching: Watching,
}

/// Does it.
pub fn run(verb: &AnswerArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let run = verb.target.open(place)?;
    let state = run.state();
    let picked = verb.target.pick(state, TargetWait::Questions, place)?;
    let found = picked.and_then(|picked| {
        state
            .open_questions()
            .find(|(digest, _)| **digest == picked)
    });
    let Some((digest, asked)) = found else {
        return Err(Failure::usage(format!(
            "several questions of run `{}` wait",
            state.head.run
        ))
        .hint("`provost inbox` lists them, with commands"));
    };
    let value = question::read(asked, &verb.value).map_err(|reason| {
        Failure::usage(reason).hint(format!("the question is: {}", asked.text))
    })?;
    let question = *digest;
    let statement = Statement::Answer { question, value };
    statement::say(run, statement, &verb.signing, verb.watching, place)
}
