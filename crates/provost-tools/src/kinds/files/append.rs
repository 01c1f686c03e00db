//! Adding text at the end of one file, and with a key at most once.
//!
//! Owns `provost_effects`, a file beside the one that grows: a line for each key, written and
//! synced before the text is. A repetition looks up where the text was to stand, and whether it
//! does. Never follows a link. INVARIANT: a text that a key stands for is in the file once, or,
//! where others changed the file meanwhile, nobody says that it is.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::OwnedFd;
use std::time::Duration;

use provost_plan::catalog::KeyCarrier;
use provost_plan::digest::{Digest, Domain};
use provost_run::outcome::{Class, Landing};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fsync, openat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::path::RelativePath;
use super::root::OpenRoot;
use super::write::existing;
use crate::deadline::Deadline;
use crate::fault::{Fault, Request};
use crate::limits::APPEND_TABLE_BYTES_MAX;

/// The file that holds the keys of its folder. No path of a call leads to it.
pub(super) const TABLE: &str = "provost_effects";

/// What a key stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KeyRow {
    key: String,
    file: String,
    /// Where the text was to begin.
    at: u64,
    bytes: u64,
    digest: String,
}

pub(super) fn append(
    root: &OpenRoot<'_>,
    request: &Request,
    deadline: &Deadline,
) -> Result<Value, Fault> {
    let path = RelativePath::of(request, "path")?;
    let text = request.text("text").unwrap_or_default();
    let shown = path.shown();
    let (_, name) = path.split();
    root.check_name("path", name, &shown)?;
    let folder = root.parent(&path)?;
    let created = existing(root, &path, &folder, true)?.is_none();
    let before = |error: &dyn std::fmt::Display| root.broken(&shown, &error.to_string());
    let mut file = open_or_create(&folder, name).map_err(|error| before(&error))?;
    let meta = file.metadata().map_err(|error| before(&error))?;
    root.check_file(&meta, &shown)?;
    let output = json!({"path": shown, "bytes": text.len(), "created": created});
    let Some((KeyCarrier::Table, key)) = request.carried_key()? else {
        append_text(&file, &folder, text, &shown)?;
        return Ok(output);
    };
    let mut table = KeyTable::open(root, &folder, deadline)?;
    // Why again: somebody else may have held the table until now.
    let size = file.metadata().map_err(|error| before(&error))?.len();
    let row = KeyRow {
        key: key.to_owned(),
        file: name.to_owned(),
        at: size,
        bytes: text.len() as u64,
        digest: Digest::of_bytes(Domain::Evidence, text.as_bytes()).to_string(),
    };
    match table.row(key) {
        None => table.add(&row, &folder).map_err(|error| before(&error))?,
        Some(old) => match is_written(&mut file, old, &row, text) {
            Ok(true) => return Ok(output),
            Ok(false) => {}
            Err(fault) => return Err(fault),
        },
    }
    append_text(&file, &folder, text, &shown)?;
    Ok(output)
}

fn open_or_create(folder: &OwnedFd, name: &str) -> Result<File, Errno> {
    let flags = OFlags::RDWR
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    openat(folder, name, flags, mode).map(File::from)
}

/// Adds the text and syncs it.
fn append_text(mut file: &File, folder: &OwnedFd, text: &str, shown: &str) -> Result<(), Fault> {
    let unknown = |error: &dyn std::fmt::Display| {
        let message = format!("`{shown}` may have grown, and may not survive a crash: {error}");
        Fault::new(Class::Unavailable, Landing::Unknown, message)
    };
    file.write_all(text.as_bytes())
        .map_err(|error| unknown(&error))?;
    file.sync_all().map_err(|error| unknown(&error))?;
    fsync(folder).map_err(|error| unknown(&error))
}

/// Whether the text of an earlier call under the same key stands where it was to. What of it stands
/// there in part is taken away, so that it can be added whole.
fn is_written(file: &mut File, old: &KeyRow, now: &KeyRow, text: &str) -> Result<bool, Fault> {
    if (&old.file, old.bytes, &old.digest) != (&now.file, now.bytes, &now.digest) {
        let message = "the key stands for another text or another file";
        return Err(Fault::no_effect(Class::Conflict, message));
    }
    let unknown = |class, what: &str| {
        let message = format!("whether the text was added cannot be told: {what}");
        Fault::new(class, Landing::Unknown, message)
    };
    let failed = |error: std::io::Error| unknown(Class::Unavailable, &error.to_string());
    file.seek(SeekFrom::Start(old.at)).map_err(failed)?;
    let mut found = Vec::new();
    let mut there = (&mut *file).take(old.bytes);
    there.read_to_end(&mut found).map_err(failed)?;
    if now.at < old.at || !text.as_bytes().starts_with(&found) {
        let what = "the file was changed by others since";
        return Err(unknown(Class::Conflict, what));
    }
    if found.len() as u64 == old.bytes {
        return Ok(true);
    }
    file.set_len(old.at).map_err(failed)?;
    Ok(false)
}

/// The keys of one folder, held against everybody else until dropped.
struct KeyTable {
    file: File,
    rows: Vec<KeyRow>,
    /// Whether the last line was not written to its end.
    is_torn: bool,
}

impl KeyTable {
    fn open(root: &OpenRoot<'_>, folder: &OwnedFd, deadline: &Deadline) -> Result<Self, Fault> {
        let broken = |error: &dyn std::fmt::Display| root.broken(TABLE, &error.to_string());
        let mut file = open_or_create(folder, TABLE).map_err(|error| broken(&error))?;
        let meta = file.metadata().map_err(|error| broken(&error))?;
        root.check_file(&meta, TABLE)?;
        if meta.len() > APPEND_TABLE_BYTES_MAX {
            let reason = format!(
                "it has more than {APPEND_TABLE_BYTES_MAX} bytes; take it away when no run that \
                 adds to files of this folder is unfinished"
            );
            return Err(broken(&reason));
        }
        while let Err(errno) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if errno != Errno::WOULDBLOCK {
                return Err(broken(&errno));
            }
            if deadline.is_over() {
                return Err(deadline.fault());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut text = String::new();
        file.read_to_string(&mut text)
            .map_err(|error| broken(&error))?;
        let mut rows = Vec::new();
        for line in text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
        {
            // Why passed over: a line that a crash cut off was ended by the next one.
            rows.extend(serde_json::from_str(line));
        }
        let is_torn = !text.is_empty() && !text.ends_with('\n');
        Ok(Self {
            file,
            rows,
            is_torn,
        })
    }

    fn row(&self, key: &str) -> Option<&KeyRow> {
        self.rows.iter().find(|row| row.key == key)
    }

    /// Writes and syncs a row: from then on a repetition knows where to look.
    fn add(&mut self, row: &KeyRow, folder: &OwnedFd) -> std::io::Result<()> {
        let mut line = serde_json::to_string(row)?;
        line.push('\n');
        if self.is_torn {
            line.insert(0, '\n');
        }
        self.file.write_all(line.as_bytes())?;
        self.file.sync_all()?;
        Ok(fsync(folder)?)
    }
}
