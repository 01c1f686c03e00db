//! Connections: one for every call, opened with no more rights than the call needs.
//!
//! Owns finding the database file, saying plainly what is wrong with it, and the authorizer.
//! INVARIANT: no connection can attach a file, load code or change the schema, but for the one
//! that makes the table for keys.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use provost_run::outcome::{Class, Landing};
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags};

use super::SqliteDatabase;
use crate::deadline::Deadline;
use crate::fault::Fault;
use crate::limits::{SQL_BYTES_MAX, SQL_LOCK_WAIT, SQL_STEPS_PER_LOOK};
use crate::linked_path::LinkError;

/// The first bytes of every SQLite database.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// The pragmas that only describe.
const PRAGMAS: [&str; 3] = ["table_info", "table_xinfo", "table_list"];

/// What a call may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessMode {
    Read,
    Write,
    /// It makes the table for keys.
    Prepare,
}

impl SqliteDatabase {
    /// The database file as it is now, or what is wrong with it.
    pub(super) fn locate(&self) -> Result<PathBuf, Fault> {
        // Why first: what governs the workspace stays refused wherever the path leads.
        if self.protected_name().is_some() {
            let message = format!("the database `{}` governs this workspace", self.shown);
            return Err(Fault::no_effect(Class::PermissionDenied, message));
        }
        let real = self.path.locate().map_err(|error| match error {
            LinkError::Moved => self.path.drift("database"),
            LinkError::Unreachable(error) if error.kind() == std::io::ErrorKind::NotFound => self
                .unusable(
                    "is not there",
                    "create it, or correct `database` in provost.toml",
                ),
            LinkError::Unreachable(error) => self.unusable(
                &format!("cannot be reached: {error}"),
                "check its permissions",
            ),
        })?;
        let mut head = Vec::with_capacity(MAGIC.len());
        let read = File::open(&real).and_then(|file| {
            if !file.metadata()?.is_file() {
                return Err(std::io::Error::other("it is not a file"));
            }
            file.take(16).read_to_end(&mut head)
        });
        if let Err(error) = read {
            return Err(self.unusable(
                &format!("cannot be read: {error}"),
                "check the path and its permissions",
            ));
        }
        if head != MAGIC {
            let what = if head.is_empty() {
                "is empty"
            } else {
                "is not an SQLite database, or it is damaged"
            };
            return Err(self.unusable(what, "restore it from a backup or create it again"));
        }
        Ok(real)
    }

    pub(super) fn unusable(&self, what: &str, hint: &str) -> Fault {
        let message = format!(
            "the database `{}` of the tool `{}` {what}; {hint}",
            self.shown, self.tool
        );
        Fault::no_effect(Class::Unavailable, message)
    }

    /// Opens it for one call.
    pub(super) fn connect(
        &self,
        right: AccessMode,
        bytes_max: u64,
        deadline: &Deadline,
    ) -> Result<Connection, Fault> {
        let path = self.locate()?;
        let mode = match right {
            AccessMode::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            AccessMode::Write | AccessMode::Prepare => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        let flags = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        Connection::open_with_flags(path, flags)
            .and_then(|connection| prepare(connection, right, bytes_max, deadline))
            .map_err(|error| self.fault(&error, deadline))
    }

    /// Says what an SQLite error that is not the statement's fault means.
    pub(super) fn fault(&self, error: &Error, deadline: &Deadline) -> Fault {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                self.unusable("is damaged", "restore it from a backup or create it again")
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => self.unusable(
                "is locked by another program",
                "try again when that program is done",
            ),
            Some(ErrorCode::OperationInterrupted) => deadline.fault(),
            Some(ErrorCode::TooBig) => {
                Fault::bad_output("a value of the result is larger than `max_bytes` allows")
            }
            Some(ErrorCode::ConstraintViolation) => Fault::no_effect(
                Class::Conflict,
                format!("the database refuses this: {error}"),
            ),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                self.unusable("cannot be written", "check its permissions")
            }
            Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure | ErrorCode::DiskFull) => self
                .unusable(
                    &format!("cannot be used: {error}"),
                    "check the disk and the path",
                ),
            _ => Fault::new(Class::ToolBug, Landing::None, error.to_string()),
        }
    }
}

fn prepare(
    mut connection: Connection,
    right: AccessMode,
    bytes_max: u64,
    deadline: &Deadline,
) -> Result<Connection, Error> {
    connection.busy_timeout(SQL_LOCK_WAIT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // Why: a misspelt column in double quotes must be an error, not a text.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    let bytes = i32::try_from(bytes_max).unwrap_or(i32::MAX);
    let sql_bytes = i32::try_from(SQL_BYTES_MAX).unwrap_or(i32::MAX);
    // Why: rows and texts on the way to a result may be larger than the result.
    let floor = 4 * 1024 * 1024;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, bytes.max(floor))?;
    connection.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, sql_bytes)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    if right == AccessMode::Read {
        connection.pragma_update(None, "query_only", true)?;
    } else {
        connection.pragma_update(None, "foreign_keys", true)?;
    }
    let deadline = deadline.clone();
    connection.progress_handler(SQL_STEPS_PER_LOOK, Some(move || deadline.is_over()))?;
    connection.authorizer(Some(move |context: AuthContext<'_>| allow(right, &context)))?;
    Ok(connection)
}

fn allow(right: AccessMode, context: &AuthContext<'_>) -> Authorization {
    let allowed = match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => {
            !function_name.eq_ignore_ascii_case("load_extension")
        }
        AuthAction::Pragma { pragma_name, .. } => PRAGMAS.contains(&pragma_name),
        AuthAction::Insert { .. }
        | AuthAction::Update { .. }
        | AuthAction::Delete { .. }
        | AuthAction::Transaction { .. } => right != AccessMode::Read,
        AuthAction::CreateTable { table_name } => {
            right == AccessMode::Prepare && table_name == "provost_effects"
        }
        // Why: SQLite names so the index that its primary key makes.
        AuthAction::CreateIndex { table_name, .. }
        | AuthAction::Reindex {
            index_name: table_name,
        } => right == AccessMode::Prepare && table_name.contains("provost_effects"),
        _ => false,
    };
    if allowed {
        Authorization::Allow
    } else {
        Authorization::Deny
    }
}
