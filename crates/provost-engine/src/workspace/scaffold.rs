//! `init`: the files of a new workspace, which works as it is.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use provost_plan::policy::{DEFAULT_POLICY, SOLO_POLICY, STATEMENTS_POLICY};
use serde_json::json;

use super::{CONFIG_FILE, STORE_DIR};

/// A workspace to begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Example {
    /// A folder of notes that is searched.
    #[default]
    Files,
    /// A shop in a SQLite file, whose refunds a person approves.
    Refunds,
}

/// What a file of a new workspace holds.
enum Content<'t> {
    Text(&'t str),
    /// A SQLite database, by the statements that fill it.
    Database(&'t str),
}

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

impl Example {
    /// A goal that its playbook matches.
    #[must_use]
    pub fn goal(self) -> &'static str {
        match self {
            Self::Files => "Find welcome in my notes",
            Self::Refunds => "Refund 2000 cents of pay-1",
        }
    }

    /// Its own files; the configuration is the last.
    fn files(self) -> Vec<(&'static str, Content<'static>)> {
        use Content::{Database, Text};
        match self {
            Self::Files => vec![
                (
                    "notes/welcome.md",
                    Text(include_str!("templates/files/welcome.md")),
                ),
                (
                    "playbooks/find.yaml",
                    Text(include_str!("templates/files/find.yaml")),
                ),
                (
                    CONFIG_FILE,
                    Text(include_str!("templates/files/provost.toml")),
                ),
            ],
            Self::Refunds => vec![
                (
                    "data/shop.db",
                    Database(include_str!("templates/refunds/shop.sql")),
                ),
                (
                    "schemas/payment.json",
                    Text(include_str!("templates/refunds/payment.json")),
                ),
                (
                    "schemas/payment_row.json",
                    Text(include_str!("templates/refunds/payment_row.json")),
                ),
                (
                    "schemas/refund.json",
                    Text(include_str!("templates/refunds/refund.json")),
                ),
                (
                    "playbooks/refund.yaml",
                    Text(include_str!("templates/refunds/refund.yaml")),
                ),
                (
                    CONFIG_FILE,
                    Text(include_str!("templates/refunds/provost.toml")),
                ),
            ],
        }
    }
}

/// Writes the files of a new workspace for one person, `user`, into `dir`. A file that is there
/// already stays as it is. Returns what was written, relative to `dir`.
///
/// # Errors
/// [`ScaffoldError::Exists`] if `dir` is a workspace.
pub fn scaffold(dir: &Path, user: &str, example: Example) -> Result<Vec<PathBuf>, ScaffoldError> {
    if dir.join(CONFIG_FILE).exists() {
        return Err(ScaffoldError::Exists {
            dir: dir.to_owned(),
        });
    }
    let people = format!("{}\n", json!({ "users": { user: { "groups": [] } } }));
    let ignored = format!("{STORE_DIR}/\n");
    let mut files = vec![
        (".gitignore", Content::Text(&ignored)),
        ("policies/default.cedar", Content::Text(DEFAULT_POLICY)),
        (
            "policies/statements.cedar",
            Content::Text(STATEMENTS_POLICY),
        ),
        ("policies/solo.cedar", Content::Text(SOLO_POLICY)),
        ("policies/entities.json", Content::Text(&people)),
    ];
    // Why the configuration last: it makes the directory a workspace, so that a run that stopped
    // halfway can be repeated.
    files.extend(example.files());
    let mut written = Vec::new();
    for (name, content) in files {
        let path = dir.join(name);
        let done = match content {
            Content::Text(text) => write_new(&path, text),
            Content::Database(statements) => fill_new(&path, statements),
        };
        if done.map_err(|error| ScaffoldError::NotWritable { path, error })? {
            written.push(PathBuf::from(name));
        }
    }
    Ok(written)
}

/// Makes a database unless there is a file, with the table for the keys of calls.
fn fill_new(path: &Path, statements: &str) -> io::Result<bool> {
    if path.exists() {
        return Ok(false);
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    // Why in memory first: no process that is killed leaves half of a database.
    let fill = || {
        let database = rusqlite::Connection::open_in_memory()?;
        database.execute_batch(statements)?;
        database.execute_batch(provost_tools::SQLITE_EFFECTS)?;
        database.execute("VACUUM INTO ?1", [path.to_string_lossy()])
    };
    fill().map(|_| true).map_err(io::Error::other)
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
