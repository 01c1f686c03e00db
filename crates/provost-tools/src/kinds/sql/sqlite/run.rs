//! Running one statement: arguments bound by name, rows as JSON, a key beside a write.
//!
//! Owns the values both ways. Never builds SQL from an argument. INVARIANT: the row of a key and
//! the write it stands for are committed together.

use provost_run::outcome::{Class, Landing, Reply};
use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{
    Connection, Error, ErrorCode, OptionalExtension as _, TransactionBehavior, named_params,
};
use serde_json::{Value, json};

use super::SqliteDatabase;
use super::connection::AccessMode;
use crate::deadline::Deadline;
use crate::fault::{Fault, Request};
use crate::kinds::sql::effects::{self, EffectRow, StoredEffect};
use crate::kinds::sql::rows::{Rows, distinct, integer, real};
use crate::kinds::sql::settings::{SqlStatement, StatementText};
use crate::limits::RESULT_BYTES_DEFAULT;

const FIND: &str = "SELECT operation, args, result FROM provost_effects WHERE key = :key";
const RECORD: &str = "INSERT INTO provost_effects (key, operation, args, result, at) \
     VALUES (:key, :operation, :args, :result, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))";
const IS_PREPARED: &str =
    "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'provost_effects'";

/// Runs the statement of one call.
pub(super) fn perform(
    database: &SqliteDatabase,
    statement: &SqlStatement,
    request: &Request,
    deadline: &Deadline,
) -> Result<Reply, Fault> {
    let runner = SqliteRunner {
        database,
        statement,
        request,
        deadline,
    };
    let output = match &statement.text {
        StatementText::Query(sql) => runner.read(sql)?,
        StatementText::Adhoc => runner.read(request.text("sql").unwrap_or_default())?,
        StatementText::Execute(sql) => runner.write(sql)?,
    };
    let evidence = output.to_string().into_bytes();
    Ok(Reply::ok(output, evidence, "application/json"))
}

/// Whether the table for keys is there.
pub(super) fn is_prepared(database: &SqliteDatabase, deadline: &Deadline) -> Result<bool, Fault> {
    let connection = database.connect(AccessMode::Read, RESULT_BYTES_DEFAULT, deadline)?;
    connection
        .query_row(IS_PREPARED, [], |row| row.get::<_, i64>(0))
        .map(|count| count > 0)
        .map_err(|error| database.fault(&error, deadline))
}

/// Makes the table for keys, unless it is there.
pub(super) fn prepare(database: &SqliteDatabase, deadline: &Deadline) -> Result<(), Fault> {
    let connection = database.connect(AccessMode::Prepare, RESULT_BYTES_DEFAULT, deadline)?;
    connection
        .execute(effects::SQLITE, [])
        .map(|_| ())
        .map_err(|error| database.fault(&error, deadline))
}

struct SqliteRunner<'a> {
    database: &'a SqliteDatabase,
    statement: &'a SqlStatement,
    request: &'a Request,
    deadline: &'a Deadline,
}

impl SqliteRunner<'_> {
    fn connect(&self, right: AccessMode) -> Result<Connection, Fault> {
        let bytes_max = self.request.operation.max_bytes;
        self.database.connect(right, bytes_max, self.deadline)
    }

    fn read(&self, sql: &str) -> Result<Value, Fault> {
        let connection = self.connect(AccessMode::Read)?;
        let mut statement = connection.prepare(sql).map_err(|e| self.refused(&e))?;
        if !statement.readonly() {
            return Err(self.not_a_read());
        }
        if statement.column_count() == 0 {
            return Err(self.wrong("the statement returns no columns"));
        }
        let columns = distinct(statement.column_names()).map_err(|e| self.wrong(&e))?;
        self.bind(&mut statement)?;
        let mut rows = statement.raw_query();
        let mut read = Rows::new(self.statement, self.request.operation.max_bytes);
        while let Some(row) = rows.next().map_err(|e| self.failed(&e))? {
            read.next()?;
            for (index, column) in columns.iter().enumerate() {
                let cell = row
                    .get_ref(index)
                    .map_err(|error| Fault::bad_output(error.to_string()))?;
                read.put(column, value(cell, column)?)?;
            }
        }
        read.into_output()
    }

    fn write(&self, sql: &str) -> Result<Value, Fault> {
        let effect = EffectRow::of(self.request)?;
        let mut connection = self.connect(AccessMode::Write)?;
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|e| self.failed(&e))?;
        if let Some(effect) = &effect
            && let Some(stored) = self.stored(&transaction, effect)?
        {
            return effect.repeat_output(&stored);
        }
        let changed = {
            let mut statement = transaction.prepare(sql).map_err(|e| self.refused(&e))?;
            self.bind(&mut statement)?;
            statement.raw_execute().map_err(|e| self.failed(&e))?
        };
        let output = json!({"changed": changed});
        if let Some(effect) = &effect {
            self.record(&transaction, effect, &output)?;
        }
        if self.deadline.is_over() {
            // Why: dropping the transaction rolls it back, so nothing has landed.
            return Err(self.deadline.fault());
        }
        transaction.commit().map_err(|e| self.commit_failed(&e))?;
        Ok(output)
    }

    /// The row of this key, if an earlier attempt was committed.
    fn stored(
        &self,
        connection: &Connection,
        effect: &EffectRow,
    ) -> Result<Option<StoredEffect>, Fault> {
        let found = connection.prepare(FIND).and_then(|mut find| {
            let row = find.query_row(named_params! {":key": effect.key}, |row| {
                Ok(StoredEffect {
                    operation: row.get(0)?,
                    args: row.get(1)?,
                    result: row.get(2)?,
                })
            });
            row.optional()
        });
        found.map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::Unknown) => effects::missing(&self.database.tool),
            _ => self.database.fault(&error, self.deadline),
        })
    }

    fn record(
        &self,
        connection: &Connection,
        effect: &EffectRow,
        output: &Value,
    ) -> Result<(), Fault> {
        let row = named_params! {
            ":key": effect.key,
            ":operation": effect.operation,
            ":args": effect.args,
            ":result": output.to_string(),
        };
        connection
            .execute(RECORD, row)
            .map(|_| ())
            .map_err(|error| self.database.fault(&error, self.deadline))
    }

    fn commit_failed(&self, error: &Error) -> Fault {
        let mut fault = self.failed(error);
        let rolled_back = matches!(
            error.sqlite_error_code(),
            Some(
                ErrorCode::DatabaseBusy
                    | ErrorCode::DatabaseLocked
                    | ErrorCode::ConstraintViolation
                    | ErrorCode::OperationInterrupted
            )
        );
        if !rolled_back {
            fault.landing = Landing::Unknown;
        }
        fault
    }

    fn bind(&self, statement: &mut rusqlite::Statement<'_>) -> Result<(), Fault> {
        for index in 1..=statement.parameter_count() {
            let name = statement.parameter_name(index).unwrap_or_default();
            let argument = name.strip_prefix(':').unwrap_or_default();
            let named =
                !argument.is_empty() && !matches!(self.statement.text, StatementText::Adhoc);
            if !named {
                let message = "an ad-hoc query takes no parameters";
                return Err(self.no_query(Class::InvalidArguments, message));
            }
            // Why: an argument that the call leaves out is NULL, as an absent value is in SQL.
            let value = self.request.args.get(argument).unwrap_or(&Value::Null);
            let cell = cell(value).ok_or_else(|| {
                let message = format!("`{argument}` is a number that SQL cannot hold");
                Fault::no_effect(Class::InvalidArguments, message)
            })?;
            statement
                .raw_bind_parameter(index, cell)
                .map_err(|e| self.failed(&e))?;
        }
        Ok(())
    }

    fn wrong(&self, message: &str) -> Fault {
        self.statement.wrong(&self.request.operation.name, message)
    }

    /// The statement is none that a query may be, whatever the database holds.
    fn no_query(&self, class: Class, message: &str) -> Fault {
        match self.statement.text {
            StatementText::Adhoc => Fault::refused("sql", class, message),
            StatementText::Query(_) | StatementText::Execute(_) => self.wrong(message),
        }
    }

    fn not_a_read(&self) -> Fault {
        let message = "this query may only read: one SELECT, without ATTACH, PRAGMA or changes";
        match self.statement.text {
            StatementText::Adhoc if !selects(self.request.text("sql").unwrap_or_default()) => {
                self.no_query(Class::PermissionDenied, message)
            }
            // Why apart: a view that it selects from may be what is denied.
            StatementText::Adhoc => Fault::no_effect(Class::PermissionDenied, message),
            StatementText::Query(_) | StatementText::Execute(_) => self.wrong(message),
        }
    }

    /// A statement that could not be prepared.
    fn refused(&self, error: &Error) -> Fault {
        if matches!(error, Error::MultipleStatement) {
            let message = "it holds more than one statement";
            return self.no_query(Class::InvalidArguments, message);
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::AuthorizationForStatementDenied) => self.not_a_read(),
            Some(ErrorCode::Unknown | ErrorCode::TooBig) | None => {
                let said = plain(error);
                match is_no_sql(&said) {
                    true => self.no_query(Class::InvalidArguments, &said),
                    false => self.wrong(&said),
                }
            }
            Some(_) => self.failed(error),
        }
    }

    /// A statement that failed while it ran.
    fn failed(&self, error: &Error) -> Fault {
        match error.sqlite_error_code() {
            Some(ErrorCode::Unknown) | None => self.wrong(&plain(error)),
            Some(ErrorCode::ReadOnly)
                if !matches!(self.statement.text, StatementText::Execute(_)) =>
            {
                self.not_a_read()
            }
            Some(_) => self.database.fault(error, self.deadline),
        }
    }
}

/// SQLite's own words, without the statement repeated.
fn plain(error: &Error) -> String {
    match error {
        Error::SqliteFailure(_, Some(message)) => message.clone(),
        Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}

fn cell(value: &Value) -> Option<Cell> {
    Some(match value {
        Value::Null => Cell::Null,
        Value::Bool(value) => Cell::Integer(i64::from(*value)),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => Cell::Integer(integer),
            None => Cell::Real(number.as_f64()?),
        },
        Value::String(text) => Cell::Text(text.clone()),
        Value::Array(_) | Value::Object(_) => Cell::Text(value.to_string()),
    })
}

fn value(cell: ValueRef<'_>, column: &str) -> Result<Value, Fault> {
    Ok(match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => integer(value, column)?,
        ValueRef::Real(value) => real(value),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Value::from(text),
            Err(_) => {
                let message = format!("the column `{column}` holds text that is not UTF-8");
                return Err(Fault::bad_output(message));
            }
        },
        ValueRef::Blob(bytes) => {
            let message = format!(
                "the column `{column}` holds {} bytes that are no text; select it as hex({column})",
                bytes.len()
            );
            return Err(Fault::bad_output(message));
        }
    })
}

/// Whether a statement begins as one that reads, or in no way that tells.
fn selects(sql: &str) -> bool {
    let word = sql.trim_start().split(|c: char| !c.is_alphabetic()).next();
    let word = word.unwrap_or_default().to_ascii_lowercase();
    ["", "select", "with", "values", "explain"].contains(&word.as_str())
}

/// Whether SQLite says of a text that it is none of its statements, whatever a database holds.
fn is_no_sql(said: &str) -> bool {
    said.ends_with(": syntax error")
        || said == "incomplete input"
        || said.starts_with("unrecognized token: ")
}
