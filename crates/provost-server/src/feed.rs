//! The event stream: that something changed, for everybody who looks.
//!
//! Owns the one reader that tails the journal, and what each stream has sent so far. A stream holds
//! a place and no queue, so that a slow one reads its rest from the journal. How much waits and how
//! the files stand has no place there: `standing` says it. INVARIANT: after a place that the
//! journal still has, every event follows once and in order; after any other comes a reset, never
//! silence.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream::unfold;
use provost_engine::engine::Engine;
use provost_engine::reload::FilesState;
use provost_engine::store::{FeedEvent, Store, StoreError};
use provost_plan::policy::{Principal, RunAction};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};

use crate::api::input::Parameters;
use crate::app::{App, Shared};
use crate::door::{Login, Viewer};
use crate::may::RequesterScope;
use crate::problem::{Problem, ProblemKind};

mod standing;
mod text;

pub(crate) use standing::waiting;
use standing::{SharedCounts, Standing};
use text::EventText;

/// How often the journal is looked at, while what came of it is told at once.
const LOOK: Duration = Duration::from_millis(10);
/// How many looks in a row tell of something before streams are woken five times a second only.
/// Why: to wake 200 of them takes as long as many commits do, and under load nobody reads faster.
const AT_ONCE: u32 = 50;
/// How many looks pass until one more may tell at once.
const LOOKS_BETWEEN: u32 = 20;
/// Most events that are read at once.
const BATCH: u32 = 500;
/// How often a stream that is silent says where it stands, and is looked at anew.
const ALIVE: Duration = Duration::from_secs(15);
/// Most streams that read at once. Why: a commit wakes them all, and each reads on a thread; what
/// they read is shared, so that more of them are no faster.
const TURNS: usize = 8;
/// Most streams of one login.
const STREAMS_MAX: usize = 8;
/// How soon a reader comes back to a server that ended.
const RETRY: Duration = Duration::from_secs(2);

/// The newest place, and how many streams each login has.
pub(crate) struct Feed {
    newest: watch::Sender<i64>,
    open: Arc<Mutex<HashMap<String, usize>>>,
    counts: SharedCounts,
    rows: SharedRows,
    turns: Semaphore,
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            newest: watch::Sender::new(0),
            open: Arc::default(),
            counts: SharedCounts::default(),
            rows: SharedRows::default(),
            turns: Semaphore::new(TURNS),
        }
    }
}

/// Tails the journal for all streams until the process is told to end.
pub(crate) async fn tail(app: App) {
    let mut halt = app.halt.clone();
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // In looks: what a stream is told at once takes from it.
    let mut credit = AT_ONCE * LOOKS_BETWEEN;
    loop {
        tokio::select! {
            _ = halt.wait_for(|told| *told) => return,
            _ = looks.tick() => {}
        }
        credit = (credit + 1).min(AT_ONCE * LOOKS_BETWEEN);
        // Why only then: nobody listens, and who comes reads where the journal stands.
        if app.feed.newest.receiver_count() == 0 || credit < LOOKS_BETWEEN {
            continue;
        }
        let newest = app.read(|shared| Ok(newest(shared.desk.store()?)?.0)).await;
        if let Ok(newest) = newest {
            let has_moved = app.feed.newest.send_if_modified(|known| {
                let moved = *known != newest;
                *known = newest;
                moved
            });
            credit -= LOOKS_BETWEEN * u32::from(has_moved);
        }
    }
}

/// The newest place, and its id.
fn newest(store: &Store) -> Result<(i64, String), StoreError> {
    let event = store.newest_event()?;
    Ok(event.map_or_else(|| (0, id(0, "")), |event| (event.n, id_of(&event))))
}

fn id(n: i64, link: &str) -> String {
    let link: String = link.chars().take(8).collect();
    format!("{n}-{link}")
}

fn id_of(event: &FeedEvent) -> String {
    id(event.n, &event.link.short())
}

/// How many readings are kept: streams that go on reading are at several places.
const READINGS: usize = 16;

/// The rows that were read last, and what was told of them: of streams that wake at one place, one
/// reads, and of those that may see the same runs, one writes it down.
#[derive(Default)]
struct SharedRows(Mutex<VecDeque<Reading>>);

struct Reading {
    /// After which place, and how far the journal was known to go.
    place: (i64, i64),
    rows: Arc<Vec<FeedEvent>>,
    told: Vec<(Audience, Bytes)>,
}

/// Whose runs may be seen, everybody's if it is none, by which reading of the files.
type Audience = (Option<Vec<Principal>>, u64);

impl SharedRows {
    /// Those after a place, where the journal was known to have some up to another.
    fn after(&self, place: (i64, i64), store: &Store) -> Result<Arc<Vec<FeedEvent>>, StoreError> {
        let (at, newest) = place;
        if at >= newest {
            return Ok(Arc::default());
        }
        let mut kept = self.lock();
        if let Some(known) = kept.iter().find(|one| one.place == place) {
            return Ok(Arc::clone(&known.rows));
        }
        let mut rows = store.events_after(at, BATCH)?;
        // Why no further: a stream that ran after what comes meanwhile would never wait for a wake.
        rows.retain(|row| row.n <= newest);
        let rows = Arc::new(rows);
        kept.truncate(READINGS - 1);
        kept.push_front(Reading {
            place,
            rows: Arc::clone(&rows),
            told: Vec::new(),
        });
        Ok(rows)
    }

    /// What an audience is told of these rows.
    fn told(
        &self,
        rows: &Arc<Vec<FeedEvent>>,
        audience: Audience,
        write: impl FnOnce() -> Result<Bytes, Problem>,
    ) -> Result<Bytes, Problem> {
        let mut kept = self.lock();
        // Why by the rows themselves: others may have been read since.
        let reading = kept.iter_mut().find(|one| Arc::ptr_eq(&one.rows, rows));
        let Some(reading) = reading else {
            drop(kept);
            return write();
        };
        let known = reading.told.iter().find(|(known, _)| *known == audience);
        if let Some((_, told)) = known {
            return Ok(told.clone());
        }
        let told = write()?;
        reading.told.push((audience, told.clone()));
        Ok(told)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Reading>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place of one login among those that stream.
struct StreamPlace {
    login: String,
    open: Arc<Mutex<HashMap<String, usize>>>,
}

impl StreamPlace {
    fn take(feed: &Feed, viewer: &Viewer) -> Result<Self, Problem> {
        let login = match &viewer.login {
            Login::Session { digest, .. } => digest.clone(),
            Login::Token { name, .. } => format!("token {name}"),
        };
        let mut open = feed.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(login.clone()).or_default();
        if *count >= STREAMS_MAX {
            let detail = "too many streams are open for this login";
            return Err(Problem::new(ProblemKind::TooMany, detail));
        }
        *count += 1;
        Ok(Self {
            login,
            open: Arc::clone(&feed.open),
        })
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.login) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.login);
            }
        }
    }
}

/// One stream.
struct Follower {
    app: App,
    viewer: Viewer,
    at: i64,
    newest: watch::Receiver<i64>,
    engines: watch::Receiver<Arc<Engine>>,
    files: watch::Receiver<FilesState>,
    said: Standing,
    halt: watch::Receiver<bool>,
    ready: VecDeque<Bytes>,
    over: bool,
    _place: StreamPlace,
}

/// The parameters of a stream.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StreamQuery {
    after: Option<String>,
}

/// `GET /v1/events`.
pub(crate) async fn stream(
    State(app): State<App>,
    viewer: Viewer,
    headers: HeaderMap,
    Parameters(asked): Parameters<StreamQuery>,
) -> Result<Response, Problem> {
    let place = StreamPlace::take(&app.feed, &viewer)?;
    // Why first: what is committed from here on wakes the stream.
    let newest = app.feed.newest.subscribe();
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let after = last.map(str::to_owned).or(asked.after);
    let (at, reset) = app
        .read(move |shared| where_from(shared, after.as_deref()))
        .await?;
    let mut follower = Follower {
        halt: app.halt.clone(),
        engines: app.live.engines(),
        files: app.live.changes(),
        said: Standing::default(),
        app,
        viewer,
        at,
        newest,
        ready: VecDeque::new(),
        over: false,
        _place: place,
    };
    if let Some(id) = reset {
        let mut text = EventText::default();
        text.placed(&id, "reset", &json!({}));
        follower.ready.push_back(text.into_bytes());
    }
    let events = unfold(follower, |mut follower| async move {
        let next = follower.next().await?;
        Some((Ok::<_, Infallible>(next), follower))
    });
    let heads = [
        (header::CONTENT_TYPE, text::MEDIA_TYPE),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    Ok((heads, Body::from_stream(events)).into_response())
}

/// Where a stream goes on; with the id of the newest event where that is not where it was left.
fn where_from(shared: &Shared, after: Option<&str>) -> Result<(i64, Option<String>), Problem> {
    let store = shared.desk.store()?;
    if let Some(after) = after {
        let n = after.split('-').next().and_then(|n| n.parse::<i64>().ok());
        let still = match n {
            Some(0) => after == "0-",
            Some(n) => store
                .event_at(n)?
                .is_some_and(|event| id_of(&event) == after),
            None => false,
        };
        if let (true, Some(n)) = (still, n) {
            return Ok((n, None));
        }
    }
    let (n, id) = newest(store)?;
    Ok((n, Some(id)))
}

impl Follower {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.over {
                return None;
            }
            self.newest.mark_unchanged();
            self.files.mark_unchanged();
            let before = self.at;
            if let Err(problem) = self.fill().await {
                self.bye(problem.kind.name());
                continue;
            }
            // Why also without an event: what follows a batch of others' runs may be the reader's.
            if !self.ready.is_empty() || self.at != before {
                continue;
            }
            match self.woken().await {
                Wake::Halting => self.bye("halting"),
                Wake::Moved => {}
                Wake::Silent => self.alive().await,
            }
        }
    }

    fn bye(&mut self, why: &str) {
        let mut text = EventText::default();
        text.retry(RETRY);
        text.event("bye", &json!({ "why": why }));
        self.ready.push_back(text.into_bytes());
        self.over = true;
    }

    async fn woken(&mut self) -> Wake {
        tokio::select! {
            _ = self.halt.wait_for(|told| *told) => Wake::Halting,
            _ = self.newest.changed() => Wake::Moved,
            // Why: who may see what, and whether somebody is there at all, may be another now.
            Ok(()) = self.engines.changed() => Wake::Moved,
            Ok(()) = self.files.changed() => Wake::Moved,
            () = tokio::time::sleep(ALIVE) => Wake::Silent,
        }
    }

    /// Says where the stream stands, so that a reader's place stays near the newest.
    async fn alive(&mut self) {
        let at = self.at;
        let stands = self.app.read(move |shared| {
            let event = shared.desk.store()?.event_at(at)?;
            Ok(event.map_or_else(|| id(0, ""), |event| id_of(&event)))
        });
        match stands.await {
            Ok(id) => {
                let mut text = EventText::default();
                text.alive(&id);
                self.ready.push_back(text.into_bytes());
            }
            Err(problem) => self.bye(problem.kind.name()),
        }
    }

    fn tell(&mut self, text: Bytes) {
        if !text.is_empty() {
            self.ready.push_back(text);
        }
    }

    /// Reads what came since, for a login that still counts; if nothing came, how it stands.
    async fn fill(&mut self) -> Result<(), Problem> {
        let (viewer, at) = (self.viewer.clone(), self.at);
        // Why none if it is closed: it never is.
        let turn = self.app.feed.turns.acquire().await.ok();
        let read = self.app.read(move |shared| batch(shared, &viewer, at));
        let read = read.await;
        drop(turn);
        match read? {
            Batch::Came(at, events) => {
                self.at = at;
                self.tell(events);
            }
            Batch::Nothing(now) => {
                let changed = self.said.changed(now);
                self.tell(changed);
            }
        }
        Ok(())
    }
}

/// Why a stream looks again.
enum Wake {
    Halting,
    Moved,
    Silent,
}

/// What follows a place.
enum Batch {
    /// The events that a viewer may see, and the place after all of them.
    Came(i64, Bytes),
    /// How it stands, once a reader is there. Why only then: to count delays no event.
    Nothing(Standing),
}

fn batch(shared: &Shared, viewer: &Viewer, at: i64) -> Result<Batch, Problem> {
    shared.still_counts(viewer)?;
    let store = shared.desk.store()?;
    let newest = *shared.feed.newest.borrow();
    let rows = shared.feed.rows.after((at, newest), store)?;
    let Some(last) = rows.last() else {
        return Ok(Batch::Nothing(standing::of(shared, viewer)?));
    };
    let after = last.n;
    let engine = shared.engine();
    let scope = shared.desk.scope(&engine, viewer, RunAction::See)?;
    let audience = (scope.clone().principals(), engine.generation());
    let told = { &shared.feed.rows }.told(&rows, audience, || told(shared, &scope, &rows))?;
    Ok(Batch::Came(after, told))
}

/// What of these rows is told to who may see runs of this scope.
fn told(shared: &Shared, scope: &RequesterScope, rows: &[FeedEvent]) -> Result<Bytes, Problem> {
    let store = shared.desk.store()?;
    let runs: BTreeSet<&String> = rows.iter().filter_map(|row| row.run.as_ref()).collect();
    let mut statuses = BTreeMap::new();
    for run in runs {
        if shared.desk.is_in(scope, run)? {
            let waits = store.waits_of(run)?.len();
            statuses.insert(run.clone(), (store.run(run)?.status, waits));
        }
    }
    let mut text = EventText::default();
    for row in rows {
        let Some(run) = &row.run else {
            let data = json!({ "at_ms": row.at_ms, "kind": row.kind });
            text.placed(&id_of(row), "stop", &data);
            continue;
        };
        let Some((status, waits)) = statuses.get(run) else {
            continue;
        };
        let mut data = json!({
            "run": run,
            "seq": row.seq,
            "at_ms": row.at_ms,
            "kind": row.kind,
            "status": status,
            "waits": waits,
        });
        if let (Some(step), Value::Object(data)) = (&row.step, &mut data) {
            data.insert("slot".to_owned(), json!(step.slot.to_string()));
            let status = step
                .status
                .map(|status| ("step".to_owned(), json!(status.word())));
            data.extend(status);
        }
        text.placed(&id_of(row), "run", &data);
    }
    Ok(text.into_bytes())
}
