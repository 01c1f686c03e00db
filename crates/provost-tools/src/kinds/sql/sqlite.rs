//! SQLite: the operator's named queries and statements, and one read-only query of the plan's.
//!
//! Owns the database file. A read never gets a connection that could write: the file is opened
//! read-only, the session is `query_only`, and an authorizer lets nothing through but reading.
//! INVARIANT: a write runs in one transaction that is rolled back unless everything held.
//!
//! Mapping (class × landing):
//!
//! | what happened | class | landing |
//! |---|---|---|
//! | rows, or a write that was committed, now or earlier under the same key | `ok` | happened |
//! | database missing, corrupt, locked by another program | `unavailable` | none |
//! | the path leads to another file than when the workspace was opened | `drift` | none |
//! | a write with a key, and no table for keys | `unavailable` | none |
//! | the key stands for another call | `conflict` | none |
//! | the time is over (the statement is interrupted and rolled back) | `timeout` | none |
//! | ad-hoc SQL that is wrong, an argument SQL cannot hold | `invalid_arguments` | none |
//! | ad-hoc SQL that would do more than read | `permission_denied` | none |
//! | a named query that does not fit the database | `tool_bug` | none |
//! | `one = true` and no row | `not_found` | happened |
//! | a constraint refuses the write | `conflict` | none |
//! | bytes, no UTF-8, integers beyond ±2^53, too many rows | `output_invalid` | happened |
//! | the commit itself fails on the disk | `unavailable` | unknown |

use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_run::outcome::Reply;

use super::describe::{DescribedStatement, DescribedTable};
use super::settings::SqlStatement;
use crate::deadline::{Deadline, blocking};
use crate::fault::{Fault, Request};
use crate::linked_path::LinkedPath;
use crate::protected_paths::ProtectedPaths;

mod connection;
mod describe;
mod run;

/// The database file, by the name the operator gave it.
#[derive(Debug)]
pub(super) struct SqliteDatabase {
    tool: String,
    shown: String,
    path: LinkedPath,
    protected: Arc<ProtectedPaths>,
}

impl SqliteDatabase {
    /// The file `shown`; an `Err` says which protected thing it is.
    pub(super) fn open(
        tool: &str,
        shown: &str,
        protected: &Arc<ProtectedPaths>,
    ) -> Result<Self, String> {
        let database = Self {
            tool: tool.to_owned(),
            shown: shown.to_owned(),
            path: LinkedPath::open(protected.base(), shown),
            protected: Arc::clone(protected),
        };
        match database.protected_name() {
            Some(name) => Err(name),
            None => Ok(database),
        }
    }

    /// What keeps it from being used now.
    pub(super) fn trouble(&self) -> Option<String> {
        self.locate().err().map(|fault| fault.message)
    }

    pub(super) async fn perform(
        self: &Arc<Self>,
        statement: Arc<SqlStatement>,
        request: &Request,
    ) -> Reply {
        let (database, request) = (Arc::clone(self), request.clone());
        blocking(request.timeout, move |deadline: &Deadline| {
            run::perform(&database, &statement, &request, deadline)
        })
        .await
    }

    fn protected_name(&self) -> Option<String> {
        let real = canonical(self.path.path())?;
        match std::fs::metadata(&real) {
            Ok(meta) => self.protected.matching_file(&real, &meta),
            // Why: what is not there yet may still be created later under a protected name.
            Err(_) => self.protected.containing(&real),
        }
    }

    /// Whether the table for keys is there.
    pub(super) fn is_prepared(&self, deadline: &Deadline) -> Result<bool, Fault> {
        run::is_prepared(self, deadline)
    }

    /// What a statement takes, gives and does; it is not run.
    pub(super) fn describe(
        &self,
        sql: &str,
        deadline: &Deadline,
    ) -> Result<DescribedStatement, Fault> {
        describe::statement(self, sql, deadline)
    }

    /// The tables of the database.
    pub(super) fn tables(&self, deadline: &Deadline) -> Result<Vec<DescribedTable>, Fault> {
        describe::tables(self, deadline)
    }

    /// Makes the table for keys, unless it is there.
    pub(super) fn prepare(&self, deadline: &Deadline) -> Result<(), Fault> {
        run::prepare(self, deadline)
    }
}

/// The canonical form of a path whose last part may be missing.
fn canonical(path: &Path) -> Option<PathBuf> {
    if let Ok(real) = std::fs::canonicalize(path) {
        return Some(real);
    }
    let parent = std::fs::canonicalize(path.parent()?).ok()?;
    Some(parent.join(path.file_name()?))
}
