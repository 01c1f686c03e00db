//! What can go wrong with the journal.

use std::path::PathBuf;

use provost_run::admission::Denial;
use provost_run::call::Slot;
use provost_run::earlier::{CallKey, EarlierCalls};

/// Why the journal could not be opened, read or written.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum StoreError {
    /// The directory or the file cannot be written.
    #[error("the store {} cannot be written: {reason}", path.display())]
    NotWritable {
        /// What was tried.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// There is no journal.
    #[error("there is no journal in {}", path.display())]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// The file is no journal.
    #[error("{} is not a provost journal: {reason}", path.display())]
    NotAJournal {
        /// The file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// A newer version wrote it.
    #[error("{} has format {found}, but this version reads up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format known.
        known: i64,
    },
    /// Somebody was writing when it was copied, and the log beside it needs a place to be read in.
    #[error("the log beside {} cannot be read where nothing may be written", path.display())]
    LogUnread {
        /// The journal.
        path: PathBuf,
    },
    /// The journal is open for reading only.
    #[error("the journal is open for reading only")]
    ReadOnly,
    /// Another process is writing and does not end.
    #[error("another process has been writing to the journal for too long")]
    Busy,
    /// More requests wait than the limit.
    #[error("too many requests wait for the journal")]
    QueueFull,
    /// The store was closed.
    #[error("the journal was closed")]
    Closed,
    /// A commit failed; nothing is written any more.
    #[error("the journal cannot be written any more: {reason}")]
    Poisoned {
        /// What the system said.
        reason: String,
    },
    /// No such run.
    #[error("there is no run {run}")]
    UnknownRun {
        /// The run.
        run: String,
    },
    /// The run belongs to another process now.
    #[error("run {run} is not owned by this process")]
    Moved {
        /// The run.
        run: String,
    },
    /// The run has other events than its writer thought.
    #[error("run {run} stands at event {found}, not at {expected}")]
    SeqMismatch {
        /// The run.
        run: String,
        /// What the writer thought.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// Admission lets attempts of the append not begin now.
    #[error("run {run} may not begin {} now", slots_of(denials))]
    NotAdmitted {
        /// The run.
        run: String,
        /// Which, and why.
        denials: Vec<(Slot, Denial)>,
        /// Equal calls of other runs that are not as they were known.
        earlier: Vec<(CallKey, EarlierCalls)>,
    },
    /// A run that is not over has the same goal.
    #[error("run `{run}` has the same goal and is not finished: it is {status}")]
    SameGoal {
        /// The run.
        run: String,
        /// Its status.
        status: String,
    },
    /// Somebody said something to the run, which its driver has to hear before anything begins.
    #[error("run {run} has statements to process before any call")]
    Unheard {
        /// The run.
        run: String,
    },
    /// An event or evidence is too large, or holds a number that cannot be kept exactly.
    #[error("what is to be stored for run {run} is refused: {reason}")]
    Refused {
        /// The run.
        run: String,
        /// Why.
        reason: String,
    },
    /// An event's payload is gone.
    #[error("the payload of event {seq} of run {run} is gone")]
    Erased {
        /// The run.
        run: String,
        /// The event.
        seq: u64,
    },
    /// The payloads of a run were dropped by `prune`.
    #[error("the texts of run {run} were pruned at {at}: its chain is kept, its content is gone")]
    PayloadsPruned {
        /// The run.
        run: String,
        /// When.
        at: jiff::Timestamp,
    },
    /// An event does not fit its chain.
    #[error("the chain of run {run} is broken at event {seq}: {reason}")]
    ChainBroken {
        /// The run.
        run: String,
        /// The first event that does not fit.
        seq: u64,
        /// How.
        reason: String,
    },
    /// A commit does not fit the chain of commits.
    #[error("the chain of commits is broken at commit {commit}: {reason}")]
    CommitBroken {
        /// The first commit that does not fit.
        commit: u64,
        /// How.
        reason: String,
    },
    /// Stored bytes are not those of their digest.
    #[error("the evidence {digest} does not hold the bytes it was stored with")]
    EvidenceBroken {
        /// The digest, in words.
        digest: String,
    },
    /// Evidence that an event names is gone, and nothing says that it was pruned.
    #[error("the evidence {digest} is gone; event {seq} of run {run} names it")]
    EvidenceMissing {
        /// The digest, in words.
        digest: String,
        /// The run.
        run: String,
        /// The first event that names it.
        seq: u64,
    },
    /// The bytes of evidence were dropped by `prune`.
    #[error("the bytes of the evidence {digest} were pruned")]
    EvidencePruned {
        /// The digest, in words.
        digest: String,
    },
    /// The listing of runs does not tell what the events tell.
    #[error("the listing of run {run} does not fit its events: {reason}")]
    RowBroken {
        /// The run.
        run: String,
        /// How.
        reason: String,
    },
    /// Tables beside the events do not tell what the events tell.
    #[error("tables do not follow from the events: {}", tables.join("; "))]
    TablesDiffer {
        /// Each table that differs, and how.
        tables: Vec<String>,
    },
    /// The database finds its file damaged.
    #[error("the file of the journal is damaged: {reason}")]
    Damaged {
        /// What the database said.
        reason: String,
    },
    /// A copy cannot be written.
    #[error("the copy {} cannot be written: {reason}", path.display())]
    NotCopied {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// A file that is to be written is there already.
    #[error("{} already exists", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Anything else the database said.
    #[error("the journal cannot be read: {reason}")]
    Failed {
        /// What it said.
        reason: String,
    },
}

impl StoreError {
    /// What to do about it, where there is something.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotWritable { .. } => {
                "run as the user who owns the workspace, or give this user the right to write there"
            }
            Self::Missing { .. } => "nothing has run in this workspace yet",
            Self::NotAJournal { .. } | Self::Failed { .. } => {
                "put a backup in its place; without one, move the file away: a new journal is then \
                 begun, and writes in doubt and calls made before are forgotten"
            }
            Self::LogUnread { .. } => {
                "copy the whole directory to where you may write, and look at the copy"
            }
            Self::Newer { .. } => "use the version of provost that wrote it, or a later one",
            Self::Poisoned { .. } => {
                "end this process, check the space and the health of the disk, then resume the run"
            }
            Self::Moved { .. } | Self::SeqMismatch { .. } => {
                "another process took over the run: check what it did"
            }
            Self::ChainBroken { .. }
            | Self::CommitBroken { .. }
            | Self::EvidenceBroken { .. }
            | Self::EvidenceMissing { .. }
            | Self::RowBroken { .. }
            | Self::TablesDiffer { .. }
            | Self::Erased { .. }
            | Self::Damaged { .. } => {
                "the journal was changed from outside or the disk is damaged: keep this file as \
                 it is and compare it with a backup"
            }
            Self::NotCopied { .. } => "name a file in a directory that can be written",
            Self::Exists { .. } => "name a file that is not there yet",
            Self::EvidencePruned { .. } | Self::PayloadsPruned { .. } => {
                "a backup from before may still hold them"
            }
            Self::Busy | Self::QueueFull => "try again in a moment",
            Self::ReadOnly
            | Self::NotAdmitted { .. }
            | Self::SameGoal { .. }
            | Self::Unheard { .. }
            | Self::Closed
            | Self::UnknownRun { .. }
            | Self::Refused { .. } => return None,
        })
    }
}

/// Why no single run was found.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum FindError {
    /// None begins so.
    #[error("no run begins with `{prefix}`")]
    Unknown {
        /// What was asked for.
        prefix: String,
    },
    /// Several do.
    #[error("several runs begin with `{prefix}`: {}", runs.join(", "))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// The first few.
        runs: Vec<String>,
    },
    /// The journal could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl FindError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unknown { .. } => Some("list the runs"),
            Self::Ambiguous { .. } => Some("type more of the id"),
            Self::Store(error) => error.hint(),
        }
    }
}

fn slots_of(denials: &[(Slot, Denial)]) -> String {
    let slots: Vec<String> = denials
        .iter()
        .map(|(slot, _)| format!("`{slot}`"))
        .collect();
    slots.join(", ")
}
