//! `pause`: a person stops a run, all runs, or whatever uses a tool, a playbook or a principal.

use clap::{ArgGroup, Args};
use provost_engine::people::Statement;
use provost_engine::stops::unbound;
use provost_engine::store::{StopScope, Stopped};
use serde_json::{Value, json};

use super::Watching;
use super::statement::{self, SigningArgs};
use super::target::Target;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::Page;
use crate::screen::words::now_ms;
use crate::workspace_path::WorkspacePath;

/// What is stopped, or let go on.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true)))]
pub struct StopTarget {
    /// run id, or a unique prefix
    #[arg(value_name = "RUN", group = "what")]
    pub target: Option<Target>,
    /// all runs of the workspace, including new ones
    #[arg(long, group = "what")]
    pub all: bool,
    /// all calls of a tool (pager) or operation (pager.notify)
    #[arg(long, value_name = "NAME", group = "what")]
    pub tool: Option<String>,
    /// all runs of a playbook
    #[arg(long, value_name = "NAME", group = "what")]
    pub playbook: Option<String>,
    /// all runs of a principal
    #[arg(long, value_name = "NAME", group = "what")]
    pub principal: Option<String>,
}

impl StopTarget {
    /// The scope and its name, of what is no run.
    pub fn scope(&self) -> (StopScope, String) {
        let named = [
            (StopScope::Tool, &self.tool),
            (StopScope::Playbook, &self.playbook),
            (StopScope::Principal, &self.principal),
        ];
        let named = named
            .into_iter()
            .find_map(|(scope, name)| Some((scope, name.clone()?)));
        named.unwrap_or((StopScope::All, String::new()))
    }
}

/// A stop that binds nothing would be a false comfort. Where the workspace cannot be read, nobody
/// can tell, and the stop is taken all the same.
fn known(place: &WorkspacePath, scope: StopScope, name: &str) -> Result<(), Failure> {
    if scope == StopScope::All {
        return Ok(());
    }
    let workspace = match place.unlocked() {
        Ok(workspace) => workspace,
        Err(failure) => {
            let message = format!(
                "whether there is a {} `{name}` is not known: {}",
                scope.word(),
                failure.message()
            );
            Failure::usage(message).show_as("warning");
            return Ok(());
        }
    };
    let journal = place.journal_if_any()?;
    let Some(unbound) = unbound(&workspace, journal.as_ref(), scope, name)? else {
        return Ok(());
    };
    let hint = match &unbound.near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`provost tools list` lists the tools, `playbooks/` has the playbooks, \
                 `policies/entities.json` the people"
            .to_owned(),
    };
    Err(Failure::usage(unbound.to_string()).hint(hint))
}

/// Arguments of `pause`.
#[derive(Debug, Args)]
pub struct PauseArgs {
    #[command(flatten)]
    what: StopTarget,
    /// reason, recorded and shown
    #[arg(long, value_name = "WHY")]
    reason: String,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    watching: Watching,
}

/// Does it. It opens the journal alone: a stop is taken from whoever can write there.
pub fn run(verb: &PauseArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let (what, command) = match &verb.what.target {
        Some(target) => stop_run(target, verb, place)?,
        None => stop_scope(verb, place)?,
    };
    if verb.watching.json && verb.what.target.is_none() {
        let (scope, name) = verb.what.scope();
        output::json(&stop_json(scope, &name, true));
    }
    let mut page = Page::new();
    page.line(&format!(
        "{what} is paused: no new call starts, calls in flight settle"
    ));
    page.faint("to resume: ").line(&place.command(&command));
    output::note(&page.finish());
    Ok(Exit::Done)
}

/// What several runs share, and whether it is paused now.
pub fn stop_json(scope: StopScope, name: &str, paused: bool) -> Value {
    json!({
        "schema": "provost/stop/v1", "scope": scope.word(), "name": name, "paused": paused,
    })
}

/// Stops what several runs share; what that is, and the command that lets it go on.
fn stop_scope(verb: &PauseArgs, place: &WorkspacePath) -> Result<(String, String), Failure> {
    let (scope, name) = verb.what.scope();
    known(place, scope, &name)?;
    let stopped = Stopped {
        scope,
        name,
        by: place.user(),
        reason: verb.reason.clone(),
        at_ms: now_ms(),
    };
    place.journal_to_stop()?.stop(&stopped).wait()?;
    let command = match scope {
        StopScope::All => "provost resume --all".to_owned(),
        scope => format!("provost resume --{} {}", scope.word(), stopped.name),
    };
    Ok((stopped.what(), command))
}

/// Says to a run that it is to pause: recorded where nobody drives it, posted to who does, and
/// where the workspace cannot be read. Whoever drives it hears that before its next call.
fn stop_run(
    target: &Target,
    verb: &PauseArgs,
    place: &WorkspacePath,
) -> Result<(String, String), Failure> {
    let run = target.find_in(&place.journal()?)?;
    let how = SigningArgs {
        record: true,
        ..verb.signing.clone()
    };
    let reason = verb.reason.clone();
    let statement = Statement::Pause { reason };
    statement::stop(&run, statement, &how, verb.watching, place)?;
    Ok((format!("run `{run}`"), format!("provost resume {run}")))
}
