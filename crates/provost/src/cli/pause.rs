//! `pause`: a person stops a run, all runs, or whatever uses a tool, a playbook or a principal.

use clap::{ArgGroup, Args};
use provost_engine::engine::Engine;
use provost_engine::inbox::Statement;
use provost_engine::store::{StopScope, Stopped};

use super::Watching;
use super::say::{self, SigningArgs};
use super::target::Target;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::place::Place;
use crate::screen::page::Page;
use crate::screen::words::now_ms;

/// What is stopped, or let go on.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true)))]
pub struct What {
    /// the run
    #[arg(value_name = "RUN", group = "what")]
    pub target: Option<Target>,
    /// every run of the workspace, new ones too
    #[arg(long, group = "what")]
    pub all: bool,
    /// every call of a tool, such as `pager`, or of one operation, such as `pager.notify`
    #[arg(long, value_name = "NAME", group = "what")]
    pub tool: Option<String>,
    /// every run that a playbook planned
    #[arg(long, value_name = "NAME", group = "what")]
    pub playbook: Option<String>,
    /// every run for a principal
    #[arg(long, value_name = "NAME", group = "what")]
    pub principal: Option<String>,
}

impl What {
    /// The scope and its name; a run by its whole id.
    pub fn scope(&self, engine: &Engine) -> Result<(StopScope, String), Failure> {
        let named = [
            (StopScope::Tool, &self.tool),
            (StopScope::Playbook, &self.playbook),
            (StopScope::Principal, &self.principal),
        ];
        if let Some(target) = &self.target {
            return Ok((StopScope::Run, target.find(engine)?));
        }
        let named = named
            .into_iter()
            .find_map(|(scope, name)| Some((scope, name.clone()?)));
        let (scope, name) = named.unwrap_or((StopScope::All, String::new()));
        known(engine, scope, &name)?;
        Ok((scope, name))
    }
}

/// A stop that binds nothing would be a false comfort.
fn known(engine: &Engine, scope: StopScope, name: &str) -> Result<(), Failure> {
    let workspace = engine.workspace();
    let there = match scope {
        StopScope::Tool => {
            let prefix = format!("{name}.");
            let mut names = workspace.catalog().names();
            names.any(|tool| tool == name || tool.starts_with(&prefix))
        }
        StopScope::Playbook => workspace.playbooks().get(name).is_some(),
        StopScope::Run | StopScope::All | StopScope::Principal => true,
    };
    if there {
        return Ok(());
    }
    Err(
        Failure::usage(format!("there is no {} `{name}`", scope.word()))
            .hint("`provost tools list` lists the tools, `playbooks/` holds the playbooks"),
    )
}

/// Arguments of `pause`.
#[derive(Debug, Args)]
pub struct Pause {
    #[command(flatten)]
    what: What,
    /// why; it is recorded, and shown to whoever meets the stop
    #[arg(long, value_name = "WHY")]
    reason: String,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    watching: Watching,
}

/// Does it.
pub fn run(verb: &Pause, place: &Place) -> Result<Exit, Failure> {
    let stopped = {
        let engine = place.to_drive()?;
        let (scope, name) = verb.what.scope(&engine)?;
        let stopped = Stopped {
            scope,
            name,
            by: engine.workspace().user().id.clone(),
            reason: verb.reason.clone(),
            at_ms: now_ms(),
        };
        engine.store().stop(&stopped).wait()?;
        stopped
    };
    let (scope, name) = (stopped.scope, stopped.name.clone());
    if scope == StopScope::Run {
        tell(&name, &verb.reason, verb, place)?;
    }
    let mut page = Page::new();
    let what = stopped.what();
    page.line(&format!(
        "{what} is stopped: no further attempt begins, what is in flight settles"
    ));
    let command = match scope {
        StopScope::All => "provost resume --all".to_owned(),
        StopScope::Run => format!("provost resume {name}"),
        scope => format!("provost resume --{} {name}", scope.word()),
    };
    page.faint("let go on: ").line(&place.command(&command));
    output::note(&page.finish());
    Ok(Exit::Done)
}

/// Says it to the run itself: recorded where nobody drives it, posted to who does. Either way the
/// stop binds before the next call.
fn tell(run: &str, reason: &str, verb: &Pause, place: &Place) -> Result<(), Failure> {
    let how = SigningArgs {
        record: true,
        ..verb.signing.clone()
    };
    let envelope = {
        let engine = place.to_read()?;
        let record = engine.read(run)?;
        if record.run.state().ended.is_some() {
            return Err(Failure::usage("the run is over: there is nothing to stop"));
        }
        let reason = reason.to_owned();
        say::envelope(
            &engine,
            record.run.state(),
            Statement::Pause { reason },
            &how,
        )?
    };
    say::say(envelope, &how, verb.watching, place).map(|_| ())
}
