//! What writes: group commit by arrival, or on the spot for a run that is alone.
//!
//! Owns the writing connection. A batch is whatever was queued while the last commit ran. Every
//! request is answered after the commit that carries it, and never before. INVARIANT: an error
//! of the database inside a batch, or at its commit, is answered to the whole batch, and ends
//! all writing: what the disk holds is then no longer known.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use provost_plan::digest::Digest;
use provost_run::admission::AdmissionEntry;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};

use super::admission::{AdmissionTx, Occupied, Refusal};
use super::earlier::EarlierRuns;
use super::error::plain;
use super::guard::Guarded;
use super::log::{self, LogEvent};
use super::{CommitReceipt, StoreError, begun, change, notices, read, run_facts};
use crate::clock::Clock;
use crate::limits::{BATCH_REQUESTS_MAX, BUSY_WAIT, CHECKPOINT_COMMITS_MIN, CHECKPOINT_IDLE};
use crate::owner::Owner;
use crate::store::chain::{GENESIS, OpenCommit};
use crate::store::event::Prepared;

mod claim;
mod job;
mod listing;
mod queue;
pub(super) mod rows;

pub(super) use job::Job;
pub(super) use queue::{JobReceiver, JobSender, NotQueued, queue};

use job::{SettledJob, fail};
use listing::ShownRow;
use rows::ChainHead;

/// What was written and read through a handle so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests committed.
    pub requests: u64,
    /// Commits that were not synced by themselves.
    pub normal: u64,
    /// Commits that were synced.
    pub full: u64,
    /// Times the sync mode was switched.
    pub switches: u64,
    /// Times that the events of a run were read.
    pub loads: u64,
    /// Times that was looked whether somebody else wrote.
    pub looks: u64,
}

/// What the writer shares with the handle.
#[derive(Debug, Default)]
pub(super) struct Shared {
    requests: AtomicU64,
    normal: AtomicU64,
    full: AtomicU64,
    switches: AtomicU64,
    failure: Mutex<Option<StoreError>>,
}

impl Shared {
    pub(super) fn counts(&self) -> Counts {
        Counts {
            requests: self.requests.load(Ordering::Relaxed),
            normal: self.normal.load(Ordering::Relaxed),
            full: self.full.load(Ordering::Relaxed),
            switches: self.switches.load(Ordering::Relaxed),
            loads: 0,
            looks: 0,
        }
    }

    pub(super) fn failure(&self) -> Option<StoreError> {
        let guard = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        guard.clone()
    }

    fn poison(&self, reason: String) -> StoreError {
        let error = StoreError::Poisoned { reason };
        let mut guard = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        guard.get_or_insert(error).clone()
    }
}

/// Writes what is queued until the handle is dropped.
pub(super) fn run(jobs: &JobReceiver, writer: &Mutex<Writer>) {
    while let Some(first) = next(jobs, writer) {
        let mut writer = lock(writer);
        // Why after the lock: what came while somebody else committed is in this batch.
        let batch: Vec<Job> = std::iter::once(first)
            .chain(jobs.waiting().take(BATCH_REQUESTS_MAX - 1))
            .filter(|job| !matches!(job, Job::Look))
            .collect();
        if !batch.is_empty() {
            writer.write(batch);
        }
    }
}

/// Waits for a request; checkpoints when none came for a while.
fn next(jobs: &JobReceiver, writer: &Mutex<Writer>) -> Option<Job> {
    loop {
        let seen = {
            let writer = lock(writer);
            writer.since_checkpoint
        };
        if seen < CHECKPOINT_COMMITS_MIN {
            return jobs.next();
        }
        match jobs.next_within(CHECKPOINT_IDLE) {
            Ok(job) => return Some(job),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {
                let mut writer = lock(writer);
                // Why asked again: commits are made beside this thread as well.
                if writer.since_checkpoint == seen {
                    writer.checkpoint();
                }
            }
        }
    }
}

fn lock(writer: &Mutex<Writer>) -> MutexGuard<'_, Writer> {
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes one request on this thread, if nobody else is writing; gives it back otherwise.
///
/// Why: a run that is alone waits for its commit and for nothing else, and to wake another thread
/// and be woken by it costs more than the commit does on a fast disk.
pub(super) fn write_here(writer: &Mutex<Writer>, job: Job) -> Result<Wake, Job> {
    let mut writer = match writer.try_lock() {
        Ok(writer) => writer,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return Err(job),
    };
    // Why no waiting: a thread that drives a run also hears a halt.
    if writer.connection.busy_timeout(Duration::ZERO).is_err() {
        return Err(job);
    }
    let begun = writer.begin(job.is_durable());
    let restored = writer.connection.busy_timeout(BUSY_WAIT);
    match begun {
        Ok(batch) => writer.commit(batch, vec![job]),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
            return Err(job);
        }
        Err(error) => fail(job, writer.shared.poison(plain(&error))),
    }
    if let Err(error) = restored {
        writer.shared.poison(plain(&error));
    }
    Ok(if writer.since_checkpoint == CHECKPOINT_COMMITS_MIN {
        Wake::Thread
    } else {
        Wake::Nobody
    })
}

/// Whom a commit on the caller's thread must wake.
pub(super) enum Wake {
    Nobody,
    /// A checkpoint is due, which the thread makes when nothing else is to do.
    Thread,
}

/// Creates a run.
static CREATE: LazyLock<String> = LazyLock::new(|| {
    let (values, from) = begun::values("?5");
    format!(
        "INSERT INTO runs (id, owner, created_at, updated_at, status, goal, summary, head_seq, \
         head, {}) SELECT ?1, ?2, ?3, ?3, '', '', '', 0, ?4, {values} FROM {from}",
        begun::COLUMNS,
    )
});

/// The writing connection, and what is known of its state.
#[derive(Debug)]
pub(super) struct Writer {
    connection: Connection,
    /// Tells time for what runs share: a run's own may be ahead of it.
    clock: Clock,
    owner: Arc<Owner>,
    shared: Arc<Shared>,
    /// Whether `synchronous` is FULL now.
    full: bool,
    since_checkpoint: u64,
    /// The name of the store, once it was read.
    store: Option<Arc<str>>,
    /// What was held against the events before it was relied on.
    guarded: Guarded,
    /// What was read of other runs to find equal calls.
    earlier: EarlierRuns,
}

/// A transaction that is open.
struct Batch {
    commit: OpenCommit,
    barrier: bool,
    durable: bool,
    /// Lock files of dead owners, to be removed once the takeover is committed.
    dead: Vec<PathBuf>,
}

impl Writer {
    pub(super) fn new(
        connection: Connection,
        clock: Clock,
        owner: Arc<Owner>,
        shared: Arc<Shared>,
    ) -> Self {
        Self {
            connection,
            clock,
            owner,
            shared,
            full: false,
            since_checkpoint: 0,
            store: None,
            guarded: Guarded::default(),
            earlier: EarlierRuns::default(),
        }
    }

    fn checkpoint(&mut self) {
        self.since_checkpoint = 0;
        let moved = self
            .connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        if let Err(error) = moved {
            self.shared.poison(plain(&error));
        }
    }

    /// Commits a batch, and answers it.
    fn write(&mut self, jobs: Vec<Job>) {
        if let Some(failure) = self.shared.failure() {
            return jobs.into_iter().for_each(|job| fail(job, failure.clone()));
        }
        match self.begin(jobs.iter().any(Job::is_durable)) {
            Ok(batch) => self.commit(batch, jobs),
            Err(error) => {
                let error = match error.sqlite_error_code() {
                    // Why no poison: nothing was written, another process holds the lock.
                    Some(ErrorCode::DatabaseBusy) => StoreError::Busy,
                    _ => self.shared.poison(plain(&error)),
                };
                jobs.into_iter().for_each(|job| fail(job, error.clone()));
            }
        }
    }

    fn commit(&mut self, mut batch: Batch, jobs: Vec<Job>) {
        let durable = batch.durable;
        let mut settled = Vec::with_capacity(jobs.len());
        let mut jobs = jobs.into_iter();
        let mut failed = None;
        while failed.is_none()
            && let Some(job) = jobs.next()
        {
            failed = self.settle(&mut batch, job, &mut settled).err();
        }
        let dead = std::mem::take(&mut batch.dead);
        let ended = match failed {
            None => self.end(batch),
            Some(error) => Err(error),
        };
        match ended {
            Ok(()) => {
                let count = if durable {
                    &self.shared.full
                } else {
                    &self.shared.normal
                };
                count.fetch_add(1, Ordering::Relaxed);
                let done = u64::try_from(settled.len()).unwrap_or(u64::MAX);
                self.shared.requests.fetch_add(done, Ordering::Relaxed);
                self.since_checkpoint += 1;
                settled.into_iter().for_each(SettledJob::answer);
                // Why ignored: a lock file that stays is only litter.
                dead.iter()
                    .for_each(|path| drop(std::fs::remove_file(path)));
            }
            Err(error) => {
                let poison = self.shared.poison(plain(&error));
                // Why ignored: nothing is written after this, whatever became of it.
                let _ = self.connection.execute_batch("ROLLBACK");
                settled.into_iter().for_each(|one| one.fail(poison.clone()));
                jobs.for_each(|job| fail(job, poison.clone()));
            }
        }
    }

    fn begin(&mut self, durable: bool) -> rusqlite::Result<Batch> {
        if durable != self.full {
            let mode = if durable { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", mode)?;
            self.full = durable;
            self.shared.switches.fetch_add(1, Ordering::Relaxed);
        }
        self.connection
            .prepare_cached("BEGIN IMMEDIATE")?
            .execute([])?;
        let last = self
            .connection
            .prepare_cached("SELECT n, link FROM commits ORDER BY n DESC LIMIT 1")?
            .query_row([], |row| {
                Ok((row.get::<_, u64>(0)?, row.get::<_, [u8; 32]>(1)?))
            })
            .optional()?;
        let (last, previous) = last.map_or((0, GENESIS), |(n, link)| (n, Digest::from_bytes(link)));
        let store = match &self.store {
            Some(store) => Arc::clone(store),
            None => self
                .connection
                .prepare_cached("SELECT value FROM meta WHERE key = 'store'")?
                .query_row([], |row| row.get(0))?,
        };
        self.store = Some(Arc::clone(&store));
        Ok(Batch {
            commit: OpenCommit::after(store, last, previous),
            barrier: false,
            durable,
            dead: Vec::new(),
        })
    }

    fn end(&mut self, batch: Batch) -> rusqlite::Result<()> {
        if batch.commit.entries.len() > 0 || batch.barrier {
            rows::insert_commit(&self.connection, batch.commit)?;
        }
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    /// Carries out one request inside the transaction. An `Err` is the database's and ends all
    /// writing; what the request itself may not do is in its own result.
    fn settle(
        &mut self,
        batch: &mut Batch,
        job: Job,
        settled: &mut Vec<SettledJob>,
    ) -> rusqlite::Result<()> {
        match job {
            Job::Append(append, answer) => match self.append(batch, &append) {
                Ok(result) => settled.push(SettledJob::Append(answer, result)),
                Err(error) => {
                    settled.push(SettledJob::Append(answer, Err(StoreError::Closed)));
                    return Err(error);
                }
            },
            Job::Claim { run, answer } => match self.claim(batch, &run) {
                Ok(result) => settled.push(SettledJob::Claim(answer, result)),
                Err(error) => {
                    settled.push(SettledJob::Claim(answer, Err(StoreError::Closed)));
                    return Err(error);
                }
            },
            Job::Release { run, answer } => match self.release(&run) {
                Ok(result) => settled.push(SettledJob::Done(answer, result)),
                Err(error) => {
                    settled.push(SettledJob::Done(answer, Err(StoreError::Closed)));
                    return Err(error);
                }
            },
            Job::Change { change, answer } => {
                // Why a barrier: a transaction without an event has to sync all the same.
                batch.barrier = true;
                let changed = change::make(&self.connection, *change)
                    .and_then(|(changed, log)| self.log(batch, &log).map(|()| changed));
                match changed {
                    Ok(changed) => settled.push(SettledJob::Changed(answer, Ok(changed))),
                    Err(error) => {
                        settled.push(SettledJob::Changed(answer, Err(StoreError::Closed)));
                        return Err(error);
                    }
                }
            }
            Job::Barrier { answer } => {
                batch.barrier = true;
                settled.push(SettledJob::Done(answer, Ok(())));
            }
            Job::Look => {}
        }
        Ok(())
    }

    fn head(&self, run: &str) -> rusqlite::Result<Option<ChainHead>> {
        self.connection
            .prepare_cached("SELECT n, owner, head_seq, head FROM runs WHERE id = ?1")?
            .query_row([run], ChainHead::read)
            .optional()
    }

    fn append(
        &mut self,
        batch: &mut Batch,
        append: &Prepared,
    ) -> rusqlite::Result<Result<CommitReceipt, StoreError>> {
        let run = &append.run;
        let found = match self.head_shown(append)? {
            Some((head, _)) if head.seq != append.expect_seq => {
                return Ok(Err(StoreError::SeqMismatch {
                    run: run.clone(),
                    expected: append.expect_seq,
                    found: head.seq,
                }));
            }
            Some((head, _)) if head.owner.as_deref() != Some(self.owner.instance()) => {
                return Ok(Err(StoreError::Moved { run: run.clone() }));
            }
            None if append.expect_seq == 0 => match self.same_goal(append)? {
                Ok(()) => None,
                Err(error) => return Ok(Err(error)),
            },
            Some(found) => Some(found),
            None => return Ok(Err(StoreError::UnknownRun { run: run.clone() })),
        };
        let opened = match self.admit(batch, append)? {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error)),
        };
        // Why only now: of what is not admitted nothing is kept, no run without events either.
        let (head, shown) = match found {
            Some(found) => found,
            None => (self.create(append)?, ShownRow::default()),
        };
        notices::keep(&self.connection, &append.notices, &opened)?;
        self.keep_evidence(append)?;
        let (seq, link) = rows::insert_events(
            &self.connection,
            &mut batch.commit,
            run,
            &head,
            &append.events,
        )?;
        let updated_at = append.events.last().map_or(0, |event| event.at_ms);
        self.show(append, head.n, shown)?;
        run_facts::keep(&self.connection, head.n, seq, append.facts.as_ref())?;
        let changed = self
            .connection
            .prepare_cached(
                "UPDATE runs SET head_seq = ?3, head = ?4, updated_at = ?5 \
                 WHERE n = ?1 AND owner = ?2",
            )?
            .execute(params![
                head.n,
                self.owner.instance(),
                seq,
                link.bytes(),
                updated_at,
            ])?;
        if changed != 1 {
            // Why an error of the database: the row was ours a moment ago under this very lock.
            return Err(rusqlite::Error::StatementChangedRows(changed));
        }
        Ok(Ok(CommitReceipt {
            run: run.clone(),
            seq,
            head: link,
            durable: batch.durable,
        }))
    }

    /// Refuses a run whose goal another has that is not over, if it is to be the only one. Why in
    /// the transaction that creates it: of two that begin at once, one sees the other.
    fn same_goal(&self, append: &Prepared) -> rusqlite::Result<Result<(), StoreError>> {
        if !append.only_of_goal {
            return Ok(Ok(()));
        }
        let found = read::unfinished_of(&self.connection, &append.goal)?;
        Ok(found.map_or(Ok(()), |row| {
            let (run, status) = (row.id, row.status);
            Err(StoreError::SameGoal { run, status })
        }))
    }

    /// Changes what runs share by the entries of an append; the tools whose breaker opened.
    fn admit(
        &mut self,
        batch: &mut Batch,
        append: &Prepared,
    ) -> rusqlite::Result<Result<Vec<String>, StoreError>> {
        if append.admission.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let begins = |entry: &AdmissionEntry| matches!(entry, AdmissionEntry::Begin(_));
        let mut occupied = Occupied::of(&self.connection, &append.run)?;
        if append.admission.iter().any(begins) && occupied.unheard {
            let run = append.run.clone();
            return Ok(Err(StoreError::Unheard { run }));
        }
        let (entries, owner) = (&append.admission, Arc::clone(&self.owner));
        let held = self.guarded.hold(
            &self.connection,
            entries,
            batch.commit.entries.len(),
            |named| owner.lives(named),
        )?;
        match held {
            Ok(rows) if rows.is_empty() => {}
            Ok(rows) => {
                self.log(batch, &[LogEvent::TablesRestored { rows }])?;
                occupied = Occupied::of(&self.connection, &append.run)?;
            }
            Err(error) => return Ok(Err(error)),
        }
        let mut desk = AdmissionTx {
            connection: &self.connection,
            earlier: &mut self.earlier,
            owner: &self.owner,
            run: &append.run,
            occupied,
            remembers: Cell::new(false),
            at_ms: append.events.last().map_or(0, |event| event.at_ms),
            now_ms: self.clock.now_ms(),
        };
        let answered = match desk.enter(&append.admission)? {
            Ok(answered) => answered,
            Err(error) => return Ok(Err(error)),
        };
        Ok(answered.map_err(|Refusal { denials, earlier }| {
            let run = append.run.clone();
            StoreError::NotAdmitted {
                run,
                denials,
                earlier,
            }
        }))
    }

    /// Appends to the log of the workspace.
    fn log(&self, batch: &mut Batch, events: &[LogEvent]) -> rusqlite::Result<()> {
        let at_ms = self.clock.now_ms();
        log::append(&self.connection, &mut batch.commit, at_ms, events)
    }

    fn create(&mut self, append: &Prepared) -> rusqlite::Result<ChainHead> {
        let at_ms = append.events.first().map_or(0, |event| event.at_ms);
        self.connection.prepare_cached(&CREATE)?.execute(params![
            append.run,
            self.owner.instance(),
            at_ms,
            GENESIS.bytes(),
            append.events.first().map(|event| event.payload.as_str()),
        ])?;
        Ok(ChainHead {
            n: self.connection.last_insert_rowid(),
            owner: None,
            seq: 0,
            link: GENESIS,
        })
    }

    fn keep_evidence(&self, append: &Prepared) -> rusqlite::Result<()> {
        for evidence in &append.evidence {
            self.connection
                .prepare_cached("INSERT OR IGNORE INTO evidence VALUES (?1, ?2, ?3)")?
                .execute(params![
                    evidence.digest().bytes(),
                    evidence.media(),
                    evidence.bytes()
                ])?;
        }
        Ok(())
    }
}
