//! What a person is told who settles what is open: of tools, arguments, conditions.
//!
//! Owns the words of these hints. Writes nothing into a plan: what comes near is only offered.

use serde_json::{Map, Value};

use super::PlanWriter;
use crate::catalog::Operation;

/// Most fields that are named.
const FIELDS_MAX: usize = 8;
/// How deep they lie at most.
const DEPTH_MAX: usize = 2;

impl PlanWriter<'_> {
    /// What a condition in words may ask of the step before it, in parentheses; empty if nothing is
    /// known of that.
    pub(super) fn readable(&self, condition: &str) -> String {
        let id = self.names.before.as_ref();
        let tool = id.and_then(|id| self.calls.iter().find(|(of, _)| of == id));
        let Some((id, tool)) = tool else {
            return String::new();
        };
        let output = self.catalog.get(tool).and_then(|op| op.output.as_ref());
        let mut fields = Vec::new();
        if let Some(output) = output {
            gather(output.value(), &OutputField::of(id), 0, &mut fields);
        }
        if let Some(near) = near_condition(&fields, condition) {
            return format!(" (near is `{near}`)");
        }
        let names = fields.iter().map(|(place, _)| format!("`{}`", place.path));
        let names: Vec<String> = names.take(FIELDS_MAX).collect();
        match (names.is_empty(), fields.len() > names.len()) {
            (true, _) => String::new(),
            (false, more) => {
                let more = if more { ", …" } else { "" };
                format!(" (it may read {}{more})", names.join(", "))
            }
        }
    }
}

/// A field of an output, and what must not be null on the way to it.
#[derive(Clone)]
struct OutputField {
    path: String,
    guard: String,
}

impl OutputField {
    fn of(id: &str) -> Self {
        Self {
            path: format!("steps.{id}.output"),
            guard: String::new(),
        }
    }
}

/// The fields of a value, and of the objects in it.
fn gather<'s>(
    schema: &'s Value,
    place: &OutputField,
    depth: usize,
    into: &mut Vec<(OutputField, &'s Value)>,
) {
    let fields = schema.get("properties").and_then(Value::as_object);
    for (name, inner) in fields.into_iter().flatten() {
        let mut place = place.clone();
        place.path = format!("{}.{name}", place.path);
        if inner.get("properties").is_none() || depth >= DEPTH_MAX {
            into.push((place, inner));
            continue;
        }
        let kinds = inner.get("type").and_then(Value::as_array);
        if kinds.is_some_and(|kinds| kinds.contains(&Value::from("null"))) {
            place.guard = format!("{}{} != null && ", place.guard, place.path);
        }
        gather(inner, &place, depth + 1, into);
    }
}

/// The one flag, or the one word of a field, that a condition in words names.
fn near_condition(fields: &[(OutputField, &Value)], condition: &str) -> Option<String> {
    let lower = condition.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let says = |name: &str| {
        let name = name.to_lowercase();
        let mut parts = name.split(['_', '-', ' ']);
        parts.all(|part| words.contains(&part))
    };
    // Why only these: what else turns a sentence round is the reader's to see.
    let is_no = matches!(words.last(), Some(&("no" | "false"))) || words.first() == Some(&"not");
    let mut near = Vec::new();
    for (OutputField { path, guard }, schema) in fields {
        let name = path.rsplit('.').next().unwrap_or_default();
        if schema.get("type") == Some(&Value::from("boolean")) && says(name) {
            let not = if is_no { "!" } else { "" };
            near.push(format!("{guard}{not}{path}"));
        }
        let listed = schema.get("enum").and_then(Value::as_array);
        let listed = listed.into_iter().flatten().filter_map(Value::as_str);
        let sign = if is_no { "!=" } else { "==" };
        let asked = listed.filter(|word| says(word));
        near.extend(asked.map(|word| format!("{guard}{path} {sign} \"{word}\"")));
    }
    let only = near.pop();
    only.filter(|_| near.is_empty())
}

/// The arguments that a tool must be given.
fn required(operation: &Operation) -> impl Iterator<Item = &str> {
    let required = operation.input.value().get("required");
    let required = required.and_then(Value::as_array).into_iter().flatten();
    required.filter_map(Value::as_str)
}

/// What a tool must be given and is not; none if that is nothing.
pub(super) fn missing(operation: &Operation, given: &Map<String, Value>) -> Option<String> {
    let missing = required(operation).filter(|name| !given.contains_key(*name));
    let missing: Vec<String> = missing.map(|name| format!("`{name}`")).collect();
    let list = missing.join(", ");
    (!missing.is_empty()).then(|| format!("give {list}, which `{}` needs", operation.name))
}

/// A tool with the arguments it needs.
pub(super) fn signature(operation: &Operation) -> String {
    let required: Vec<&str> = required(operation).collect();
    format!(
        "`{}` ({}: {})",
        operation.name,
        operation.effect.word(),
        required.join(", ")
    )
}

/// Whether a sentence says that something happens only sometimes.
pub(super) fn decides(text: &str) -> bool {
    let text = format!(" {} ", text.to_lowercase());
    let says = [
        " if ",
        " unless ",
        " only when ",
        " in case ",
        " otherwise ",
        " for each ",
        " until ",
    ];
    says.iter().any(|word| text.contains(word))
}

/// Whether a sentence wants a person's word.
pub(super) fn asks(text: &str) -> bool {
    let text = text.to_lowercase();
    [
        "approval",
        "approve",
        "sign-off",
        "sign off",
        "human review",
    ]
    .iter()
    .any(|word| text.contains(word))
}
