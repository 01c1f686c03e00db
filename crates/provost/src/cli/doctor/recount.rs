//! `doctor --recount`: what `stats` reads is counted anew from the events.

use provost_engine::stats::{Recounted, recount};
use provost_engine::store::Store;
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::Page;
use crate::screen::words::count;
use crate::workspace_path::WorkspacePath;

/// Does it.
pub(super) fn run(json: bool, place: &WorkspacePath) -> Result<Exit, Failure> {
    let done = match place.journal_if_any()? {
        None => Recounted::default(),
        // Why again: that one only reads.
        Some(read) => {
            drop(read);
            let dir = place.root()?.join(provost_engine::workspace::STORE_DIR);
            let store = Store::open(&dir)?;
            recount(&store)?
        }
    };
    if json {
        output::json(&json!({
            "schema": "provost/recount/v1",
            "runs": done.runs,
            "changed": done.changed,
            "unread": done.unread.iter().map(|(run, _)| run).collect::<Vec<_>>(),
        }));
    } else {
        let runs = |n: usize| count(n, "run");
        let counted = usize::try_from(done.runs).unwrap_or(usize::MAX);
        let mut page = Page::new();
        page.line(&match done.changed.len() {
            0 => format!("counted {} anew, and all were right", runs(counted)),
            other => format!(
                "counted {} anew, {other} of them were missing or other",
                runs(counted)
            ),
        });
        for (run, reason) in &done.unread {
            page.line(&format!("run {run} is not counted: {reason}"));
        }
        output::data(&page.finish());
    }
    Ok(if done.unread.is_empty() {
        Exit::Done
    } else {
        Exit::Usage
    })
}
