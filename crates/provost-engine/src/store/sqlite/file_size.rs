//! Whether the file of the journal is all there: as long as its own header counts.
//!
//! Owns what SQLite does not say: it reads what is missing of the last page as zeros, and takes an
//! empty file for a new journal. Never opens or reads the file itself: closing it would drop the
//! locks that SQLite holds for this process. INVARIANT: it is looked at before a page is written.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode};

use super::StoreError;
use crate::owner::OWNERS_DIR;

/// What a frame of the log has beside its page, and the log before its first frame.
const FRAME_HEADER: u64 = 24;
const LOG_HEADER: u64 = 32;

/// Refuses a file that was emptied. A new one is empty for a moment too, before any process owned
/// a run in this directory, or while its making can be rolled back.
pub(super) fn check_not_emptied(path: &Path) -> Result<(), StoreError> {
    let is_empty = fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() == 0);
    let was_used = || {
        let dir = path.parent().unwrap_or(Path::new(""));
        dir.join(OWNERS_DIR).is_dir() || size_of(&beside(path, "-wal")) > 0
    };
    if is_empty && size_of(&beside(path, "-journal")) == 0 && was_used() {
        return Err(damaged("it is empty, and a journal was kept in it"));
    }
    Ok(())
}

/// The error of the first read of `path`, which compares the header with the size of the file.
pub(super) fn first_read(path: &Path, error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt) => damaged(&format!(
            "its {} bytes are fewer than its header counts: its end is missing",
            size_of(path)
        )),
        _ => StoreError::opening(path, error),
    }
}

/// Refuses a file that ends within a page, or before the last page that neither it nor its log has.
pub(super) fn check(connection: &Connection) -> Result<(), StoreError> {
    let Some(path) = connection.path().filter(|path| !path.is_empty()) else {
        // Why none: a journal without a file has no end to lose.
        return Ok(());
    };
    let path = Path::new(path);
    let number = |name: &str| {
        let read = connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, u64>(0));
        read.map_err(StoreError::read)
    };
    // Why one: beside a reader of this moment nobody shortens the file.
    let moment = match connection.is_autocommit() {
        true => Some(
            connection
                .unchecked_transaction()
                .map_err(StoreError::read)?,
        ),
        false => None,
    };
    let (page, size) = (number("page_size")?, size_of(path));
    // Why not of an empty one: it counts a page that nobody has written yet.
    if page == 0 || size == 0 {
        return Ok(());
    }
    if size % page != 0 {
        return Err(damaged(&format!(
            "its {size} bytes are no whole number of pages of {page} bytes: its end is missing"
        )));
    }
    let pages = number("page_count")?;
    let logged = size_of(&beside(path, "-wal")).saturating_sub(LOG_HEADER);
    let size = size_of(path);
    drop(moment);
    if size / page + logged / (page + FRAME_HEADER) < pages {
        return Err(damaged(&format!(
            "its {size} bytes are fewer than {pages} pages of {page} bytes: its end is missing"
        )));
    }
    Ok(())
}

fn damaged(reason: &str) -> StoreError {
    StoreError::Damaged {
        reason: reason.to_owned(),
    }
}

fn size_of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}

/// The file of this name with `end` behind it.
pub(super) fn beside(path: &Path, end: impl AsRef<OsStr>) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}
