//! `doctor --probe`: whether each tool is reached, and what mends it.
//!
//! Calls no operation: servers are asked what they can do, databases whether they have their table
//! for keys, and hosts are connected to.

use std::time::Duration;

use provost_engine::engine::open_tools;
use provost_engine::tools::{Probe, ToolConfig};
use provost_engine::workspace::Workspace;

use super::SetupFinding;
use crate::drive::runtime;
use crate::failure::Failure;

/// How long one tool may take.
const TIME: Duration = Duration::from_secs(20);

/// A finding for each tool, and the tools of which nothing can be said.
pub fn look(workspace: &Workspace) -> Result<(Vec<SetupFinding>, Vec<String>), Failure> {
    let toolbox = open_tools(workspace)?;
    let runtime = runtime(1)?;
    let (mut found, mut untried) = (Vec::new(), Vec::new());
    for tool in workspace.tools() {
        let name = tool.name();
        match runtime.block_on(toolbox.probe(name, TIME)) {
            Ok(Probe::Reached(said)) => {
                found.push(SetupFinding::fit("reached", format!("`{name}`: {said}")));
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
    Ok((found, untried))
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
