//! SQLite: the operator's named queries and statements, and one read-only query of the plan's.
//!
//! Owns the tool kind `sql`. A read never gets a connection that could write: the file is opened
//! read-only, the session is `query_only`, and an authorizer lets nothing through but reading.
//! INVARIANT: a write runs in one transaction that is rolled back unless everything held.
//!
//! Mapping (class × landing):
//!
//! | what happened | class | landing |
//! |---|---|---|
//! | rows, or a write that was committed | `ok` | happened |
//! | database missing, corrupt, locked by another program | `unavailable` | none |
//! | the time is over (the statement is interrupted and rolled back) | `timeout` | none |
//! | ad-hoc SQL that is wrong, an argument SQL cannot hold | `invalid_arguments` | none |
//! | ad-hoc SQL that would do more than read | `permission_denied` | none |
//! | a named query that does not fit the database | `tool_bug` | none |
//! | `one = true` and no row | `not_found` | happened |
//! | a constraint refuses the write | `conflict` | none |
//! | bytes, no UTF-8, integers beyond ±2^53, too many rows | `output_invalid` | happened |
//! | the commit itself fails on the disk | `unavailable` | unknown |

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_run::outcome::{Class, Reply};

use crate::deadline::{Deadline, blocking};
use crate::fault::{Fault, Request};
use crate::guard::Protected;

mod connection;
mod parameters;
mod run;
mod settings;

pub(crate) use settings::{Settings, Statement};

/// An open SQL tool.
#[derive(Clone, Debug)]
pub(crate) struct Sql {
    database: Arc<Database>,
    statements: BTreeMap<String, Arc<Statement>>,
}

/// The database file, by the name the operator gave it.
#[derive(Debug)]
pub(crate) struct Database {
    tool: String,
    shown: String,
    path: PathBuf,
    protected: Arc<Protected>,
}

impl Sql {
    /// Opens the tool; an `Err` says which protected thing its database is.
    pub(crate) fn open(
        tool: &str,
        settings: &Settings,
        protected: &Arc<Protected>,
    ) -> Result<Self, String> {
        let database = Database {
            tool: tool.to_owned(),
            shown: settings.database.value.clone(),
            path: protected.base().join(&settings.database.value),
            protected: Arc::clone(protected),
        };
        if let Some(name) = database.protected_name() {
            return Err(name);
        }
        Ok(Self {
            database: Arc::new(database),
            statements: settings.statements.clone(),
        })
    }

    /// What keeps the tool from working now.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.database.locate().err().map(|fault| fault.message)
    }

    pub(crate) async fn perform(&self, request: &Request) -> Reply {
        let Some(statement) = self.statements.get(request.short_name()) else {
            let message = format!("the tool has no operation `{}`", request.short_name());
            return Fault::refused(Class::ToolBug, message).into();
        };
        let (database, statement) = (Arc::clone(&self.database), Arc::clone(statement));
        let request = request.clone();
        blocking(request.timeout, move |deadline: &Deadline| {
            run::perform(&database, &statement, &request, deadline)
        })
        .await
    }
}

impl Database {
    fn protected_name(&self) -> Option<String> {
        let real = canonical(&self.path)?;
        match std::fs::metadata(&real) {
            Ok(meta) => self.protected.is_file(&real, &meta),
            // Why: what is not there yet may still be created later under a protected name.
            Err(_) => self.protected.is_place(&real),
        }
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
