//! What no tool may reach: the files that govern provost itself, and keys.
//!
//! Owns the judgment on a root or a file, by place and by identity (device and inode), so that a
//! symbolic link, `..`, a hard link or a second mount of the same folder changes nothing.
//! INVARIANT: paths are compared only after they were made canonical.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::limits::{PATH_DEPTH_MAX, WALK_ENTRIES_MAX};

/// Files and folders of a workspace that govern it.
const GOVERNING: [&str; 5] = [
    "provost.toml",
    "provost.lock",
    "policies",
    "playbooks",
    ".provost",
];

/// Device and inode: what a file is, whatever it is called.
type Identity = (u64, u64);

/// The protected places of one workspace.
#[derive(Clone, Debug)]
pub(crate) struct ProtectedPaths {
    base: PathBuf,
    /// Canonical path and the name to show.
    paths: Vec<(PathBuf, String)>,
}

impl ProtectedPaths {
    /// The protected places of the workspace at `base`, and of the files that hold its secrets.
    pub(crate) fn new(base: &Path, secret_files: &[PathBuf]) -> io::Result<Self> {
        let base = fs::canonicalize(base)?;
        let mut paths = Vec::new();
        let governing = GOVERNING.iter().map(|name| (base.join(name), *name));
        for (path, name) in governing {
            // Why: both where it stands and where it leads, if it is a symbolic link.
            if let Ok(real) = fs::canonicalize(&path) {
                paths.push((real, name.to_owned()));
            }
            paths.push((path, name.to_owned()));
        }
        for path in secret_files {
            let real = fs::canonicalize(base.join(path)).unwrap_or_else(|_| base.join(path));
            paths.push((real, path.display().to_string()));
        }
        Ok(Self { base, paths })
    }

    /// The workspace, as a canonical path.
    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    /// Which protected thing the folder `root` contains or is a part of. `root` is canonical.
    pub(crate) fn reachable_from(&self, root: &Path) -> Option<String> {
        if let Some(name) = self.overlapping(root) {
            return Some(name);
        }
        let identities = self.path_identities();
        let mut hard_linked = Vec::new();
        // Why: a walk that is cut short lets nothing through, since every file is looked at again
        // when it is opened.
        let walked = walk(root, |path, meta| {
            if is_key_name(path) {
                return Some(shown(path));
            }
            if meta.is_file() && meta.nlink() > 1 {
                hard_linked.push(identity(meta));
            }
            identities.get(&identity(meta)).cloned()
        });
        match walked {
            WalkEnd::Found(name) => Some(name),
            WalkEnd::All | WalkEnd::Cut => self.first_of(&hard_linked),
        }
    }

    /// Which protected place the canonical folder `root` contains or lies in.
    pub(crate) fn overlapping(&self, root: &Path) -> Option<String> {
        self.paths
            .iter()
            .find(|(path, _)| path.starts_with(root) || root.starts_with(path))
            .map(|(_, name)| name.clone())
    }

    /// Which protected thing the file `path` is or is a part of. `path` is canonical.
    pub(crate) fn matching_file(&self, path: &Path, meta: &Metadata) -> Option<String> {
        if is_key_name(path) {
            return Some(shown(path));
        }
        self.containing(path)
            .or_else(|| self.with_identity(identity(meta), meta.nlink()))
    }

    /// Which protected place the canonical `path` is or lies in.
    pub(crate) fn containing(&self, path: &Path) -> Option<String> {
        self.paths
            .iter()
            .find(|(path_of, _)| path.starts_with(path_of))
            .map(|(_, name)| name.clone())
    }

    /// Which protected file has this identity; only a file with several names can.
    pub(crate) fn with_identity(&self, identity: Identity, links: u64) -> Option<String> {
        if links > 1 {
            return self.first_of(&[identity]);
        }
        self.path_identities().get(&identity).cloned()
    }

    fn first_of(&self, wanted: &[Identity]) -> Option<String> {
        if wanted.is_empty() {
            return None;
        }
        let Some(all) = self.all_identities() else {
            return Some("a file with several names in a workspace too large to tell".to_owned());
        };
        wanted.iter().find_map(|id| all.get(id).cloned())
    }

    fn path_identities(&self) -> BTreeMap<Identity, String> {
        self.paths
            .iter()
            .filter_map(|(path, name)| {
                let meta = fs::metadata(path).ok()?;
                Some((identity(&meta), name.clone()))
            })
            .collect()
    }

    /// The identity of every protected file: all below the places, and every key of the
    /// workspace; `None` if there are too many to look at. It is asked for only where a file has
    /// several names.
    fn all_identities(&self) -> Option<BTreeMap<Identity, String>> {
        let mut all = self.path_identities();
        let mut cut = false;
        for (path_of, _) in &self.paths {
            cut |= walk(path_of, |path, meta| {
                all.insert(identity(meta), shown(path));
                None::<()>
            })
            .is_cut();
        }
        cut |= walk(&self.base, |path, meta| {
            if is_key_name(path) {
                all.insert(identity(meta), shown(path));
            }
            None::<()>
        })
        .is_cut();
        (!cut).then_some(all)
    }
}

/// Whether a file of this name is taken for a key.
pub(crate) fn is_key_name(path: &Path) -> bool {
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|e| e.eq_ignore_ascii_case("pem") || e.eq_ignore_ascii_case("key"))
}

fn identity(meta: &Metadata) -> Identity {
    (meta.dev(), meta.ino())
}

fn shown(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// How a walk ended.
enum WalkEnd<T> {
    Found(T),
    All,
    Cut,
}

impl<T> WalkEnd<T> {
    fn is_cut(&self) -> bool {
        matches!(self, Self::Cut)
    }
}

/// Looks at everything below `root` without following symbolic links, until `look` finds
/// something or the walk reaches its limits.
fn walk<T>(root: &Path, mut look: impl FnMut(&Path, &Metadata) -> Option<T>) -> WalkEnd<T> {
    let mut folders = vec![(root.to_owned(), 0usize)];
    let mut seen = 0usize;
    let mut cut = false;
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            seen += 1;
            if seen > WALK_ENTRIES_MAX {
                return WalkEnd::Cut;
            }
            let Ok(meta) = entry.metadata() else {
                continue;
            };
            if meta.is_symlink() {
                continue;
            }
            let path = entry.path();
            if let Some(found) = look(&path, &meta) {
                return WalkEnd::Found(found);
            }
            if meta.is_dir() {
                cut |= depth >= PATH_DEPTH_MAX;
                if depth < PATH_DEPTH_MAX {
                    folders.push((path, depth + 1));
                }
            }
        }
    }
    if cut { WalkEnd::Cut } else { WalkEnd::All }
}
