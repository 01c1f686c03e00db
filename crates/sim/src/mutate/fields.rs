//! Single-field mutations: of any JSON document, of an operation, of a policy text.
//!
//! Owns lists of changes. Never says whether a change matters. INVARIANT: each change differs from
//! the original in one field.

use std::collections::BTreeSet;
use std::time::Duration;

use provost_plan::catalog::{Effect, Idempotency, KeyCarrier, Operation};
use provost_plan::schema::Schema;
use serde_json::{Value, json};

/// Every document that differs from `value` in one field: a leaf changed, a key or item taken out,
/// a key or item added. Each with what was done.
#[must_use]
pub fn documents(value: &Value) -> Vec<(String, Value)> {
    let mut changes = Vec::new();
    at(value, "", &mut |pointer, what, changed| {
        let mut document = value.clone();
        if let Some(place) = document.pointer_mut(pointer) {
            *place = changed;
            changes.push((format!("{pointer} {what}"), document));
        }
    });
    changes
}

fn at(value: &Value, pointer: &str, emit: &mut dyn FnMut(&str, &str, Value)) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let mut without = map.clone();
                without.remove(key);
                emit(pointer, &format!("without {key}"), without.into());
                at(
                    inner,
                    &format!("{pointer}/{}", super::document::escape(key)),
                    emit,
                );
            }
            let mut more = map.clone();
            more.insert("added".to_owned(), json!("x"));
            emit(pointer, "with a key more", more.into());
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                let mut without = items.clone();
                without.remove(index);
                emit(pointer, &format!("without item {index}"), without.into());
                at(inner, &format!("{pointer}/{index}"), emit);
            }
            let mut more = items.clone();
            more.extend(items.last().cloned());
            emit(pointer, "with an item more", more.into());
        }
        Value::String(text) => {
            emit(pointer, "another text", json!(format!("{text}x")));
            let mut chars: Vec<char> = text.chars().collect();
            if let Some(first) = chars.first_mut() {
                *first = if *first == 'q' { 'r' } else { 'q' };
                let turned: String = chars.into_iter().collect();
                emit(pointer, "another letter", json!(turned));
            }
        }
        Value::Number(number) => {
            emit(pointer, "one more", json!(number.as_i64().unwrap_or(0) + 1));
            emit(pointer, "as a text", json!(number.to_string()));
        }
        Value::Bool(flag) => emit(pointer, "turned", json!(!flag)),
        Value::Null => emit(pointer, "not null", json!("x")),
    }
}

/// Every operation that differs from `operation` in one field.
#[must_use]
pub fn operations(operation: &Operation) -> Vec<(String, Operation)> {
    let mut changes: Vec<(String, Operation)> = Vec::new();
    let mut change = |what: &str, set: &dyn Fn(&mut Operation)| {
        let mut changed = operation.clone();
        set(&mut changed);
        if changed != *operation {
            changes.push((format!("{} {what}", operation.name), changed));
        }
    };
    change("description", &|op| op.description.push_str(", and more"));
    for (word, effect) in Effect::WORDS {
        change(&format!("effect {word}"), &|op| op.effect = effect);
    }
    for tag in ["email", "money", "delete", "production", "internal"] {
        change(&format!("tag {tag} more"), &|op| {
            op.tags.insert(tag.to_owned());
        });
        change(&format!("tag {tag} less"), &|op| {
            op.tags.remove(tag);
        });
    }
    change("trusted", &|op| op.trusted = !op.trusted);
    change("secret", &|op| op.secret = !op.secret);
    change("keeps", &|op| op.accepts_secrets = !op.accepts_secrets);
    for name in ["to", "text", "amount"] {
        change(&format!("content {name}"), &|op| {
            if !op.content.remove(name) {
                op.content.insert(name.to_owned());
            }
        });
    }
    let key = |name: &str, ttl_ms| Idempotency::Key {
        carrier: KeyCarrier::Header(name.to_owned()),
        ttl_ms,
    };
    for idempotency in [
        Idempotency::Natural,
        Idempotency::None,
        key("Idempotency-Key", 86_400_000),
        key("Other-Key", 86_400_000),
        key("Idempotency-Key", 1_000),
    ] {
        change(&format!("{idempotency:?}"), &|op| {
            op.idempotency = idempotency.clone()
        });
    }
    change("errors", &|op| op.errors_no_effect = !op.errors_no_effect);
    change("timeout", &|op| op.timeout += Duration::from_secs(1));
    change("bytes", &|op| op.max_bytes += 1);
    for (what, endpoint) in documents(&operation.endpoint) {
        change(&format!("endpoint {what}"), &|op| {
            op.endpoint = endpoint.clone()
        });
    }
    for (what, schema) in documents(operation.input.value()) {
        if let Ok(schema) = Schema::compile(schema) {
            change(&format!("input {what}"), &|op| op.input = schema.clone());
        }
    }
    let output = operation.output.as_ref().map(Schema::value);
    for (what, schema) in output.map(documents).unwrap_or_default() {
        if let Ok(schema) = Schema::compile(schema) {
            change(&format!("output {what}"), &|op| {
                op.output = Some(schema.clone())
            });
        }
    }
    change("no output", &|op| op.output = None);
    changes
}

/// Policy texts that differ from `text` in one place; not all of them load.
#[must_use]
pub fn policies(text: &str) -> Vec<(String, String)> {
    let mut changes: BTreeSet<(String, String)> = BTreeSet::new();
    let mut change = |what: String, changed: String| {
        if changed != text {
            changes.insert((what, changed));
        }
    };
    for (at, _) in text.match_indices("@id(") {
        let (before, rule) = text.split_at(at);
        let end = rule.find(";\n").map_or(rule.len(), |end| end + 2);
        let (rule, after) = rule.split_at(end);
        let name: String = rule.chars().skip(5).take_while(|c| *c != '"').collect();
        let mut with = |what: &str, other: String| {
            change(format!("{name}: {what}"), format!("{before}{other}{after}"));
        };
        with("gone", String::new());
        with("another id", rule.replacen(&name, "renamed", 1));
        with("forbids", rule.replacen("\npermit", "\nforbid", 1));
        with("permits", rule.replacen("\nforbid", "\npermit", 1));
        with(
            "attended",
            rule.replacen("!resource.attended", "resource.attended", 1),
        );
        with(
            "not when attended only",
            rule.replacen("!resource.attended &&", "", 1),
        );
        with("a remark", rule.replacen("when", "/* so */ when", 1));
        with(
            "other effect",
            rule.replacen("\"external\"", "\"write\"", 1),
        );
        with("other tag", rule.replacen("\"money\"", "\"permission\"", 1));
        with("not equal", rule.replacen("!= \"read\"", "== \"read\"", 1));
        with(
            "equal",
            rule.replacen("== \"external\"", "!= \"external\"", 1),
        );
        with(
            "one action",
            rule.replacen("in Action::\"call\"", "== Action::\"pay.out\"", 1),
        );
        for (key, value) in [
            ("quorum", "2"),
            ("approver", "oncall"),
            ("expires", "1h"),
            ("on_expiry", "replan"),
        ] {
            with(key, format!("@{key}(\"{value}\")\n{rule}"));
        }
    }
    for effect in ["read", "write", "external"] {
        for word in ["permit", "forbid"] {
            let more = format!(
                "@id(\"more\")\n{word} (principal, action in Action::\"call\", resource)\n\
                 when {{ resource.effect == \"{effect}\" }};\n"
            );
            change(format!("{word}s every {effect}"), format!("{text}\n{more}"));
        }
    }
    change("a remark at the end".to_owned(), format!("{text}\n// so\n"));
    changes.into_iter().collect()
}
