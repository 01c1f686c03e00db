//! `undo`: a person takes back what a run did that has ended.

use clap::Args;
use provost_engine::people::Statement;
use provost_engine::run::event::RunStatus;

use super::Watching;
use super::statement::{self, SigningArgs};
use super::target::Target;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Page, TextStyle};
use crate::screen::run::to_json;
use crate::workspace_path::WorkspacePath;

/// Arguments of `undo`.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// run id, or a unique prefix
    #[arg(value_name = "RUN")]
    target: Target,
    /// reason, recorded in the journal
    #[arg(long, value_name = "WHY")]
    reason: Option<String>,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    watching: Watching,
}

/// Does it; does nothing, and says so, where all is undone.
pub fn run(verb: UndoArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let run = verb.target.open(place)?;
    let state = run.state();
    if state.status() == RunStatus::Undone {
        if verb.watching.json {
            output::json(&to_json(state, place));
        }
        let mut page = Page::new();
        page.put(TextStyle::Good, "undone").line(&format!(
            " before: nothing that run {} did is left to take back",
            state.head.run
        ));
        output::note(&page.finish());
        return Ok(Exit::Done);
    }
    let statement = Statement::Undo {
        reason: verb.reason,
    };
    statement::say(run, statement, &verb.signing, verb.watching, place)
}
