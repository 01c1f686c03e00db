//! The text of a stream, as browsers read it (WHATWG HTML, server-sent events).
//!
//! Owns what an event looks like. Why by hand: a batch is written down once for many readers, and
//! the router's own type is one write for each event and reader. INVARIANT: no value has a line
//! break: ids and kinds are words of ours, and data is JSON on one line.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;

/// The media type of a stream.
pub(super) const MEDIA_TYPE: &str = "text/event-stream";

/// Events, one after the other.
#[derive(Debug, Default)]
pub(super) struct EventText(String);

impl EventText {
    /// An event that has a place: after it a reader goes on.
    pub(super) fn placed(&mut self, id: &str, kind: &str, data: &impl Serialize) {
        self.line("id", id);
        self.event(kind, data);
    }

    /// An event without a place.
    pub(super) fn event(&mut self, kind: &str, data: &impl Serialize) {
        self.line("event", kind);
        // Why never empty: what is told has names for keys, and a text takes what is written.
        let data = serde_json::to_string(data).unwrap_or_default();
        let _ = write!(self.0, "data: {data}\n\n");
    }

    /// A place alone, so that a reader's is near the newest, and a sign of life.
    pub(super) fn alive(&mut self, id: &str) {
        self.line("id", id);
        self.0.push_str(": alive\n\n");
    }

    /// How long a reader waits before it comes again; told with the event that follows.
    pub(super) fn retry(&mut self, after: Duration) {
        self.line("retry", &after.as_millis().to_string());
    }

    fn line(&mut self, field: &str, value: &str) {
        let _ = writeln!(self.0, "{field}: {value}");
    }

    pub(super) fn into_bytes(self) -> bytes::Bytes {
        self.0.into()
    }
}
