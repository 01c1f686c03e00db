//! Signed heads: where the chain of commits stood at a moment, in a file kept elsewhere.
//!
//! Owns the form of a head and of the file, one JSON object a line, and the comparison with a
//! store. Never changes a line that was written. INVARIANT: what is signed is the canonical form
//! of the whole head without its signature; a line that a crash cut off counts for nothing, and
//! neither does an old line that somebody appended once more.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use provost_plan::digest::{Digest, canonical};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Store, StoreError};
use crate::keys::{PrivateKey, PublicKey, Signed};
use crate::limits::HEADS_BYTES_MAX;

/// The schema of a head.
pub const HEAD_SCHEMA: &str = "provost/head/v1";

/// A head of the chain of commits, signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    schema: String,
    /// The name of the store.
    pub store: String,
    /// The commit; 0 before the first.
    pub commit: u64,
    /// Its link.
    pub link: Digest,
    /// When it was signed, as RFC 3339.
    pub at: String,
    /// A statement of a person that heads before this one need not agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Accepted>,
    /// The public key.
    pub key: String,
    signature: String,
}

/// Who said that a store which heads contradict is right, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// Who.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// Where a chain of commits stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainTip {
    /// The name of the store.
    pub store: String,
    /// The last commit; 0 before the first.
    pub commit: u64,
    /// Its link.
    pub link: Digest,
}

/// Heads that cannot be read or written, or that a store does not fit.
#[derive(Debug, thiserror::Error)]
pub enum HeadsError {
    /// The file cannot be read or written.
    #[error("the heads in {} cannot be {done}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// `read` or `written`.
        done: &'static str,
        /// What the system said.
        reason: String,
    },
    /// There is no head.
    #[error("{} contains no head", path.display())]
    None {
        /// The file.
        path: PathBuf,
    },
    /// A line is no head.
    #[error("line {line} of {} is no head: {reason}", path.display())]
    NoHead {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Why.
        reason: String,
    },
    /// A head was signed by a key that nobody vouches for.
    #[error("the head of commit {commit} is signed by a key that is not known: {key}")]
    UnknownKey {
        /// The commit.
        commit: u64,
        /// The key.
        key: String,
    },
    /// A signature is not that of the key over the head.
    #[error("the head of commit {commit} does not bear its key's signature")]
    Forged {
        /// The commit.
        commit: u64,
    },
    /// The head is of another store.
    #[error(
        "the journal is another one: the head of {at} is of the store {head}, this one is {store}"
    )]
    OtherStore {
        /// When the head was signed.
        at: String,
        /// The store of the head.
        head: String,
        /// The store that is there.
        store: String,
    },
    /// The store ends before the head.
    #[error(
        "the journal ends at commit {ends}, but commit {commit} was signed at {at}: later commits \
         were cut off, or an older journal was restored"
    )]
    Shorter {
        /// The commit of the head.
        commit: u64,
        /// When it was signed.
        at: String,
        /// The last commit that is there.
        ends: u64,
    },
    /// The store has another commit of that number.
    #[error(
        "commit {commit} is not the one that was signed at {at}: the journal was written anew, \
         or it is a copy that diverged"
    )]
    Differs {
        /// The commit.
        commit: u64,
        /// When it was signed.
        at: String,
    },
    /// A run was pruned before a head was signed over its end.
    #[error("the texts of run {run} were pruned before a head was signed over its end")]
    Unwitnessed {
        /// The run.
        run: String,
    },
    /// The journal cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl HeadsError {
    /// What to do about it, where there is something.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::File { .. } => "check `heads` in `[audit]` of provost.toml",
            Self::None { .. } => {
                "if none was ever signed, sign the first; otherwise restore the file"
            }
            Self::NoHead { .. } | Self::Forged { .. } => {
                "the heads were changed from outside: restore the file"
            }
            Self::UnknownKey { .. } => {
                "if the key is yours, name it as `public` in `[audit]` of provost.toml"
            }
            Self::Unwitnessed { .. } => {
                "provost prunes only what a head was signed over: the journal was changed from \
                 outside; compare it with a backup"
            }
            Self::OtherStore { .. } | Self::Shorter { .. } | Self::Differs { .. } => {
                "restore the newest journal; to \
                 accept this one, give a reason"
            }
            Self::Store(error) => return error.hint(),
        })
    }
}

impl Head {
    /// Signs where a store stands.
    #[must_use]
    pub fn sign(
        key: &PrivateKey,
        standing: ChainTip,
        at_ms: i64,
        accepted: Option<Accepted>,
    ) -> Self {
        let at = jiff::Timestamp::from_millisecond(at_ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let mut head = Self {
            schema: HEAD_SCHEMA.to_owned(),
            store: standing.store,
            commit: standing.commit,
            link: standing.link,
            at: at.to_string(),
            accepted,
            key: key.public().to_string(),
            signature: String::new(),
        };
        head.signature = key.sign(Signed::Head, head.signed_text().as_bytes());
        head
    }

    /// Reads one line.
    ///
    /// # Errors
    /// What does not fit, in words.
    pub fn read(line: &str) -> Result<Self, String> {
        let head: Self = serde_json::from_str(line).map_err(|error| error.to_string())?;
        if head.schema == HEAD_SCHEMA {
            Ok(head)
        } else {
            Err(format!("its schema is `{}`", head.schema))
        }
    }

    /// Its line, without the line's end.
    #[must_use]
    pub fn to_line(&self) -> String {
        canonical(&self.to_value())
    }

    fn signed_at(&self) -> Option<jiff::Timestamp> {
        self.at.parse().ok()
    }

    fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The canonical form without the signature.
    fn signed_text(&self) -> String {
        let mut value = self.to_value();
        if let Some(map) = value.as_object_mut() {
            map.remove("signature");
        }
        canonical(&value)
    }

    /// Checks that one of the `known` keys signed it.
    ///
    /// # Errors
    /// [`HeadsError::UnknownKey`] or [`HeadsError::Forged`].
    pub fn check_signature(&self, known: &[PublicKey]) -> Result<(), HeadsError> {
        let known = known.iter().find(|key| key.to_string() == self.key);
        let Some(key) = known else {
            return Err(HeadsError::UnknownKey {
                commit: self.commit,
                key: self.key.clone(),
            });
        };
        if key.verifies(Signed::Head, self.signed_text().as_bytes(), &self.signature) {
            Ok(())
        } else {
            Err(HeadsError::Forged {
                commit: self.commit,
            })
        }
    }

    /// Checks that the commit it names is in the store, with its link. Since a link covers all
    /// before it, nothing before it was changed either.
    ///
    /// # Errors
    /// [`HeadsError::OtherStore`], [`HeadsError::Shorter`] or [`HeadsError::Differs`].
    pub fn check_store(&self, store: &Store) -> Result<(), HeadsError> {
        let standing = store.standing()?;
        let at = self.at.clone();
        if standing.store != self.store {
            return Err(HeadsError::OtherStore {
                at,
                head: self.store.clone(),
                store: standing.store,
            });
        }
        let commit = self.commit;
        match store.commit_link(commit)? {
            Some(link) if link == self.link => Ok(()),
            Some(_) => Err(HeadsError::Differs { commit, at }),
            None => Err(HeadsError::Shorter {
                commit,
                at,
                ends: standing.commit,
            }),
        }
    }
}

/// What signed heads say of a store that fits them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// Heads that agree.
    pub agree: usize,
    /// The newest of them.
    pub newest: Head,
    /// Heads that do not agree and that a person's later word set aside.
    pub set_aside: usize,
    /// The heads that carry such a word, in order.
    pub accepted: Vec<Head>,
}

/// Holds a store against all signed heads. Heads before the last accepted one may contradict it.
///
/// # Errors
/// [`HeadsError`] of the first head that does not fit.
pub fn hold(store: &Store, file: &HeadsFile, known: &[PublicKey]) -> Result<Agreement, HeadsError> {
    let heads = file.read()?;
    for head in &heads {
        head.check_signature(known)?;
    }
    let from = counts_from(&heads);
    let mut agree = 0;
    let mut set_aside = 0;
    for (index, head) in heads.iter().enumerate() {
        match head.check_store(store) {
            Ok(()) => agree += 1,
            Err(HeadsError::Store(error)) => return Err(error.into()),
            Err(_) if index < from => set_aside += 1,
            Err(error) => return Err(error),
        }
    }
    refuse_unwitnessed(store, &heads)?;
    let accepted = heads.iter().filter(|head| head.accepted.is_some());
    Ok(Agreement {
        agree,
        set_aside,
        accepted: accepted.cloned().collect(),
        newest: newest_of(&heads).cloned().ok_or_else(|| HeadsError::None {
            path: file.path.clone(),
        })?,
    })
}

/// Refuses a run that was pruned without a head between its end and its pruning: nobody who signs
/// judged what it did, and nobody can any more. Why not before the first head: it vouches for what
/// was there.
fn refuse_unwitnessed(store: &Store, heads: &[Head]) -> Result<(), HeadsError> {
    let first = heads.iter().map(|head| head.commit).min();
    for place in store.pruned_runs()? {
        let witnesses = |head: &Head| {
            let before = place.ended <= head.commit && head.commit < place.pruned;
            before || (head.accepted.is_some() && place.pruned <= head.commit)
        };
        let is_older = first.is_none_or(|first| place.pruned <= first);
        if !is_older && !heads.iter().any(witnesses) {
            return Err(HeadsError::Unwitnessed { run: place.run });
        }
    }
    Ok(())
}

/// A file of heads, which only grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadsFile {
    path: PathBuf,
}

impl HeadsFile {
    /// The file at `path`, there or not.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, done: &'static str) -> impl Fn(io::Error) -> HeadsError {
        let path = self.path.clone();
        move |error| HeadsError::File {
            path: path.clone(),
            done,
            reason: error.to_string(),
        }
    }

    /// Every head, the oldest first.
    ///
    /// # Errors
    /// [`HeadsError::NoHead`] for a line that is whole and no head.
    pub fn read(&self) -> Result<Vec<Head>, HeadsError> {
        let failed = self.failed("read");
        let mut text = String::new();
        let file = File::open(&self.path).map_err(&failed)?;
        file.take(HEADS_BYTES_MAX + 1)
            .read_to_string(&mut text)
            .map_err(&failed)?;
        if text.len() as u64 > HEADS_BYTES_MAX {
            let most = format!("it has more than {HEADS_BYTES_MAX} bytes");
            return Err(failed(io::Error::other(most)));
        }
        let mut heads = Vec::new();
        for (index, line) in whole_lines(&text).enumerate() {
            match Head::read(line) {
                Ok(head) => heads.push(head),
                Err(_) if is_cut_off(line) => {}
                Err(reason) => {
                    return Err(HeadsError::NoHead {
                        path: self.path.clone(),
                        line: index + 1,
                        reason,
                    });
                }
            }
        }
        Ok(heads)
    }

    /// The newest head, with its signature checked; none if there is no file or no head.
    ///
    /// # Errors
    /// [`HeadsError::File`] or [`HeadsError::NoHead`] if the file cannot be read, and what is wrong
    /// with the signature of the newest head or of the word that sets earlier ones aside.
    pub fn newest(&self, known: &[PublicKey]) -> Result<Option<Head>, HeadsError> {
        match self.path.try_exists() {
            Ok(false) => return Ok(None),
            Ok(true) => {}
            Err(error) => return Err(self.failed("read")(error)),
        }
        let heads = self.read()?;
        // Why this one too: a statement that nobody signed must not set aside what was signed.
        if let Some(first) = heads.get(counts_from(&heads))
            && first.accepted.is_some()
        {
            first.check_signature(known)?;
        }
        let newest = newest_of(&heads);
        newest.map_or(Ok(()), |head| head.check_signature(known))?;
        Ok(newest.cloned())
    }

    /// The moment after every head of the file, in milliseconds since 1970.
    ///
    /// # Errors
    /// As [`HeadsFile::read`].
    pub fn after_all_ms(&self) -> Result<i64, HeadsError> {
        let heads = self.read()?;
        let latest = heads.iter().filter_map(Head::signed_at).max();
        Ok(latest.map_or(0, |at| at.as_millisecond().saturating_add(1)))
    }

    /// Appends what `make` makes of the newest head, durably, while nobody else appends.
    ///
    /// # Errors
    /// [`HeadsError::File`] if it cannot be written, as [`HeadsFile::newest`], and whatever `make`
    /// fails with.
    pub fn append<E: From<HeadsError>>(
        &self,
        known: &[PublicKey],
        make: impl FnOnce(Option<Head>) -> Result<Option<Head>, E>,
    ) -> Result<Option<Head>, E> {
        let failed = self.failed("written");
        let is_new = !self.path.exists();
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.path).map_err(&failed)?;
        file.lock().map_err(&failed)?;
        let Some(head) = make(self.newest(known)?)? else {
            return Ok(None);
        };
        let mut text = String::new();
        if !ends_with_line(&mut file).map_err(&failed)? {
            text.push('\n');
        }
        text.push_str(&head.to_line());
        text.push('\n');
        file.write_all(text.as_bytes()).map_err(&failed)?;
        file.sync_all().map_err(&failed)?;
        // Why: without this a new file may be lost with the power, and its first head with it.
        if is_new && let Some(dir) = self.path.parent().filter(|dir| *dir != Path::new("")) {
            File::open(dir)
                .and_then(|dir| dir.sync_all())
                .map_err(&failed)?;
        }
        Ok(Some(head))
    }
}

/// The lines that end: a line without its end was cut off by a crash while it was written.
fn whole_lines(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let whole = text.rfind('\n').and_then(|end| text.get(..end));
    whole.unwrap_or_default().split('\n')
}

/// Whether a line is what a crash left of one: a beginning of JSON, and no more.
fn is_cut_off(line: &str) -> bool {
    match serde_json::from_str::<Value>(line) {
        Ok(_) => false,
        Err(error) => error.is_eof(),
    }
}

/// Where the heads begin that may not contradict the journal: at the last statement of a person.
///
/// Why a word counts only if it was signed later than every head before it: whoever can append a
/// line can append an old one once more, and an old word would set aside what came after it.
fn counts_from(heads: &[Head]) -> usize {
    let (mut from, mut latest) = (0, None);
    for (index, head) in heads.iter().enumerate() {
        let at = head.signed_at();
        if head.accepted.is_some() && at > latest {
            from = index;
        }
        latest = latest.max(at);
    }
    from
}

/// The head of the highest commit among those that count, wherever it stands among them.
fn newest_of(heads: &[Head]) -> Option<&Head> {
    let count = heads.get(counts_from(heads)..)?;
    count.iter().max_by_key(|head| head.commit)
}

fn ends_with_line(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}
