//! `resume`: a run goes on where its journal says it stands, or what was stopped may go on.

use clap::Args;
use provost_engine::inbox::Statement;
use provost_engine::store::StopScope;

use super::Watching;
use super::pause::What;
use super::say::{self, SigningArgs};
use crate::drive::{Start, drive};
use crate::failure::{Exit, Failure};
use crate::output;
use crate::place::Place;
use crate::screen::page::Page;

/// Arguments of `resume`.
#[derive(Debug, Args)]
pub struct Resume {
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    watching: Watching,
}

/// Does it.
pub fn run(verb: &Resume, place: &Place) -> Result<Exit, Failure> {
    let engine = place.to_drive()?;
    let (scope, name) = verb.what.scope(&engine)?;
    let stops = engine.store().stops()?;
    let stopped = stops
        .iter()
        .find(|stop| stop.scope == scope && stop.name == name);
    if stopped.is_some() {
        engine.store().unstop(scope, &name).wait()?;
    }
    if scope != StopScope::Run {
        let Some(stopped) = stopped else {
            return Err(Failure::usage("nothing of that name is stopped")
                .hint("`provost doctor` lists what is"));
        };
        let mut page = Page::new();
        page.line(&format!("{} may go on", stopped.what()));
        let command = place.command("provost runs");
        page.faint("runs that were paused by it are resumed one by one: ")
            .line(&command);
        output::note(&page.finish());
        return Ok(Exit::Done);
    }
    let record = engine.read(&name)?;
    let state = record.run.state();
    if state.paused.is_some() {
        let envelope = say::envelope(&engine, state, Statement::Resume, &verb.signing)?;
        drop(engine);
        return say::say(envelope, &verb.signing, verb.watching, place);
    }
    let start = Start::TakeUp {
        run: name,
        envelope: None,
    };
    drive(place, &engine, start, verb.watching)
}
