//! Any document: its canonical form and its digest.
//!
//! Owns what holds of digests. INVARIANT: spacing, key order and the form of numbers do not count;
//! everything else does.

use provost_plan::digest::{Digest, Domain, canonical, normalize};
use provost_plan::node::{Node, parse_toml, parse_yaml};
use provost_plan::source::{Source, Span};
use serde_json::{Map, Value};

use super::{hold, reached, stands_inside};

/// Reads the bytes as YAML and as TOML, if they are text.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let source = Source::new("document", text);
    for (name, read) in [("yaml", parse_yaml(text)), ("toml", parse_toml(text))] {
        match read {
            Ok(node) => {
                reached(format!("{name} {}", node.kind_word()));
                stands_inside(&source, node.span, name);
                of(&node);
            }
            Err(found) => hold(&source, &[*found]),
        }
    }
}

fn of(node: &Node) {
    let value = node.to_value();
    let digest = |value: &Value| Digest::of_value(Domain::Args, value);
    let once = digest(&value);
    assert_eq!(
        once.to_string().parse(),
        Ok(once),
        "a digest reads as itself"
    );
    assert_ne!(Digest::of_value(Domain::Goal, &value), once, "domains");
    let text = canonical(&value);
    assert_eq!(
        parse_yaml(&text).map(|node| node.to_value()),
        Ok(value.clone()),
        "{text}"
    );
    assert_eq!(
        serde_json::from_str(&text).ok().as_ref(),
        Some(&value),
        "{text}"
    );
    assert_eq!(digest(&reversed(&value)), once, "the order of keys");
    assert_eq!(
        normalize(value.clone()).as_ref(),
        Ok(&value),
        "normal forms"
    );
    let again = Node::from_value(&value, Span::default());
    assert_eq!(again.to_value(), value);
    if let Some(other) = changed(&value) {
        assert_ne!(digest(&other), once, "{value} and {other}");
    }
}

/// The same value with its keys put in the other way round.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(reversed).collect(),
        Value::Object(map) => {
            let entries = map.iter().rev();
            Value::Object(entries.map(|(k, v)| (k.clone(), reversed(v))).collect())
        }
        other => other.clone(),
    }
}

/// Another value: the first leaf is a different one.
fn changed(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Null => Value::Bool(false),
        Value::Bool(flag) => Value::Bool(!flag),
        Value::Number(_) => Value::Null,
        Value::String(text) => Value::String(format!("{text}\u{301}")),
        Value::Array(items) => {
            let (first, rest) = items.split_first()?;
            std::iter::once(changed(first)?)
                .chain(rest.iter().cloned())
                .collect()
        }
        Value::Object(map) => {
            let (name, first) = map.iter().next()?;
            let mut other: Map<String, Value> = map.clone();
            other.insert(name.clone(), changed(first)?);
            Value::Object(other)
        }
    })
}
