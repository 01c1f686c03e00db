//! Example values of a schema, to show a person what would not fit.
//!
//! Owns guessing. A sample proves nothing by itself: whoever shows it validates it first.

use jsonschema::JsonType;
use jsonschema::canonical::{ArrayView, CanonicalSchema, CanonicalView, ObjectView, StringView};
use serde_json::{Map, Number, Value, json};

/// Most fields that need not be there and are tried one by one.
const FIELDS_MAX: usize = 4;
/// How deep a sample nests.
const DEPTH_MAX: usize = 6;
/// Longest text that is made up.
const TEXT_CHARS_MAX: u64 = 64;

/// A few values that probably fit a schema.
pub(super) fn sample(schema: &CanonicalSchema) -> Vec<Value> {
    samples(schema, 0)
}

fn samples(schema: &CanonicalSchema, depth: usize) -> Vec<Value> {
    if depth > DEPTH_MAX {
        return Vec::new();
    }
    match schema.view() {
        CanonicalView::True => vec![Value::Null, json!(""), json!(0)],
        CanonicalView::False | CanonicalView::Raw(_) | CanonicalView::Not(_) => Vec::new(),
        CanonicalView::MultiType(set) => set.iter().flat_map(of_type).collect(),
        CanonicalView::TypedGroup(group) => {
            let mut values = samples(&group.body, depth + 1);
            values.extend(of_type(group.ty));
            values
        }
        CanonicalView::String(text) => texts(&text),
        CanonicalView::Integer(bounds) => numbers(bounds.minimum, bounds.maximum),
        CanonicalView::Number(bounds) => {
            let mut values = numbers(bounds.minimum, bounds.maximum);
            values.insert(0, json!(0.5));
            values
        }
        CanonicalView::Array(array) => arrays(&array, depth),
        CanonicalView::Object(object) => objects(&object, depth),
        CanonicalView::Const(value) => vec![value],
        CanonicalView::Enum(values) => values,
        CanonicalView::AllOf(branches)
        | CanonicalView::AnyOf(branches)
        | CanonicalView::OneOf(branches) => branches
            .iter()
            .flat_map(|branch| samples(branch, depth + 1))
            .collect(),
        CanonicalView::Reference(uri) => schema
            .definition(&uri)
            .map(|target| samples(&target, depth + 1))
            .unwrap_or_default(),
    }
}

fn of_type(ty: JsonType) -> Vec<Value> {
    match ty {
        JsonType::Null => vec![Value::Null],
        JsonType::Boolean => vec![json!(false)],
        JsonType::Integer => vec![json!(0)],
        JsonType::Number => vec![json!(0.5)],
        JsonType::String => vec![json!(""), json!("x")],
        JsonType::Array => vec![json!([])],
        JsonType::Object => vec![json!({})],
    }
}

fn texts(text: &StringView) -> Vec<Value> {
    let least = text.min_length.as_ref().and_then(Number::as_u64);
    let least = least.unwrap_or(0);
    if least > TEXT_CHARS_MAX {
        return Vec::new();
    }
    let filled = |letter: &str, more: u64| {
        let count = usize::try_from(least + more).unwrap_or(0);
        json!(letter.repeat(count))
    };
    vec![
        filled("x", 0),
        filled("x", 1),
        filled(" ", 1),
        filled("0", 1),
        json!("2024-02-30"),
    ]
}

fn numbers(minimum: Option<Number>, maximum: Option<Number>) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::new();
    values.extend(maximum.map(Value::Number));
    values.extend(minimum.map(Value::Number));
    values.push(json!(0));
    values
}

fn arrays(array: &ArrayView, depth: usize) -> Vec<Value> {
    let least = array.min_items.as_ref().and_then(Number::as_u64);
    let least = usize::try_from(least.unwrap_or(0)).unwrap_or(usize::MAX);
    if least > 4 {
        return Vec::new();
    }
    let item = |index: usize| {
        let schema = array.prefix_items.get(index).or(array.items.as_ref());
        schema.map_or(Some(Value::Null), |schema| {
            samples(schema, depth + 1).into_iter().next()
        })
    };
    [least, least + 1]
        .into_iter()
        .filter_map(|count| (0..count).map(item).collect::<Option<Vec<Value>>>())
        .map(Value::Array)
        .collect()
}

fn objects(object: &ObjectView, depth: usize) -> Vec<Value> {
    let value = |name: &str| {
        let schema = object
            .properties
            .get(name)
            .or(object.additional_properties.as_ref());
        match schema {
            Some(schema) => samples(schema, depth + 1).into_iter().next(),
            None => Some(Value::Null),
        }
    };
    let required: Option<Map<String, Value>> = object
        .required
        .iter()
        .map(|name| Some((name.clone(), value(name)?)))
        .collect();
    let Some(required) = required else {
        return Vec::new();
    };
    let mut values = vec![Value::Object(required.clone())];
    for name in object.properties.keys().take(FIELDS_MAX) {
        if let Some(value) = value(name)
            && !required.contains_key(name)
        {
            let mut more = required.clone();
            more.insert(name.clone(), value);
            values.push(Value::Object(more));
        }
    }
    let mut extra = required;
    extra.insert("another_field".to_owned(), Value::Null);
    values.push(Value::Object(extra));
    values
}
