//! What PostgreSQL says of a statement and of its tables. Prepares, and runs nothing of anybody's.
//!
//! Owns how a type of the server becomes a schema: the same table as `values`, of types.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_postgres::types::{Kind, Type};
use tokio_postgres::{Client, Column};

use super::PostgresDatabase;
use super::meaning::of_session;
use crate::fault::Fault;
use crate::kinds::sql::describe::{
    DescribedStatement, DescribedTable, effect, keeps_columns, or_null,
};
use crate::kinds::sql::parameters::numbered;
use provost_run::outcome::Class;

const IS_REQUIRED: &str = "SELECT attnotnull FROM pg_attribute WHERE attrelid = $1 AND attnum = $2";
const TABLES: &str = "SELECT c.relname::text, array_agg(a.attname::text ORDER BY a.attnum), \
     array_remove(array_agg(CASE WHEN a.attnum = ANY (i.indkey) THEN a.attname::text END \
     ORDER BY a.attnum), NULL) \
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid \
     LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary \
     WHERE c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid) AND a.attnum > 0 \
     AND NOT a.attisdropped AND c.relnamespace::regnamespace::text NOT IN \
     ('pg_catalog', 'information_schema') AND c.relname <> 'provost_effects' \
     AND has_table_privilege(c.oid, 'SELECT') GROUP BY c.relname ORDER BY c.relname";

/// What this statement takes, gives and does.
pub(super) async fn statement(
    database: &PostgresDatabase,
    sql: &str,
    time: Duration,
) -> Result<DescribedStatement, Fault> {
    let (text, names) = numbered(sql)
        .map_err(|error| Fault::no_effect(Class::InvalidArguments, error.to_string()))?;
    let client = database.connect(time).await?;
    let failed = |error| of_session(&database.tool, &error);
    let prepared = client.prepare(&text).await.map_err(failed)?;
    let keeps = keeps_columns(sql);
    let mut columns = Vec::new();
    for column in prepared.columns() {
        let required = keeps && is_required(&client, column).await.map_err(failed)?;
        let schema = match required {
            true => schema(column.type_()),
            false => schema(column.type_()).map(or_null),
        };
        columns.push((column.name().to_owned(), schema));
    }
    let types = prepared.params().iter().map(schema);
    Ok(DescribedStatement {
        parameters: names.into_iter().zip(types).collect(),
        columns,
        effect: effect(sql),
    })
}

/// The tables that the role may read.
pub(super) async fn tables(
    database: &PostgresDatabase,
    time: Duration,
) -> Result<Vec<DescribedTable>, Fault> {
    let client = database.connect(time).await?;
    let failed = |error| of_session(&database.tool, &error);
    let rows = client.query(TABLES, &[]).await.map_err(failed)?;
    let table = |row: &tokio_postgres::Row| {
        Ok(DescribedTable {
            name: row.try_get(0)?,
            columns: row.try_get(1)?,
            key: row.try_get(2)?,
        })
    };
    rows.iter()
        .map(table)
        .collect::<Result<_, _>>()
        .map_err(failed)
}

async fn is_required(client: &Client, column: &Column) -> Result<bool, tokio_postgres::Error> {
    let (Some(table), Some(number)) = (column.table_oid(), column.column_id()) else {
        return Ok(false);
    };
    let row = client.query_opt(IS_REQUIRED, &[&table, &number]).await?;
    row.map_or(Ok(false), |row| row.try_get(0))
}

fn schema(of: &Type) -> Option<Value> {
    match of.kind() {
        Kind::Domain(inner) => return schema(inner),
        Kind::Enum(words) => return Some(json!({ "enum": words })),
        Kind::Array(member) => {
            let items = schema(member).map_or_else(|| json!({}), or_null);
            return Some(json!({ "type": "array", "items": items }));
        }
        _ => {}
    }
    Some(match *of {
        Type::BOOL => json!({ "type": "boolean" }),
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => json!({ "type": "integer" }),
        Type::FLOAT4 | Type::FLOAT8 => json!({ "type": "number" }),
        Type::DATE => json!({ "type": "string", "format": "date" }),
        Type::TIMESTAMPTZ => json!({ "type": "string", "format": "date-time" }),
        Type::UUID => json!({ "type": "string", "format": "uuid" }),
        Type::TEXT
        | Type::VARCHAR
        | Type::BPCHAR
        | Type::NAME
        | Type::CHAR
        | Type::NUMERIC
        | Type::BYTEA
        | Type::TIME
        | Type::TIMESTAMP => json!({ "type": "string" }),
        _ => return None,
    })
}
