//! Writing or editing one file, whole or not at all, and making a folder.
//!
//! Owns the temporary file and its renaming. Never follows a link, never writes into a file that
//! has a second name. INVARIANT: at every moment the name leads to the old text or the new one.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use provost_run::outcome::{Class, Landing};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::fs::{fchmod, linkat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use serde_json::{Value, json};

use super::path::RelativePath;
use super::root::OpenRoot;
use crate::fault::{Fault, Request};

static COUNTER: AtomicU64 = AtomicU64::new(0);

pub(super) fn write(
    root: &OpenRoot<'_>,
    request: &Request,
    overwrite: bool,
) -> Result<Value, Fault> {
    let path = RelativePath::of(request, "path")?;
    let text = request.text("text").unwrap_or_default();
    let (_, name) = path.split();
    root.check_name("path", name, &path.shown())?;
    let folder = root.parent(&path)?;
    let old = existing(root, &path, &folder, overwrite)?;
    let draft = Draft {
        path: &path,
        folder: &folder,
        old: old.as_ref(),
        overwrite,
    };
    draft.put(root, text.as_bytes())?;
    Ok(json!({"path": path.shown(), "bytes": text.len(), "created": old.is_none()}))
}

/// Replaces a text that stands once in a file.
pub(super) fn edit(root: &OpenRoot<'_>, request: &Request) -> Result<Value, Fault> {
    let path = RelativePath::of(request, "path")?;
    let (old, new) = (request.text("old"), request.text("new"));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let shown = path.shown();
    let (_, name) = path.split();
    root.check_name("path", name, &shown)?;
    let folder = root.parent(&path)?;
    let conflict = |message: String| Fault::no_effect(Class::Conflict, message);
    let Some(before) = existing(root, &path, &folder, true)? else {
        let message = format!("there is no file `{shown}`");
        return Err(Fault::no_effect(Class::NotFound, message));
    };
    // Why none: what cannot be read was not changed.
    let bytes = root
        .read(&path, request.operation.max_bytes)
        .map_err(|fault| Fault {
            landing: Landing::None,
            ..fault
        })?;
    let text = String::from_utf8(bytes).map_err(|_| {
        let message = format!("`{shown}` is not text in UTF-8");
        Fault::no_effect(Class::InvalidArguments, message)
    })?;
    let at = match (text.find(old), text.rfind(old)) {
        (Some(first), Some(last)) if first == last => first,
        (Some(_), _) => {
            let message = "stands more than once; give more of the text around it";
            return Err(conflict(format!("`old` {message} (`{shown}`)")));
        }
        (None, _) => {
            let message = format!("`old` does not stand in `{shown}`; read the file again");
            return Err(conflict(message));
        }
    };
    let edited = text.replacen(old, new, 1);
    // Why again: what somebody else wrote since it was read would be lost.
    let is_same = existing(root, &path, &folder, true)?.is_some_and(|now| {
        let mark = |stat: &Stat| (stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
        mark(&now) == mark(&before)
    });
    if !is_same {
        return Err(conflict(format!("`{shown}` was changed by somebody else")));
    }
    let draft = Draft {
        path: &path,
        folder: &folder,
        old: Some(&before),
        overwrite: true,
    };
    draft.put(root, edited.as_bytes())?;
    let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
    Ok(json!({"path": shown, "bytes": edited.len(), "line": line}))
}

/// A text that is to stand under a name.
struct Draft<'a> {
    path: &'a RelativePath,
    folder: &'a OwnedFd,
    /// What stands there, if it may be replaced.
    old: Option<&'a Stat>,
    overwrite: bool,
}

impl Draft<'_> {
    fn put(&self, root: &OpenRoot<'_>, bytes: &[u8]) -> Result<(), Fault> {
        let (shown, (_, name)) = (self.path.shown(), self.path.split());
        let broken = |errno: Errno| root.broken(&shown, &errno.to_string());
        let file = TempFile::create(self.folder).map_err(broken)?;
        file.fill(bytes, self.old)
            .map_err(|error| root.broken(&shown, &error.to_string()))?;
        let published = if self.overwrite {
            file.replace(name)
        } else {
            file.publish(name)
        };
        match published {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(exists(&shown)),
            Err(errno) => return Err(broken(errno)),
        }
        rustix::fs::fsync(self.folder).map_err(|errno| {
            let message = format!("`{shown}` was written, but may not survive a crash: {errno}");
            Fault::new(Class::Unavailable, Landing::Unknown, message)
        })
    }
}

/// Makes a folder; one that is there already stays as it is.
pub(super) fn make_folder(root: &OpenRoot<'_>, request: &Request) -> Result<Value, Fault> {
    let path = RelativePath::of(request, "path")?;
    let (shown, (_, name)) = (path.shown(), path.split());
    root.check_name("path", name, &shown)?;
    let parent = root.parent(&path)?;
    let made = rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755));
    let created = match made {
        Ok(()) => true,
        Err(Errno::EXIST) => {
            let stat = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_err(|errno| root.broken(&shown, &errno.to_string()))?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                let message = format!("`{shown}` exists already, and is no folder");
                return Err(Fault::no_effect(Class::Conflict, message));
            }
            false
        }
        Err(errno) => return Err(root.broken(&shown, &errno.to_string())),
    };
    rustix::fs::fsync(&parent).map_err(|errno| {
        let message = format!("`{shown}` was made, but may not survive a crash: {errno}");
        Fault::new(Class::Unavailable, Landing::Unknown, message)
    })?;
    Ok(json!({"path": shown, "created": created}))
}

fn exists(shown: &str) -> Fault {
    let message = format!(
        "`{shown}` exists already, and this operation does not overwrite: `overwrite = true` in \
         its table in provost.toml would allow it"
    );
    Fault::no_effect(Class::Conflict, message)
}

/// What stands under the name now, if it may be replaced.
pub(super) fn existing(
    root: &OpenRoot<'_>,
    path: &RelativePath,
    folder: &OwnedFd,
    overwrite: bool,
) -> Result<Option<Stat>, Fault> {
    let shown = path.shown();
    let (_, name) = path.split();
    let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(root.broken(&shown, &errno.to_string())),
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => {
            let message = format!("`{shown}` is a symbolic link");
            return Err(Fault::no_effect(Class::PermissionDenied, message));
        }
        _ => {
            let message = format!("`{shown}` is not a file");
            return Err(Fault::no_effect(Class::InvalidArguments, message));
        }
    }
    if stat.st_nlink > 1 {
        let message = format!("`{shown}` has a second name (a hard link), so it is not touched");
        return Err(Fault::no_effect(Class::Conflict, message));
    }
    if !overwrite {
        return Err(exists(&shown));
    }
    Ok(Some(stat))
}

/// The new text under a temporary name, which goes away with the draft.
struct TempFile<'a> {
    folder: &'a OwnedFd,
    name: String,
    file: File,
}

impl<'a> TempFile<'a> {
    fn create(folder: &'a OwnedFd) -> Result<Self, Errno> {
        let nanos = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.subsec_nanos());
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!(".provost-{}-{nanos}-{count}.tmp", std::process::id());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
        let file = File::from(openat(folder, name.as_str(), flags, mode)?);
        Ok(Self { folder, name, file })
    }

    fn fill(&self, bytes: &[u8], old: Option<&Stat>) -> std::io::Result<()> {
        let mut file = &self.file;
        file.write_all(bytes)?;
        if let Some(old) = old {
            fchmod(file, Mode::from_raw_mode(old.st_mode & 0o777))?;
        }
        file.sync_all()
    }

    /// Takes the place of whatever stands there.
    fn replace(&self, name: &str) -> Result<(), Errno> {
        renameat(self.folder, self.name.as_str(), self.folder, name)
    }

    /// Takes the name only if it is free: a link fails where a rename would replace.
    fn publish(&self, name: &str) -> Result<(), Errno> {
        let flags = AtFlags::empty();
        linkat(self.folder, self.name.as_str(), self.folder, name, flags)
    }
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        // Why: after a rename the temporary name is gone already.
        let _ = unlinkat(self.folder, self.name.as_str(), AtFlags::empty());
    }
}
