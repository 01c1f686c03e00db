//! The table of a tool of kind `sql`.
//!
//! Owns `max_rows` and what an operation says about its statement and its result.
//! INVARIANT: every parameter of a statement is an argument with a declared type, and every
//! argument is a parameter.

use std::collections::BTreeMap;
use std::sync::Arc;

use provost_plan::catalog::{Effect, Operation};
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::node::Fields;
use provost_plan::schema::Schema;
use provost_plan::source::{Span, Spanned};
use provost_run::outcome::Class;
use provost_wire::SecretName;
use serde_json::{Value, json};

use super::Sql;
use super::address::DatabaseAddress;
use super::parameters::{Dialect, named};
use crate::adapter::{Adapter, Overreach, ToolReach, ToolSettings};
use crate::config::{
    KeySupport, OperationFields, OperationParts, ReadTable, ToolScope, bad_setting, bounded,
    input_schema, no_arguments, output_schema, property_names, read_operations, schema,
};
use crate::fault::Fault;
use crate::limits::{ROWS_DEFAULT, ROWS_MAX, SQL_BYTES_MAX};
use crate::protected_paths::ProtectedPaths;

/// Words with which a statement would leave the transaction it runs in.
const TRANSACTION_WORDS: [&str; 10] = [
    "begin",
    "start",
    "commit",
    "end",
    "rollback",
    "abort",
    "savepoint",
    "release",
    "prepare",
    "set",
];

/// What is needed to reach the database and run its operations.
#[derive(Clone, Debug)]
pub(crate) struct SqlSettings {
    pub(crate) address: DatabaseAddress,
    pub(crate) statements: BTreeMap<String, Arc<SqlStatement>>,
}

/// What one operation runs.
#[derive(Clone, Debug)]
pub(crate) struct SqlStatement {
    pub(crate) text: StatementText,
    pub(crate) shape: ResultShape,
    pub(crate) rows_max: u64,
}

/// Where the SQL comes from.
#[derive(Clone, Debug)]
pub(crate) enum StatementText {
    /// The operator's statement, which reads.
    Query(String),
    /// The operator's statement, which writes.
    Execute(String),
    /// The argument `sql`, which may only read.
    Adhoc,
}

/// What the output looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultShape {
    /// `{rows, row_count}`
    Rows,
    /// `{found, row}`
    Single,
    /// The row itself; there must be exactly one.
    One,
    /// `{changed}`
    Changed,
}

impl SqlSettings {
    pub(crate) fn read(scope: &ToolScope<'_>, fields: &mut Fields<'_, '_>) -> Option<ReadTable> {
        let address = DatabaseAddress::read(fields);
        let rows_max = bounded(fields, "max_rows", ROWS_DEFAULT, ROWS_MAX);
        fields.required("ops");
        let reader = SqlReader {
            scope,
            address: address.as_ref(),
            rows_max,
        };
        let tables = fields.map("ops").unwrap_or_default();
        let read =
            |_: &Spanned<String>, name, fields: &mut Fields<'_, '_>| reader.read(name, fields);
        let (statements, operations) =
            read_operations(scope.tool, tables, fields.diagnostics(), read);
        let address = address?;
        Some((
            Arc::new(Self {
                address,
                statements,
            }),
            operations,
        ))
    }
}

impl ToolSettings for SqlSettings {
    fn open(
        &self,
        tool: &str,
        protected: &Arc<ProtectedPaths>,
    ) -> Result<Arc<dyn Adapter>, Overreach> {
        let sql = Sql::open(tool, self, protected).map_err(|what| Overreach {
            setting: "database",
            span: self.address.span(),
            what,
        })?;
        Ok(Arc::new(sql))
    }

    fn secrets(&self) -> Vec<&SecretName> {
        self.address.secret().into_iter().collect()
    }

    fn reach(&self) -> ToolReach {
        match &self.address {
            DatabaseAddress::File(file) => ToolReach::Below(file.value.clone()),
            DatabaseAddress::Server(_) => ToolReach::Elsewhere,
        }
    }

    fn preparation(&self, operations: &[Operation]) -> Option<&'static str> {
        let kept = operations.iter().any(Operation::keeps_key_in_table);
        kept.then(|| self.address.preparation())
    }
}

struct SqlReader<'a> {
    scope: &'a ToolScope<'a>,
    address: Option<&'a DatabaseAddress>,
    rows_max: u64,
}

impl SqlReader<'_> {
    fn read(
        &self,
        name: String,
        fields: &mut Fields<'_, '_>,
    ) -> Option<(Arc<SqlStatement>, Operation)> {
        let mut declared = OperationFields::read(self.scope, fields, KeySupport::InTable);
        let text = text(fields);
        self.refuse_foreign(fields, text.as_ref());
        let rows_max = bounded(fields, "max_rows", self.rows_max, ROWS_MAX);
        let shape = shape(fields, text.as_ref());
        let input = self.input(fields, text.as_ref());
        let output = self.output(fields, &mut declared, shape, rows_max);
        let (default, floor) = match text {
            Some(StatementText::Execute(_)) => (Effect::Write, Effect::Write),
            _ => (Effect::Read, Effect::Read),
        };
        let effect = declared.effect(fields, default, floor);
        let text = text?;
        if declared.carries_key() && !matches!(text, StatementText::Execute(_)) {
            let span = fields.span();
            bad_setting(
                fields,
                span,
                "a key belongs to `execute`: a query changes nothing",
            );
        }
        let parts = OperationParts {
            description: default_description(&text, &name),
            name,
            effect,
            input: input?,
            output,
            errors_no_effect: false,
            endpoint: self.endpoint(&text, shape, rows_max),
        };
        let operation = declared.operation(fields, parts);
        let statement = SqlStatement {
            text,
            shape,
            rows_max,
        };
        Some((Arc::new(statement), operation))
    }

    fn endpoint(&self, text: &StatementText, shape: ResultShape, rows_max: u64) -> Value {
        let mut endpoint = json!({
            "kind": "sql",
            "statement": text.endpoint(),
            "shape": shape.word(),
            "max_rows": rows_max,
        });
        if let (Value::Object(map), Some(address)) = (&mut endpoint, self.address) {
            let (name, value) = address.endpoint();
            map.insert(name.to_owned(), value);
            let target = address
                .link_target(self.scope.config.base)
                .map(|real| ("leads_to".to_owned(), real.into()));
            map.extend(target);
        }
        endpoint
    }

    /// What a server of PostgreSQL does not run for a plan, or not inside a transaction of ours.
    fn refuse_foreign(&self, fields: &mut Fields<'_, '_>, text: Option<&StatementText>) {
        let span = fields.span();
        if matches!(text, Some(StatementText::Adhoc)) && self.dialect() == Dialect::Postgres {
            let message = "`adhoc` belongs to a file of SQLite: on a server a query can call \
                           functions that do more than read";
            bad_setting(fields, span, message);
        }
        let (Some(StatementText::Query(sql)) | Some(StatementText::Execute(sql))) = text else {
            return;
        };
        let mut words = sql.split(|c: char| !c.is_ascii_alphabetic());
        let first = words.find(|word| !word.is_empty()).unwrap_or_default();
        if TRANSACTION_WORDS
            .iter()
            .any(|word| word.eq_ignore_ascii_case(first))
        {
            let message = format!("`{first}`: a statement does not begin or end transactions");
            bad_setting(fields, span, message);
        }
    }

    fn dialect(&self) -> Dialect {
        self.address
            .map_or(Dialect::Sqlite, DatabaseAddress::dialect)
    }

    fn input(&self, fields: &mut Fields<'_, '_>, text: Option<&StatementText>) -> Option<Schema> {
        let given = fields.node("input").map(|node| node.span);
        let schema = input_schema(fields, self.scope.config.base);
        let sql = match text? {
            StatementText::Adhoc => {
                if let Some(span) = given {
                    bad_setting(
                        fields,
                        span,
                        "an ad-hoc query has its own `input`: `{ sql }`",
                    );
                }
                return compile(adhoc_input(), fields);
            }
            StatementText::Query(sql) | StatementText::Execute(sql) => sql,
        };
        let span = fields.span();
        let parameters = match named(sql, self.dialect()) {
            Ok(parameters) => parameters,
            Err(error) => {
                bad_setting(fields, span, error.to_string());
                return None;
            }
        };
        let Some(schema) = schema else {
            if given.is_none() && !parameters.is_empty() {
                let list = parameters
                    .iter()
                    .map(|p| format!("`:{p}`"))
                    .collect::<Vec<_>>();
                let diagnostic = Diagnostic::new(
                    Code::MissingField,
                    span,
                    format!("the parameters {} have no type", list.join(", ")),
                )
                .hint("declare them in `input`, a schema with `type: object`");
                fields.diagnostics().push(diagnostic);
                return None;
            }
            return compile(no_arguments(), fields).filter(|_| given.is_none());
        };
        let known = property_names(&schema);
        let span = given.unwrap_or(span);
        for name in parameters.iter().filter(|p| !known.contains(&p.as_str())) {
            let message = format!("`input` does not declare the parameter `:{name}`");
            let diagnostic = Diagnostic::new(Code::BadWorkspace, span, message)
                .did_you_mean(name, known.iter().copied());
            fields.diagnostics().push(diagnostic);
        }
        for name in known.iter().filter(|name| !parameters.contains(**name)) {
            bad_setting(
                fields,
                span,
                format!("`input` declares `{name}`, which the statement does not use"),
            );
        }
        Some(schema)
    }

    fn output(
        &self,
        fields: &mut Fields<'_, '_>,
        declared: &mut OperationFields,
        shape: ResultShape,
        rows_max: u64,
    ) -> Option<Schema> {
        let given = output_schema(fields, self.scope.config.base);
        declared.trusted |= given.trusted;
        let row_node = fields.node("row");
        let row =
            row_node.and_then(|node| schema(node, self.scope.config.base, fields.diagnostics()));
        if let (Some(_), Some(node)) = (&given.schema, row_node) {
            bad_setting(fields, node.span, "give either `output` or `row`, not both");
        }
        if let (ResultShape::Changed, Some(node)) = (shape, row_node) {
            bad_setting(fields, node.span, "a statement that writes has no `row`");
        }
        let row = row.map_or_else(|| json!({"type": "object"}), |row| row.value().clone());
        given
            .schema
            .or_else(|| compile(envelope(shape, &row, rows_max), fields))
    }
}

impl SqlStatement {
    /// The statement itself is wrong: the call's fault if the call brought it, else the
    /// operator's.
    pub(super) fn wrong(&self, operation: &str, message: &str) -> Fault {
        match self.text {
            StatementText::Adhoc => Fault::no_effect(Class::InvalidArguments, message),
            StatementText::Query(_) | StatementText::Execute(_) => {
                let message = format!("the statement of `{operation}` does not work: {message}");
                Fault::no_effect(Class::Misdeclared, message)
            }
        }
    }
}

impl StatementText {
    fn endpoint(&self) -> Value {
        match self {
            Self::Query(sql) => json!({"query": sql}),
            Self::Execute(sql) => json!({"execute": sql}),
            Self::Adhoc => json!("adhoc"),
        }
    }
}

impl ResultShape {
    fn word(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Single => "single",
            Self::One => "one",
            Self::Changed => "changed",
        }
    }
}

/// Takes exactly one of `query`, `execute` and `adhoc`.
fn text(fields: &mut Fields<'_, '_>) -> Option<StatementText> {
    let query = fields.text("query");
    let execute = fields.text("execute");
    let adhoc = fields.boolean("adhoc").unwrap_or(false);
    for sql in [&query, &execute].into_iter().flatten() {
        if sql.value.len() > SQL_BYTES_MAX {
            let message = format!("the statement is longer than {SQL_BYTES_MAX} bytes");
            bad_setting(fields, sql.span, message);
        }
    }
    match (query, execute, adhoc) {
        (Some(sql), None, false) => Some(StatementText::Query(sql.value)),
        (None, Some(sql), false) => Some(StatementText::Execute(sql.value)),
        (None, None, true) => Some(StatementText::Adhoc),
        _ => {
            let span = Span::new(fields.span().start, fields.span().start);
            let message = "an operation of a database needs one of `query`, `execute` and \
                           `adhoc = true`";
            bad_setting(fields, span, message);
            None
        }
    }
}

fn shape(fields: &mut Fields<'_, '_>, text: Option<&StatementText>) -> ResultShape {
    let single = fields.boolean("single").unwrap_or(false);
    let one = fields.boolean("one").unwrap_or(false);
    let named = matches!(text, Some(StatementText::Query(_)) | None);
    if (single || one) && !named {
        let span = fields.span();
        bad_setting(fields, span, "`single` and `one` belong to `query`");
    }
    match (single, one) {
        _ if matches!(text, Some(StatementText::Execute(_))) => ResultShape::Changed,
        (true, true) => {
            let span = fields.span();
            bad_setting(fields, span, "give either `single` or `one`, not both");
            ResultShape::One
        }
        (true, false) => ResultShape::Single,
        (false, true) => ResultShape::One,
        (false, false) => ResultShape::Rows,
    }
}

fn default_description(text: &StatementText, name: &str) -> String {
    match text {
        StatementText::Query(_) => format!("runs the operator's query `{name}`"),
        StatementText::Execute(_) => format!("runs the operator's statement `{name}`"),
        StatementText::Adhoc => {
            "runs one read-only SQL query (SQLite) that the call gives".to_owned()
        }
    }
}

fn adhoc_input() -> Value {
    json!({
        "type": "object",
        "properties": {"sql": {"type": "string", "minLength": 1, "maxLength": SQL_BYTES_MAX}},
        "required": ["sql"],
        "additionalProperties": false,
    })
}

/// The schema of the whole output, from the schema of a row.
fn envelope(shape: ResultShape, row: &Value, rows_max: u64) -> Value {
    let (properties, required) = match shape {
        ResultShape::One => return row.clone(),
        ResultShape::Rows => (
            json!({
                "rows": {"type": "array", "items": row, "maxItems": rows_max},
                "row_count": {"type": "integer", "minimum": 0, "maximum": rows_max},
            }),
            json!(["rows", "row_count"]),
        ),
        ResultShape::Single => (
            json!({"found": {"type": "boolean"}, "row": nullable(row)}),
            json!(["found", "row"]),
        ),
        ResultShape::Changed => (
            json!({"changed": {"type": "integer", "minimum": 0}}),
            json!(["changed"]),
        ),
    };
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The same schema that also takes `null`: the words for maps do not look at anything else.
fn nullable(row: &Value) -> Value {
    match row {
        Value::Object(map) if map.get("type") == Some(&json!("object")) => {
            let mut map = map.clone();
            map.insert("type".to_owned(), json!(["object", "null"]));
            Value::Object(map)
        }
        other => json!({"anyOf": [other, {"type": "null"}]}),
    }
}

fn compile(value: Value, fields: &mut Fields<'_, '_>) -> Option<Schema> {
    Schema::compile(value)
        .map_err(|error| {
            let diagnostic = Diagnostic::new(Code::BadSchema, fields.span(), error.to_string());
            fields.diagnostics().push(diagnostic);
        })
        .ok()
}
