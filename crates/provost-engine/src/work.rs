//! Working: driving every run of a workspace that can move, many at once, in one process, and
//! beginning those that the clock begins.
//!
//! Owns looking for runs that are due, taking them up and letting go of those that only wait.
//! Rules nothing: what a run does is its machine's word. INVARIANT: a run that waits for a person
//! or for a distant moment costs this process nothing: its row says when it is due.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use provost_run::event::Event;
use provost_run::state::State;
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio::time::{MissedTickBehavior, timeout};

use crate::audit::AuditError;
use crate::clock::now_ms;
use crate::engine::{Engine, EngineError, ScheduleResult, Scheduled};
use crate::limits::{
    DRIVEN_RUNS_MAX, IDLE_WAIT_MAX, LOOK_EVERY, LOOK_MIN_EVERY, NOTIFY_LAST, REST_MAX, REST_MIN,
    SAT_OUT_MAX, SIGN_EVENTS_MAX, SIGN_EVERY,
};
use crate::notify::Delivered;
use crate::reload::FilesNews;
use crate::session::{DriveEnd, Session, Watcher};
use crate::store::heads::Head;
use crate::store::{DueRuns, StoreError};

/// How a process works.
#[derive(Clone, Copy, Debug)]
pub struct WorkOptions {
    /// Whether it ends when nothing can move, rather than wait for what comes.
    pub until_idle: bool,
    /// Most runs that it drives at once.
    pub runs_max: usize,
    /// Whether it begins the runs of `[schedule.NAME]`.
    pub schedules: bool,
}

impl Default for WorkOptions {
    fn default() -> Self {
        Self {
            until_idle: false,
            runs_max: DRIVEN_RUNS_MAX,
            schedules: true,
        }
    }
}

/// What happens while a process works.
#[derive(Debug)]
pub enum WorkEvent<'a> {
    /// Events of a run were kept; `state` is the run after them.
    Kept {
        /// The number of the first of them.
        first_seq: u64,
        /// The events.
        events: &'a [Event],
        /// The run.
        state: &'a State,
    },
    /// A statement that somebody posted does not count.
    Ignored {
        /// The run.
        run: &'a str,
        /// Why not.
        why: &'a str,
    },
    /// A run is let go of.
    LetGo {
        /// The run.
        run: &'a str,
        /// Why.
        stop: &'a DriveEnd,
    },
    /// A run could not be driven; it is tried again later.
    Failed {
        /// The run.
        run: &'a str,
        /// Why.
        why: &'a EngineError,
        /// How long it rests.
        rest: Duration,
    },
    /// Somebody was to be told of something.
    Notified(&'a Delivered),
    /// A schedule was due.
    Scheduled(&'a Scheduled),
    /// The files of the workspace were read anew, or are such that they cannot be.
    Workspace(&'a FilesNews),
    /// Where the journal stands could not be signed; it is tried again later.
    Unsigned(&'a AuditError),
}

/// Somebody who is told.
pub type Listener<'a> = dyn Fn(&WorkEvent<'_>) + 'a;

/// Which runs are driven, by their ids. It is asked while the journal is read, so that it must not
/// read there itself.
pub type RunScope<'a> = dyn Fn(&str) -> bool + 'a;

/// What became of a run that was driven; none if another process holds it.
type Driven = (String, Result<Option<DriveEnd>, EngineError>);

/// What became of the schedules that were due, and when the next one is.
type ScheduleLook = (Vec<Scheduled>, Option<i64>);

/// How soon a schedule is looked at again that is due and begins nothing.
const SCHEDULE_AGAIN_MS: i64 = 200;

/// How long a run that could not be driven is left alone.
struct RetryDelay {
    until: Instant,
    length: Duration,
}

struct Worker<'e> {
    engines: watch::Receiver<Arc<Engine>>,
    working: WorkOptions,
    halt: watch::Receiver<bool>,
    listener: &'e Listener<'e>,
    scope: &'e RunScope<'e>,
    driving: BTreeSet<String>,
    resting: BTreeMap<String, RetryDelay>,
    /// The store's number of changes at the last look, when that was, and what it found.
    woken: Option<u64>,
    looked: Option<Instant>,
    last: DueRuns,
    words_left: bool,
    /// When a schedule is due next, and those of which the last moment could not begin a run.
    scheduled: Option<i64>,
    failing: BTreeMap<String, RetryDelay>,
    /// When the journal was signed last, and the number of its newest event then; none before the
    /// first look.
    signed: Option<(i64, i64)>,
}

/// Drives what can move until `halt` turns true, or nothing can move and that is the end.
///
/// # Errors
/// [`StoreError`] if the journal fails; every run can be taken up again.
pub async fn work(
    engine: &Arc<Engine>,
    working: WorkOptions,
    halt: watch::Receiver<bool>,
    listener: &Listener<'_>,
) -> Result<(), StoreError> {
    let engines = watch::Sender::new(Arc::clone(engine));
    work_on(engines.subscribe(), working, halt, listener, &|_| true).await
}

/// [`work`], on the runs of `scope` alone; the rest are left to whoever drives them. What begins or
/// is taken up is of the value that stands then: one that was superseded lets go of its runs.
///
/// # Errors
/// As [`work`].
pub async fn work_on(
    mut engines: watch::Receiver<Arc<Engine>>,
    working: WorkOptions,
    mut halt: watch::Receiver<bool>,
    listener: &Listener<'_>,
    scope: &RunScope<'_>,
) -> Result<(), StoreError> {
    let told = (halt.clone(), listener);
    let mut worker = Worker::new(engines.clone(), working, told, scope);
    worker.plan_schedules();
    let mut driven: FuturesUnordered<LocalBoxFuture<'_, Driven>> = FuturesUnordered::new();
    let mut looks = tokio::time::interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut telling = FuturesUnordered::new();
    let mut scheduling = FuturesUnordered::new();
    let mut signing = FuturesUnordered::new();
    loop {
        let engine = worker.engine();
        if let Some(failure) = engine.store().failure() {
            return Err(failure);
        }
        let halted = *halt.borrow();
        if !halted && worker.is_look_due()? {
            for run in worker.look()? {
                driven.push(worker.drive(run));
            }
        }
        if telling.is_empty() && !halted && worker.is_telling_due()? {
            let engine = Arc::clone(&engine);
            telling.push(async move { engine.deliver_due().await });
        }
        if scheduling.is_empty() && !halted && worker.is_schedule_due() {
            scheduling.push(worker.schedule());
        }
        if signing.is_empty() && !halted && worker.is_signing_due()? {
            let engine = Arc::clone(&engine);
            signing.push(tokio::task::spawn_blocking(move || engine.sign_head()));
        }
        let idle = working.until_idle && telling.is_empty() && worker.is_idle();
        let idle = idle && scheduling.is_empty();
        // Why waited for: a run that was begun is let go of before the end.
        let begins = !scheduling.is_empty();
        if driven.is_empty() && !begins && (halted || idle) {
            // Why waited for: a delivery that is cut off is made again, under the same id.
            if let Ok(Some(told)) = timeout(NOTIFY_LAST, telling.next()).await {
                worker.told(&told?);
            }
            return Ok(());
        }
        tokio::select! {
            Some((run, became)) = driven.next(), if !driven.is_empty() => {
                worker.ended(&run, became);
            }
            Some(told) = telling.next(), if !telling.is_empty() => worker.told(&told?),
            Some(begun) = scheduling.next(), if begins => {
                let (begun, next) = begun?;
                worker.begun(&begun, next);
            }
            Some(signed) = signing.next(), if !signing.is_empty() => worker.signed(signed),
            _ = looks.tick() => {}
            () = engine.nudged() => worker.looked = None,
            Ok(()) = engines.changed() => worker.renewed(),
            Ok(()) = halt.changed() => {}
        }
    }
}

impl<'e> Worker<'e> {
    fn new(
        engines: watch::Receiver<Arc<Engine>>,
        working: WorkOptions,
        (halt, listener): (watch::Receiver<bool>, &'e Listener<'e>),
        scope: &'e RunScope<'e>,
    ) -> Self {
        Self {
            engines,
            working,
            halt,
            listener,
            scope,
            driving: BTreeSet::new(),
            resting: BTreeMap::new(),
            woken: None,
            looked: None,
            last: DueRuns::default(),
            words_left: false,
            scheduled: None,
            failing: BTreeMap::new(),
            signed: None,
        }
    }

    /// The value that stands now.
    fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engines.borrow())
    }

    /// Has the schedules looked at, if there are any.
    fn plan_schedules(&mut self) {
        let some = !self.engine().workspace().schedules().is_empty();
        self.scheduled = (self.working.schedules && some).then_some(0);
    }

    /// Looks at everything: what could not be driven or begun under other files may be now.
    fn renewed(&mut self) {
        (self.woken, self.looked) = (None, None);
        self.resting.clear();
        self.failing.clear();
        self.plan_schedules();
    }

    /// Whether somebody wrote since the last look, a moment came, or it is long ago.
    fn is_look_due(&mut self) -> Result<bool, StoreError> {
        if self.driving.len() >= self.working.runs_max {
            return Ok(false);
        }
        let woken = Some(self.engine().store().woken()?);
        let written = woken != std::mem::replace(&mut self.woken, woken);
        let moment = self.last.next_ms.is_some_and(|at| at <= now_ms());
        let long = self
            .looked
            .is_none_or(|looked| looked.elapsed() >= LOOK_MIN_EVERY);
        Ok(written || moment || long)
    }

    /// The runs to take up now: those that are due, and those that somebody spoke to.
    fn look(&mut self) -> Result<Vec<String>, StoreError> {
        let now = Instant::now();
        let room = self.working.runs_max - self.driving.len();
        let rests = |run: &str| self.resting.get(run).is_some_and(|rest| rest.until > now);
        let skip = |run: &str| self.driving.contains(run) || rests(run) || !(self.scope)(run);
        let engine = self.engine();
        let store = engine.store();
        let found = store.look(now_ms(), room, &skip)?;
        let spoken: Vec<String> = store
            .runs_with_posted()?
            .into_iter()
            .filter(|run| !skip(run))
            .collect();
        self.words_left = !spoken.is_empty();
        let mut runs = found.ready.clone();
        runs.extend(spoken.into_iter().filter(|run| !found.ready.contains(run)));
        runs.truncate(room);
        self.driving.extend(runs.iter().cloned());
        self.last = found;
        self.looked = Some(now);
        Ok(runs)
    }

    /// Whether the last look found nothing that can move by itself, now or within a moment.
    fn is_idle(&self) -> bool {
        let moves = self.last.moves_ms.is_some_and(|at| {
            let wait = Duration::from_millis(u64::try_from(at - now_ms()).unwrap_or(0));
            wait <= IDLE_WAIT_MAX
        });
        let nothing = self.last.ready.is_empty() && !moves;
        self.looked.is_some() && nothing && !self.words_left
    }

    /// Whether somebody has to be told of something now.
    fn is_telling_due(&self) -> Result<bool, StoreError> {
        let engine = self.engine();
        if engine.workspace().notify().is_empty() {
            return Ok(false);
        }
        let next = engine.store().next_notice()?;
        Ok(next.is_some_and(|at| at <= now_ms()))
    }

    fn told(&self, all: &[Delivered]) {
        for one in all {
            (self.listener)(&WorkEvent::Notified(one));
        }
    }

    /// Whether so much stands without a signed head, or for so long, that it is signed now: what a
    /// process that never ends did must not be changed unseen for as long as it lives.
    fn is_signing_due(&mut self) -> Result<bool, StoreError> {
        let engine = self.engine();
        if !engine.signs_heads() {
            return Ok(false);
        }
        let newest = engine.store().newest_event()?.map_or(0, |event| event.n);
        let now = now_ms();
        let (at, events) = *self.signed.get_or_insert((now, newest));
        let every = i64::try_from(SIGN_EVERY.as_millis()).unwrap_or(i64::MAX);
        let is_due = now.saturating_sub(at) >= every || newest - events >= SIGN_EVENTS_MAX;
        if is_due {
            self.signed = Some((now, newest));
        }
        Ok(is_due)
    }

    fn signed(&self, signed: Result<Result<Option<Head>, AuditError>, JoinError>) {
        // Why nothing of a thread that ended: it is tried again, and the process signs at its end.
        if let Ok(Err(why)) = signed {
            (self.listener)(&WorkEvent::Unsigned(&why));
        }
    }

    fn is_schedule_due(&self) -> bool {
        self.scheduled.is_some_and(|at| at <= now_ms())
    }

    /// Begins what is due, but of schedules that rest.
    fn schedule(&self) -> LocalBoxFuture<'e, Result<ScheduleLook, StoreError>> {
        let (engine, listener, now) = (self.engine(), self.listener, Instant::now());
        let rests = self.failing.iter().filter(|(_, rest)| rest.until > now);
        let rests: BTreeSet<String> = rests.map(|(name, _)| name.clone()).collect();
        Box::pin(async move {
            let run = "";
            let mut watcher = RunReporter { run, listener };
            let rests = |name: &str| rests.contains(name);
            engine.begin_scheduled(now_ms(), &rests, &mut watcher).await
        })
    }

    fn begun(&mut self, all: &[Scheduled], next: Option<i64>) {
        // Why not at once: what waits for a run that is not over, or rests, is due all the while.
        let soon = now_ms().saturating_add(SCHEDULE_AGAIN_MS);
        self.scheduled = next.map(|at| at.max(soon));
        for one in all {
            match one.result {
                ScheduleResult::Failed { .. } => {
                    let length = longer(self.failing.get(&one.name));
                    let until = Instant::now() + length;
                    let rest = RetryDelay { until, length };
                    self.failing.insert(one.name.clone(), rest);
                }
                ScheduleResult::Begun { .. } | ScheduleResult::Skipped { .. } => {
                    self.failing.remove(&one.name);
                    self.woken = None;
                }
            }
            (self.listener)(&WorkEvent::Scheduled(one));
        }
    }

    fn drive(&self, run: String) -> LocalBoxFuture<'e, Driven> {
        let (engine, listener, halt) = (self.engine(), self.listener, self.halt.clone());
        Box::pin(async move {
            let became = drive(&engine, &run, halt, listener).await;
            (run, became)
        })
    }

    fn ended(&mut self, run: &str, became: Result<Option<DriveEnd>, EngineError>) {
        self.driving.remove(run);
        // Why: what it left may be due at once, and there is room for another.
        self.woken = None;
        match became {
            Ok(Some(stop)) => {
                self.resting.remove(run);
                (self.listener)(&WorkEvent::LetGo { run, stop: &stop });
            }
            Ok(None) => {
                self.rest(run);
            }
            Err(why) => {
                let rest = self.rest(run);
                let why = &why;
                (self.listener)(&WorkEvent::Failed { run, why, rest });
            }
        }
    }

    fn rest(&mut self, run: &str) -> Duration {
        let length = longer(self.resting.get(run));
        let until = Instant::now() + length;
        self.resting
            .insert(run.to_owned(), RetryDelay { until, length });
        length
    }
}

/// The rest after another failure.
fn longer(before: Option<&RetryDelay>) -> Duration {
    before.map_or(REST_MIN, |rest| (rest.length * 2).min(REST_MAX))
}

/// Drives one run as far as it goes, and lets go of it; none if another process holds it.
async fn drive(
    engine: &Engine,
    run: &str,
    mut halt: watch::Receiver<bool>,
    listener: &Listener<'_>,
) -> Result<Option<DriveEnd>, EngineError> {
    let mut watcher = RunReporter { run, listener };
    let mut session = match engine.take_up(run, &mut watcher).await {
        Ok(session) => session,
        Err(EngineError::Held { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    session.let_go_beyond(SAT_OUT_MAX);
    let driven = session.drive(&mut watcher, &mut halt).await;
    let_go(session, driven.is_ok()).await?;
    Ok(Some(driven?))
}

/// Gives a run back; what kept it from being driven is said rather than that it stays ours.
async fn let_go(session: Session, well: bool) -> Result<(), StoreError> {
    let released = session.release().await;
    if well { released } else { Ok(()) }
}

/// Passes on what becomes of one run.
struct RunReporter<'a> {
    run: &'a str,
    listener: &'a Listener<'a>,
}

impl Watcher for RunReporter<'_> {
    fn kept(&mut self, first_seq: u64, events: &[Event], state: &State) {
        (self.listener)(&WorkEvent::Kept {
            first_seq,
            events,
            state,
        });
    }

    fn tick(&mut self, _: &State) {}

    fn ignored(&mut self, why: &str) {
        let run = self.run;
        (self.listener)(&WorkEvent::Ignored { run, why });
    }
}
