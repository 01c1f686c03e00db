//! Running one statement on a server: arguments by name, rows as JSON, a key beside a write.
//!
//! Owns the transaction. Never builds SQL from an argument. INVARIANT: the row of a key and the
//! write it stands for are committed together, and of two calls with one key the later waits for
//! the earlier.

use std::pin::pin;
use std::time::{Duration, Instant};

use futures::TryStreamExt as _;
use provost_run::outcome::{Class, Landing};
use serde_json::Value;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Transaction};

use super::meaning::{of_commit, of_session, of_statement};
use super::values::{RawCell, TextArgument, argument, value};
use super::{CommitFlag, PostgresDatabase, changed};
use crate::fault::{Fault, Request};
use crate::kinds::sql::effects::{self, EffectRow, StoredEffect};
use crate::kinds::sql::parameters::numbered;
use crate::kinds::sql::rows::{Rows, distinct};
use crate::kinds::sql::settings::{SqlStatement, StatementText};

/// Takes the key. Why first: a call with the same key that is still at work is waited for here.
const TAKE: &str = "INSERT INTO provost_effects (key, operation, args, result) \
     VALUES ($1, $2, $3, '') ON CONFLICT (key) DO NOTHING";
const FIND: &str = "SELECT operation, args, result FROM provost_effects WHERE key = $1";
const RECORD: &str = "UPDATE provost_effects SET result = $2 WHERE key = $1";
const IS_PREPARED: &str = "SELECT to_regclass('provost_effects') IS NOT NULL";

/// Runs the statement of one call.
pub(super) async fn perform(
    database: &PostgresDatabase,
    statement: &SqlStatement,
    request: &Request,
    commit_flag: &CommitFlag,
) -> Result<Value, Fault> {
    let begun = Instant::now();
    let mut client = database.connect(request.timeout).await?;
    let runner = PostgresRunner {
        database,
        statement,
        request,
    };
    let left = request.timeout.saturating_sub(begun.elapsed());
    match &statement.text {
        StatementText::Query(sql) => runner.read(&mut client, sql, left).await,
        StatementText::Execute(sql) => runner.write(&mut client, sql, left, commit_flag).await,
        StatementText::Adhoc => Err(statement.wrong(&request.operation.name, "a server runs none")),
    }
}

/// Whether the table for keys is there.
pub(super) async fn is_prepared(
    database: &PostgresDatabase,
    time: Duration,
) -> Result<bool, Fault> {
    let client = database.connect(time).await?;
    let row = client.query_one(IS_PREPARED, &[]).await;
    row.and_then(|row| row.try_get(0))
        .map_err(|error| of_session(&database.tool, &error))
}

/// Makes the table for keys, unless it is there.
pub(super) async fn prepare(
    database: &PostgresDatabase,
    time: Duration,
    commit_flag: &CommitFlag,
) -> Result<(), Fault> {
    let client = database.connect(time).await?;
    commit_flag.begin();
    client
        .batch_execute(effects::POSTGRES)
        .await
        .map_err(|error| of_session(&database.tool, &error))
}

struct PostgresRunner<'a> {
    database: &'a PostgresDatabase,
    statement: &'a SqlStatement,
    request: &'a Request,
}

impl PostgresRunner<'_> {
    async fn begin<'c>(
        &self,
        client: &'c mut Client,
        read_only: bool,
        left: Duration,
    ) -> Result<Transaction<'c>, Fault> {
        let of_session = |error: Error| of_session(&self.database.tool, &error);
        let building = client.build_transaction().read_only(read_only);
        let transaction = building.start().await.map_err(of_session)?;
        let ms = left.as_millis().max(1);
        let limits = format!(
            "SET LOCAL statement_timeout = {ms}; \
             SET LOCAL idle_in_transaction_session_timeout = {ms}"
        );
        transaction
            .batch_execute(&limits)
            .await
            .map_err(of_session)?;
        Ok(transaction)
    }

    async fn read(&self, client: &mut Client, sql: &str, left: Duration) -> Result<Value, Fault> {
        let failed = |error: Error| self.failed(&error);
        let transaction = self.begin(client, true, left).await?;
        let (statement, names) = self.prepared(&transaction, sql).await?;
        let columns = distinct(statement.columns().iter().map(tokio_postgres::Column::name))
            .map_err(|message| self.wrong(&message))?;
        if columns.is_empty() {
            return Err(self.wrong("the statement returns no columns"));
        }
        let arguments = self.arguments(&statement, &names)?;
        let portal = transaction
            .bind_raw(&statement, arguments.iter().map(|one| one as &dyn ToSql))
            .await
            .map_err(failed)?;
        // Why one more than fits: it shows that there are too many.
        let most = i32::try_from(self.statement.rows_max + 1).unwrap_or(i32::MAX);
        let stream = transaction.query_portal_raw(&portal, most).await;
        let mut stream = pin!(stream.map_err(failed)?);
        let mut read = Rows::new(self.statement, self.request.operation.max_bytes);
        while let Some(row) = stream.try_next().await.map_err(failed)? {
            read.next()?;
            for (index, (name, column)) in columns.iter().zip(row.columns()).enumerate() {
                let cell: Option<RawCell<'_>> = row.try_get(index).map_err(failed)?;
                let cell = match cell {
                    Some(cell) => value(column.type_(), cell.0, name)?,
                    None => Value::Null,
                };
                read.put(name, cell)?;
            }
        }
        read.into_output()
    }

    async fn write(
        &self,
        client: &mut Client,
        sql: &str,
        left: Duration,
        commit_flag: &CommitFlag,
    ) -> Result<Value, Fault> {
        let effect = EffectRow::of(self.request)?;
        let transaction = self.begin(client, false, left).await?;
        if let Some(effect) = &effect
            && let Some(stored) = self.taken(&transaction, effect).await?
        {
            // Why not committed: the transaction has changed nothing, and ends with the client.
            return effect.repeat_output(&stored);
        }
        let (statement, names) = self.prepared(&transaction, sql).await?;
        if !statement.columns().is_empty() {
            return Err(self.wrong("a statement that writes returns no rows"));
        }
        let arguments = self.arguments(&statement, &names)?;
        let count = transaction
            .execute_raw(&statement, arguments.iter().map(|one| one as &dyn ToSql))
            .await
            .map_err(|error| self.failed(&error))?;
        let output = changed(count);
        if let Some(effect) = &effect {
            transaction
                .execute(RECORD, &[&effect.key, &output.to_string()])
                .await
                .map_err(|error| of_session(&self.database.tool, &error))?;
        }
        commit_flag.begin();
        transaction
            .commit()
            .await
            .map_err(|error| of_commit(&self.database.tool, &error))?;
        Ok(output)
    }

    /// Takes the key for this call; gives the row of the call that had it before.
    async fn taken(
        &self,
        transaction: &Transaction<'_>,
        effect: &EffectRow,
    ) -> Result<Option<StoredEffect>, Fault> {
        let tool = &self.database.tool;
        let fault = |error: Error| match error.code() {
            Some(code) if *code == SqlState::UNDEFINED_TABLE => effects::missing(tool),
            _ => of_session(tool, &error),
        };
        let row: [&(dyn ToSql + Sync); 3] = [&effect.key, &effect.operation, &effect.args];
        if transaction.execute(TAKE, &row).await.map_err(fault)? == 1 {
            return Ok(None);
        }
        let found = transaction.query_one(FIND, &[&effect.key]).await;
        let stored = found.and_then(|row| {
            Ok(StoredEffect {
                operation: row.try_get(0)?,
                args: row.try_get(1)?,
                result: row.try_get(2)?,
            })
        });
        stored.map(Some).map_err(fault)
    }

    async fn prepared(
        &self,
        transaction: &Transaction<'_>,
        sql: &str,
    ) -> Result<(tokio_postgres::Statement, Vec<String>), Fault> {
        let (text, names) = numbered(sql).map_err(|error| self.wrong(&error.to_string()))?;
        let prepared = transaction.prepare(&text).await;
        let statement = prepared.map_err(|error| self.failed(&error))?;
        if statement.params().len() != names.len() {
            return Err(self.wrong("the server reads its parameters otherwise"));
        }
        Ok((statement, names))
    }

    /// The arguments in the order of the parameters. What a call leaves out is NULL.
    fn arguments(
        &self,
        statement: &tokio_postgres::Statement,
        names: &[String],
    ) -> Result<Vec<TextArgument>, Fault> {
        let one = |(name, of): (&String, &tokio_postgres::types::Type)| {
            let given = self.request.args.get(name).unwrap_or(&Value::Null);
            argument(of, given).map_err(|message| {
                let message = format!("`{name}` {message}");
                Fault::new(Class::InvalidArguments, Landing::None, message)
            })
        };
        names.iter().zip(statement.params()).map(one).collect()
    }

    fn failed(&self, error: &Error) -> Fault {
        of_statement(&self.database.tool, error, self.statement, self.request)
    }

    fn wrong(&self, message: &str) -> Fault {
        self.statement.wrong(&self.request.operation.name, message)
    }
}
