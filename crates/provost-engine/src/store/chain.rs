//! The two chains, as pure functions: what a link digests.
//!
//! Owns the form that somebody who verifies a journal in another language must rebuild. Every
//! link is the digest of a canonical JSON list that begins with the link before it. INVARIANT: an
//! event's link covers its header and the digest of its payload, never the payload itself, so a
//! body can be erased; a commit's link covers the links of all its events in order.

use std::sync::Arc;

use provost_plan::digest::{Digest, Domain, write_number, write_text};

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

/// The link of an event: of `[previous, run, seq, at_ms, kind, version, payload]`.
pub(super) fn event_link(previous: &Digest, header: &Header<'_>, payload: &Digest) -> Digest {
    let mut text = String::with_capacity(256);
    text.push('[');
    put_digest(&mut text, previous);
    text.push(',');
    write_text(&mut text, header.run);
    text.push(',');
    write_number(&mut text, header.seq);
    text.push(',');
    write_number(&mut text, header.at_ms);
    text.push(',');
    write_text(&mut text, header.kind);
    text.push(',');
    write_number(&mut text, header.version);
    text.push(',');
    put_digest(&mut text, payload);
    text.push(']');
    Digest::of_bytes(Domain::Link, text.as_bytes())
}

/// The events of a commit as they are digested, one after the other.
#[derive(Debug)]
pub(super) struct CommitEntries {
    text: String,
    count: usize,
}

impl CommitEntries {
    pub(super) fn new() -> Self {
        Self {
            text: String::new(),
            count: 0,
        }
    }

    pub(super) fn push(&mut self, run: &str, seq: u64, link: &Digest) {
        self.text.push_str(if self.count == 0 { "[" } else { ",[" });
        write_text(&mut self.text, run);
        self.text.push(',');
        write_number(&mut self.text, seq);
        self.text.push(',');
        put_digest(&mut self.text, link);
        self.text.push(']');
        self.count += 1;
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The link of commit `n`: of `[previous, store, n, [[run, seq, link], …]]`.
    pub(super) fn link(self, store: &str, previous: &Digest, n: u64) -> Digest {
        let mut text = String::with_capacity(self.text.len() + 160);
        text.push('[');
        put_digest(&mut text, previous);
        text.push(',');
        write_text(&mut text, store);
        text.push(',');
        write_number(&mut text, n);
        text.push_str(",[");
        text.push_str(&self.text);
        text.push_str("]]");
        Digest::of_bytes(Domain::Commit, text.as_bytes())
    }
}

/// A commit that is open: its number, what it follows, and its entries so far.
pub(super) struct OpenCommit {
    pub(super) store: Arc<str>,
    pub(super) n: u64,
    pub(super) previous: Digest,
    pub(super) entries: CommitEntries,
}

impl OpenCommit {
    /// The commit of `store` after commit `last`, whose link is `previous`.
    pub(super) fn after(store: Arc<str>, last: u64, previous: Digest) -> Self {
        Self {
            store,
            n: last + 1,
            previous,
            entries: CommitEntries::new(),
        }
    }
}

fn put_digest(text: &mut String, digest: &Digest) {
    text.push('"');
    digest.write_to(text);
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn links_are_of_the_canonical_form_whatever_stands_in_them() {
        let one = Digest::of_bytes(Domain::Event, b"one");
        let two = Digest::of_bytes(Domain::Event, b"two");
        let words = [
            "abc234",
            "",
            "a b",
            "\u{e9}\"\\\n\u{1}\u{1f600}",
            "RunEnded",
        ];
        let numbers = [0, 1, 1_763_717_000_000, i64::MAX];
        for (run, kind) in words.iter().zip(words.iter().rev()) {
            for at_ms in numbers.into_iter().chain([-1]) {
                let header = Header {
                    run,
                    seq: at_ms.unsigned_abs(),
                    at_ms,
                    kind,
                    version: 1,
                };
                let form = json!([one, run, header.seq, at_ms, kind, 1, two]);
                let link = event_link(&one, &header, &two);
                assert_eq!(link, Digest::of_value(Domain::Link, &form));
                for count in 0..3_u64 {
                    let mut entries = CommitEntries::new();
                    (0..count).for_each(|seq| entries.push(run, seq, &two));
                    let listed: Vec<_> = (0..count).map(|seq| json!([run, seq, two])).collect();
                    let form = json!([one, kind, 7, listed]);
                    let link = entries.link(kind, &one, 7);
                    assert_eq!(link, Digest::of_value(Domain::Commit, &form));
                }
            }
        }
    }
}
