//! `init`: the files of a new workspace, which works as it is.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use provost_plan::policy::{DEFAULT_POLICY, SOLO_POLICY, STATEMENTS_POLICY};
use serde_json::json;

use super::{CONFIG_FILE, STORE_DIR};

const CONFIG: &str = include_str!("templates/provost.toml");
const PLAYBOOK: &str = include_str!("templates/find.yaml");
const NOTE: &str = include_str!("templates/welcome.md");

/// Why no workspace was made.
#[derive(Debug, thiserror::Error)]
pub enum ScaffoldError {
    /// There is one already.
    #[error("{} is a workspace already", dir.display())]
    Exists {
        /// The directory.
        dir: PathBuf,
    },
    /// A file cannot be written.
    #[error("{} cannot be written: {error}", path.display())]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl ScaffoldError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Exists { .. } => "name another directory",
            Self::NotWritable { .. } => "name a directory that this user may write to",
        }
    }
}

/// Writes the files of a new workspace for one person, `user`, into `dir`. A file that is there
/// already stays as it is. Returns what was written, relative to `dir`.
///
/// # Errors
/// [`ScaffoldError::Exists`] if `dir` is a workspace.
pub fn scaffold(dir: &Path, user: &str) -> Result<Vec<PathBuf>, ScaffoldError> {
    if dir.join(CONFIG_FILE).exists() {
        return Err(ScaffoldError::Exists {
            dir: dir.to_owned(),
        });
    }
    let people = format!("{}\n", json!({ "users": { user: { "groups": [] } } }));
    let ignored = format!("{STORE_DIR}/\n");
    // Why the configuration last: it makes the directory a workspace, so that a run that stopped
    // halfway can be repeated.
    let files = [
        (".gitignore", ignored.as_str()),
        ("notes/welcome.md", NOTE),
        ("playbooks/find.yaml", PLAYBOOK),
        ("policies/default.cedar", DEFAULT_POLICY),
        ("policies/statements.cedar", STATEMENTS_POLICY),
        ("policies/solo.cedar", SOLO_POLICY),
        ("policies/entities.json", &people),
        (CONFIG_FILE, CONFIG),
    ];
    let mut written = Vec::new();
    for (name, text) in files {
        let path = dir.join(name);
        let done = write_new(&path, text).map_err(|error| ScaffoldError::NotWritable {
            path: path.clone(),
            error,
        })?;
        if done {
            written.push(PathBuf::from(name));
        }
    }
    Ok(written)
}

/// Writes a file unless there is one.
fn write_new(path: &Path, text: &str) -> io::Result<bool> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(text.as_bytes()).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
