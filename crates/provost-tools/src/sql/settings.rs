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
use super::parameters::{Dialect, named};
use super::place::Place;
use crate::adapter::{Adapter, Overreach, ToolSettings};
use crate::config::{
    Declared, Keys, Parts, ReadTable, Site, bad_setting, bounded, input_schema, no_arguments,
    output_schema, property_names, read_operations, schema,
};
use crate::fault::Fault;
use crate::guard::Protected;
use crate::limits::{ROWS_DEFAULT, ROWS_MAX, SQL_BYTES_MAX};

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
pub(crate) struct Settings {
    pub(crate) place: Place,
    pub(crate) statements: BTreeMap<String, Arc<Statement>>,
}

/// What one operation runs.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) text: Text,
    pub(crate) shape: Shape,
    pub(crate) rows_max: u64,
}

/// Where the SQL comes from.
#[derive(Clone, Debug)]
pub(crate) enum Text {
    /// The operator's, which reads.
    Query(String),
    /// The operator's, which writes.
    Execute(String),
    /// The argument `sql`, which may only read.
    Adhoc,
}

/// What the output looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `{rows, row_count}`
    Rows,
    /// `{found, row}`
    Single,
    /// The row itself; there must be exactly one.
    One,
    /// `{changed}`
    Changed,
}

impl Settings {
    pub(crate) fn read(site: &Site<'_>, fields: &mut Fields<'_, '_>) -> Option<ReadTable> {
        let place = Place::read(fields);
        let rows_max = bounded(fields, "max_rows", ROWS_DEFAULT, ROWS_MAX);
        fields.required("ops");
        let reader = OperationReader {
            site,
            place: place.as_ref(),
            rows_max,
        };
        let tables = fields.map("ops").unwrap_or_default();
        let read =
            |_: &Spanned<String>, name, fields: &mut Fields<'_, '_>| reader.read(name, fields);
        let (statements, operations) =
            read_operations(site.tool, tables, fields.diagnostics(), read);
        let place = place?;
        Some((Arc::new(Self { place, statements }), operations))
    }
}

impl ToolSettings for Settings {
    fn open(&self, tool: &str, protected: &Arc<Protected>) -> Result<Arc<dyn Adapter>, Overreach> {
        let sql = Sql::open(tool, self, protected).map_err(|what| Overreach {
            setting: "database",
            span: self.place.span(),
            what,
        })?;
        Ok(Arc::new(sql))
    }

    fn secrets(&self) -> Vec<&SecretName> {
        self.place.secret().into_iter().collect()
    }

    fn preparation(&self, operations: &[Operation]) -> Option<&'static str> {
        let kept = operations.iter().any(Operation::keeps_key_in_table);
        kept.then(|| self.place.preparation())
    }
}

struct OperationReader<'a> {
    site: &'a Site<'a>,
    place: Option<&'a Place>,
    rows_max: u64,
}

impl OperationReader<'_> {
    fn read(
        &self,
        name: String,
        fields: &mut Fields<'_, '_>,
    ) -> Option<(Arc<Statement>, Operation)> {
        let mut declared = Declared::read(self.site, fields, Keys::Kept);
        let text = text(fields);
        self.refuse_foreign(fields, text.as_ref());
        let rows_max = bounded(fields, "max_rows", self.rows_max, ROWS_MAX);
        let shape = shape(fields, text.as_ref());
        let input = self.input(fields, text.as_ref());
        let output = self.output(fields, &mut declared, shape, rows_max);
        let (default, floor) = match text {
            Some(Text::Execute(_)) => (Effect::Write, Effect::Write),
            _ => (Effect::Read, Effect::Read),
        };
        let effect = declared.effect(fields, default, floor);
        let text = text?;
        if declared.carries_key() && !matches!(text, Text::Execute(_)) {
            let span = fields.span();
            bad_setting(
                fields,
                span,
                "a key belongs to `execute`: a query changes nothing",
            );
        }
        let parts = Parts {
            description: described(&text, &name),
            name,
            effect,
            input: input?,
            output,
            errors_no_effect: false,
            endpoint: self.endpoint(&text, shape, rows_max),
        };
        let operation = declared.operation(fields, parts);
        let statement = Statement {
            text,
            shape,
            rows_max,
        };
        Some((Arc::new(statement), operation))
    }

    fn endpoint(&self, text: &Text, shape: Shape, rows_max: u64) -> Value {
        let mut endpoint = json!({
            "kind": "sql",
            "statement": text.endpoint(),
            "shape": shape.word(),
            "max_rows": rows_max,
        });
        if let (Value::Object(map), Some(place)) = (&mut endpoint, self.place) {
            let (name, value) = place.endpoint();
            map.insert(name.to_owned(), value);
            let led = place
                .led(self.site.base)
                .map(|real| ("leads_to".to_owned(), real.into()));
            map.extend(led);
        }
        endpoint
    }

    /// What a server of PostgreSQL does not run for a plan, or not inside a transaction of ours.
    fn refuse_foreign(&self, fields: &mut Fields<'_, '_>, text: Option<&Text>) {
        let span = fields.span();
        if matches!(text, Some(Text::Adhoc)) && self.dialect() == Dialect::Postgres {
            let message = "`adhoc` belongs to a file of SQLite: on a server a query can call \
                           functions that do more than read";
            bad_setting(fields, span, message);
        }
        let (Some(Text::Query(sql)) | Some(Text::Execute(sql))) = text else {
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
        self.place.map_or(Dialect::Sqlite, Place::dialect)
    }

    fn input(&self, fields: &mut Fields<'_, '_>, text: Option<&Text>) -> Option<Schema> {
        let given = fields.node("input").map(|node| node.span);
        let schema = input_schema(fields, self.site.base);
        let sql = match text? {
            Text::Adhoc => {
                if let Some(span) = given {
                    bad_setting(
                        fields,
                        span,
                        "an ad-hoc query has its own `input`: `{ sql }`",
                    );
                }
                return compile(adhoc_input(), fields);
            }
            Text::Query(sql) | Text::Execute(sql) => sql,
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
        declared: &mut Declared,
        shape: Shape,
        rows_max: u64,
    ) -> Option<Schema> {
        let given = output_schema(fields, self.site.base);
        declared.trusted |= given.trusted;
        let row_node = fields.node("row");
        let row = row_node.and_then(|node| schema(node, self.site.base, fields.diagnostics()));
        if let (Some(_), Some(node)) = (&given.schema, row_node) {
            bad_setting(fields, node.span, "give either `output` or `row`, not both");
        }
        if let (Shape::Changed, Some(node)) = (shape, row_node) {
            bad_setting(fields, node.span, "a statement that writes has no `row`");
        }
        let row = row.map_or_else(|| json!({"type": "object"}), |row| row.value().clone());
        given
            .schema
            .or_else(|| compile(envelope(shape, &row, rows_max), fields))
    }
}

impl Statement {
    /// The statement itself is wrong: the call's fault if the call brought it, else the
    /// operator's.
    pub(super) fn wrong(&self, operation: &str, message: &str) -> Fault {
        match self.text {
            Text::Adhoc => Fault::refused(Class::InvalidArguments, message),
            Text::Query(_) | Text::Execute(_) => {
                let message = format!("the statement of `{operation}` does not work: {message}");
                Fault::refused(Class::ToolBug, message)
            }
        }
    }
}

impl Text {
    fn endpoint(&self) -> Value {
        match self {
            Self::Query(sql) => json!({"query": sql}),
            Self::Execute(sql) => json!({"execute": sql}),
            Self::Adhoc => json!("adhoc"),
        }
    }
}

impl Shape {
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
fn text(fields: &mut Fields<'_, '_>) -> Option<Text> {
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
        (Some(sql), None, false) => Some(Text::Query(sql.value)),
        (None, Some(sql), false) => Some(Text::Execute(sql.value)),
        (None, None, true) => Some(Text::Adhoc),
        _ => {
            let span = Span::new(fields.span().start, fields.span().start);
            let message = "an operation of a database needs one of `query`, `execute` and \
                           `adhoc = true`";
            bad_setting(fields, span, message);
            None
        }
    }
}

fn shape(fields: &mut Fields<'_, '_>, text: Option<&Text>) -> Shape {
    let single = fields.boolean("single").unwrap_or(false);
    let one = fields.boolean("one").unwrap_or(false);
    let named = matches!(text, Some(Text::Query(_)) | None);
    if (single || one) && !named {
        let span = fields.span();
        bad_setting(fields, span, "`single` and `one` belong to `query`");
    }
    match (single, one) {
        _ if matches!(text, Some(Text::Execute(_))) => Shape::Changed,
        (true, true) => {
            let span = fields.span();
            bad_setting(fields, span, "give either `single` or `one`, not both");
            Shape::One
        }
        (true, false) => Shape::Single,
        (false, true) => Shape::One,
        (false, false) => Shape::Rows,
    }
}

fn described(text: &Text, name: &str) -> String {
    match text {
        Text::Query(_) => format!("runs the operator's query `{name}`"),
        Text::Execute(_) => format!("runs the operator's statement `{name}`"),
        Text::Adhoc => "runs one read-only SQL query (SQLite) that the call gives".to_owned(),
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
fn envelope(shape: Shape, row: &Value, rows_max: u64) -> Value {
    let (properties, required) = match shape {
        Shape::One => return row.clone(),
        Shape::Rows => (
            json!({
                "rows": {"type": "array", "items": row, "maxItems": rows_max},
                "row_count": {"type": "integer", "minimum": 0, "maximum": rows_max},
            }),
            json!(["rows", "row_count"]),
        ),
        Shape::Single => (
            json!({"found": {"type": "boolean"}, "row": nullable(row)}),
            json!(["found", "row"]),
        ),
        Shape::Changed => (
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
