//! Ownership: which process may write to a run, told by a kernel lock and by nothing else.
//!
//! Owns the lock files `owners/INSTANCE.lock`, one a process. The kernel drops a lock with its
//! process, so there is no heartbeat and no timeout. INVARIANT: a lock file becomes visible under
//! its name only while it is locked; whoever can lock it knows that its process is dead.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// The name of the directory of lock files, inside the store.
pub const OWNERS_DIR: &str = "owners";
const NAME_CHARS: usize = 12;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// What came of an attempt to take a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimResult {
    /// It is this process's.
    Taken,
    /// A living process holds it.
    HeldBy {
        /// Its process id, if its lock file says so.
        pid: Option<u32>,
    },
}

/// What is known of an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnerStatus {
    /// It lives, or nobody can tell that it does not.
    Alive {
        /// Its process id, if its lock file says so.
        pid: Option<u32>,
    },
    /// It is dead, and that is proven: what it owned may be taken.
    Dead(DeathProof),
    /// It has not been heard of for too long, and may live all the same: nothing of it is taken. A
    /// kernel lock never says so; it is for stores whose owners are on other machines.
    Silent,
}

/// What shows that an owner is dead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeathProof {
    /// The kernel gave its lock to somebody else; the file is only litter.
    LockFree(PathBuf),
    /// It has no lock file any more: it ended as it should, or was found dead before.
    NoLock,
}

/// This process as an owner, for as long as the value lives.
#[derive(Debug)]
pub(crate) struct Owner {
    dir: PathBuf,
    instance: String,
    // Why held: closing the file would drop the lock.
    lock: File,
}

/// A random name of twelve lower-case base32 characters: an instance or a run.
///
/// # Errors
/// The system's, if it has no randomness to give.
pub fn random_name() -> io::Result<String> {
    let mut bytes = [0u8; NAME_CHARS];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(name_of(&bytes))
}

/// A key that nobody can guess.
///
/// # Errors
/// The system's, if it has no randomness to give.
pub(crate) fn random_key() -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(key)
}

/// The name that so many bytes at least make.
pub(crate) fn name_of(bytes: &[u8]) -> String {
    let letters = bytes.iter().take(NAME_CHARS);
    letters
        .filter_map(|byte| ALPHABET.get(usize::from(byte & 31)))
        .map(|byte| char::from(*byte))
        .collect()
}

/// A process that has the store open to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivingOwner {
    /// Its process id, if its lock file says so.
    pub pid: Option<u32>,
    /// What it said that it does, if it did: see [`crate::store::Store::announce`].
    pub announced: Option<String>,
    /// When it opened the store, in milliseconds since 1970, or when it said what it does.
    pub since_ms: Option<i64>,
}

/// The processes that have the store in `store_dir` open to write. A lock tells, so one that was
/// killed is not among them.
///
/// # Errors
/// The system's, if the lock files cannot be listed.
pub fn living(store_dir: &Path) -> io::Result<Vec<LivingOwner>> {
    let listed = match fs::read_dir(store_dir.join(OWNERS_DIR)) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut owners = Vec::new();
    for entry in listed {
        let path = entry?.path();
        if path.extension().is_none_or(|end| end != "lock") {
            continue;
        }
        // Why ignored: it ended between the look and now.
        let Ok(mut file) = File::open(&path) else {
            continue;
        };
        // Why shared: two that look at once must not take each other for an owner.
        if file.try_lock_shared().is_ok() {
            continue;
        }
        let modified = file.metadata().and_then(|meta| meta.modified()).ok();
        let since = modified.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        let mut text = String::new();
        let read = file.read_to_string(&mut text).is_ok();
        let mut lines = text.lines().filter(|_| read);
        owners.push(LivingOwner {
            pid: lines.next().and_then(|line| line.trim().parse().ok()),
            announced: lines.next().map(str::to_owned),
            since_ms: since.and_then(|since| i64::try_from(since.as_millis()).ok()),
        });
    }
    Ok(owners)
}

/// Whether the owner `instance` of the store in `store_dir` lives, for whoever owns nothing there.
/// A file that cannot be opened for another reason than being gone counts as alive.
#[must_use]
pub fn lives(store_dir: &Path, instance: &str) -> bool {
    match File::open(store_dir.join(OWNERS_DIR).join(format!("{instance}.lock"))) {
        // Why shared: two that look at once must not take each other for the owner.
        Ok(file) => file.try_lock_shared().is_err(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

impl Owner {
    pub(crate) fn new(store: &Path) -> io::Result<Self> {
        let dir = store.join(OWNERS_DIR);
        fs::create_dir_all(&dir)?;
        let instance = random_name()?;
        let hidden = dir.join(format!(".{instance}.new"));
        let mut lock = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&hidden)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::Error(error) => error,
            TryLockError::WouldBlock => io::Error::other("a new file is locked already"),
        })?;
        // Why ignored: the lock alone says who lives, and the number is only shown; a disk that
        // takes no more must not keep anybody from stopping what runs.
        let _ = write!(lock, "{}", std::process::id());
        fs::rename(&hidden, dir.join(format!("{instance}.lock")))?;
        Ok(Self {
            dir,
            instance,
            lock,
        })
    }

    /// Writes into its lock file what this process does, in a line.
    pub(crate) fn announce(&self, text: &str) -> io::Result<()> {
        writeln!(&self.lock, "\n{text}")
    }

    pub(crate) fn instance(&self) -> &str {
        &self.instance
    }

    /// Whether the owner called `instance` is this process or another that lives.
    pub(crate) fn lives(&self, instance: &str) -> bool {
        instance == self.instance || !matches!(self.status_of(instance), OwnerStatus::Dead(_))
    }

    /// Whether the owner called `instance` lives. A file that cannot be opened or locked for
    /// another reason than being locked counts as alive: nothing is taken on a guess.
    pub(crate) fn status_of(&self, instance: &str) -> OwnerStatus {
        let path = self.dir.join(format!("{instance}.lock"));
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return OwnerStatus::Dead(DeathProof::NoLock);
            }
            Err(_) => return OwnerStatus::Alive { pid: None },
        };
        // Why the lock may go at once: a dead owner's instance is never used again, and the row
        // is changed in the transaction that is open around this.
        match file.try_lock() {
            Ok(()) => OwnerStatus::Dead(DeathProof::LockFree(path)),
            Err(_) => {
                let mut text = String::new();
                let read = file.read_to_string(&mut text);
                OwnerStatus::Alive {
                    pid: read
                        .ok()
                        .and_then(|_| text.lines().next()?.trim().parse().ok()),
                }
            }
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Why ignored: a file that stays is only litter; the lock goes with this value.
        let _ = fs::remove_file(self.dir.join(format!("{}.lock", self.instance)));
    }
}
