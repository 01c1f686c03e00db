//! `tools lock`: what the tools are now, pinned.

use provost_engine::tools::Listings;
use provost_engine::workspace::{LOCK_FILE, LockUse, Opening, Workspace};
use serde_json::json;

use super::servers::listings;
use crate::document::reason;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::Page;
use crate::screen::words::count;
use crate::user::user;
use crate::workspace_path::WorkspacePath;

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
    let path = workspace.write_lock().map_err(|error| {
        Failure::usage(format!(
            "`{LOCK_FILE}` cannot be written: {}",
            reason(&error)
        ))
        .hint("run as the user who owns the workspace")
    })?;
    if is_json {
        let names: Vec<&str> = workspace.catalog().names().collect();
        output::json(&json!({
            "schema": "provost/tools-locked/v1",
            "file": path.to_string_lossy(),
            "tools": names,
        }));
        return Ok(Exit::Done);
    }
    let tools = count(workspace.catalog().names().count(), "tool");
    let mut page = Page::new();
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
