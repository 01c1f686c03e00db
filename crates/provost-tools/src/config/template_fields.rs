//! What operations have in common that fill a template and read an answer: `errors`, `response`,
//! `input`, `output`, and what the template may read.
//!
//! Owns these fields and how an answer is read. Knows neither what is sent nor where. INVARIANT: a
//! template reads nothing but arguments that `input` declares, and the key where there is one.

use provost_plan::catalog::Effect;
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::expr::{Reference, Root, Segment};
use provost_plan::json::{self, JsonError};
use provost_plan::node::Fields;
use provost_plan::schema::Schema;
use serde_json::{Value, json};

use super::schemas::{input_schema, no_arguments, output_schema, text_output};
use super::{OperationFields, ToolScope};

/// How an answer is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseFormat {
    Json,
    Text,
}

/// Why an answer cannot be read.
pub(crate) enum ResponseError {
    NotText,
    NotJson(JsonError),
}

impl ResponseFormat {
    /// The word in `provost.toml`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Text => "text",
        }
    }

    /// What an answer holds; null if it is to be JSON and is empty.
    pub(crate) fn read(self, bytes: &[u8]) -> Result<Value, ResponseError> {
        let text = std::str::from_utf8(bytes).map_err(|_| ResponseError::NotText)?;
        match self {
            Self::Text => Ok(json!({ "text": text })),
            Self::Json if text.trim().is_empty() => Ok(Value::Null),
            Self::Json => json::read(text).map_err(ResponseError::NotJson),
        }
    }
}

/// The fields themselves.
pub(crate) struct TemplateFields {
    pub(crate) effect: Effect,
    pub(crate) errors_no_effect: bool,
    pub(crate) answer: ResponseFormat,
    /// Of an operation without `input`, that of no arguments; nothing if it cannot be used.
    pub(crate) input: Option<Schema>,
    pub(crate) output: Option<Schema>,
}

impl TemplateFields {
    /// Reads them; `usual` is how an answer is read that nothing is said of.
    pub(crate) fn read(
        scope: &ToolScope<'_>,
        declared: &mut OperationFields,
        fields: &mut Fields<'_, '_>,
        usual: ResponseFormat,
    ) -> Self {
        let effect = declared.required_effect(fields);
        let errors_no_effect = fields
            .choice("errors", &[("no_effect", true)])
            .unwrap_or(false);
        let words =
            [ResponseFormat::Json, ResponseFormat::Text].map(|answer| (answer.word(), answer));
        let answer = fields.choice("response", &words).unwrap_or(usual);
        let given_input = fields.node("input").is_some();
        let input = input_schema(fields, scope.config.base).or_else(|| {
            (!given_input)
                .then(no_arguments)
                .and_then(|value| Schema::compile(value).ok())
        });
        let output = output_schema(fields, scope.config.base);
        declared.trusted |= output.trusted;
        Self {
            effect,
            errors_no_effect,
            answer,
            input,
            output: output.schema.or_else(|| match answer {
                ResponseFormat::Text => Schema::compile(text_output()).ok(),
                ResponseFormat::Json => None,
            }),
        }
    }
}

/// Reports what a template reads that it does not get. `what` it is the template of: a `request`.
pub(crate) fn check_references(
    what: &str,
    references: Vec<&Reference>,
    known: &[&str],
    keyed: bool,
    fields: &mut Fields<'_, '_>,
) {
    for reference in references {
        let diagnostic = match (&reference.root, reference.path.first()) {
            (Root::Args, Some(Segment::Field(name))) if !known.contains(&name.as_str()) => {
                let message = format!("the {what} reads `args.{name}`, which `input` lacks");
                Diagnostic::new(Code::BadWorkspace, reference.span, message)
                    .did_you_mean(name, known.iter().copied())
            }
            (Root::Args, _) => continue,
            (Root::Key, _) if keyed => continue,
            (Root::Key, _) => {
                let message =
                    format!("the {what} reads `key`, and the operation has no idempotency key");
                Diagnostic::new(Code::BadWorkspace, reference.span, message)
            }
            (other, _) => {
                let message = format!("`{}` cannot be read in a {what}", other.name());
                Diagnostic::new(Code::UnknownRoot, reference.span, message)
                    .hint(format!("a {what} sees `args` and `key`"))
            }
        };
        fields.diagnostics().push(diagnostic);
    }
}
