//! The root of a files tool, as an open folder.
//!
//! Owns every opening of a file. Paths are walked from the root's handle, one name at a time and
//! never through a symbolic link. INVARIANT: what is opened is a regular file below the root that
//! is not protected.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use provost_run::outcome::Class;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::RootPath;
use super::append::TABLE;
use super::glob::Glob;
use super::path::RelativePath;
use crate::fault::Fault;
use crate::limits::{PATH_DEPTH_MAX, WALK_ENTRIES_MAX};
use crate::linked_path::LinkError;
use crate::protected_paths::is_key_name;

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
// Why: without NONBLOCK the opening of a named pipe waits for its other end.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// An open root.
pub(crate) struct OpenRoot<'a> {
    place: &'a RootPath,
    folder: OwnedFd,
}

/// A file that a walk found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileEntry {
    pub(crate) path: String,
    pub(crate) bytes: u64,
}

impl<'a> OpenRoot<'a> {
    pub(crate) fn open(place: &'a RootPath) -> Result<Self, Fault> {
        let unusable = |what: String| {
            let message = format!(
                "the folder `{}` of the tool `{}` {what}; create it, or correct `root` in \
                 provost.toml",
                place.shown, place.tool
            );
            Fault::no_effect(Class::Unavailable, message)
        };
        if let Some(name) = place
            .path
            .current()
            .ok()
            .and_then(|real| place.protected.overlapping(&real))
        {
            let message = format!("the folder `{}` reaches `{name}`", place.shown);
            return Err(Fault::no_effect(Class::PermissionDenied, message));
        }
        let real = place.path.locate().map_err(|error| match error {
            LinkError::Moved => place.path.drift("folder"),
            LinkError::Unreachable(error) if error.kind() == std::io::ErrorKind::NotFound => {
                unusable("is not there".to_owned())
            }
            LinkError::Unreachable(error) => unusable(format!("cannot be reached: {error}")),
        })?;
        let folder = rustix::fs::open(&real, FOLDER, Mode::empty())
            .map_err(|errno| unusable(format!("cannot be opened: {errno}")))?;
        Ok(Self { place, folder })
    }

    /// Opens the folder that holds the last name of `path`.
    pub(crate) fn parent(&self, path: &RelativePath) -> Result<OwnedFd, Fault> {
        let (folders, _) = path.split();
        let mut current = self
            .folder
            .try_clone()
            .map_err(|error| self.broken(&path.shown(), &error.to_string()))?;
        for (at, name) in folders.iter().enumerate() {
            current = openat(&current, name.as_str(), FOLDER, Mode::empty()).map_err(|errno| {
                if errno == Errno::NOENT {
                    // Why the folder and not the path: that may be where a file is to go.
                    let missing = folders.iter().take(at + 1).cloned().collect::<Vec<_>>();
                    return self.no_folder(&missing.join("/"), &path.shown());
                }
                self.refusal(&current, name, &path.shown(), errno)
            })?;
        }
        Ok(current)
    }

    /// Opens a regular file that may be read.
    pub(crate) fn file(&self, path: &RelativePath) -> Result<(File, Metadata), Fault> {
        let shown = path.shown();
        let (_, name) = path.split();
        self.check_name("path", name, &shown)?;
        let parent = self.parent(path)?;
        let file = openat(&parent, name, FILE, Mode::empty())
            .map(File::from)
            .map_err(|errno| self.refusal(&parent, name, &shown, errno))?;
        let meta = file
            .metadata()
            .map_err(|error| self.broken(&shown, &error.to_string()))?;
        self.check_file(&meta, &shown)?;
        Ok((file, meta))
    }

    /// Refuses names that are taken for keys, and that of the table of keys. `arg` gave the name.
    pub(crate) fn check_name(&self, arg: &str, name: &str, shown: &str) -> Result<(), Fault> {
        if name == TABLE {
            let message = format!("`{shown}` holds the keys of what was added here");
            return Err(Fault::refused(arg, Class::PermissionDenied, message));
        }
        if is_key_name(Path::new(name)) {
            let message = format!("`{shown}` is taken for a key, which no tool may touch");
            return Err(Fault::refused(arg, Class::PermissionDenied, message));
        }
        Ok(())
    }

    /// Refuses what is no regular file, and what is protected under another name.
    pub(crate) fn check_file(&self, meta: &Metadata, shown: &str) -> Result<(), Fault> {
        if meta.is_dir() {
            let message = format!("`{shown}` is a folder, not a file");
            return Err(Fault::no_effect(Class::InvalidArguments, message));
        }
        if !meta.is_file() {
            let message = format!("`{shown}` is not a regular file");
            return Err(Fault::no_effect(Class::PermissionDenied, message));
        }
        let identity = (meta.dev(), meta.ino());
        if let Some(name) = self.place.protected.with_identity(identity, meta.nlink()) {
            let message = format!("`{shown}` is `{name}` under another name");
            return Err(Fault::no_effect(Class::PermissionDenied, message));
        }
        Ok(())
    }

    /// Reads a whole file of at most `max` bytes.
    pub(crate) fn read(&self, path: &RelativePath, max: u64) -> Result<Vec<u8>, Fault> {
        let (file, meta) = self.file(path)?;
        if meta.len() > max {
            return Err(Fault::too_large(meta.len(), max));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
        file.take(max + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| self.broken(&path.shown(), &error.to_string()))?;
        // Why: the file may have grown since it was opened.
        if bytes.len() as u64 > max {
            return Err(Fault::too_large(max + 1, max));
        }
        Ok(bytes)
    }

    /// Every regular file that fits `glob`, by path. Symbolic links are passed over.
    pub(crate) fn walk(&self, glob: &Glob) -> Result<Vec<FileEntry>, Fault> {
        let mut found = Vec::new();
        let mut seen = 0usize;
        let top = self
            .folder
            .try_clone()
            .map_err(|error| self.broken(".", &error.to_string()))?;
        let mut folders = vec![(top, String::new(), 0usize)];
        while let Some((folder, prefix, depth)) = folders.pop() {
            for name in names(&folder).map_err(|e| self.broken(&prefix, &e.to_string()))? {
                seen += 1;
                if seen > WALK_ENTRIES_MAX {
                    let message = format!(
                        "more than {WALK_ENTRIES_MAX} files lie below the root; give the tool a \
                         smaller root"
                    );
                    return Err(Fault::no_effect(Class::InvalidArguments, message));
                }
                let Ok(stat) = statat(&folder, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) else {
                    continue;
                };
                let path = format!("{prefix}{name}");
                match FileType::from_raw_mode(stat.st_mode) {
                    FileType::RegularFile if glob.matches(&path) => found.push(FileEntry {
                        path,
                        bytes: u64::try_from(stat.st_size).unwrap_or(0),
                    }),
                    FileType::Directory if depth < PATH_DEPTH_MAX => {
                        // Why: a folder that cannot be opened must not pass for an empty one.
                        let inner = openat(&folder, name.as_str(), FOLDER, Mode::empty())
                            .map_err(|errno| self.broken(&path, &errno.to_string()))?;
                        folders.push((inner, format!("{path}/"), depth + 1));
                    }
                    _ => {}
                }
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// A failure of the file system.
    pub(crate) fn broken(&self, shown: &str, reason: &str) -> Fault {
        let message = format!(
            "`{shown}` in `{}` cannot be used: {reason}",
            self.place.shown
        );
        Fault::no_effect(Class::Unavailable, message)
    }

    /// A folder on the way to `path` that is not there.
    fn no_folder(&self, folder: &str, path: &str) -> Fault {
        let message = format!(
            "there is no folder `{folder}` in `{}`, which `{path}` needs; an operation with \
             `op = \"folder\"` makes one",
            self.place.shown
        );
        Fault::no_effect(Class::NotFound, message)
    }

    /// Says why a name could not be opened.
    fn refusal(&self, folder: &OwnedFd, name: &str, shown: &str, errno: Errno) -> Fault {
        match errno {
            Errno::NOENT => {
                let message = format!("there is no `{shown}` in `{}`", self.place.shown);
                Fault::no_effect(Class::NotFound, message)
            }
            // Why: a symbolic link that is not followed shows as one of these two.
            Errno::LOOP | Errno::NOTDIR => {
                let is_link = statat(folder.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW)
                    .is_ok_and(|s| FileType::from_raw_mode(s.st_mode) == FileType::Symlink);
                if is_link {
                    let message = format!("`{name}` in `{shown}` is a symbolic link");
                    Fault::no_effect(Class::PermissionDenied, message)
                } else {
                    let message = format!("`{name}` in `{shown}` is not a folder");
                    Fault::no_effect(Class::NotFound, message)
                }
            }
            Errno::ACCESS | Errno::PERM => {
                let message = format!("`{shown}` may not be opened by this user");
                Fault::no_effect(Class::PermissionDenied, message)
            }
            other => self.broken(shown, &other.to_string()),
        }
    }
}

/// The names in a folder, sorted; a name that is no UTF-8 cannot be asked for, so it is left out.
fn names(folder: &OwnedFd) -> Result<Vec<String>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        if let Ok(name) = entry?.file_name().to_str()
            && name != "."
            && name != ".."
            && name != TABLE
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}
