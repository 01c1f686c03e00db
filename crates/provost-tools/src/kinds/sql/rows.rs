//! Rows on their way into a result, whichever database they come from.
//!
//! Owns the limits of rows and bytes and the shapes of an output. Knows no database. INVARIANT:
//! what comes out is within its limits, or nothing comes out.

use provost_plan::limits::INTEGER_MAX;
use provost_run::outcome::{Class, Landing};
use serde_json::{Map, Number, Value, json};

use super::settings::{ResultShape, SqlStatement};
use crate::fault::Fault;

/// The rows of one result.
pub(super) struct Rows<'a> {
    statement: &'a SqlStatement,
    read: Vec<Value>,
    bytes_left: u64,
    bytes_max: u64,
}

impl<'a> Rows<'a> {
    pub(super) fn new(statement: &'a SqlStatement, bytes_max: u64) -> Self {
        Self {
            statement,
            read: Vec::new(),
            bytes_left: bytes_max,
            bytes_max,
        }
    }

    /// Makes place for one row more; the row that does not fit shows that there are too many.
    pub(super) fn next(&mut self) -> Result<(), Fault> {
        if self.read.len() as u64 >= self.rows_max() {
            return Err(self.too_many());
        }
        self.read.push(Value::Object(Map::new()));
        Ok(())
    }

    /// Puts a value into the row that is being read.
    pub(super) fn put(&mut self, column: &str, value: Value) -> Result<(), Fault> {
        let size = match &value {
            Value::String(text) => text.len(),
            Value::Array(_) | Value::Object(_) => value.to_string().len(),
            _ => 8,
        };
        let bytes = u64::try_from(column.len() + size + 4).unwrap_or(u64::MAX);
        self.bytes_left = self
            .bytes_left
            .checked_sub(bytes)
            .ok_or_else(|| Fault::too_large(self.bytes_max, self.bytes_max))?;
        if let Some(Value::Object(row)) = self.read.last_mut() {
            row.insert(column.to_owned(), value);
        }
        Ok(())
    }

    /// The whole output.
    pub(super) fn into_output(mut self) -> Result<Value, Fault> {
        match self.statement.shape {
            ResultShape::Rows | ResultShape::Changed => {
                let count = self.read.len();
                Ok(json!({"rows": self.read, "row_count": count}))
            }
            ResultShape::Single => {
                let row = self.read.pop();
                Ok(json!({"found": row.is_some(), "row": row}))
            }
            ResultShape::One => self.read.pop().ok_or_else(|| {
                let message = "the query returns no row, and it is declared to return one";
                Fault::new(Class::NotFound, Landing::Happened, message)
            }),
        }
    }

    fn rows_max(&self) -> u64 {
        match self.statement.shape {
            ResultShape::Single | ResultShape::One => 1,
            ResultShape::Rows | ResultShape::Changed => self.statement.rows_max,
        }
    }

    fn too_many(&self) -> Fault {
        Fault::bad_output(match self.statement.shape {
            ResultShape::Single | ResultShape::One => {
                "the query returns more than one row, and it is declared to return one".to_owned()
            }
            ResultShape::Rows | ResultShape::Changed => format!(
                "the query returns more than {} rows; aggregate them, or use `LIMIT`",
                self.statement.rows_max
            ),
        })
    }
}

/// The names of the columns; an `Err` is a name that stands twice.
pub(super) fn distinct<'n>(
    names: impl IntoIterator<Item = &'n str>,
) -> Result<Vec<String>, String> {
    let mut columns: Vec<String> = Vec::new();
    for name in names {
        if columns.iter().any(|known| known == name) {
            return Err(format!(
                "two columns are called `{name}`; name one with `AS`"
            ));
        }
        columns.push(name.to_owned());
    }
    Ok(columns)
}

/// An integer that every reader of JSON holds exactly.
pub(super) fn integer(value: i64, column: &str) -> Result<Value, Fault> {
    if value.unsigned_abs() > INTEGER_MAX.unsigned_abs() {
        let message = format!(
            "the column `{column}` holds {value}, which is beyond ±2^53; \
             select it as text: CAST({column} AS TEXT)"
        );
        return Err(Fault::bad_output(message));
    }
    Ok(Value::from(value))
}

/// A number with a fraction. Why null: a database can hold an infinity, which JSON cannot.
pub(super) fn real(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}
