//! Sending traces, and what is counted, while runs go on.
//!
//! Owns the thread that follows the journal behind its cursor: what it reads, when it tries, and
//! how long it rests. Holds no lock and no connection that a run needs. INVARIANT: a run never
//! waits for it; the cursor moves only after the receiver took what is before it; and one process
//! of a workspace sends at a time, by a lock of the kernel.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use provost_wire::Redactor;
use tokio::runtime::Runtime;

use super::cursor::Cursor;
use super::otlp::{MetricSpan, OtlpBatch, Telling, json, metrics};
use super::settings::{OtlpForm, OtlpSignal, TelemetrySettings};
use crate::clock::now_ms;
use crate::engine::EngineError;
use crate::limits::{EXPORT_EVENTS_MAX, EXPORT_EVERY, EXPORT_REST_TIMES};
use crate::store::{FeedEvent, Store};
use crate::workspace::Workspace;

/// The file whose lock says who sends.
const LOCK_FILE: &str = "otlp.lock";

/// Sends what runs tell, beside them, until it is dropped.
pub struct Exporter {
    halt: Option<Sender<()>>,
    done: Receiver<()>,
    last: Duration,
}

impl Exporter {
    /// Begins to send, if the workspace asks for it; when it is dropped, it has `last` for what is
    /// left. Whatever goes wrong is no error of who works: `doctor` tells it.
    #[must_use]
    pub fn start(workspace: &Workspace, last: Duration) -> Option<Self> {
        workspace.telemetry()?;
        let store = Store::open_read_only(&workspace.store_dir()).ok()?;
        // Why here: what begins after this is to be sent.
        let cursor = Cursor::begun(&store).ok()?;
        let post = Post::of(workspace)?.ok()?;
        let (halt, halted) = mpsc::channel();
        let (finished, done) = mpsc::channel();
        let mut tail = Tail {
            store,
            post,
            lock: None,
            cursor,
            reached: false,
            most: EXPORT_EVENTS_MAX,
        };
        let follow = move || {
            tail.follow(&halted);
            // Why ignored: nobody may wait any more.
            let _ = finished.send(());
        };
        let thread = std::thread::Builder::new().name("telemetry".to_owned());
        thread.spawn(follow).ok()?;
        Some(Self {
            halt: Some(halt),
            done,
            last,
        })
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.halt = None;
        // Why no join: a receiver that hangs must not keep the process from ending.
        let _ = self.done.recv_timeout(self.last);
    }
}

/// Sends runs of a workspace now, whatever was sent before.
///
/// # Errors
/// In words for people: what kept them from being sent.
pub fn send_runs(workspace: &Workspace, store: &Store, runs: &[String]) -> Result<(), String> {
    let Some(post) = Post::of(workspace) else {
        return Err("provost.toml has no `[telemetry]`, so there is nowhere to send to".to_owned());
    };
    let post = post.map_err(|error| error.to_string())?;
    for run in runs {
        let mut batch = OtlpBatch::of(store).map_err(|error| error.to_string())?;
        let all = (0, u64::MAX);
        let told = batch.add(store, run, all, post.telling());
        told.map_err(|error| error.to_string())?;
        post.send(&batch).map_err(Refused::said)?;
    }
    Ok(())
}

/// Why a batch was not taken.
enum Refused {
    /// It is the batch itself, says the receiver.
    Unfit(String),
    /// It may be taken later.
    Later(String, Option<Duration>),
}

impl Refused {
    fn said(self) -> String {
        match self {
            Self::Unfit(said) | Self::Later(said, _) => said,
        }
    }
}

/// The way to the receiver.
struct Post {
    settings: TelemetrySettings,
    root: PathBuf,
    redactor: Redactor,
    runtime: Runtime,
}

impl Post {
    /// The way that a workspace names; none if it names none.
    fn of(workspace: &Workspace) -> Option<io::Result<Self>> {
        let settings = workspace.telemetry()?.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        Some(runtime.map(|runtime| Self {
            settings,
            root: workspace.root().to_owned(),
            redactor: workspace.redactor(),
            runtime,
        }))
    }

    fn telling(&self) -> Telling<'_> {
        Telling {
            redactor: &self.redactor,
            content: self.settings.content,
        }
    }

    fn send(&self, batch: &OtlpBatch) -> Result<(), Refused> {
        for signal in &self.settings.send {
            let body = match signal {
                OtlpSignal::Traces => batch.traces().and_then(|told| self.body(&told)),
                OtlpSignal::Logs => batch.logs().and_then(|told| self.body(&told)),
                // Why not here: they are no part of a batch, and are told once it was taken.
                OtlpSignal::Metrics => None,
            };
            if let Some(body) = body {
                self.post(*signal, body)?;
            }
        }
        Ok(())
    }

    /// A message in the form that the receiver takes.
    fn body(&self, message: &(impl prost::Message + serde::Serialize)) -> Option<Vec<u8>> {
        match self.settings.form {
            OtlpForm::Protobuf => Some(message.encode_to_vec()),
            OtlpForm::Json => json(Some(message)).map(String::into_bytes),
        }
    }

    fn sends_batches(&self) -> bool {
        let mut signals = self.settings.send.iter();
        signals.any(|signal| *signal != OtlpSignal::Metrics)
    }

    fn sends_metrics(&self) -> bool {
        self.settings.send.contains(&OtlpSignal::Metrics)
    }

    /// Tells what is counted of the store, and what was measured up to the cursor.
    fn send_metrics(&self, store: &Store, cursor: &Cursor) -> Result<(), Refused> {
        let (measured, since_ms) = cursor.measured();
        let span = MetricSpan {
            since_ms,
            now_ms: now_ms(),
            redactor: &self.redactor,
        };
        let told = metrics(store, measured, span);
        let told = told.map_err(|error| Refused::Later(error.to_string(), None))?;
        match self.body(&told) {
            Some(body) => self.post(OtlpSignal::Metrics, body),
            None => Ok(()),
        }
    }

    fn post(&self, signal: OtlpSignal, body: Vec<u8>) -> Result<(), Refused> {
        let posted = self.settings.post(&self.root, signal, body);
        let answer = self.runtime.block_on(posted);
        let answer = answer.map_err(|said| Refused::Later(said, None))?;
        let said = format!("{} answered {}", signal.path(), answer.status);
        match answer.status {
            200..=299 => Ok(()),
            400 | 413 | 422 => Err(Refused::Unfit(said)),
            // Why: a receiver of traces alone gets them all the same.
            404 | 405 | 415 | 501 if signal == OtlpSignal::Metrics => Err(Refused::Unfit(said)),
            _ => Err(Refused::Later(said, answer.retry_after)),
        }
    }
}

/// The journal, and how far it was sent.
struct Tail {
    store: Store,
    post: Post,
    /// The lock of who sends, as soon as it is ours.
    lock: Option<File>,
    cursor: Cursor,
    /// Whether the receiver took anything from this process.
    reached: bool,
    /// Most events of the next batch.
    most: u32,
}

/// What became of a look.
enum Look {
    /// There is more.
    More(Duration),
    /// There is nothing now, or nothing may be tried.
    Nothing(Duration),
}

impl Tail {
    fn follow(&mut self, halted: &Receiver<()>) {
        loop {
            let (Look::More(rest) | Look::Nothing(rest)) = self.look();
            match halted.recv_timeout(rest) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        while let Look::More(_) = self.look() {}
    }

    fn look(&mut self) -> Look {
        let nothing = Look::Nothing(EXPORT_EVERY);
        if self.lock.is_none() && !self.take_lock() {
            return nothing;
        }
        if self.cursor.rests_at(now_ms()) {
            return nothing;
        }
        let begun = Instant::now();
        let Ok(events) = self.store.events_after(self.cursor.at(), self.most) else {
            return nothing;
        };
        let Some(last) = events.last() else {
            return self.look_at_metrics();
        };
        let Ok(batch) = self.batch(&events) else {
            return nothing;
        };
        // Why: reading a long run costs, and the journal is shared with whoever writes it.
        let rest = begun.elapsed().saturating_mul(EXPORT_REST_TIMES);
        if !self.reached && self.cursor.trying(now_ms()).keep(self.store.dir()).is_err() {
            return nothing;
        }
        match self.post.send(&batch) {
            Ok(()) => {
                self.reached |= self.post.sends_batches();
                self.cursor.batch_taken(&batch, last);
                self.most = EXPORT_EVENTS_MAX;
            }
            Err(Refused::Unfit(said)) if events.len() == 1 => {
                self.cursor.unfit(last, said);
                self.most = EXPORT_EVENTS_MAX;
            }
            Err(Refused::Unfit(_)) => {
                // Why halves: the one that does not fit must not keep the others back.
                self.most = u32::try_from(events.len() / 2).unwrap_or(1).max(1);
            }
            Err(Refused::Later(said, after)) => {
                self.failed(&said, after);
                let _ = self.cursor.keep(self.store.dir());
                return nothing;
            }
        }
        // Why no error: what is not kept is sent again, with the same ids.
        let _ = self.cursor.keep(self.store.dir());
        let full = events.len() >= usize::try_from(self.most).unwrap_or(usize::MAX);
        Look::More(if full { rest } else { rest.max(EXPORT_EVERY) })
    }

    fn failed(&mut self, said: &str, after: Option<Duration>) {
        let said = self.post.redactor.redact_text(said);
        self.cursor.failed(now_ms(), &said, after);
    }

    /// Tells what is counted, once there is nothing else to tell. Why then: it counts all runs, and
    /// only the last of many batches needs it.
    fn look_at_metrics(&mut self) -> Look {
        let nothing = Look::Nothing(EXPORT_EVERY);
        if !self.post.sends_metrics() || !self.cursor.metrics_are_due() {
            return nothing;
        }
        let begun = Instant::now();
        if !self.reached && self.cursor.trying(now_ms()).keep(self.store.dir()).is_err() {
            return nothing;
        }
        match self.post.send_metrics(&self.store, &self.cursor) {
            Ok(()) => {
                self.reached = true;
                self.cursor.metrics_told(None);
            }
            Err(Refused::Unfit(said)) => self.cursor.metrics_told(Some(said)),
            Err(Refused::Later(said, after)) => self.failed(&said, after),
        }
        // Why no error: the sums that were not kept are made again of what is sent again.
        let _ = self.cursor.keep(self.store.dir());
        let rest = begun.elapsed().saturating_mul(EXPORT_REST_TIMES);
        Look::Nothing(rest.max(EXPORT_EVERY))
    }

    /// Takes the lock, and the cursor as whoever had it before left it.
    fn take_lock(&mut self) -> bool {
        let path = self.store.dir().join(LOCK_FILE);
        let file = File::options().create(true).append(true).open(path);
        let Ok(file) = file else { return false };
        if file.try_lock().is_err() {
            return false;
        }
        let Ok(cursor) = Cursor::of(&self.store) else {
            return false;
        };
        (self.cursor, self.lock) = (cursor, Some(file));
        true
    }

    fn batch(&self, events: &[FeedEvent]) -> Result<OtlpBatch, EngineError> {
        let mut runs: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for event in events {
            let Some(run) = &event.run else { continue };
            let seen = runs.entry(run).or_insert((event.seq, event.seq));
            seen.1 = event.seq;
        }
        let mut batch = OtlpBatch::of(&self.store)?;
        for (run, which) in runs {
            // Why ignored: a run that cannot be read must not keep the others back.
            let _ = batch.add(&self.store, run, which, self.post.telling());
        }
        Ok(batch)
    }
}
