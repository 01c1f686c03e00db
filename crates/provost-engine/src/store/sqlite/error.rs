//! What an error of SQLite means for the journal.

use std::path::Path;

use rusqlite::ErrorCode;

use super::StoreError;

impl StoreError {
    /// The error of a read.
    #[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
    pub(super) fn read(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged {
                reason: plain(&error),
            },
            _ => Self::Failed {
                reason: plain(&error),
            },
        }
    }

    /// The error of opening `path`.
    #[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
    pub(super) fn opening(path: &Path, error: rusqlite::Error) -> Self {
        let (path, reason) = (path.to_owned(), plain(&error));
        match error.sqlite_error_code() {
            Some(
                ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure,
            ) => Self::NotWritable { path, reason },
            Some(ErrorCode::NotADatabase) => Self::NotAJournal { path, reason },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { reason },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            _ => Self::Failed { reason },
        }
    }
}

/// The database's own words, without the names of types.
pub(super) fn plain(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(code, message) => {
            message.clone().unwrap_or_else(|| code.to_string())
        }
        other => other.to_string(),
    }
}
