//! Opening the journal: settings, format, and plain words for what is wrong with a file.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Instant;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::error::plain;
use super::{JOURNAL_FILE, StoreError, budgets, earlier, file_size, log};
use crate::clock::now_ms;
use crate::limits::{BUSY_PAUSE, BUSY_WAIT, CHECKPOINT_PAGES_MAX};
use crate::owner::random_name;

/// The format of journals that this version writes.
pub const JOURNAL_FORMAT: i64 = 14;
/// `prov` in ASCII: tells a journal from any other SQLite file.
const APPLICATION: i64 = 0x7072_6f76;
const SCHEMA: &str = include_str!("schema.sql");
/// What each later format adds, from format 2 on.
const ADDITIONS: [&str; 13] = [
    include_str!("format2.sql"),
    include_str!("format3.sql"),
    include_str!("format4.sql"),
    include_str!("format5.sql"),
    include_str!("format6.sql"),
    include_str!("format7.sql"),
    include_str!("format8.sql"),
    include_str!("format9.sql"),
    include_str!("format10.sql"),
    include_str!("format11.sql"),
    include_str!("format12.sql"),
    include_str!("format13.sql"),
    include_str!("format14.sql"),
];

/// Where formats stand among them that are known by what they made, and its name.
const MADE: [(usize, &str); 8] = [
    (6, "events_by_call"),
    (6, "events_by_number"),
    (7, "posted_statements"),
    (8, "events_by_number"),
    (9, "schedules"),
    (10, "run_facts"),
    (11, "waits_by_kind"),
    (12, "runs_by_requester"),
];

/// Makes the store directory, private to its user and out of version control.
pub(super) fn create_dir(dir: &Path) -> Result<(), StoreError> {
    let failed = |error: std::io::Error| StoreError::NotWritable {
        path: dir.to_owned(),
        reason: error.to_string(),
    };
    if dir.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(failed)?;
    fs::write(dir.join(".gitignore"), "*\n").map_err(failed)?;
    // Why: without this the directory itself may be lost with the power, and the journal with it.
    if let Some(parent) = dir.parent()
        && let Ok(parent) = fs::File::open(parent)
    {
        parent.sync_all().map_err(failed)?;
    }
    Ok(())
}

/// The connection of the writer.
pub(super) fn read_write(dir: &Path, pages_max: Option<u32>) -> Result<Connection, StoreError> {
    let path = dir.join(JOURNAL_FILE);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opening = |error| StoreError::opening(&path, error);
    file_size::check_not_emptied(&path)?;
    let mut connection = Connection::open_with_flags(&path, flags).map_err(opening)?;
    connection.busy_timeout(BUSY_WAIT).map_err(opening)?;
    let keep_log = |connection: &Connection, keep| {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep)
    };
    // Why: a file that is refused stays as it is, also when it is closed.
    keep_log(&connection, true).map_err(opening)?;
    // Why first: a file of somebody else's must be found out before anything is changed in it.
    let found = check_format(&connection, &path)?;
    keep_log(&connection, false).map_err(opening)?;
    match found {
        Found::Current => {}
        Found::Empty => create(&mut connection, &path)?,
        Found::Older => {
            keep_copy(&connection, &path)?;
            upgrade(&mut connection, &path)?;
        }
    }
    let mode = write_ahead(&connection).map_err(opening)?;
    if mode != "wal" {
        return Err(StoreError::NotWritable {
            path,
            reason: format!("the file system allows only the journal mode `{mode}`"),
        });
    }
    let pages = pages_max.map_or_else(String::new, |n| format!("PRAGMA max_page_count = {n};"));
    connection
        .execute_batch(&format!(
            "PRAGMA trusted_schema = OFF; PRAGMA synchronous = NORMAL; \
             PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES_MAX}; {pages}"
        ))
        .map_err(opening)?;
    // Why: only a write shows whether the directory of the log can be written.
    let writable = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .and_then(|tx| {
            tx.execute("UPDATE meta SET value = value WHERE key = 'store'", [])?;
            tx.rollback()
        });
    writable.map_err(opening)?;
    connection.set_prepared_statement_cache_capacity(64);
    keep_plans(&connection).map_err(opening)?;
    Ok(connection)
}

/// Keeps a log beside the file from now on: the mode that the file system allows.
fn write_ahead(connection: &Connection) -> rusqlite::Result<String> {
    let until = Instant::now() + BUSY_WAIT;
    loop {
        let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0));
        // Why again: SQLite does not wait here, and of two that open a new journal at once one
        // would be told that it is busy.
        let is_busy = matches!(&mode, Err(error)
            if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy));
        if !is_busy || Instant::now() >= until {
            return mode;
        }
        std::thread::sleep(BUSY_PAUSE);
    }
}

/// The connection for reads of a process that also writes the journal `path`.
pub(super) fn reader_beside_writer(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opening = |error| StoreError::opening(path, error);
    let connection = Connection::open_with_flags(path, flags).map_err(opening)?;
    connection.busy_timeout(BUSY_WAIT).map_err(opening)?;
    connection
        .execute_batch("PRAGMA trusted_schema = OFF")
        .map_err(opening)?;
    keep_plans(&connection).map_err(opening)?;
    Ok(connection)
}

/// Without this SQLite plans a query anew for other values.
fn keep_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map(|_| ())
}

/// A connection for somebody who may only read the journal `path`, and whether it takes the file
/// for one that never changes.
pub(super) fn read_only(path: &Path) -> Result<(Connection, bool), StoreError> {
    let missing = || StoreError::Missing {
        path: path.parent().unwrap_or(path).to_owned(),
    };
    match fs::metadata(path) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(missing());
        }
        Err(error) => {
            return Err(StoreError::Failed {
                reason: format!("{}: {error}", path.display()),
            });
        }
    }
    file_size::check_not_emptied(path)?;
    let connection = reader_beside_writer(path)?;
    match check_format(&connection, path) {
        Ok(Found::Current | Found::Older) => Ok((connection, false)),
        Ok(Found::Empty) => Err(missing()),
        Err(StoreError::NotWritable { path, .. }) if has_log(&path) => {
            Err(StoreError::LogUnread { path })
        }
        Err(StoreError::NotWritable { .. }) => {
            // Why: where the log's index cannot be created, a journal that nobody is writing to
            // can still be read as a file that does not change.
            let connection = immutable(path)?;
            check_format(&connection, path)?;
            Ok((connection, true))
        }
        Err(error) => Err(error),
    }
}

fn has_log(path: &Path) -> bool {
    fs::metadata(file_size::beside(path, "-wal")).is_ok_and(|meta| meta.len() > 0)
}

fn immutable(path: &Path) -> Result<Connection, StoreError> {
    let mut uri = String::from("file:");
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'~' => uri.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(uri, flags).map_err(|error| StoreError::opening(path, error))
}

#[derive(PartialEq)]
enum Found {
    Empty,
    Older,
    Current,
}

fn check_format(connection: &Connection, path: &Path) -> Result<Found, StoreError> {
    let opening = |error| StoreError::opening(path, error);
    // Why one: of what another process creates between two reads, half would be seen.
    let moment = match connection.is_autocommit() {
        true => Some(connection.unchecked_transaction().map_err(opening)?),
        false => None,
    };
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let format = number("user_version").map_err(|error| file_size::first_read(path, error))?;
    file_size::check(connection)?;
    let application = number("application_id").map_err(opening)?;
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(opening)?;
    drop(moment);
    if (format, application, tables) == (0, 0, 0) {
        return Ok(Found::Empty);
    }
    if application != APPLICATION {
        return Err(StoreError::NotAJournal {
            path: path.to_owned(),
            reason: "it is a database of something else".to_owned(),
        });
    }
    if format > JOURNAL_FORMAT {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found: format,
            known: JOURNAL_FORMAT,
        });
    }
    Ok(if format < JOURNAL_FORMAT {
        Found::Older
    } else {
        Found::Current
    })
}

fn create(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let opening = |error| StoreError::opening(path, error);
    let name = random_name().map_err(|error| StoreError::Failed {
        reason: format!("no random name for the store: {error}"),
    })?;
    let tx = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(opening)?;
    // Why again: another process may have created it between the look and the lock.
    if check_format(&tx, path)? != Found::Empty {
        return Ok(());
    }
    let created = tx
        .execute_batch(SCHEMA)
        .and_then(|()| tx.execute_batch(&ADDITIONS.concat()))
        .and_then(|()| tx.execute("INSERT INTO meta VALUES ('store', ?1)", [&name]))
        .and_then(|_| tx.pragma_update(None, "application_id", APPLICATION))
        .and_then(|()| tx.pragma_update(None, "user_version", JOURNAL_FORMAT));
    created.map_err(opening)?;
    tx.commit().map_err(|error| StoreError::NotWritable {
        path: path.to_owned(),
        reason: plain(&error),
    })
}

/// Copies a journal of an older format as it is, so that there is a way back: `journal.db.formatN`.
fn keep_copy(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let opening = |error| StoreError::opening(path, error);
    let format: i64 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(opening)?;
    let kept = file_size::beside(path, format!(".format{format}"));
    // Why that is enough: a copy gets this name only when it is whole, and no later journal of
    // the directory has this format.
    if kept.exists() || format >= JOURNAL_FORMAT {
        return Ok(());
    }
    // Why the number: two processes may open it at once.
    let partial = file_size::beside(path, format!(".format{format}.{}", std::process::id()));
    let not_copied = |error: std::io::Error| StoreError::NotCopied {
        path: kept.clone(),
        reason: error.to_string(),
    };
    let copied = copy_into(connection, path, &partial)
        .and_then(|()| fs::rename(&partial, &kept).map_err(not_copied));
    if copied.is_err() {
        // Why ignored: the error that counts is that of the copy.
        let _ = fs::remove_file(&partial);
    }
    copied
}

/// Copies the journal of a connection into a new file, private to its user.
pub(super) fn copy_into(connection: &Connection, path: &Path, to: &Path) -> Result<(), StoreError> {
    let failed = |error: std::io::Error| StoreError::NotCopied {
        path: to.to_owned(),
        reason: error.to_string(),
    };
    let Some(name) = to.to_str() else {
        return Err(failed(std::io::Error::other(
            "its name is not text in UTF-8",
        )));
    };
    // Why before: whoever makes the file decides who may read it.
    let _ = fs::remove_file(to);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(to).map_err(failed)?;
    connection
        .execute("VACUUM INTO ?1", [name])
        .map_err(|error| StoreError::opening(path, error))?;
    fs::File::open(to)
        .and_then(|file| file.sync_all())
        .map_err(failed)
}

/// Brings a journal of an older format up to this one; its events stay as they are.
fn upgrade(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let opening = |error| StoreError::opening(path, error);
    let tx = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(opening)?;
    let found: i64 = tx
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(opening)?;
    // Why from what is found: another process may have done it between the look and the lock.
    let done = usize::try_from(found - 1).unwrap_or(0);
    // Why not by the number alone: one that was set back makes nothing a second time.
    let made = |at: usize| -> rusqlite::Result<bool> {
        let mut known = MADE.iter().filter(|(format, _)| *format == at);
        known.try_fold(false, |made, (_, name)| Ok(made || has(&tx, name)?))
    };
    let added = ADDITIONS
        .iter()
        .enumerate()
        .skip(done)
        .try_for_each(|(at, sql)| match made(at)? {
            true => Ok(()),
            false => tx.execute_batch(sql),
        })
        .and_then(|()| tx.pragma_update(None, "user_version", JOURNAL_FORMAT));
    added.map_err(opening)?;
    if found < 6 {
        log::carry(&tx, now_ms())?;
    }
    if found < 7 {
        budgets::carry(&tx)?;
    }
    if found < 10 {
        earlier::number(&tx).map_err(opening)?;
    }
    tx.commit().map_err(opening)
}

/// Whether there is a table or an index of this name.
fn has(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    connection
        .prepare("SELECT 1 FROM sqlite_schema WHERE name = ?1")?
        .exists([name])
}
