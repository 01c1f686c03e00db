//! Concise observations: what stands for a value that is too long to be read.
//!
//! Owns the limits and the form of what is cut: a list by its count, its first items and its last;
//! a text by its count of characters, its head and its tail; a wide map by its count and its first
//! fields; what lies too deep by its count alone. Beside each cut stands the expression that names
//! the whole (`ref`), so that a plan can pass it on unread. Never changes a value that is short.
//! INVARIANT: whatever the value, its summary has at most [`BYTES_MAX`] bytes as JSON.

use provost_plan::catalog::Catalog;
use serde_json::{Map, Value, json};

use crate::state::State;
use crate::view;

/// Most bytes of a summary, as JSON.
pub const BYTES_MAX: usize = 16 * 1024;

/// Bytes of a summary that a reader is shown beside others.
const READER_BYTES_MAX: usize = 600;

/// Longest name of a value that is written out beside a cut, in bytes.
const PLACE_BYTES_MAX: usize = 512;

/// How much of a value is shown.
#[derive(Clone, Copy, Debug)]
struct ConciseLimits {
    /// Items of a list that is shown whole; of a longer one a few are.
    items: usize,
    /// The first items of a longer list.
    first: usize,
    /// Characters of a text that is shown whole.
    chars: usize,
    /// Characters of the head of a longer text; its tail has half of them.
    head: usize,
    /// Fields of a map that is shown whole; of a wider one half of them are.
    fields: usize,
    /// Lists and maps that are entered, one in another.
    depth: usize,
}

/// From the most generous on: the first that fits is taken. The last shows counts alone.
const LEVELS: [ConciseLimits; 4] = [
    ConciseLimits {
        items: 20,
        first: 3,
        chars: 400,
        head: 200,
        fields: 40,
        depth: 8,
    },
    ConciseLimits {
        items: 8,
        first: 3,
        chars: 120,
        head: 60,
        fields: 16,
        depth: 5,
    },
    ConciseLimits {
        items: 3,
        first: 1,
        chars: 40,
        head: 20,
        fields: 6,
        depth: 3,
    },
    ConciseLimits {
        items: 0,
        first: 0,
        chars: 40,
        head: 20,
        fields: 0,
        depth: 0,
    },
];

/// The summary of a value that the expression `place` names; the value itself, if it is short.
#[must_use]
pub fn summary(value: &Value, place: &str) -> Value {
    within(value, place, BYTES_MAX)
}

/// What a step came to, for whoever reads of a run: short enough for a few lines, and without what
/// must not leave; none if it has no output.
#[must_use]
pub fn of_step(state: &State, catalog: &Catalog, id: &str) -> Option<Value> {
    let output = state.steps.get(id)?.view.get("output")?;
    let (step, record) = state.plan()?.checked().step(id)?;
    let place = view::output_of(id);
    Some(if view::is_secret(catalog, step, record) {
        json!({ "ref": place, "secret": true })
    } else {
        within(output, &place, READER_BYTES_MAX)
    })
}

/// The most generous summary that has at most so many bytes; else the shortest there is.
fn within(value: &Value, place: &str, most: usize) -> Value {
    let mut shortest = Value::Null;
    for limits in LEVELS {
        shortest = cut(value, place, limits);
        if bytes(&shortest) <= most {
            break;
        }
    }
    shortest
}

fn bytes(value: &Value) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |text| text.len())
}

fn cut(value: &Value, place: &str, limits: ConciseLimits) -> Value {
    match value {
        Value::Array(items) => list(items, place, limits),
        Value::Object(map) if !is_named(map) => fields(map, place, limits),
        Value::String(text) => words(text, place, limits),
        plain => plain.clone(),
    }
}

/// Whether a map stands for a text already: `{ref, chars}`, or for a secret.
fn is_named(map: &Map<String, Value>) -> bool {
    let plain = |(name, value): (&String, &Value)| match value {
        Value::String(text) => name == "ref" && text.len() <= PLACE_BYTES_MAX,
        Value::Array(_) | Value::Object(_) => false,
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            ["ref", "chars", "secret"].contains(&name.as_str())
        }
    };
    map.len() == 2 && map.contains_key("ref") && map.iter().all(plain)
}

fn list(items: &[Value], place: &str, limits: ConciseLimits) -> Value {
    let deeper = limits.depth.checked_sub(1);
    let Some(depth) = deeper.filter(|_| !items.is_empty()) else {
        return if items.is_empty() {
            json!([])
        } else {
            named(place, [("items", json!(items.len()))])
        };
    };
    let limits = ConciseLimits { depth, ..limits };
    let item = |(at, item): (usize, &Value)| cut(item, &format!("{place}[{at}]"), limits);
    if items.len() <= limits.items {
        return items.iter().enumerate().map(item).collect();
    }
    let shown: Value = items
        .iter()
        .enumerate()
        .take(limits.first)
        .map(item)
        .collect();
    let last = items.iter().enumerate().next_back();
    let last = last.map_or(Value::Null, item);
    let count = json!(items.len());
    named(place, [("items", count), ("shown", shown), ("last", last)])
}

fn fields(map: &Map<String, Value>, place: &str, limits: ConciseLimits) -> Value {
    let deeper = limits.depth.checked_sub(1);
    let Some(depth) = deeper.filter(|_| !map.is_empty()) else {
        return if map.is_empty() {
            json!({})
        } else {
            named(place, [("fields", json!(map.len()))])
        };
    };
    let limits = ConciseLimits { depth, ..limits };
    // Why of the whole too: one name alone may be longer than a summary.
    let short = |name: &String| name.len() <= limits.chars;
    let field = |(name, value): (&String, &Value)| {
        let value = cut(value, &view::field_of(place, name), limits);
        (name.clone(), value)
    };
    if map.len() <= limits.fields && map.keys().all(short) {
        return map.iter().map(field).collect();
    }
    let first = map.iter().filter(|(name, _)| short(name));
    let shown: Value = first.take(limits.fields / 2).map(field).collect();
    named(place, [("fields", json!(map.len())), ("shown", shown)])
}

fn words(text: &str, place: &str, limits: ConciseLimits) -> Value {
    let count = text.chars().count();
    if count <= limits.chars {
        return text.into();
    }
    let head: String = text.chars().take(limits.head).collect();
    let tail = text.chars().skip(count - (limits.head / 2).min(count));
    let tail: String = tail.collect();
    let parts = [
        ("chars", json!(count)),
        ("head", json!(head)),
        ("tail", json!(tail)),
    ];
    named(place, parts)
}

/// What stands for a value that was cut: its name, if that can be written out, and what is told.
fn named<const N: usize>(place: &str, told: [(&str, Value); N]) -> Value {
    let name = (place.len() <= PLACE_BYTES_MAX).then(|| json!(place));
    let name = name.into_iter().map(|name| ("ref", name));
    let all = name.chain(told);
    all.map(|(key, value)| (key.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    fn list_of(count: usize) -> Value {
        (0..count).map(|n| json!({ "n": n })).collect()
    }

    #[test]
    fn a_value_and_its_summary() {
        let long = "é".repeat(450);
        let wide: Map<String, Value> = (0..50).map(|n| (format!("f{n:02}"), json!(n))).collect();
        let deep = (0..9).fold(json!("x"), |inner, _| json!([inner]));
        let table = [
            (json!(null), json!(null)),
            (json!("short"), json!("short")),
            (json!([]), json!([])),
            (list_of(20), list_of(20)),
            (
                list_of(5_000),
                json!({
                    "ref": "p", "items": 5_000, "shown": list_of(3), "last": { "n": 4_999 },
                }),
            ),
            (
                json!({ "rows": list_of(21), "total": 21 }),
                json!({
                    "rows": {
                        "ref": "p.rows", "items": 21, "shown": list_of(3), "last": { "n": 20 },
                    },
                    "total": 21,
                }),
            ),
            (
                json!([{ "note": long }]),
                json!([{ "note": {
                    "ref": "p[0].note", "chars": 450,
                    "head": "é".repeat(200), "tail": "é".repeat(100),
                } }]),
            ),
            (
                json!({ "a-b": list_of(21) }),
                json!({ "a-b": {
                    "ref": "p[\"a-b\"]", "items": 21, "shown": list_of(3), "last": { "n": 20 },
                } }),
            ),
            (
                json!(deep),
                json!([[[[[[[[{ "ref": "p[0][0][0][0][0][0][0][0]", "items": 1 }]]]]]]]]),
            ),
            // What stands for a text already stays as it is.
            (
                json!({ "ref": "steps.a.output.b", "chars": 9 }),
                json!({ "ref": "steps.a.output.b", "chars": 9 }),
            ),
        ];
        for (value, expected) in table {
            assert_eq!(summary(&value, "p"), expected, "{value}");
        }
        let shown = summary(&Value::Object(wide), "p");
        assert_eq!(shown["fields"], 50);
        assert_eq!(shown["shown"].as_object().unwrap().len(), 20);
        assert_eq!(shown["shown"]["f19"], 19);
    }

    #[test]
    fn what_is_long_in_every_way_is_cut_further() {
        let row = json!({ "text": "x".repeat(390), "list": vec!["y".repeat(390); 20] });
        let value = json!({ "rows": vec![row; 20], "more": vec!["z".repeat(390); 20] });
        let shown = summary(&value, "p");
        assert!(bytes(&shown) <= BYTES_MAX, "{}", bytes(&shown));
        assert_eq!(shown["rows"]["items"], 20);
        assert_eq!(shown["more"]["ref"], "p.more");
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            ".{0,40}".prop_map(Value::from),
            (0usize..3_000).prop_map(|count| Value::from("\u{1}".repeat(count))),
        ];
        leaf.prop_recursive(12, 600, 40, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..60).prop_map(Value::from),
                proptest::collection::btree_map(".{0,60}", inner.clone(), 0..60)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
                (inner, 0usize..3_000).prop_map(|(inner, long)| {
                    Value::Object(Map::from_iter([("k".repeat(long), inner)]))
                }),
            ]
        })
    }

    /// One text, name or list alone that is longer than any summary.
    #[test]
    fn one_thing_that_is_too_long() {
        let long = "\u{1}".repeat(200_000);
        let values = [
            json!(long),
            json!({ "ref": long, "chars": 1 }),
            json!({ long.clone(): long }),
            json!([[[long]]]),
            list_of(100_000),
        ];
        for value in values {
            let shown = summary(&value, &long);
            assert!(
                bytes(&shown) <= BYTES_MAX && !shown.is_null(),
                "{}",
                bytes(&shown)
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

        #[test]
        fn no_summary_is_longer_than_the_limit(value in any_value(), place in ".{0,2000}") {
            let shown = summary(&value, &place);
            prop_assert!(bytes(&shown) <= BYTES_MAX, "{}", bytes(&shown));
            // A value that is not null never becomes nothing.
            prop_assert_eq!(shown.is_null(), value.is_null());
        }
    }
}
