//! Schemas in `provost.toml`: a path below the workspace, or the schema itself as a table.
//!
//! Owns finding and compiling them. Never fetches one from elsewhere. INVARIANT: an input schema
//! is the schema of a map, since arguments are one.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::limits::SOURCE_BYTES_MAX;
use provost_plan::node::{Fields, Kind, Node};
use provost_plan::schema::Schema;
use serde_json::{Value, json};

/// What `output` says.
#[derive(Debug, Default)]
pub(crate) struct OutputField {
    pub(crate) schema: Option<Schema>,
    pub(crate) trusted: bool,
}

/// Reads `output`: a schema, or `{ schema = …, trusted = true }`.
pub(crate) fn output_schema(fields: &mut Fields<'_, '_>, base: &Path) -> OutputField {
    let Some(node) = fields.node("output") else {
        return OutputField::default();
    };
    // Why: `schema` and `trusted` are no words of JSON Schema, so a table with one of them is
    // not a schema.
    if node.get("schema").is_none() && node.get("trusted").is_none() {
        return OutputField {
            schema: schema(node, base, fields.diagnostics()),
            trusted: false,
        };
    }
    let Some(mut inner) = Fields::new("`output`", node, fields.diagnostics()) else {
        return OutputField::default();
    };
    let trusted = inner.boolean("trusted").unwrap_or(false);
    let schema_node = inner.node("schema");
    inner.finish();
    OutputField {
        schema: schema_node.and_then(|node| schema(node, base, fields.diagnostics())),
        trusted,
    }
}

/// The schema of no arguments at all.
pub(crate) fn no_arguments() -> Value {
    json!({"type": "object", "properties": {}, "additionalProperties": false})
}

/// What a result is typed as that is a text.
pub(crate) fn text_output() -> Value {
    json!({
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": false,
    })
}

/// Reads `input`.
pub(crate) fn input_schema(fields: &mut Fields<'_, '_>, base: &Path) -> Option<Schema> {
    let node = fields.node("input")?;
    let read = schema(node, base, fields.diagnostics())?;
    if read.value().get("type").and_then(Value::as_str) != Some("object") {
        let diagnostic = Diagnostic::new(
            Code::BadSchema,
            node.span,
            "the schema of `input` must have `type: object`: arguments are a map",
        );
        fields.diagnostics().push(diagnostic);
        return None;
    }
    Some(read)
}

/// Reads a schema from its path or its table.
pub(crate) fn schema(
    node: &Node,
    base: &Path,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Schema> {
    let value = match &node.kind {
        Kind::Text(path) => read_file(&base.join(path))
            .map_err(|reason| format!("the schema `{path}` cannot be read: {reason}")),
        Kind::Map(_) => Ok(node.to_value()),
        _ => Err(format!(
            "a schema is a path or a table, not {}",
            node.kind_word()
        )),
    };
    let compiled = value.and_then(|value| Schema::compile(value).map_err(|e| e.to_string()));
    compiled
        .map_err(|message| {
            diagnostics.push(Diagnostic::new(Code::BadSchema, node.span, message));
        })
        .ok()
}

fn read_file(path: &Path) -> Result<Value, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let max = u64::try_from(SOURCE_BYTES_MAX).unwrap_or(u64::MAX);
    file.take(max + 1)
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    if text.len() > SOURCE_BYTES_MAX {
        return Err(format!("it has more than {SOURCE_BYTES_MAX} bytes"));
    }
    serde_json::from_str(&text).map_err(|error| format!("it is not JSON: {error}"))
}
