//! How far the journal of a workspace was sent.
//!
//! Owns the file `otlp.json` beside the journal. Why no table of the journal: whoever sends only
//! reads there, so that nothing about sending can be in the way of a run, or end its writing.
//! INVARIANT: what stands before the cursor was taken by the receiver, or is counted as unfit; a
//! cursor of another journal, or of a later state of one that was put back, is not believed.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use provost_plan::digest::Digest;
use serde::{Deserialize, Serialize};

use super::otlp::{MeasuredSpans, OtlpBatch};
use crate::clock::now_ms;
use crate::limits::{EXPORT_WAIT_MAX, EXPORT_WAIT_MIN, NOTICE_SAID_CHARS_MAX};
use crate::store::{FeedEvent, Store, StoreError};
use crate::workspace::replace_file;

/// The name of the file, in the directory of the journal.
const CURSOR_FILE: &str = "otlp.json";
const CURSOR_SCHEMA: &str = "provost/otlp-cursor/v1";

/// How far was sent, and when it may be tried again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    schema: String,
    store: String,
    /// The place in the order of commits where sending began.
    since: i64,
    /// The place up to which was sent, and the link of the event there.
    at: i64,
    link: Option<Digest>,
    /// Failures since the last success, and the moment before which nobody tries again.
    tries: u32,
    not_before_ms: i64,
    /// Events that the receiver called malformed, one at a time.
    unfit: u64,
    /// What went wrong last; none after a success.
    said: Option<String>,
    /// What the spans up to the cursor measured, since when, and whether the receiver of metrics
    /// was not told of it yet.
    #[serde(default)]
    measured: MeasuredSpans,
    #[serde(default = "now_ms")]
    measured_since_ms: i64,
    #[serde(default)]
    metrics_due: bool,
}

impl Cursor {
    /// The cursor of a journal. Where there is none it begins now: what ran before nobody asked to
    /// be sent.
    pub(super) fn of(store: &Store) -> Result<Self, StoreError> {
        let name = store.name()?;
        if let Some(kept) = Self::read(store.dir(), &name) {
            let there = store.event_at(kept.at)?.map(|event| event.link);
            if kept.at == 0 || there == kept.link {
                return Ok(kept);
            }
            // Why anew: the journal was put back, and nobody knows how much of it was told.
            return Ok(Self::new(name, kept.since, None));
        }
        let newest = store.newest_event()?;
        let at = newest.as_ref().map_or(0, |event| event.n);
        Ok(Self::new(name, at, newest.map(|event| event.link)))
    }

    /// The same, kept where there was none.
    pub(super) fn begun(store: &Store) -> io::Result<Self> {
        let failed = |error: StoreError| io::Error::other(error.to_string());
        let cursor = Self::of(store).map_err(failed)?;
        let name = store.name().map_err(failed)?;
        // Why not always: whoever sends now may have come further.
        if Self::read(store.dir(), &name).is_none() {
            cursor.keep(store.dir())?;
        }
        Ok(cursor)
    }

    fn new(store: String, at: i64, link: Option<Digest>) -> Self {
        Self {
            schema: CURSOR_SCHEMA.to_owned(),
            store,
            since: at,
            at,
            link,
            tries: 0,
            not_before_ms: 0,
            unfit: 0,
            said: None,
            measured: MeasuredSpans::default(),
            measured_since_ms: now_ms(),
            metrics_due: false,
        }
    }

    /// The cursor of the journal of this name in `dir`, if there is one that can be read.
    pub(super) fn read(dir: &Path, store: &str) -> Option<Self> {
        let text = std::fs::read_to_string(path(dir)).ok()?;
        let kept: Self = serde_json::from_str(&text).ok()?;
        (kept.schema == CURSOR_SCHEMA && kept.store == store).then_some(kept)
    }

    pub(super) fn keep(&self, dir: &Path) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        replace_file(&path(dir), &text)
    }

    pub(super) fn at(&self) -> i64 {
        self.at
    }

    /// Whether nobody tries yet.
    pub(super) fn rests_at(&self, now_ms: i64) -> bool {
        self.not_before_ms > now_ms
    }

    /// The cursor while a try is made: a process that ends while a receiver hangs leaves word, and
    /// the next one does not wait for it again.
    pub(super) fn trying(&self, now_ms: i64) -> Self {
        let mut noted = self.clone();
        let said = "the receiver did not answer before the process ended";
        noted.failed(now_ms, said, None);
        noted
    }

    /// Notes that nothing was taken, and for how long nobody tries.
    pub(super) fn failed(&mut self, now_ms: i64, said: &str, after: Option<Duration>) {
        let wait = EXPORT_WAIT_MIN.saturating_mul(2_u32.saturating_pow(self.tries.min(16)));
        let wait = wait.min(EXPORT_WAIT_MAX).max(after.unwrap_or_default());
        let wait = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        self.tries = self.tries.saturating_add(1);
        self.not_before_ms = now_ms.saturating_add(wait);
        self.said = Some(said.chars().take(NOTICE_SAID_CHARS_MAX).collect());
    }

    /// Notes that the receiver called the last event malformed.
    pub(super) fn unfit(&mut self, last: &FeedEvent, said: String) {
        self.taken(last);
        self.unfit += 1;
        self.said = Some(said);
    }

    /// What was measured so far, and since when.
    pub(super) fn measured(&self) -> (&MeasuredSpans, i64) {
        (&self.measured, self.measured_since_ms)
    }

    /// Whether what is counted was not told yet as it is.
    pub(super) fn metrics_are_due(&self) -> bool {
        self.metrics_due
    }

    /// Notes that all that is counted was told, or what the receiver said who does not take it.
    pub(super) fn metrics_told(&mut self, said: Option<String>) {
        self.metrics_due = false;
        (self.tries, self.not_before_ms, self.said) = (0, 0, said);
    }

    /// Notes that a batch up to an event was taken.
    pub(super) fn batch_taken(&mut self, batch: &OtlpBatch, last: &FeedEvent) {
        self.measured.merge(batch.measured());
        self.taken(last);
    }

    /// Notes that everything up to an event was taken.
    fn taken(&mut self, last: &FeedEvent) {
        (self.at, self.link) = (last.n, Some(last.link));
        self.metrics_due = true;
        (self.tries, self.not_before_ms, self.said) = (0, 0, None);
    }
}

fn path(dir: &Path) -> PathBuf {
    dir.join(CURSOR_FILE)
}

/// How far sending is behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportStanding {
    /// Events that were not sent yet.
    pub behind: u64,
    /// Events that the receiver called malformed.
    pub unfit: u64,
    /// What went wrong last; none after a success.
    pub said: Option<String>,
}

impl ExportStanding {
    /// Of a journal; none if nothing of it was ever to be sent.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn of(store: &Store) -> Result<Option<Self>, StoreError> {
        let Some(kept) = Cursor::read(store.dir(), &store.name()?) else {
            return Ok(None);
        };
        let newest = store.newest_event()?.map_or(0, |event| event.n);
        Ok(Some(Self {
            behind: u64::try_from(newest - kept.at).unwrap_or(0),
            unfit: kept.unfit,
            said: kept.said,
        }))
    }
}
