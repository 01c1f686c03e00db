//! JSON Schemas read by hand: the few words that the generated catalog uses.
//!
//! Owns the way down a schema, what may be absent or null in it, and which values it closes.

use provost_plan::plan::{Step, StepKind};
use serde_json::{Map, Value, json};

use super::{Setting, Trust};

/// The schema of a list of values of this schema.
#[must_use]
pub fn list_of(item: Option<Value>) -> Value {
    json!({ "type": "array", "items": item.unwrap_or(json!(true)) })
}

fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(word)) => vec![word],
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The one kind of value that fits beside null.
#[must_use]
pub fn kind(schema: &Value) -> Option<&str> {
    let mut words = types(schema).into_iter().filter(|word| *word != "null");
    let first = words.next();
    first.filter(|_| words.next().is_none())
}

/// The schema of the output of a step, as those read it that wait for it.
#[must_use]
pub fn of_output(setting: &Setting<'_>, step: &Step) -> Option<Value> {
    let own = of_call(setting, step);
    match step.for_each {
        Some(_) => Some(list_of(own)),
        None => own,
    }
}

/// The schema of what one call of a step gives.
#[must_use]
pub fn of_call(setting: &Setting<'_>, step: &Step) -> Option<Value> {
    let schema = match &step.kind {
        StepKind::Question { answer, .. } => Some(answer),
        StepKind::Subgoal(subgoal) => Some(&subgoal.output),
        StepKind::Assertion(assertion) => Some(&assertion.output),
        StepKind::Tool { .. } => {
            let declared = setting.operation(step).and_then(|op| op.output.as_ref());
            declared.or(step.expect.as_ref())
        }
    };
    schema.map(|schema| schema.value().clone())
}

/// Whether null fits.
#[must_use]
pub fn is_nullable(schema: &Value) -> bool {
    types(schema).contains(&"null")
}

/// Whether it is a list and says nothing of its least length.
#[must_use]
pub fn may_be_empty(schema: &Value) -> bool {
    let least = schema.get("minItems").and_then(Value::as_u64);
    types(schema).contains(&"array") && least.unwrap_or(0) == 0
}

/// The schema of a field, and whether the field may be missing.
#[must_use]
pub fn field(schema: &Value, name: &str) -> Option<(Value, bool)> {
    let fields = schema.get("properties").and_then(Value::as_object)?;
    let found = fields.get(name)?;
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = required.is_some_and(|names| names.contains(&json!(name)));
    Some((found.clone(), !is_required))
}

/// The schema of an item.
#[must_use]
pub fn item(schema: &Value) -> Option<Value> {
    schema.get("items").cloned()
}

/// How far values of the schema can be believed if nobody vouches for them.
#[must_use]
pub fn closes(schema: Option<&Value>) -> Trust {
    let Some(schema) = schema else {
        return Trust::Text;
    };
    if schema.get("enum").is_some() || schema.get("const").is_some() {
        return Trust::Data;
    }
    let words = types(schema);
    let kinds = words.iter().map(|word| match *word {
        "integer" | "number" | "boolean" | "null" => Trust::Data,
        "string" if is_closed_text(schema) => Trust::Data,
        "array" => closes(schema.get("items")),
        "object" => closes_object(schema),
        _ => Trust::Text,
    });
    kinds.max().unwrap_or(Trust::Text)
}

/// Keys that the operator did not write are text.
fn closes_object(schema: &Value) -> Trust {
    if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Trust::Text;
    }
    let none = Map::new();
    let fields = schema.get("properties").and_then(Value::as_object);
    let parts = fields
        .unwrap_or(&none)
        .values()
        .map(|part| closes(Some(part)));
    parts.max().unwrap_or(Trust::Data)
}

fn is_closed_text(schema: &Value) -> bool {
    let format = schema.get("format").and_then(Value::as_str);
    if matches!(format, Some("date" | "date-time" | "uuid")) {
        return true;
    }
    let pattern = schema.get("pattern").and_then(Value::as_str);
    pattern.and_then(longest).is_some_and(|most| most <= 64)
}

/// The longest text that an anchored pattern of plain letters, classes and `{m,n}` admits; none if
/// it has no end, admits a space, or is of another form.
fn longest(pattern: &str) -> Option<u64> {
    let inner = pattern.strip_prefix('^')?.strip_suffix('$')?;
    let mut rest = inner.chars().peekable();
    let mut total = 0_u64;
    while let Some(letter) = rest.next() {
        match letter {
            '[' => {
                let class: String = rest.by_ref().take_while(|c| *c != ']').collect();
                if class.contains([' ', '\\', '^', '.']) {
                    return None;
                }
            }
            letter if letter.is_ascii_alphanumeric() || letter == '-' => {}
            _ => return None,
        }
        let most = match rest.peek() {
            Some('{') => {
                let count: String = rest.by_ref().skip(1).take_while(|c| *c != '}').collect();
                count.rsplit(',').next()?.parse().ok()?
            }
            Some('?') => {
                rest.next();
                1
            }
            Some('*' | '+') => return None,
            _ => 1,
        };
        total += most;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_a_longest_text_or_none() {
        for (pattern, most) in [
            ("^[A-Z]{2,8}-[0-9]{1,6}$", Some(15)),
            ("^[a-z]{1,80}$", Some(80)),
            ("^[a-z ]{1,20}$", None),
            ("^[a-z]+$", None),
            ("[a-z]{1,3}", None),
        ] {
            assert_eq!(longest(pattern), most, "{pattern}");
        }
    }
}
