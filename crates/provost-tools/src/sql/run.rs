//! Running one statement: arguments bound by name, rows as JSON.
//!
//! Owns the values both ways. Never builds SQL from an argument. INVARIANT: what comes out is
//! within the limits of rows and bytes, or nothing comes out.

use provost_run::outcome::{Class, Landing, Reply};
use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{Connection, Error, ErrorCode, Row, TransactionBehavior};
use serde_json::{Map, Number, Value, json};

use super::Database;
use super::connection::Right;
use super::settings::{Shape, Statement, Text};
use crate::deadline::Deadline;
use crate::fault::{Fault, Request};
use provost_plan::limits::INTEGER_MAX;

/// Runs the statement of one call.
pub(super) fn perform(
    database: &Database,
    statement: &Statement,
    request: &Request,
    deadline: &Deadline,
) -> Result<Reply, Fault> {
    let runner = Runner {
        database,
        statement,
        request,
        deadline,
    };
    let output = match &statement.text {
        Text::Query(sql) => runner.read(sql)?,
        Text::Adhoc => runner.read(request.text("sql").unwrap_or_default())?,
        Text::Execute(sql) => runner.write(sql)?,
    };
    let evidence = output.to_string().into_bytes();
    Ok(Reply::ok(output, evidence, "application/json"))
}

struct Runner<'a> {
    database: &'a Database,
    statement: &'a Statement,
    request: &'a Request,
    deadline: &'a Deadline,
}

impl Runner<'_> {
    fn connect(&self, right: Right) -> Result<Connection, Fault> {
        let bytes_max = self.request.operation.max_bytes;
        self.database.connect(right, bytes_max, self.deadline)
    }

    fn read(&self, sql: &str) -> Result<Value, Fault> {
        let connection = self.connect(Right::Read)?;
        let mut statement = connection.prepare(sql).map_err(|e| self.refused(&e))?;
        if !statement.readonly() {
            return Err(self.not_a_read());
        }
        if statement.column_count() == 0 {
            return Err(self.wrong("the statement returns no columns"));
        }
        let columns = self.columns(&statement)?;
        self.bind(&mut statement)?;
        let mut rows = statement.raw_query();
        let mut bytes = Budget::new(self.request.operation.max_bytes);
        let mut read = Vec::new();
        while let Some(row) = rows.next().map_err(|e| self.failed(&e))? {
            if read.len() as u64 >= self.rows_max() {
                return Err(self.too_many_rows());
            }
            read.push(object(row, &columns, &mut bytes)?);
        }
        self.shaped(read)
    }

    /// One row more than fits shows that there are too many.
    fn rows_max(&self) -> u64 {
        match self.statement.shape {
            Shape::Single | Shape::One => 1,
            Shape::Rows | Shape::Changed => self.statement.rows_max,
        }
    }

    fn too_many_rows(&self) -> Fault {
        Fault::unusable(match self.statement.shape {
            Shape::Single | Shape::One => {
                "the query returns more than one row, and it is declared to return one".to_owned()
            }
            Shape::Rows | Shape::Changed => format!(
                "the query returns more than {} rows; aggregate them, or use `LIMIT`",
                self.statement.rows_max
            ),
        })
    }

    fn shaped(&self, mut rows: Vec<Value>) -> Result<Value, Fault> {
        match self.statement.shape {
            Shape::Rows | Shape::Changed => {
                let count = rows.len();
                Ok(json!({"rows": rows, "row_count": count}))
            }
            Shape::Single => {
                let row = rows.pop();
                Ok(json!({"found": row.is_some(), "row": row}))
            }
            Shape::One => rows.pop().ok_or_else(|| {
                let message = "the query returns no row, and it is declared to return one";
                Fault::new(Class::NotFound, Landing::Happened, message)
            }),
        }
    }

    fn write(&self, sql: &str) -> Result<Value, Fault> {
        let mut connection = self.connect(Right::Write)?;
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|e| self.failed(&e))?;
        let changed = {
            let mut statement = transaction.prepare(sql).map_err(|e| self.refused(&e))?;
            self.bind(&mut statement)?;
            statement.raw_execute().map_err(|e| self.failed(&e))?
        };
        if self.deadline.passed() {
            // Why: dropping the transaction rolls it back, so nothing has landed.
            return Err(self.deadline.fault());
        }
        transaction.commit().map_err(|e| self.commit_failed(&e))?;
        Ok(json!({"changed": changed}))
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

    fn columns(&self, statement: &rusqlite::Statement<'_>) -> Result<Vec<String>, Fault> {
        let names = statement.column_names();
        let mut columns: Vec<String> = Vec::with_capacity(names.len());
        for name in names {
            if columns.iter().any(|known| known == name) {
                let message = format!("two columns are called `{name}`; name one with `AS`");
                return Err(self.wrong(&message));
            }
            columns.push(name.to_owned());
        }
        Ok(columns)
    }

    fn bind(&self, statement: &mut rusqlite::Statement<'_>) -> Result<(), Fault> {
        for index in 1..=statement.parameter_count() {
            let name = statement.parameter_name(index).unwrap_or_default();
            let argument = name.strip_prefix(':').unwrap_or_default();
            let named = !argument.is_empty() && !matches!(self.statement.text, Text::Adhoc);
            if !named {
                return Err(self.wrong("an ad-hoc query takes no parameters"));
            }
            // Why: an argument that the call leaves out is NULL, as an absent value is in SQL.
            let value = self.request.args.get(argument).unwrap_or(&Value::Null);
            let cell = cell(value).ok_or_else(|| {
                let message = format!("`{argument}` is a number that SQL cannot hold");
                Fault::refused(Class::InvalidArguments, message)
            })?;
            statement
                .raw_bind_parameter(index, cell)
                .map_err(|e| self.failed(&e))?;
        }
        Ok(())
    }

    /// The statement itself is wrong: the call's fault if the call brought it, else the
    /// operator's.
    fn wrong(&self, message: &str) -> Fault {
        match self.statement.text {
            Text::Adhoc => Fault::refused(Class::InvalidArguments, message),
            Text::Query(_) | Text::Execute(_) => {
                let name = &self.request.operation.name;
                let message = format!("the statement of `{name}` does not work: {message}");
                Fault::refused(Class::ToolBug, message)
            }
        }
    }

    fn not_a_read(&self) -> Fault {
        let message = "this query may only read: one SELECT, without ATTACH, PRAGMA or changes";
        match self.statement.text {
            Text::Adhoc => Fault::refused(Class::PermissionDenied, message),
            Text::Query(_) | Text::Execute(_) => self.wrong(message),
        }
    }

    /// A statement that could not be prepared.
    fn refused(&self, error: &Error) -> Fault {
        if matches!(error, Error::MultipleStatement) {
            return self.wrong("it holds more than one statement");
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::AuthorizationForStatementDenied) => self.not_a_read(),
            Some(ErrorCode::Unknown | ErrorCode::TooBig) | None => self.wrong(&plain(error)),
            Some(_) => self.failed(error),
        }
    }

    /// A statement that failed while it ran.
    fn failed(&self, error: &Error) -> Fault {
        match error.sqlite_error_code() {
            Some(ErrorCode::Unknown) | None => self.wrong(&plain(error)),
            Some(ErrorCode::ReadOnly) if !matches!(self.statement.text, Text::Execute(_)) => {
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

/// How many bytes a result may still have.
struct Budget {
    left: u64,
    max: u64,
}

impl Budget {
    fn new(max: u64) -> Self {
        Self { left: max, max }
    }

    fn take(&mut self, bytes: usize) -> Result<(), Fault> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.left = self
            .left
            .checked_sub(bytes)
            .ok_or_else(|| Fault::too_large(self.max, self.max))?;
        Ok(())
    }
}

fn object(row: &Row<'_>, columns: &[String], bytes: &mut Budget) -> Result<Value, Fault> {
    let mut map = Map::new();
    for (index, column) in columns.iter().enumerate() {
        let cell = row
            .get_ref(index)
            .map_err(|error| Fault::unusable(error.to_string()))?;
        let value = value(cell, column)?;
        let size = match &value {
            Value::String(text) => text.len(),
            _ => 8,
        };
        bytes.take(column.len() + size + 4)?;
        map.insert(column.clone(), value);
    }
    Ok(Value::Object(map))
}

fn value(cell: ValueRef<'_>, column: &str) -> Result<Value, Fault> {
    Ok(match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(integer) => {
            if integer.unsigned_abs() > INTEGER_MAX.unsigned_abs() {
                let message = format!(
                    "the column `{column}` holds {integer}, which is beyond ±2^53; \
                     select it as text: CAST({column} AS TEXT)"
                );
                return Err(Fault::unusable(message));
            }
            Value::from(integer)
        }
        // Why: SQLite can compute an infinity, which JSON cannot hold.
        ValueRef::Real(real) => Number::from_f64(real).map_or(Value::Null, Value::Number),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Value::from(text),
            Err(_) => {
                let message = format!("the column `{column}` holds text that is not UTF-8");
                return Err(Fault::unusable(message));
            }
        },
        ValueRef::Blob(bytes) => {
            let message = format!(
                "the column `{column}` holds {} bytes that are no text; select it as hex({column})",
                bytes.len()
            );
            return Err(Fault::unusable(message));
        }
    })
}
