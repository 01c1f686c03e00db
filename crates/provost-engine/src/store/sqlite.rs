//! The store in one SQLite file, `journal.db`, for processes of one machine.
//!
//! Owns the file and the one writer of it. Never interprets an event. INVARIANT: a commit asked to
//! be durable carries every earlier event with it, and after a failed commit nothing is written
//! again.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use provost_plan::digest::Digest;
use rusqlite::Connection;

use super::event::Prepared;
use super::heads::ChainTip;
use super::pending::Answer;
use super::{
    Append, Change, Changed, CommitReceipt, FindError, Pending, StoreError, StoredEvent,
    StoredEvidence,
};
use crate::clock::Clock;
use crate::owner::{ClaimResult, Owner, OwnerStatus};

mod admission;
mod attempted_operations;
mod backend;
mod backup;
mod begun;
mod budgets;
mod change;
mod due;
mod earlier;
mod effects;
mod error;
mod feed;
mod file_size;
mod guard;
mod log;
mod notices;
mod open;
mod payloads;
mod posted_statements;
mod prune;
mod read;
mod recorded_statements;
mod run_facts;
mod run_index;
mod schedules;
mod stops;
#[cfg(test)]
mod tests;
mod verify;
mod waits;
mod wakeups;
mod writer;

pub use admission::ToolStatus;
pub use attempted_operations::AttemptedOperations;
pub use due::DueRuns;
pub use feed::{FeedEvent, FeedRun, RunPage};
pub use notices::{DueNotice, NewNotice};
pub use open::JOURNAL_FORMAT;
pub use payloads::{EndedRun, PRUNED_GOAL, PrunedPayloads, PrunedPlace, PrunedRun};
pub use posted_statements::PostedStatement;
pub use prune::Pruned;
pub use read::{RunFilter, RunRow};
pub use recorded_statements::RunWithStatements;
pub use run_facts::FactsRow;
pub use run_index::RunIndex;
pub use schedules::ScheduleRow;
pub use stops::{StopScope, Stopped};
pub use verify::Verified;
pub use waits::{PlacedWait, WaitCounts, WaitPage, Waits};
pub use writer::Counts;

use writer::{Job, JobSender, NotQueued, Shared, Wake};

/// The name of the journal inside the store directory.
pub const JOURNAL_FILE: &str = "journal.db";

/// An open journal.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    // Why a `Mutex`: reads are short and rare beside writes, and a connection is not `Sync`.
    reader: Mutex<Connection>,
    /// Whether the reader takes the file for one that never changes: see [`open::read_only`].
    frozen: bool,
    writer: Option<Handle>,
    /// How often the events of a run were read.
    loads: AtomicU64,
    wakeups: wakeups::Wakeups,
    clock: Clock,
    driven: Arc<Driven>,
}

/// The runs that this process drives.
#[derive(Debug, Default)]
struct Driven {
    runs: Mutex<HashSet<String>>,
    // Why beside the set: every append asks for it, and must not wait for a lock.
    count: AtomicUsize,
}

/// What is known of the writer on this side of its queue.
#[derive(Debug)]
struct Handle {
    writer: Arc<Mutex<writer::Writer>>,
    queue: Option<JobSender>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
    owner: Arc<Owner>,
}

impl Handle {
    fn new(dir: &Path, connection: Connection, clock: Clock) -> Result<Self, StoreError> {
        let owner = Owner::new(dir).map_err(|error| StoreError::NotWritable {
            path: dir.to_owned(),
            reason: error.to_string(),
        })?;
        let owner = Arc::new(owner);
        let shared = Arc::new(Shared::default());
        let (queue, jobs) = writer::queue();
        let writer =
            writer::Writer::new(connection, clock, Arc::clone(&owner), Arc::clone(&shared));
        let writer = Arc::new(Mutex::new(writer));
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn({
                let writer = Arc::clone(&writer);
                move || writer::run(&jobs, &writer)
            })
            .map_err(|error| StoreError::Failed {
                reason: format!("no thread for the journal: {error}"),
            })?;
        Ok(Self {
            writer,
            queue: Some(queue),
            thread: Some(thread),
            shared,
            owner,
        })
    }
}

impl Store {
    /// Opens the journal in `dir` for reading and writing, and creates it where there is none.
    ///
    /// # Errors
    /// [`StoreError`] says whether the directory cannot be written, the file is no journal, or a
    /// newer version wrote it.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        Self::open_sized(dir, None)
    }

    /// [`Store::open`] with a most of pages, beyond which every commit fails.
    pub(crate) fn open_sized(dir: &Path, pages_max: Option<u32>) -> Result<Self, StoreError> {
        open::create_dir(dir)?;
        Self::write_through(dir, open::read_write(dir, pages_max)?, Clock::System)
    }

    /// [`Store::open`] with a clock of its own for what runs share.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_by_clock(dir: &Path, clock: Clock) -> Result<Self, StoreError> {
        open::create_dir(dir)?;
        Self::write_through(dir, open::read_write(dir, None)?, clock)
    }

    /// [`Store::open`] whose writing connection a test makes fail.
    #[cfg(test)]
    pub(crate) fn open_faulty(
        dir: &Path,
        spoil: impl FnOnce(&mut Connection),
    ) -> Result<Self, StoreError> {
        open::create_dir(dir)?;
        let mut connection = open::read_write(dir, None)?;
        spoil(&mut connection);
        Self::write_through(dir, connection, Clock::System)
    }

    fn write_through(dir: &Path, connection: Connection, clock: Clock) -> Result<Self, StoreError> {
        Ok(Self {
            dir: dir.to_owned(),
            reader: Mutex::new(open::reader_beside_writer(&dir.join(JOURNAL_FILE))?),
            frozen: false,
            writer: Some(Handle::new(dir, connection, clock.clone())?),
            clock,
            loads: AtomicU64::default(),
            wakeups: wakeups::Wakeups::default(),
            driven: Arc::default(),
        })
    }

    /// Opens for writing what was opened for reading only. Why not anew: whoever looked first
    /// goes on with the connection it looked through.
    pub(crate) fn write_too(&mut self) -> Result<(), StoreError> {
        if self.writer.is_some() {
            return Ok(());
        }
        let connection = open::read_write(&self.dir, None)?;
        if std::mem::take(&mut self.frozen) {
            let reader = open::reader_beside_writer(&self.dir.join(JOURNAL_FILE))?;
            self.reader = Mutex::new(reader);
        }
        self.writer = Some(Handle::new(&self.dir, connection, self.clock.clone())?);
        Ok(())
    }

    /// Opens the journal in `dir` for reading only; works where nothing may be written.
    ///
    /// # Errors
    /// [`StoreError::Missing`] where there is no journal, otherwise as [`Store::open`].
    pub fn open_read_only(dir: &Path) -> Result<Self, StoreError> {
        Self::open_file_read_only(&dir.join(JOURNAL_FILE))
    }

    /// [`Store::open_read_only`] for a journal under any name, such as a backup.
    ///
    /// # Errors
    /// As [`Store::open_read_only`].
    pub fn open_file_read_only(path: &Path) -> Result<Self, StoreError> {
        let (reader, frozen) = open::read_only(path)?;
        Ok(Self {
            dir: path.parent().unwrap_or(Path::new("")).to_owned(),
            reader: Mutex::new(reader),
            frozen,
            clock: Clock::System,
            writer: None,
            loads: AtomicU64::default(),
            wakeups: wakeups::Wakeups::default(),
            driven: Arc::default(),
        })
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The name under which this process owns runs; none if the journal is open for reading only.
    #[must_use]
    pub fn instance(&self) -> Option<&str> {
        self.writer.as_ref().map(|writer| writer.owner.instance())
    }

    /// Says in the lock file of this process what it does, for [`crate::owner::living`]. Whoever
    /// only reads has none.
    ///
    /// # Errors
    /// The system's, if the file cannot be written.
    pub fn announce(&self, text: &str) -> std::io::Result<()> {
        match &self.writer {
            Some(writer) => writer.owner.announce(text),
            None => Ok(()),
        }
    }

    /// Whether an owner of runs lives. Whoever only reads has no lock to try, and takes everybody
    /// for alive.
    ///
    /// # Errors
    /// None now; a store on another machine has to ask.
    pub fn owner_status(&self, instance: &str) -> Result<OwnerStatus, StoreError> {
        Ok(match &self.writer {
            Some(writer) if writer.owner.instance() == instance => OwnerStatus::Alive {
                pid: Some(std::process::id()),
            },
            Some(writer) => writer.owner.status_of(instance),
            None => OwnerStatus::Alive { pid: None },
        })
    }

    /// Appends events to a run, in the order of the calls. The events are queued when this
    /// returns; the future only waits for their commit.
    ///
    /// With `expect_seq` 0 the run is created, and owned by this process.
    pub fn append(&self, append: Append) -> Pending<CommitReceipt> {
        match Prepared::new(append) {
            Ok(prepared) => self.send(|answer| Job::Append(Box::new(prepared), answer)),
            Err(error) => Pending::failed(error),
        }
    }

    /// Takes a run, if nobody who lives owns it.
    pub fn claim(&self, run: &str) -> Pending<ClaimResult> {
        let run = run.to_owned();
        self.send(|answer| Job::Claim { run, answer })
    }

    /// Gives a run back, so that any process may take it.
    pub fn release(&self, run: &str) -> Pending<()> {
        let run = run.to_owned();
        self.send(|answer| Job::Release { run, answer })
    }

    /// Makes a change that is no event, durably. An error of the database ends all writing.
    pub fn change(&self, change: Change) -> Pending<Changed> {
        self.send(|answer| Job::Change {
            change: Box::new(change),
            answer,
        })
    }

    /// Makes everything that was committed before durable.
    pub fn barrier(&self) -> Pending<()> {
        self.send(|answer| Job::Barrier { answer })
    }

    /// What was written and read through this handle so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let shared = self.writer.as_ref().map(|writer| &writer.shared);
        let counts = shared.map(|shared| shared.counts()).unwrap_or_default();
        let loads = self.loads.load(Ordering::Relaxed);
        let looks = self.wakeups.looks();
        Counts {
            loads,
            looks,
            ..counts
        }
    }

    /// Why nothing is written any more, if a commit failed: the process must end.
    #[must_use]
    pub fn failure(&self) -> Option<StoreError> {
        self.writer.as_ref()?.shared.failure()
    }

    /// Marks a run as driven by this process until what this gives is dropped; none if it is
    /// driven already: the claim tells processes apart, and this tells drivers in one process.
    pub(crate) fn drive(&self, run: &str) -> Option<Driving> {
        let mut runs = lock(&self.driven.runs);
        if !runs.insert(run.to_owned()) {
            return None;
        }
        self.driven.count.fetch_add(1, Ordering::Relaxed);
        Some(Driving {
            run: run.to_owned(),
            driven: Arc::clone(&self.driven),
        })
    }

    fn send<T>(&self, job: impl FnOnce(Answer<T>) -> Job) -> Pending<T> {
        let Some(handle) = &self.writer else {
            return Pending::failed(StoreError::ReadOnly);
        };
        if let Some(failure) = handle.shared.failure() {
            return Pending::failed(failure);
        }
        let Some(queue) = &handle.queue else {
            return Pending::failed(StoreError::Closed);
        };
        let (answer, pending) = Pending::new();
        let mut job = job(answer);
        // Why only then: what several runs ask for at once shares a commit in the queue.
        if self.driven.count.load(Ordering::Relaxed) == 1 {
            match writer::write_here(&handle.writer, job) {
                Ok(Wake::Nobody) => return pending,
                // Why: nobody waits for this one, and a full queue is no idle one.
                Ok(Wake::Thread) => {
                    let _ = queue.put(Job::Look);
                    return pending;
                }
                Err(back) => job = back,
            }
        }
        match queue.put(job) {
            Ok(()) => pending,
            Err(NotQueued::Full) => Pending::failed(StoreError::QueueFull),
            Err(NotQueued::Closed) => {
                Pending::failed(handle.shared.failure().unwrap_or(StoreError::Closed))
            }
        }
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        read(&lock(&self.reader))
    }

    /// The events of a run, their chain checked on the way.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], or [`StoreError::ChainBroken`] with the first event that does
    /// not fit.
    pub fn load(&self, run: &str) -> Result<Vec<StoredEvent>, StoreError> {
        self.loads.fetch_add(1, Ordering::Relaxed);
        self.read(|connection| read::load(connection, run))
    }

    /// The row of one run.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`] if there is none.
    pub fn run(&self, run: &str) -> Result<RunRow, StoreError> {
        self.read(|connection| read::run(connection, run))
    }

    /// The rows of the runs that pass `filter`, the latest first.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<RunRow>, StoreError> {
        self.read(|connection| read::runs(connection, filter))
    }

    /// The latest run that is not over and has a goal of the same words.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn unfinished_of(&self, goal: &str) -> Result<Option<RunRow>, StoreError> {
        self.read(|connection| read::unfinished_of(connection, goal).map_err(StoreError::read))
    }

    /// The one run whose id begins with `prefix`.
    ///
    /// # Errors
    /// [`FindError`] if none or several do.
    pub fn find(&self, prefix: &str) -> Result<String, FindError> {
        let names = self.read(|connection| read::names(connection, prefix))?;
        match names.as_slice() {
            [] => Err(FindError::Unknown {
                prefix: prefix.to_owned(),
            }),
            [name] => Ok(name.clone()),
            _ => Err(FindError::Ambiguous {
                prefix: prefix.to_owned(),
                runs: names,
            }),
        }
    }

    /// The bytes of a digest, checked against it.
    ///
    /// # Errors
    /// [`StoreError::EvidenceBroken`] if the bytes are not those that were stored.
    pub fn evidence(&self, digest: &Digest) -> Result<Option<StoredEvidence>, StoreError> {
        self.read(|connection| read::evidence(connection, digest))
    }

    /// The policies and people that runs name by this digest, as the journal keeps them: no value
    /// of a run is among them.
    ///
    /// # Errors
    /// As [`Store::evidence`].
    pub fn rights(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.evidence(digest)?.map(|kept| kept.bytes))
    }

    /// Where the chain of commits stands.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn standing(&self) -> Result<ChainTip, StoreError> {
        self.read(|connection| {
            let store = read::store_name(connection)?;
            let (commit, link) = read::last_commit(connection)?;
            Ok(ChainTip {
                store,
                commit,
                link,
            })
        })
    }

    /// The link of commit `n`, if there is one; 0 stands before the first.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn commit_link(&self, n: u64) -> Result<Option<Digest>, StoreError> {
        self.read(|connection| read::commit_link(connection, n))
    }

    /// How many events were committed after commit `n`.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn events_after_commit(&self, n: u64) -> Result<u64, StoreError> {
        self.read(|connection| read::events_after_commit(connection, n))
    }

    /// Walks both chains, the listing and all evidence.
    ///
    /// # Errors
    /// [`StoreError`] names the first place that does not fit.
    pub fn verify(&self) -> Result<Verified, StoreError> {
        self.read(verify::verify)
    }
}

/// A run that is driven; dropping it says that it is no more.
#[derive(Debug)]
pub(crate) struct Driving {
    run: String,
    driven: Arc<Driven>,
}

impl Drop for Driving {
    fn drop(&mut self) {
        self.driven.count.fetch_sub(1, Ordering::Relaxed);
        lock(&self.driven.runs).remove(&self.run);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(writer) = &mut self.writer {
            writer.queue = None;
            if let Some(thread) = writer.thread.take() {
                // Why ignored: a writer that panicked answered nobody; the callers saw `Closed`.
                let _ = thread.join();
            }
        }
    }
}
