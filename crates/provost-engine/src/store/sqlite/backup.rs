//! Backup: a copy of one moment, made while others write, verified before it bears its name.
//!
//! Owns the copy's file: private to its user, never put over another. INVARIANT: a file of the
//! name that was asked for is either empty, after a crash, or a whole journal that verified.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::{Store, StoreError, Verified};

impl Store {
    /// Copies the journal into the new file `to`.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if there is such a file; the copy's own error if it does not verify,
    /// and then it is gone again.
    pub fn backup(&self, to: &Path) -> Result<Verified, StoreError> {
        reserve(to)?;
        let partial = beside(to);
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

    fn copy(&self, partial: &Path) -> Result<Verified, StoreError> {
        let failed = not_written(partial);
        let Some(name) = partial.to_str() else {
            return Err(failed(io::Error::other("its name is not text in UTF-8")));
        };
        // Why before: whoever makes the file decides who may read it.
        let _ = fs::remove_file(partial);
        create(partial).map_err(&failed)?;
        self.read(|connection| {
            connection
                .execute("VACUUM INTO ?1", [name])
                .map_err(|error| StoreError::opening(partial, error))
        })?;
        File::open(partial)
            .and_then(|file| file.sync_all())
            .map_err(&failed)?;
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

fn beside(to: &Path) -> PathBuf {
    let mut name = to.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}
