//! The event stream: that something changed, for everybody who looks.
//!
//! Owns the one reader that tails the journal, and what each stream has sent so far. A stream holds
//! a place and no queue, so that a slow one reads its rest from the journal. What several of them
//! read is `shared`; how much waits and how the files stand, `standing` says. INVARIANT: after a
//! place that the journal still has, every event follows once and in order; after any other comes
//! a reset, never silence.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream::unfold;
use provost_engine::clock::now_ms;
use provost_engine::engine::Engine;
use provost_engine::reload::FilesState;
use provost_engine::store::{FeedEvent, Store, StoreError};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{Semaphore, watch};

use crate::api::input::Parameters;
use crate::app::{App, Shared};
use crate::door::database::LoginsRevision;
use crate::door::{Login, Viewer};
use crate::problem::{Problem, ProblemKind};

mod coding;
mod shared;
mod standing;
mod text;

use coding::{Coding, SharedText};
use shared::{SharedRows, SharedScopes};
pub(crate) use standing::waiting;
use standing::{SharedCounts, Standing};
use text::EventText;

/// How often the journal is looked at, while what came of it is told at once.
const LOOK: Duration = Duration::from_millis(10);
/// How many looks in a row tell of something before streams are woken four times a second only.
/// Why: to wake 200 of them takes as long as many commits do, and under load nobody reads faster.
const AT_ONCE: u32 = 12;
/// How many looks pass until one more may tell at once.
const LOOKS_BETWEEN: u32 = 25;
/// How often what waits is counted while streams are woken that seldom.
const COUNT: Duration = Duration::from_secs(1);
/// How often a stream that is silent says where it stands, and is looked at anew.
const ALIVE: Duration = Duration::from_secs(15);
/// Most streams that read at once. Why few: a commit wakes them all, and what one has read the
/// others need not.
const TURNS: usize = 4;
/// Most streams of one login.
const STREAMS_MAX: usize = 8;
/// How soon a reader comes back to a server that ended.
const RETRY: Duration = Duration::from_secs(2);

/// Where the journal stood when it was looked at, and who was signed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FeedMoment {
    newest: i64,
    /// From which place on streams want what waits counted: the newest, or one less than [`COUNT`]
    /// ago while many commits follow each other.
    count_from: i64,
    logins: LoginsRevision,
}

/// The latest moment, how many streams each login has, and what they share.
pub(crate) struct Feed {
    moment: watch::Sender<FeedMoment>,
    open: Arc<Mutex<HashMap<String, usize>>>,
    counts: SharedCounts,
    rows: SharedRows,
    scopes: SharedScopes,
    turns: Semaphore,
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            moment: watch::Sender::default(),
            open: Arc::default(),
            counts: SharedCounts::default(),
            rows: SharedRows::default(),
            scopes: SharedScopes::default(),
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
    let mut counted = Instant::now();
    loop {
        tokio::select! {
            _ = halt.wait_for(|told| *told) => return,
            _ = looks.tick() => {}
        }
        credit = (credit + 1).min(AT_ONCE * LOOKS_BETWEEN);
        // Why only then: nobody listens, and who comes reads where the journal stands.
        if app.feed.moment.receiver_count() == 0 || credit < LOOKS_BETWEEN {
            continue;
        }
        let Ok(mut moment) = app.read(moment).await else {
            continue;
        };
        if credit < 2 * LOOKS_BETWEEN && counted.elapsed() < COUNT {
            moment.count_from = app.feed.moment.borrow().count_from;
        } else {
            counted = Instant::now();
        }
        let has_moved = app.feed.moment.send_if_modified(|known| {
            let moved = *known != moment;
            *known = moment;
            moved
        });
        credit -= LOOKS_BETWEEN * u32::from(has_moved);
    }
}

fn moment(shared: &Shared) -> Result<FeedMoment, Problem> {
    let (newest, _) = newest(shared.desk.store()?)?;
    // Why after it: a login that ended before an event was committed hears nothing of it.
    let logins = shared.database.revision()?;
    Ok(FeedMoment {
        newest,
        count_from: newest,
        logins,
    })
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
    viewer: Arc<Viewer>,
    login: Option<CheckedLogin>,
    at: i64,
    moment: watch::Receiver<FeedMoment>,
    engines: watch::Receiver<Arc<Engine>>,
    files: watch::Receiver<FilesState>,
    said: Standing,
    halt: watch::Receiver<bool>,
    coding: Coding,
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
    let moment = app.feed.moment.subscribe();
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
        viewer: Arc::new(viewer),
        login: None,
        at,
        moment,
        coding: Coding::accepted(&headers),
        ready: VecDeque::new(),
        over: false,
        _place: place,
    };
    follower.send(follower.coding.head());
    if let Some(id) = reset {
        let mut text = EventText::default();
        text.placed(&id, "reset", &json!({}));
        follower.tell(text.into_bytes());
    }
    let coding = follower.coding.name();
    let events = unfold(follower, |mut follower| async move {
        let next = follower.next().await?;
        Some((Ok::<_, Infallible>(next), follower))
    });
    let heads = [
        (header::CONTENT_TYPE, text::MEDIA_TYPE),
        (header::CACHE_CONTROL, "no-cache"),
        (header::VARY, "accept-encoding"),
    ];
    let coded = coding.map(|name| [(header::CONTENT_ENCODING, name)]);
    Ok((heads, coded, Body::from_stream(events)).into_response())
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
            self.moment.mark_unchanged();
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
        self.tell(text.into_bytes());
        self.ready.push_back(self.coding.end());
        self.over = true;
    }

    async fn woken(&mut self) -> Wake {
        tokio::select! {
            _ = self.halt.wait_for(|told| *told) => Wake::Halting,
            _ = self.moment.changed() => Wake::Moved,
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
                self.tell(text.into_bytes());
            }
            Err(problem) => self.bye(problem.kind.name()),
        }
    }

    fn tell(&mut self, text: Bytes) {
        let coded = self.coding.text(text);
        self.send(coded);
    }

    fn send(&mut self, coded: Bytes) {
        if !coded.is_empty() {
            self.ready.push_back(coded);
        }
    }

    /// Tells what came since, for a login that still counts; if nothing came, how it stands.
    async fn fill(&mut self) -> Result<(), Problem> {
        let look = StreamLook {
            viewer: Arc::clone(&self.viewer),
            login: self.login,
            at: self.at,
            moment: *self.moment.borrow(),
            is_packed: matches!(self.coding, Coding::Gzip(_)),
        };
        let (login, batch) = match look.batch(&self.app, None)? {
            Some(kept) => kept,
            None => self.read(look).await?,
        };
        self.login = Some(login);
        match batch {
            Batch::Came(at, events) => {
                self.at = at;
                let coded = self.coding.shared(&events);
                self.send(coded);
            }
            Batch::Nothing(now) => {
                let changed = self.said.changed(now);
                self.tell(changed);
            }
        }
        Ok(())
    }

    async fn read(&self, look: StreamLook) -> Result<(CheckedLogin, Batch), Problem> {
        // Why none if it is closed: it never is.
        let _turn = self.app.feed.turns.acquire().await.ok();
        // Why again: who had a turn before may have read it.
        if let Some(kept) = look.batch(&self.app, None)? {
            return Ok(kept);
        }
        let read = move |shared: &Shared| look.batch(shared, Some(shared.desk.store()?));
        // Why never none: the journal was there to read.
        let none = || Problem::new(ProblemKind::Failed, "the journal could not be read");
        self.app.read(read).await?.ok_or_else(none)
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
    Came(i64, Arc<SharedText>),
    /// How it stands, once a reader is there. Why only then: to count delays no event.
    Nothing(Standing),
}

/// A login that counted, and until when it does if the logins stay as they were.
#[derive(Clone, Copy)]
struct CheckedLogin {
    logins: LoginsRevision,
    ends_ms: i64,
}

/// What a stream looks for.
struct StreamLook {
    viewer: Arc<Viewer>,
    login: Option<CheckedLogin>,
    at: i64,
    moment: FeedMoment,
    /// Whether the reader is sent gzip.
    is_packed: bool,
}

impl StreamLook {
    /// What follows, from a store; without one, what others have read before, if it is all there.
    fn batch(
        &self,
        shared: &Shared,
        store: Option<&Store>,
    ) -> Result<Option<(CheckedLogin, Batch)>, Problem> {
        let Some(login) = self.login(shared, store.is_some())? else {
            return Ok(None);
        };
        let followed = self.followed(shared, store)?;
        Ok(followed.map(|batch| (login, batch)))
    }

    /// The login, which must still count.
    fn login(&self, shared: &Shared, may_read: bool) -> Result<Option<CheckedLogin>, Problem> {
        shared.refuse_unlisted(&self.viewer)?;
        let logins = self.moment.logins;
        let known = self.login.filter(|known| known.logins == logins);
        if known.is_some_and(|known| now_ms() < known.ends_ms) || !may_read {
            return Ok(known.filter(|known| now_ms() < known.ends_ms));
        }
        let ends_ms = shared.login_ends(&self.viewer)?;
        Ok(Some(CheckedLogin { logins, ends_ms }))
    }

    fn followed(&self, shared: &Shared, store: Option<&Store>) -> Result<Option<Batch>, Problem> {
        let (feed, engine) = (&shared.feed, shared.engine());
        let newest = self.moment.newest;
        let Some(rows) = feed.rows.after((self.at, newest), store)? else {
            return Ok(None);
        };
        let of = (shared, &*engine, &*self.viewer);
        let Some(scope) = feed.scopes.at(newest, of, store)? else {
            return Ok(None);
        };
        let Some(last) = rows.events.last() else {
            let at = (self.moment.count_from, &scope);
            let standing = standing::of(shared, &self.viewer, at, store.is_some())?;
            return Ok(standing.map(Batch::Nothing));
        };
        let told = rows.told(&scope, store.is_some());
        let told = told.filter(|told| told.is_ready(self.is_packed, store.is_some()));
        Ok(told.map(|told| Batch::Came(last.n, told)))
    }
}
