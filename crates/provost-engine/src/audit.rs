//! The auditor's side of a workspace: who signs heads of its journal, where they are kept, and
//! whether the journal that is there is the one that was signed.
//!
//! Owns the order look → open → sign. Never drives a run. INVARIANT: where `[audit]` names a file
//! of heads, nothing is driven over a journal that the newest head contradicts, until a person
//! says, signed, that it is right.

use std::path::{Path, PathBuf};

use provost_wire::{SecretError, SecretName};

use crate::clock::now_ms;
use crate::keys::{KeyFile, PrivateKey, PublicKey};
use crate::limits::REASON_BYTES_MAX;
use crate::people::{Inbox, JournalStatementsError};
use crate::store::heads::{Accepted, ChainTip, Head, HeadsError, HeadsFile};
use crate::store::{JOURNAL_FILE, Store, StoreError};

/// What `[audit]` says. Paths are as written, below the workspace unless they are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditSettings {
    /// The file of the key that signs, if this workspace signs.
    pub key: Option<PathBuf>,
    /// Its passphrase.
    pub passphrase: Option<SecretName>,
    /// The file of heads.
    pub heads: PathBuf,
    /// Keys whose heads count, beside the one that signs.
    pub public: Vec<PublicKey>,
}

impl AuditSettings {
    /// Files that no tool may reach.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let secret = self.passphrase.as_ref().and_then(SecretName::file);
        let files = self.key.as_deref().into_iter().chain(secret);
        files
            .map(Path::to_owned)
            .chain([self.heads.clone()])
            .collect()
    }

    /// The keys whose heads count.
    ///
    /// # Errors
    /// [`AuditError::Key`] if the key file cannot be read and no other key is named.
    pub fn known(&self, root: &Path) -> Result<Vec<PublicKey>, AuditError> {
        let mut known = self.public.clone();
        let Some(path) = self.key.as_ref().map(|path| root.join(path)) else {
            return Ok(known);
        };
        let file = key_file(&path)
            .and_then(|file| file.public().map_err(|error| AuditError::key(&path, error)));
        match file {
            Ok(public) => known.push(public),
            // Why: whoever only checks need not have the file of the key that signs.
            Err(_) if !known.is_empty() => {}
            Err(error) => return Err(error),
        }
        Ok(known)
    }
}

/// Heads cannot be signed, or the journal is not the one that was signed.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The heads, or what they say of the journal.
    #[error(transparent)]
    Heads(#[from] HeadsError),
    /// The journal.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What people said, as the journal has it.
    #[error(transparent)]
    JournalStatements(#[from] JournalStatementsError),
    /// The key cannot be used.
    #[error("the key {} cannot be used: {reason}", path.display())]
    Key {
        /// Its file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The passphrase cannot be read.
    #[error(transparent)]
    Passphrase(#[from] SecretError),
    /// No key is named.
    #[error("no key signs here")]
    NoKey,
    /// There is nothing that a person would have to accept.
    #[error("the journal agrees with its newest head: there is nothing to accept")]
    Agrees,
    /// The reason is empty or too long.
    #[error("a reason has from 1 to {REASON_BYTES_MAX} bytes")]
    Reason,
}

impl AuditError {
    fn key(path: &Path, reason: impl std::fmt::Display) -> Self {
        Self::Key {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }

    /// What to do about it, where there is something.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Heads(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::JournalStatements(error) => error.hint(),
            Self::Key { .. } | Self::Passphrase(_) => {
                Some("check `key` and `passphrase` in `[audit]` of provost.toml")
            }
            Self::NoKey => Some("name a `key` in `[audit]` of provost.toml"),
            Self::Agrees => None,
            Self::Reason => Some("say in a sentence why this journal is the right one"),
        }
    }
}

/// The key and the heads of a workspace, opened to work.
#[derive(Debug)]
pub struct Audit {
    key: Option<PrivateKey>,
    known: Vec<PublicKey>,
    heads: HeadsFile,
}

impl Audit {
    /// Opens the key, so that one that cannot be used is found before anything is driven.
    ///
    /// # Errors
    /// [`AuditError::Key`] or [`AuditError::Passphrase`].
    pub fn open(root: &Path, settings: &AuditSettings) -> Result<Self, AuditError> {
        let key = match (&settings.key, &settings.passphrase) {
            (Some(path), Some(passphrase)) => Some(sealed_key(root, path, passphrase)?),
            _ => None,
        };
        let mut known = settings.public.clone();
        known.extend(key.as_ref().map(PrivateKey::public));
        Ok(Self {
            key,
            known,
            heads: HeadsFile::new(root.join(&settings.heads)),
        })
    }

    /// The file of heads.
    #[must_use]
    pub fn heads(&self) -> &HeadsFile {
        &self.heads
    }

    /// Refuses a store directory from which the journal is gone that heads tell of; nothing may be
    /// begun in its place.
    ///
    /// # Errors
    /// [`HeadsError::Shorter`].
    pub fn refuse_lost(&self, dir: &Path) -> Result<(), AuditError> {
        match self.newest()? {
            Some(head) if head.commit > 0 && !dir.join(JOURNAL_FILE).exists() => {
                Err(AuditError::Heads(HeadsError::Shorter {
                    commit: head.commit,
                    at: head.at,
                    ends: 0,
                }))
            }
            _ => Ok(()),
        }
    }

    /// Whether the journal in this store directory agrees with its newest head, as [`Self::hold`]
    /// asks before a run begins; the commit of that head, or none where nothing is signed yet.
    /// Only reads.
    ///
    /// # Errors
    /// [`AuditError::Heads`] says how they differ.
    pub fn look(&self, dir: &Path) -> Result<Option<u64>, AuditError> {
        self.refuse_lost(dir)?;
        match Store::open_read_only(dir) {
            Ok(store) => self.agreed(&store),
            Err(StoreError::Missing { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Refuses a journal that the newest head contradicts. Reads the heads and one row. A journal
    /// in which nothing was committed yet gets its first head here, so that a file of heads that
    /// is gone later is missed.
    ///
    /// # Errors
    /// [`AuditError::Heads`] says how they differ.
    pub fn hold(&self, store: &Store, inbox: &Inbox) -> Result<(), AuditError> {
        match self.agreed(store)? {
            Some(_) => Ok(()),
            None => self.sign(store, inbox).map(drop),
        }
    }

    /// The commit of the newest head, which the store agrees with; none if neither has begun.
    fn agreed(&self, store: &Store) -> Result<Option<u64>, AuditError> {
        match self.newest()? {
            Some(head) => {
                head.check_store(store)?;
                Ok(Some(head.commit))
            }
            None if store.standing()?.commit == 0 => Ok(None),
            None => Err(AuditError::Heads(HeadsError::None {
                path: self.heads.path().to_owned(),
            })),
        }
    }

    /// The commit that the newest head was signed over; none if there is no head.
    ///
    /// # Errors
    /// [`AuditError::Heads`] if the heads cannot be read.
    pub fn signed_commit(&self) -> Result<Option<u64>, AuditError> {
        Ok(self.newest()?.map(|head| head.commit))
    }

    /// Whether it signs.
    #[must_use]
    pub fn signs(&self) -> bool {
        self.key.is_some()
    }

    fn newest(&self) -> Result<Option<Head>, AuditError> {
        Ok(self.heads.newest(&self.known)?)
    }

    /// Signs where the journal stands, durably, unless nothing happened since the newest head.
    /// Does nothing where no key is named, and signs nothing over an event that may not stand.
    /// Waits on this thread.
    ///
    /// # Errors
    /// [`AuditError::Heads`] if the journal is not the one that was signed last, or the file of
    /// heads cannot be written.
    pub fn sign(&self, store: &Store, inbox: &Inbox) -> Result<Option<Head>, AuditError> {
        let Some(key) = &self.key else {
            return Ok(None);
        };
        self.heads.append(&self.known, |newest| {
            let mut signed = 0;
            if let Some(newest) = newest {
                newest.check_store(store)?;
                if store.events_after_commit(newest.commit)? == 0 {
                    return Ok(None);
                }
                signed = newest.commit;
                let pruned = store.pruned_runs()?.into_iter();
                let mut unsigned = pruned.filter(|place| place.pruned > signed);
                if let Some(place) = unsigned.find(|place| place.ended > signed) {
                    return Err(HeadsError::Unwitnessed { run: place.run }.into());
                }
            }
            let standing = durable_standing(store)?;
            // Why only what is new: what stands under an earlier head was judged before it.
            inbox.verify_journal(store, signed)?.refuse()?;
            Ok(Some(Head::sign(key, standing, now_ms(), None)))
        })
    }

    /// Signs a statement of a person that the journal is right although heads contradict it.
    ///
    /// # Errors
    /// [`AuditError::Agrees`] if none does, and whatever is wrong with the journal itself.
    pub fn accept(
        &self,
        store: &Store,
        inbox: &Inbox,
        by: &str,
        reason: &str,
    ) -> Result<Head, AuditError> {
        let Some(key) = &self.key else {
            return Err(AuditError::NoKey);
        };
        let reason = reason.trim();
        if reason.is_empty() || reason.len() > REASON_BYTES_MAX {
            return Err(AuditError::Reason);
        }
        store.verify()?;
        inbox.verify_journal(store, 0)?.refuse()?;
        let appended = self.heads.append(&self.known, |newest| {
            let Some(newest) = newest else {
                return Err(AuditError::Heads(HeadsError::None {
                    path: self.heads.path().to_owned(),
                }));
            };
            match newest.check_store(store) {
                Ok(()) => return Err(AuditError::Agrees),
                Err(HeadsError::Store(error)) => return Err(error.into()),
                Err(_) => {}
            }
            let accepted = Accepted {
                by: by.to_owned(),
                reason: reason.to_owned(),
            };
            let standing = durable_standing(store)?;
            // Why: a statement that was signed no later than another head counts for nothing.
            let at_ms = now_ms().max(self.heads.after_all_ms()?);
            Ok(Some(Head::sign(key, standing, at_ms, Some(accepted))))
        })?;
        appended.ok_or(AuditError::Agrees)
    }
}

/// Where the store stands, once that is on the disk: a head must not outlive its commit.
fn durable_standing(store: &Store) -> Result<ChainTip, AuditError> {
    let standing = store.standing()?;
    if standing.commit > 0 {
        store.barrier().wait()?;
    }
    Ok(standing)
}

/// A key below `root`, opened with its passphrase.
pub(crate) fn sealed_key(
    root: &Path,
    path: &Path,
    passphrase: &SecretName,
) -> Result<PrivateKey, AuditError> {
    let path = root.join(path);
    let passphrase = passphrase.resolve(root)?;
    let key = key_file(&path)?.open(passphrase.expose());
    key.map_err(|error| AuditError::key(&path, error))
}

fn key_file(path: &Path) -> Result<KeyFile, AuditError> {
    let text = std::fs::read_to_string(path).map_err(|error| AuditError::key(path, error))?;
    KeyFile::read(&text).map_err(|error| AuditError::key(path, error))
}
