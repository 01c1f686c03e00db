//! `doctor --probe`: whether each tool is reached, and what mends it.
//!
//! Calls no operation: servers are asked what they can do, databases whether they have their table
//! for keys, and hosts are connected to.

use std::collections::BTreeMap;
use std::time::Duration;

use provost_engine::engine::open_tools;
use provost_engine::tools::{Listing, Probe, ToolConfig};
use provost_engine::workspace::Workspace;

use super::SetupFinding;
use crate::drive::runtime;
use crate::failure::Failure;
use crate::screen::words::count;

/// How long one tool may take.
const TIME: Duration = Duration::from_secs(20);

/// What came of reaching the tools.
#[derive(Default)]
pub(super) struct Probed {
    /// A finding for each tool.
    pub found: Vec<SetupFinding>,
    /// The tools of which nothing can be said, in words.
    pub untried: Vec<String>,
    /// What the MCP servers list that answered, by name.
    pub listings: BTreeMap<String, Listing>,
}

/// Reaches each tool.
pub(super) fn look(workspace: &Workspace) -> Result<Probed, Failure> {
    let toolbox = open_tools(workspace)?;
    let runtime = runtime(1)?;
    let mut probed = Probed::default();
    let (found, untried) = (&mut probed.found, &mut probed.untried);
    for tool in workspace.tools() {
        let name = tool.name();
        match runtime.block_on(toolbox.probe(name, TIME)) {
            Ok(Probe::Reached(said)) => {
                found.push(SetupFinding::fit("reached", format!("`{name}`: {said}")));
            }
            Ok(Probe::Listed(listing)) => {
                let tools = count(listing.tools.len(), "tool");
                let said = format!("`{name}`: answers, with {tools}");
                found.push(SetupFinding::fit("reached", said));
                probed.listings.insert(name.to_owned(), listing);
            }
            Ok(Probe::Unprepared) if tool.preparation().is_some() => {
                let hint = format!("`provost tools prepare {name}` makes it");
                let said = format!("`{name}`: the database has no table for keys");
                found.push(SetupFinding::unfit("reached", said, Some(&hint)));
            }
            Ok(Probe::Unprepared) => {
                found.push(SetupFinding::fit("reached", format!("`{name}`: connected")));
            }
            Ok(Probe::Untried(why)) => {
                untried.push(format!("whether `{name}` is reached: {why}"));
            }
            Err(why) => {
                let hint = mends(tool, &why);
                found.push(SetupFinding::unfit(
                    "reached",
                    format!("`{name}`: {why}"),
                    Some(&hint),
                ));
            }
        }
    }
    Ok(probed)
}

/// What to do about a tool that is not reached.
fn mends(tool: &ToolConfig, why: &str) -> String {
    let name = tool.name();
    if why.contains("secret `") {
        return format!("give `{name}` its secret: export the variable, or write the file");
    }
    match tool.is_server() {
        true => format!(
            "start the `command` of `{name}` by hand, or correct its `url`; then `provost tools \
             diff` compares it with provost.lock"
        ),
        false => format!("start what `{name}` stands for, or correct its address in provost.toml"),
    }
}
