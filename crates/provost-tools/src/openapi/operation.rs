//! One operation of a document: its name, what it sends and what it gives.
//!
//! Owns the names of operations and their order. INVARIANT: two operations of one document never
//! get one name.

use std::collections::BTreeSet;

use provost_plan::schema::Schema;
use serde_json::Value;

use super::request::{RequestEntry, is_json};
use super::schemas::ApiDocument;
use crate::config::description_of;

/// Longest name of an operation, in characters.
const NAME_CHARS_MAX: usize = 40;
/// The methods that a tool of kind `http` can send.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// An operation as the document lists it.
pub(super) struct DocumentOperation<'d> {
    path: &'d str,
    method: &'static str,
    item: &'d Value,
    operation: &'d Value,
}

/// An operation that can be called.
pub(super) struct ImportedOperation<'d> {
    pub(super) name: String,
    pub(super) method: &'static str,
    /// Its path as the document writes it.
    pub(super) path: &'d str,
    /// What the document says of it, whole.
    pub(super) description: String,
    pub(super) request: RequestEntry<'d>,
    pub(super) input: Value,
    pub(super) output: Option<Value>,
    /// Whether its answer is a text.
    pub(super) text: bool,
    /// The schemes by which it wants to know who calls, of its first alternative.
    pub(super) schemes: Vec<&'d str>,
}

/// The names that are taken.
#[derive(Default)]
pub(super) struct OperationNames(BTreeSet<String>);

/// The operations of a document in its order.
pub(super) fn listed<'d>(document: &ApiDocument<'d>) -> Vec<DocumentOperation<'d>> {
    let paths = document.root().get("paths").and_then(Value::as_object);
    let mut listed = Vec::new();
    for (path, item) in paths.into_iter().flatten() {
        let item = document.resolve(item).unwrap_or(item);
        for method in METHODS {
            if let Some(operation) = item.get(method) {
                listed.push(DocumentOperation {
                    path,
                    method,
                    item,
                    operation,
                });
            }
        }
    }
    listed
}

impl<'d> DocumentOperation<'d> {
    /// How a person finds it in the document.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.method.to_ascii_uppercase(), self.path)
    }

    pub(super) fn id(&self) -> Option<&'d str> {
        self.operation.get("operationId").and_then(Value::as_str)
    }

    /// Whether its id or one of its tags is among `only`, or nothing is.
    pub(super) fn is_selected(&self, only: &[String]) -> bool {
        let tags = self.operation.get("tags").and_then(Value::as_array);
        let tags = tags.into_iter().flatten().filter_map(Value::as_str);
        let mut words = tags.chain(self.id());
        only.is_empty() || words.any(|word| only.iter().any(|wanted| wanted == word))
    }

    /// What is needed to call it, or why it cannot be called.
    pub(super) fn read(
        &self,
        document: &ApiDocument<'d>,
        names: &mut OperationNames,
    ) -> Result<ImportedOperation<'d>, String> {
        let shared = self.item.get("parameters");
        let request = RequestEntry::of(
            document,
            self.path,
            shared,
            self.operation,
            self.method != "get",
        )?;
        let input = document.map_of(&request.args);
        if let Err(error) = Schema::compile(input.clone()) {
            return Err(format!(
                "the schema of its arguments does not load: {error}"
            ));
        }
        let (output, text) = self.answer(document)?;
        let output = output.filter(|schema| Schema::compile(schema.clone()).is_ok());
        let said = |key| self.operation.get(key).and_then(Value::as_str);
        let summary = said("summary").unwrap_or_default().trim();
        let rest = said("description").unwrap_or_default().trim();
        let description = match summary.is_empty() || rest.starts_with(summary) {
            true => description_of(rest),
            false => description_of(&format!("{}. {rest}", summary.trim_end_matches('.'))),
        };
        Ok(ImportedOperation {
            name: names.give(self.id(), self.method, self.path),
            method: self.method,
            path: self.path,
            description,
            request,
            input,
            output,
            text,
            schemes: self.schemes(document),
        })
    }

    /// The schema of the answer that says it went well, and whether that is a text.
    fn answer(&self, document: &ApiDocument<'d>) -> Result<(Option<Value>, bool), String> {
        let responses = self.operation.get("responses").and_then(Value::as_object);
        let good = responses
            .into_iter()
            .flatten()
            .filter(|(status, _)| status.starts_with('2'))
            .min_by_key(|(status, _)| status.as_str());
        let Some((_, response)) = good else {
            return Ok((None, false));
        };
        let response = document.resolve(response)?;
        let content = response.get("content").and_then(Value::as_object);
        let Some(content) = content.filter(|content| !content.is_empty()) else {
            return Ok((None, true));
        };
        match content
            .iter()
            .find(|(media, _)| is_json(media) || *media == "*/*")
        {
            Some((_, media)) => {
                let schema = media.get("schema").map(|schema| document.alone(schema));
                Ok((schema, false))
            }
            None if content.keys().all(|media| media.starts_with("text/")) => Ok((None, true)),
            None => {
                let media: Vec<&str> = content.keys().map(String::as_str).collect();
                Err(format!("it answers with {}", media.join(" or ")))
            }
        }
    }

    fn schemes(&self, document: &ApiDocument<'d>) -> Vec<&'d str> {
        let own = self.operation.get("security");
        let wanted = own.or_else(|| document.root().get("security"));
        let first = wanted
            .and_then(|list| list.get(0))
            .and_then(Value::as_object);
        first
            .into_iter()
            .flat_map(|map| map.keys().map(String::as_str))
            .collect()
    }
}

impl OperationNames {
    /// A name that is free: the id in lower case with `_`, else method and path.
    fn give(&mut self, id: Option<&str>, method: &str, path: &str) -> String {
        let plain = match id.map(snake).filter(|name| !name.is_empty()) {
            Some(name) => name,
            None => snake(&format!("{method} {path}")),
        };
        let mut plain: String = plain.chars().take(NAME_CHARS_MAX).collect();
        if !plain.starts_with(|c: char| c.is_ascii_lowercase()) {
            plain = format!("op_{plain}").chars().take(NAME_CHARS_MAX).collect();
        }
        let mut name = plain.clone();
        let mut number = 2;
        while !self.0.insert(name.clone()) {
            let tail = format!("_{number}");
            let head = NAME_CHARS_MAX - tail.len();
            name = plain.chars().take(head).collect::<String>() + &tail;
            number += 1;
        }
        name
    }
}

/// `createRefund` and `Create refund` as `create_refund`.
fn snake(text: &str) -> String {
    let mut snake = String::new();
    let mut before = ' ';
    for c in text.chars() {
        let begins =
            c.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit());
        if (begins || !c.is_ascii_alphanumeric()) && !snake.is_empty() && !snake.ends_with('_') {
            snake.push('_');
        }
        if c.is_ascii_alphanumeric() {
            snake.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    snake.trim_matches('_').to_owned()
}
