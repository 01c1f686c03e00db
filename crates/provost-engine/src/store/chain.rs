//! The two chains, as pure functions: what a link digests.
//!
//! Owns the form that somebody who verifies a journal in another language must rebuild. Every
//! link is the digest of a canonical JSON list that begins with the link before it. INVARIANT: an
//! event's link covers its header and the digest of its payload, never the payload itself, so a
//! body can be erased; a commit's link covers the links of all its events in order.

use provost_plan::digest::{Digest, Domain};
use serde_json::{Value, json};

/// The link before the first of a chain.
pub(super) const GENESIS: Digest = Digest::from_bytes([0; 32]);

/// What an event's link covers beside its payload.
pub(super) struct Header<'a> {
    pub(super) run: &'a str,
    pub(super) seq: u64,
    pub(super) at_ms: i64,
    pub(super) kind: &'a str,
    pub(super) version: u32,
}

/// The link of an event.
pub(super) fn event_link(previous: &Digest, header: &Header<'_>, payload: &Digest) -> Digest {
    let Header {
        run,
        seq,
        at_ms,
        kind,
        version,
    } = header;
    let value = json!([previous, run, seq, at_ms, kind, version, payload]);
    Digest::of_value(Domain::Link, &value)
}

/// The digest of a commit's events, as it grows.
#[derive(Debug)]
pub(super) struct CommitEntries(Vec<Value>);

impl CommitEntries {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn push(&mut self, run: &str, seq: u64, link: &Digest) {
        self.0.push(json!([run, seq, link]));
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The link of commit `n`.
    pub(super) fn link(self, store: &str, previous: &Digest, n: u64) -> Digest {
        let value = json!([previous, store, n, self.0]);
        Digest::of_value(Domain::Commit, &value)
    }
}
