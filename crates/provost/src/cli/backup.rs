//! `backup`: a verified copy of the journal, made while others write.

use std::path::PathBuf;

use clap::Args;
use provost_engine::store::{Store, Verified};
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::Page;
use crate::screen::words::count;
use crate::workspace_path::WorkspacePath;

/// Arguments of `backup`.
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// file to create; it must not exist
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: &BackupArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let root = place.root()?;
    let store = Store::open_read_only(&root.join(provost_engine::workspace::STORE_DIR))?;
    let verified = store.backup(&verb.file)?;
    if verb.json {
        output::json(&json!({
            "schema": "provost/backup/v1",
            "file": verb.file.to_string_lossy(),
            "store": verified.store,
            "events": verified.events,
            "commits": verified.commits,
            "head": verified.head,
        }));
    } else {
        output::data(&page(verb, &verified).finish());
    }
    Ok(Exit::Done)
}

fn page(verb: &BackupArgs, verified: &Verified) -> Page {
    let n = |n: u64, one: &str| count(usize::try_from(n).unwrap_or(usize::MAX), one);
    let mut page = Page::new();
    page.line(&format!(
        "copied and verified: {} in {}, up to commit {}",
        n(verified.events, "event"),
        n(verified.runs, "run"),
        verified.commits,
    ));
    page.field("file", &verb.file.to_string_lossy());
    page.field("head", &verified.head.to_string());
    page
}
