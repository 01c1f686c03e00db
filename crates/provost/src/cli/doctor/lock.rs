//! What `doctor` says of `provost.lock`.
//!
//! Owns the comparison of the tools with it. Asks no server: what servers list is given, where
//! somebody asked them. INVARIANT: tools are said to be as pinned only if each was compared.

use std::collections::BTreeMap;

use provost_engine::tools::{Listing, ToolConfig};
use provost_engine::workspace::{Drift, LOCK_FILE, Lock, ServerDrift, Workspace, server_drift};
use provost_plan::source::Source;

use super::SetupFinding;

/// Most differences that are named.
const NAMED_MAX: usize = 5;

/// Compares the tools with the lock, and those of servers as far as they are in `listings`.
pub(super) fn look(
    workspace: &Workspace,
    listings: &BTreeMap<String, Listing>,
    not_checked: &mut Vec<String>,
) -> SetupFinding {
    let path = workspace.root().join(LOCK_FILE);
    let Ok(text) = std::fs::read_to_string(&path) else {
        not_checked.push(format!("whether tools changed: there is no {LOCK_FILE}"));
        return SetupFinding::fit(
            "lock",
            format!("there is no {LOCK_FILE}: tools are not pinned"),
        );
    };
    let hint = Some("check the change; `provost tools lock` accepts it");
    let Ok(lock) = Lock::read(&Source::new(LOCK_FILE, text)) else {
        return SetupFinding::unfit("lock", format!("{LOCK_FILE} cannot be read"), hint);
    };
    let servers: Vec<&ToolConfig> = workspace.tools().iter().filter(|t| t.is_server()).collect();
    let unasked = servers.iter().map(|server| server.name());
    let unasked: Vec<&str> = unasked
        .filter(|name| !listings.contains_key(*name))
        .collect();
    if !unasked.is_empty() {
        let names: Vec<String> = unasked.iter().map(|name| format!("`{name}`")).collect();
        let why = match listings.is_empty() {
            true => "`provost doctor --probe` asks it",
            false => "it does not answer",
        };
        let names = names.join(", ");
        not_checked.push(format!(
            "whether {names} still offers what is pinned: {why}"
        ));
    }
    let mut moved: Vec<String> = lock.drift(&workspace.lock()).iter().map(words).collect();
    let of_config = moved.len();
    for (name, now) in listings {
        let nothing = Listing::default();
        let pinned = lock.servers().get(name).unwrap_or(&nothing);
        let drift = server_drift(pinned, now);
        let drift = drift.iter();
        moved.extend(drift.filter_map(|(tool, drift)| of_server(name, tool, drift)));
    }
    let hint = match moved.len() > of_config {
        true => Some("`provost tools diff` shows the change; `provost tools lock` accepts it"),
        false => hint,
    };
    if moved.is_empty() {
        let said = match unasked.is_empty() {
            true => "the tools are as pinned",
            false => "provost.toml is as pinned; its servers were not asked",
        };
        return SetupFinding::fit("lock", said);
    }
    let more = moved.len().saturating_sub(NAMED_MAX);
    moved.truncate(NAMED_MAX);
    if more > 0 {
        moved.push(format!("{more} more"));
    }
    SetupFinding::unfit("lock", moved.join(", "), hint)
}

fn words(drift: &Drift) -> String {
    match drift {
        Drift::New { tool } => format!("`{tool}` is not pinned"),
        Drift::Changed { tool, .. } => format!("`{tool}` changed"),
        Drift::Gone { tool } => format!("`{tool}` no longer exists"),
    }
}

/// What stops calls; what nothing uses may change freely.
fn of_server(server: &str, tool: &str, drift: &ServerDrift) -> Option<String> {
    match drift {
        ServerDrift::Changed { pinned, now } => {
            let fields = pinned.differences(now).join(", ");
            Some(format!(
                "`{tool}` of the server `{server}` changed in {fields}"
            ))
        }
        ServerDrift::Gone { .. } => Some(format!("the server `{server}` no longer has `{tool}`")),
        ServerDrift::Unused { .. } => None,
    }
}
