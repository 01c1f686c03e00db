//! `resume`: a run goes on where its journal says it stands, or what was stopped may go on.

use clap::Args;
use provost_engine::people::Statement;
use provost_engine::store::StopScope;

use super::Watching;
use super::pause::{StopTarget, stop_json};
use super::statement::{self, SigningArgs};
use crate::drive::{Start, TakeUp, drive};
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::Page;
use crate::workspace_path::WorkspacePath;

/// Arguments of `resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    #[command(flatten)]
    what: StopTarget,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    watching: Watching,
}

/// Does it.
pub fn run(verb: &ResumeArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let Some(target) = &verb.what.target else {
        let (scope, name) = verb.what.scope();
        return lift(scope, &name, verb.watching.json, place);
    };
    let run = target.open(place)?;
    if run.state().ending.paused.is_some() {
        return statement::say(run, Statement::Resume, &verb.signing, verb.watching, place);
    }
    let engine = place.driving(run.engine)?;
    let start = TakeUp {
        folded: Box::new(run.folded),
        envelope: None,
    };
    drive(place, &engine, Start::TakeUp(start), verb.watching)
}

/// Lets a scope go on. It drives nothing, and so needs no tool, lock or playbook to be in order;
/// but what the policies say of those who may has to be there.
fn lift(
    scope: StopScope,
    name: &str,
    is_json: bool,
    place: &WorkspacePath,
) -> Result<Exit, Failure> {
    let store = place.journal_to_stop()?;
    let stops = store.stops()?;
    let mut stops = stops.iter();
    let Some(stopped) = stops.find(|stop| stop.scope == scope && stop.name == name) else {
        return Err(Failure::usage("nothing with that name is paused")
            .hint("`provost doctor` lists what is"));
    };
    place.refuse_without_policies()?;
    store.unstop(scope, name, &place.user()).wait()?;
    if is_json {
        output::json(&stop_json(scope, name, false));
    }
    let mut page = Page::new();
    page.line(&format!("{} may go on", stopped.what()));
    let command = place.command("provost runs");
    page.faint("runs that were paused by it are resumed one by one: ")
        .line(&command);
    output::note(&page.finish());
    Ok(Exit::Done)
}
