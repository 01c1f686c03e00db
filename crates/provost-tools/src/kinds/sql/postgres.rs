//! PostgreSQL: the operator's named queries and statements, on a server.
//!
//! Owns the connection, one for every call, and what its failures mean. A query runs in a
//! `READ ONLY` transaction, and the server itself stops what takes too long. INVARIANT: nothing
//! can have landed before `COMMIT` was sent, and that is said of nothing sent later.
//!
//! Mapping (class × landing):
//!
//! | what happened | class | landing |
//! |---|---|---|
//! | rows, or a write that was committed, now or earlier under the same key | `ok` | happened |
//! | no connection, or it is lost before `COMMIT` was sent | `unavailable` | none |
//! | it is lost after `COMMIT` was sent | `unavailable` | unknown |
//! | `ca` leads to another file than when the workspace was opened | `drift` | none |
//! | the password is missing: the run pauses and names it | `unavailable` | none |
//! | a write with a key, and no table for keys | `unavailable` | none |
//! | the key stands for another call | `conflict` | none |
//! | the time is over before `COMMIT` was sent | `timeout` | none |
//! | the time is over after `COMMIT` was sent | `timeout` | unknown |
//! | the server refuses the user, or the user a table | `permission_denied` | none |
//! | a constraint or a trigger refuses the write, also at `COMMIT` | `conflict` | none |
//! | a serialization failure or a deadlock, also at `COMMIT` | `unavailable` | none |
//! | a value that its type does not take | `invalid_arguments` | none |
//! | a statement that does not fit the database, a query that writes | `tool_bug` | none |
//! | `one = true` and no row | `not_found` | happened |
//! | a type that is not read, integers beyond ±2^53, too many rows | `output_invalid` | happened |

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use provost_plan::duration;
use provost_run::outcome::{Class, Landing, Reply};
use serde_json::Value;

use super::address::PostgresServer;
use super::describe::{DescribedStatement, DescribedTable};
use super::settings::SqlStatement;
use crate::fault::{Fault, Request};
use crate::limits::STOP_GRACE;
use crate::linked_path::LinkedPath;

mod connect;
mod describe;
mod meaning;
mod run;
mod values;

/// A server and the database on it.
#[derive(Debug)]
pub(super) struct PostgresDatabase {
    tool: String,
    server: PostgresServer,
    base: PathBuf,
    /// The file `ca`.
    ca: Option<LinkedPath>,
}

/// Whether `COMMIT` was sent: from then on nobody knows until the server says.
#[derive(Debug, Default)]
struct CommitFlag(AtomicBool);

impl CommitFlag {
    fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn landing(&self) -> Landing {
        if self.0.load(Ordering::Relaxed) {
            Landing::Unknown
        } else {
            Landing::None
        }
    }
}

impl PostgresDatabase {
    /// Nothing is sent; the password is read at each call, below the workspace at `base`.
    pub(super) fn open(tool: &str, server: &PostgresServer, base: PathBuf) -> Self {
        Self {
            tool: tool.to_owned(),
            server: server.clone(),
            ca: server.ca.as_ref().map(|ca| LinkedPath::open(&base, ca)),
            base,
        }
    }

    /// What keeps it from being used now. Sends nothing.
    pub(super) fn trouble(&self) -> Option<String> {
        let name = self.server.password.as_ref()?;
        let error = name.resolve(&self.base).err()?;
        Some(error.to_string())
    }

    pub(super) async fn perform(
        self: &Arc<Self>,
        statement: &SqlStatement,
        request: &Request,
    ) -> Reply {
        let commit_flag = CommitFlag::default();
        let work = run::perform(self, statement, request, &commit_flag);
        match within(request.timeout, &commit_flag, work).await {
            Ok(output) => {
                let evidence = output.to_string().into_bytes();
                Reply::ok(output, evidence, "application/json")
            }
            Err(fault) => fault.into(),
        }
    }

    /// Whether the table for keys is there.
    pub(super) async fn is_prepared(&self, time: Duration) -> Result<bool, Fault> {
        within(time, &CommitFlag::default(), run::is_prepared(self, time)).await
    }

    /// What a statement takes, gives and does; it is not run.
    pub(super) async fn describe(
        &self,
        sql: &str,
        time: Duration,
    ) -> Result<DescribedStatement, Fault> {
        let work = describe::statement(self, sql, time);
        within(time, &CommitFlag::default(), work).await
    }

    /// The tables that the role may read.
    pub(super) async fn tables(&self, time: Duration) -> Result<Vec<DescribedTable>, Fault> {
        within(time, &CommitFlag::default(), describe::tables(self, time)).await
    }

    /// Makes the table for keys, unless it is there.
    pub(super) async fn prepare(&self, time: Duration) -> Result<(), Fault> {
        let commit_flag = CommitFlag::default();
        within(time, &commit_flag, run::prepare(self, time, &commit_flag)).await
    }
}

/// Holds `work` to its time. Why a grace: the server is to say itself that it stopped.
async fn within<T>(
    time: Duration,
    commit_flag: &CommitFlag,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    match tokio::time::timeout(time + STOP_GRACE, work).await {
        Ok(done) => done,
        Err(_) => {
            let message = format!("no result within {}", duration::print(time));
            Err(Fault::new(Class::Timeout, commit_flag.landing(), message))
        }
    }
}

/// The output of a statement that writes.
fn changed(count: u64) -> Value {
    serde_json::json!({ "changed": count })
}
