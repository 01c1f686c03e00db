//! Backup: a copy of one moment, made while others write, verified before it bears its name.
//!
//! Owns the copy's file: private to its user, never put over another. INVARIANT: a file of the
//! name that was asked for is either empty, after a crash, or a whole journal that verified.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use super::file_size::beside;
use super::open::{copy_into, create_dir};
use super::{JOURNAL_FILE, Store, StoreError, Verified};
use crate::owner::OWNERS_DIR;

impl Store {
    /// Copies the journal into the new file `to`.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if there is such a file; the copy's own error if it does not verify,
    /// and then it is gone again.
    pub fn backup(&self, to: &Path) -> Result<Verified, StoreError> {
        reserve(to)?;
        let partial = beside(to, ".partial");
        let done = self.copy(&partial).and_then(|verified| {
            let failed = not_written(to);
            fs::rename(&partial, to).map_err(&failed)?;
            let dir = to.parent().filter(|dir| *dir != Path::new(""));
            File::open(dir.unwrap_or(Path::new(".")))
                .and_then(|dir| dir.sync_all())
                .map_err(&failed)?;
            Ok(verified)
        });
        if done.is_err() {
            // Why ignored: the error that counts is the one above.
            let _ = fs::remove_file(&partial);
            let _ = fs::remove_file(to);
        }
        done
    }

    /// Makes the store `dir`, which must not be there, out of a copy. The directory of owners
    /// comes with it: by that a journal which is emptied later is told from a new one.
    ///
    /// # Errors
    /// [`StoreError::NotCopied`] if the directory or the journal cannot be written.
    pub fn restore(from: &Path, dir: &Path) -> Result<(), StoreError> {
        let to = dir.join(JOURNAL_FILE);
        let failed = not_written(&to);
        create_dir(dir)?;
        let partial = beside(&to, ".partial");
        create(&partial).map_err(&failed)?;
        fs::copy(from, &partial).map_err(&failed)?;
        // Why renamed: half a copy must not be taken for a journal.
        File::open(&partial)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&partial, &to))
            .and_then(|()| fs::create_dir_all(dir.join(OWNERS_DIR)))
            .and_then(|()| File::open(dir)?.sync_all())
            .map_err(&failed)
    }

    fn copy(&self, partial: &Path) -> Result<Verified, StoreError> {
        self.read(|connection| copy_into(connection, partial, partial))?;
        Self::open_file_read_only(partial)?.verify()
    }
}

fn not_written(path: &Path) -> impl Fn(io::Error) -> StoreError {
    let path = path.to_owned();
    move |error| StoreError::NotCopied {
        path: path.clone(),
        reason: error.to_string(),
    }
}

/// Takes the name, so that nobody else's file is ever put away.
fn reserve(to: &Path) -> Result<(), StoreError> {
    create(to).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => StoreError::Exists {
            path: to.to_owned(),
        },
        _ => not_written(to)(error),
    })
}

fn create(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}
