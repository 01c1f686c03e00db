//! `prune`: the bytes of old evidence go, their digests stay.

use std::time::Duration;

use clap::Args;
use provost_engine::store::{Pruned, Store};
use provost_plan::duration;
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::Page;
use crate::screen::words::{count, now_ms};
use crate::workspace_path::WorkspacePath;

/// Arguments of `prune`.
#[derive(Clone, Copy, Debug, Args)]
pub struct PruneArgs {
    /// delete evidence of runs that ended before this age, such as `30d`
    #[arg(long, value_name = "AGE", value_parser = duration::parse)]
    evidence_older: Duration,
    /// show what would be deleted
    #[arg(long)]
    dry_run: bool,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: PruneArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let dir = place.root()?.join(provost_engine::workspace::STORE_DIR);
    let age = i64::try_from(verb.evidence_older.as_millis()).unwrap_or(i64::MAX);
    let now = now_ms();
    let before = now.saturating_sub(age);
    // Why read-only first: opening to write would make a journal where there is none.
    let store = Store::open_read_only(&dir)?;
    let pruned = if verb.dry_run {
        store.prunable(before)?
    } else {
        Store::open(&dir)?.prune(before, now)?
    };
    if verb.json {
        output::json(&json!({
            "schema": "provost/prune/v1",
            "dry_run": verb.dry_run,
            "runs": pruned.runs,
            "pieces": pruned.pieces,
            "bytes": pruned.bytes,
            "shared": pruned.shared,
        }));
    } else {
        output::data(&page(verb, &pruned).finish());
    }
    Ok(Exit::Done)
}

fn page(verb: PruneArgs, pruned: &Pruned) -> Page {
    let n = |n: u64, one: &str| count(usize::try_from(n).unwrap_or(usize::MAX), one);
    let mut page = Page::new();
    let word = if verb.dry_run {
        "would drop"
    } else {
        "dropped"
    };
    page.line(&format!(
        "{word} {} of evidence, {}, of {} that ended more than {} ago",
        n(pruned.pieces, "piece"),
        n(pruned.bytes, "byte"),
        n(pruned.runs, "run"),
        duration::print(verb.evidence_older),
    ));
    if pruned.shared > 0 {
        let said = "of them, which a younger or unfinished run names too";
        page.field("kept", &format!("{} {said}", n(pruned.shared, "piece")));
    }
    page
}
