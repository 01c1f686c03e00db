//! What SQLite says of a statement and of its tables. Runs no statement of anybody's.
//!
//! Owns how a declared type becomes a schema. A declared type is what the table's author promised:
//! unless the table is STRICT, SQLite holds other values too, and a call then fails with
//! `output_invalid`.

use provost_plan::catalog::Effect;
use rusqlite::{Connection, Error, ErrorCode, Statement};
use serde_json::{Value, json};

use super::SqliteDatabase;
use super::connection::AccessMode;
use crate::deadline::Deadline;
use crate::fault::Fault;
use crate::kinds::sql::describe::{
    DescribedStatement, DescribedTable, compared, effect, keeps_columns, or_null,
};
use crate::limits::RESULT_BYTES_DEFAULT;

const COLUMNS: &str = "SELECT t.name, c.name, c.type, c.\"notnull\" OR c.pk > 0, c.pk \
     FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c \
     WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
     AND t.name <> 'provost_effects' ORDER BY t.name, c.cid";

/// A column of a table.
struct TableColumn {
    table: String,
    name: String,
    declared: String,
    is_required: bool,
    is_key: bool,
}

/// What this statement takes, gives and does.
pub(super) fn statement(
    database: &SqliteDatabase,
    sql: &str,
    deadline: &Deadline,
) -> Result<DescribedStatement, Fault> {
    let described = |right| -> Result<Result<DescribedStatement, Error>, Fault> {
        let connection = database.connect(right, RESULT_BYTES_DEFAULT, deadline)?;
        let columns = columns(&connection).map_err(|error| database.fault(&error, deadline))?;
        let prepared = connection.prepare(sql);
        Ok(prepared.map(|statement| of(&statement, sql, &columns)))
    };
    // Why first without the right: a statement that only reads is never prepared with it.
    let read = described(AccessMode::Read)?;
    let denied = |error: &Error| {
        error.sqlite_error_code() == Some(ErrorCode::AuthorizationForStatementDenied)
    };
    let found = match read {
        Err(error) if denied(&error) => described(AccessMode::Write)?,
        other => other,
    };
    found.map_err(|error| database.fault(&error, deadline))
}

/// The tables of the database.
pub(super) fn tables(
    database: &SqliteDatabase,
    deadline: &Deadline,
) -> Result<Vec<DescribedTable>, Fault> {
    let connection = database.connect(AccessMode::Read, RESULT_BYTES_DEFAULT, deadline)?;
    let columns = columns(&connection).map_err(|error| database.fault(&error, deadline))?;
    let mut tables: Vec<DescribedTable> = Vec::new();
    // Why without bytes: no result holds them.
    let readable = |column: &TableColumn| !column.declared.to_uppercase().contains("BLOB");
    for column in columns.into_iter().filter(readable) {
        if tables.last().is_none_or(|table| table.name != column.table) {
            tables.push(DescribedTable {
                name: column.table,
                columns: Vec::new(),
                key: Vec::new(),
            });
        }
        if let Some(table) = tables.last_mut() {
            table.key.extend(column.is_key.then(|| column.name.clone()));
            table.columns.push(column.name);
        }
    }
    Ok(tables)
}

fn columns(connection: &Connection) -> Result<Vec<TableColumn>, Error> {
    let mut statement = connection.prepare(COLUMNS)?;
    let column = |row: &rusqlite::Row<'_>| {
        Ok(TableColumn {
            table: row.get(0)?,
            name: row.get(1)?,
            declared: row.get(2)?,
            is_required: row.get(3)?,
            is_key: row.get::<_, i64>(4)? > 0,
        })
    };
    statement.query_map([], column)?.collect()
}

fn of(statement: &Statement<'_>, sql: &str, columns: &[TableColumn]) -> DescribedStatement {
    let used: Vec<&TableColumn> = columns
        .iter()
        .filter(|column| sql.to_lowercase().contains(&column.table.to_lowercase()))
        .collect();
    let names = (1..=statement.parameter_count()).filter_map(|at| statement.parameter_name(at));
    let parameter = |name: &str| {
        let name = name.trim_start_matches([':', '@', '$']);
        let column = compared(sql, name).unwrap_or(name);
        (name.to_owned(), declared_of(&used, column))
    };
    let keeps = keeps_columns(sql);
    let result = statement.columns();
    let result = result.map(|column| {
        let schema = column.decl_type().and_then(schema);
        let mut same = used
            .iter()
            .filter(|one| one.name == column.name())
            .peekable();
        let required = keeps && same.peek().is_some() && same.all(|one| one.is_required);
        let schema = match required {
            true => schema,
            false => schema.map(or_null),
        };
        (column.name().to_owned(), schema)
    });
    DescribedStatement {
        parameters: names.map(parameter).collect(),
        columns: result.collect(),
        // Why SQLite's word first: it compiled the statement.
        effect: match (statement.readonly(), effect(sql)) {
            (true, _) => Effect::Read,
            (false, Effect::Read) => Effect::Destructive,
            (false, other) => other,
        },
    }
}

/// The type that all columns of this name have, if it is one.
fn declared_of(columns: &[&TableColumn], name: &str) -> Option<Value> {
    let mut same = columns
        .iter()
        .filter(|column| column.name.eq_ignore_ascii_case(name))
        .map(|column| schema(&column.declared));
    let first = same.next()??;
    same.all(|other| other.as_ref() == Some(&first))
        .then_some(first)
}

/// What a declared type holds, by SQLite's own rules of affinity; a date is kept as a text.
fn schema(declared: &str) -> Option<Value> {
    let upper = declared.to_uppercase();
    let has = |words: &[&str]| words.iter().any(|word| upper.contains(word));
    Some(match () {
        () if has(&["BOOL"]) => json!({ "enum": [0, 1] }),
        () if has(&["DATE", "TIME"]) => json!({ "type": "string" }),
        () if has(&["INT"]) => json!({ "type": "integer" }),
        () if has(&["CHAR", "CLOB", "TEXT"]) => json!({ "type": "string" }),
        () if upper.is_empty() || has(&["BLOB", "JSON"]) => return None,
        () => json!({ "type": "number" }),
    })
}
