//! Databases: the operator's named queries and statements, over SQLite or PostgreSQL.
//!
//! Owns the tool kind `sql` and what its two databases share: settings, parameters, the shapes of
//! results and the table of keys. Never builds SQL from an argument. INVARIANT: a read cannot
//! write, and a write lands whole, with its key where it has one, or not at all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use provost_plan::catalog::Operation;
use provost_wire::Redactor;

use crate::adapter::{Adapter, CallFuture};
use crate::deadline::Deadline;
use crate::fault::{Fault, Request};
use crate::protected_paths::ProtectedPaths;

mod address;
mod describe;
mod effects;
mod parameters;
mod postgres;
mod rows;
mod settings;
mod sqlite;

pub use describe::{DescribedStatement, DescribedTable};
pub use effects::SQLITE as SQLITE_EFFECTS;

pub(crate) use settings::SqlSettings;

use address::DatabaseAddress;
use settings::{SqlStatement, StatementText};

/// How long a look at one statement may take.
const LOOK: Duration = Duration::from_secs(5);

/// An open SQL tool.
#[derive(Clone, Debug)]
pub(crate) struct Sql {
    database: Database,
    statements: BTreeMap<String, Arc<SqlStatement>>,
}

#[derive(Clone, Debug)]
enum Database {
    Sqlite(Arc<sqlite::SqliteDatabase>),
    Postgres(Arc<postgres::PostgresDatabase>),
}

impl Sql {
    /// Opens the tool; an `Err` says which protected thing its database is.
    pub(crate) fn open(
        tool: &str,
        settings: &SqlSettings,
        protected: &Arc<ProtectedPaths>,
    ) -> Result<Self, String> {
        let database = match &settings.address {
            DatabaseAddress::File(file) => {
                let database = sqlite::SqliteDatabase::open(tool, &file.value, protected)?;
                Database::Sqlite(Arc::new(database))
            }
            DatabaseAddress::Server(server) => {
                let base = protected.base().to_owned();
                Database::Postgres(Arc::new(postgres::PostgresDatabase::open(
                    tool, server, base,
                )))
            }
        };
        Ok(Self {
            database,
            statements: settings.statements.clone(),
        })
    }

    /// Whether a call of this operation lacks the table its key is to stand in.
    pub(crate) async fn is_unprepared(&self, operation: &Operation) -> bool {
        operation.keeps_key_in_table()
            && matches!(self.is_prepared(operation.timeout).await, Ok(false))
    }

    /// Whether the table for keys is there.
    pub(crate) async fn is_prepared(&self, time: Duration) -> Result<bool, Fault> {
        match &self.database {
            Database::Sqlite(database) => database.is_prepared(&Deadline::after(time)),
            Database::Postgres(database) => database.is_prepared(time).await,
        }
    }

    /// What a statement takes, gives and does; it is not run.
    pub(crate) async fn describe(
        &self,
        sql: &str,
        time: Duration,
    ) -> Result<DescribedStatement, Fault> {
        match &self.database {
            Database::Sqlite(database) => database.describe(sql, &Deadline::after(time)),
            Database::Postgres(database) => database.describe(sql, time).await,
        }
    }

    /// The tables that it has.
    pub(crate) async fn tables(&self, time: Duration) -> Result<Vec<DescribedTable>, Fault> {
        match &self.database {
            Database::Sqlite(database) => database.tables(&Deadline::after(time)),
            Database::Postgres(database) => database.tables(time).await,
        }
    }

    /// Makes the table for keys, unless it is there.
    pub(crate) async fn prepare(&self, time: Duration) -> Result<(), Fault> {
        match &self.database {
            Database::Sqlite(database) => database.prepare(&Deadline::after(time)),
            Database::Postgres(database) => database.prepare(time).await,
        }
    }
}

impl Adapter for Sql {
    fn trouble(&self) -> Option<String> {
        match &self.database {
            Database::Sqlite(database) => database.trouble(),
            Database::Postgres(database) => database.trouble(),
        }
    }

    fn defects(&self) -> Vec<String> {
        let Database::Sqlite(database) = &self.database else {
            return Vec::new();
        };
        let each = self.statements.iter().filter_map(|(name, statement)| {
            let (StatementText::Query(sql) | StatementText::Execute(sql)) = &statement.text else {
                return None;
            };
            let fault = database.describe(sql, &Deadline::after(LOOK)).err()?;
            Some(format!(
                "`{name}` does not fit the database: {}",
                fault.message
            ))
        });
        each.collect()
    }

    fn unseen(&self) -> Option<&'static str> {
        match &self.database {
            Database::Sqlite(_) => None,
            Database::Postgres(_) => Some("whether its statements fit its database"),
        }
    }

    fn perform<'a>(&'a self, request: &'a Request, _: &'a Redactor) -> CallFuture<'a> {
        Box::pin(async {
            let statement = request.find(&self.statements)?;
            Ok(match &self.database {
                Database::Sqlite(sqlite) => sqlite.perform(Arc::clone(statement), request).await,
                Database::Postgres(server) => server.perform(statement, request).await,
            })
        })
    }

    fn as_database(&self) -> Option<&Sql> {
        Some(self)
    }
}
