//! Whether the journal of a run is believed, for whoever looks at it.
//!
//! Owns how a contradiction is marked. The judgment is the engine's. Where the workspace cannot be
//! read nobody can tell, and nothing is said.

use provost_engine::history::History;
use provost_engine::people::{Inbox, InvalidEvent};
use provost_engine::store::Store;
use provost_engine::workspace::Workspace;
use serde_json::{Value, json};

use crate::screen::page::Page;

/// The first event of a run that may not stand.
pub fn contradiction(
    workspace: Option<&Workspace>,
    store: &Store,
    history: &History,
) -> Option<Box<InvalidEvent>> {
    let inbox = Inbox::of(workspace?, store).ok()?;
    history.contradiction(&inbox, store)
}

/// The mark at the top of a page.
pub fn mark(page: &mut Page, found: Option<&InvalidEvent>) {
    let Some(found) = found else { return };
    let (seq, kind, reason) = (found.seq, found.kind, &found.reason);
    page.bad("not believed: ").line(&format!(
        "event {seq} ({kind}) is not valid: {reason}; the run does not continue"
    ));
    page.line(InvalidEvent::HINT).end();
}

/// The same as data; null where every event may stand.
pub fn to_json(found: Option<&InvalidEvent>) -> Value {
    found.map_or(
        Value::Null,
        |found| json!({ "seq": found.seq, "kind": found.kind, "reason": found.reason.to_string() }),
    )
}
