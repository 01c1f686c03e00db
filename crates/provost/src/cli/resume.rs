//! `resume`: a run goes on where its journal says it stands, or what was stopped may go on.

use clap::Args;
use provost_engine::inbox::Statement;
use provost_engine::store::StopScope;

use super::Watching;
use super::pause::StopTarget;
use super::say::{self, SigningArgs};
use crate::drive::{Start, drive};
use crate::failure::{Exit, Failure};
use crate::output;
use crate::place::WorkspacePath;
use crate::screen::page::Page;

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
        return lift(verb.what.scope(), place);
    };
    let engine = place.to_drive()?;
    let run = target.find(&engine)?;
    let record = engine.read(&run)?;
    let state = record.run.state();
    if state.paused.is_some() {
        let envelope = say::envelope(&engine, state, Statement::Resume, &verb.signing)?;
        drop(engine);
        return say::say(envelope, &verb.signing, verb.watching, place);
    }
    let start = Start::TakeUp {
        run,
        envelope: None,
    };
    drive(place, &engine, start, verb.watching)
}

/// Lets a scope go on. It drives nothing, and so needs no tool, lock or playbook to be in order;
/// but what the policies say of those who may has to be there.
fn lift((scope, name): (StopScope, String), place: &WorkspacePath) -> Result<Exit, Failure> {
    let store = place.journal_to_stop()?;
    let stops = store.stops()?;
    let mut stops = stops.iter();
    let Some(stopped) = stops.find(|stop| stop.scope == scope && stop.name == name) else {
        return Err(Failure::usage("nothing of that name is stopped")
            .hint("`provost doctor` lists what is"));
    };
    place.refuse_without_policies()?;
    store.unstop(scope, &name, &place.user()).wait()?;
    let mut page = Page::new();
    page.line(&format!("{} may go on", stopped.what()));
    let command = place.command("provost runs");
    page.faint("runs that were paused by it are resumed one by one: ")
        .line(&command);
    output::note(&page.finish());
    Ok(Exit::Done)
}
