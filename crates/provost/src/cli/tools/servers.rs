//! The MCP servers, asked from the command line.

use std::collections::BTreeMap;
use std::time::Duration;

use provost_engine::tools::Listing;
use provost_engine::workspace::{
    ServerAnswers, ServerError, WorkspaceError, list_servers, list_servers_of,
};
use provost_plan::source::Source;

use crate::failure::Failure;
use crate::workspace_path::WorkspacePath;

/// How long a server may take to say what it can do: a first start may fetch it.
const TIME: Duration = Duration::from_secs(60);

/// What every server of the workspace can do; an error if one does not say it.
pub fn listings(place: &WorkspacePath) -> Result<BTreeMap<String, Listing>, Failure> {
    let root = place.root()?;
    let answers = asked(list_servers(&root, TIME))?;
    match answers.failed.is_empty() {
        true => Ok(answers.listings),
        false => Err(unanswered(&answers.failed)),
    }
}

/// What the servers of these tables can do, which are in no provost.toml yet.
pub fn listings_of(place: &WorkspacePath, tables: &str) -> Result<ServerAnswers, Failure> {
    let (root, source) = (place.root()?, Source::new("the new tables", tables));
    asked(list_servers_of(&root, &source, TIME))
}

/// The failure of servers that do not say what they can do.
pub fn unanswered(failed: &[ServerError]) -> Failure {
    let lines: Vec<String> = failed.iter().map(ServerError::to_string).collect();
    // Why two: a secret is never copied out of a client's file, so its server could not start.
    let hint = match failed
        .iter()
        .all(|one| one.reason.starts_with("the secret `"))
    {
        true => "a value that may be secret is not copied: export it under that name",
        false => "start its `command` by hand to see what is wrong with it",
    };
    Failure::failed(lines.join("\n")).hint(hint)
}

fn asked(
    asking: impl Future<Output = Result<ServerAnswers, WorkspaceError>>,
) -> Result<ServerAnswers, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format!("no thread could be started: {error}")))?;
    Ok(runtime.block_on(asking)?)
}
