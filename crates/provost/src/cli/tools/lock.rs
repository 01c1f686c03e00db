//! `tools lock`: what the tools are now, pinned.

use std::collections::BTreeMap;

use provost_engine::engine::open_tools;
use provost_engine::tools::{Listing, Listings};
use provost_engine::workspace::{
    Drift, LOCK_FILE, Lock, LockUse, Opening, ServerDrift, Workspace, server_drift,
};
use serde_json::{Value, json};

use super::diff::{self, Servers};
use super::servers::listings;
use crate::document::reason;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Page, TextStyle};
use crate::screen::words::count;
use crate::user::user;
use crate::workspace_path::WorkspacePath;

/// What is pinned now and was pinned otherwise, or not, before.
struct Accepted {
    tools: Vec<Drift>,
    servers: Servers,
}

impl Accepted {
    fn of(before: &Lock, now: &Workspace, listings: &BTreeMap<String, Listing>) -> Self {
        let lock = now.lock();
        let mut servers = Servers::new();
        for (name, listing) in listings {
            // Why not of a server that is new: all its operations are, and are named.
            let Some(pinned) = before.servers().get(name) else {
                continue;
            };
            let used = lock.servers().get(name).map(|listing| &listing.tools);
            let mut drift = server_drift(pinned, listing);
            drift.retain(|tool, drift| {
                let is_used = used.is_some_and(|used| used.contains_key(tool));
                !(is_used && matches!(drift, ServerDrift::Unused { .. }))
            });
            servers.insert(name.clone(), drift);
        }
        Self {
            tools: before.drift(&lock),
            servers,
        }
    }

    fn put(&self, page: &mut Page) {
        let shown = diff::shown(&self.tools, &self.servers, ["new", "changed"]);
        match shown.is_empty() {
            true => page.line("nothing differs from what was pinned"),
            false => page.strong("accepted:").end().page(shown),
        };
    }

    fn to_json(&self) -> Value {
        diff::to_json(&self.tools, &self.servers)
    }
}

/// Says which of the pinned tools cannot work: what they reach is pinned as it is written.
fn warn_of_lacking(workspace: &Workspace) {
    let troubles = open_tools(workspace).map(|toolbox| toolbox.troubles());
    let mut page = Page::new();
    for one in troubles.unwrap_or_default() {
        page.put(TextStyle::Warn, "warning: ").line(&format!(
            "the tool `{}` cannot work: {}",
            one.tool, one.message
        ));
    }
    output::note(&page.finish());
}

/// Does it.
pub fn run(place: &WorkspacePath, is_json: bool) -> Result<Exit, Failure> {
    let servers = listings(place)?;
    let user = user();
    let opening = Opening {
        user: &user,
        lock: LockUse::Ignore,
    };
    let listings = Listings::new(servers.clone());
    let workspace = Workspace::open_listed(&place.root()?, &opening, &[], &listings)?;
    // Why none if it cannot be read: it is written anew, and there is nothing to compare with.
    let before = workspace.locked().ok().flatten();
    let accepted = before.map(|before| Accepted::of(&before, &workspace, &servers));
    let path = workspace.write_lock().map_err(|error| {
        Failure::usage(format!(
            "`{LOCK_FILE}` cannot be written: {}",
            reason(&error)
        ))
        .hint("run as the user who owns the workspace")
    })?;
    warn_of_lacking(&workspace);
    if is_json {
        let names: Vec<&str> = workspace.catalog().names().collect();
        output::json(&json!({
            "schema": "provost/tools-locked/v1",
            "file": path.to_string_lossy(),
            "tools": names,
            "accepted": accepted.as_ref().map(Accepted::to_json),
        }));
        return Ok(Exit::Done);
    }
    let tools = count(workspace.catalog().names().count(), "tool");
    let mut page = Page::new();
    if let Some(accepted) = &accepted {
        accepted.put(&mut page);
    }
    page.line(&format!("pinned {tools} in {}", path.display()));
    for (name, listing) in workspace.lock().servers() {
        let all = listing.tools.len() + listing.unused.len();
        page.line(&format!(
            "  {name}: {} of {} used; {} speaks {}",
            listing.tools.len(),
            count(all, "tool"),
            if listing.server.is_empty() {
                "it"
            } else {
                &listing.server
            },
            listing.protocol
        ));
    }
    output::note(&page.finish());
    Ok(Exit::Done)
}
