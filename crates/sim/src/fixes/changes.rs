//! What a fix changed of a document, and whether it may.
//!
//! Owns the one definition of what a fix may change. Reads documents only: no plan, no check.
//! INVARIANT: what is not one of the kinds of [`Change`] that are allowed is [`Change::Other`], so
//! a document that differs in anything else is never let pass.

use serde_json::{Map, Value};

use crate::mutate::document::escape;

/// Fields of a document that hold names or words of the language, and no text of their own.
const NAMES: [&str; 10] = [
    "after",
    "approval",
    "cites",
    "drop",
    "effect_max",
    "for",
    "needs",
    "on_failure",
    "risk",
    "tool",
];
/// Fields of a step that may be left out.
const LEFT_OUT: [&str; 3] = ["needs", "fresh", "risk"];

/// One thing that a fix changed; `place` is a pointer into the document before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A name was written instead of one that is the same but for a slip of the hand.
    Renamed {
        /// The value, or the map whose key it is.
        place: String,
        /// What stands there now: the whole value, or the key.
        now: Value,
        /// Whether it is a key.
        key: bool,
    },
    /// An entry of `needs` was left out. Allowed if no step waits for less (see `order`).
    Need {
        /// The step.
        place: String,
    },
    /// `fresh` was left out. Allowed if the step acts on no reading.
    Fresh {
        /// The step.
        place: String,
    },
    /// `risk` was left out. Allowed if it was below that of the operation.
    Risk {
        /// The step.
        place: String,
        /// What it was.
        was: Value,
    },
    /// Anything else. Never allowed.
    Other {
        /// Where.
        place: String,
        /// What.
        what: String,
    },
}

/// All that differs between two documents.
#[must_use]
pub fn between(before: &Value, after: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    compare(before, after, "", &mut found);
    found
}

fn compare(before: &Value, after: &Value, place: &str, found: &mut Vec<Change>) {
    match (before, after) {
        _ if before == after => {}
        (Value::Object(one), Value::Object(other)) => maps(one, other, place, found),
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (at, (one, other)) in one.iter().zip(other).enumerate() {
                compare(one, other, &format!("{place}/{at}"), found);
            }
        }
        (Value::Array(one), Value::Array(other)) if last(place) == "needs" => {
            shorter(one, other, place, found);
        }
        (Value::String(one), Value::String(other)) if is_renamed(one, other, place) => {
            found.push(Change::Renamed {
                place: place.to_owned(),
                now: after.clone(),
                key: false,
            });
        }
        _ => found.push(other(place, format!("{before} became {after}"))),
    }
}

fn maps(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    place: &str,
    found: &mut Vec<Change>,
) {
    let mut gone: Vec<&String> = before.keys().filter(|k| !after.contains_key(*k)).collect();
    for (key, value) in after {
        if let Some(was) = before.get(key) {
            compare(was, value, &format!("{place}/{}", escape(key)), found);
            continue;
        }
        let meant = gone.iter().position(|old| is_slip(old, key));
        let Some(old) = meant.map(|at| gone.remove(at)) else {
            found.push(other(place, format!("`{key}` was added")));
            continue;
        };
        found.push(Change::Renamed {
            place: place.to_owned(),
            now: Value::String(key.clone()),
            key: true,
        });
        if let Some(was) = before.get(old) {
            compare(was, value, &format!("{place}/{}", escape(old)), found);
        }
    }
    for key in gone {
        let was = before.get(key).cloned().unwrap_or_default();
        let is_step = place.rsplit('/').nth(1) == Some("steps");
        // Why a slip too: several fixes may first write the name, and then leave out what it names.
        let field = LEFT_OUT
            .iter()
            .find(|field| *key == **field || is_slip(key, field));
        let Some(field) = field.filter(|_| is_step) else {
            found.push(other(place, format!("`{key}` is gone")));
            continue;
        };
        let place = place.to_owned();
        match *field {
            "fresh" => found.push(Change::Fresh { place }),
            "risk" => found.push(Change::Risk { place, was }),
            _ => {
                let count = was.as_array().map_or(1, Vec::len);
                found.extend((0..count).map(|_| Change::Need {
                    place: place.clone(),
                }));
            }
        }
    }
}

/// A list of names of which some were left out.
fn shorter(before: &[Value], after: &[Value], place: &str, found: &mut Vec<Change>) {
    let step = place.rsplit_once('/').map_or("", |(step, _)| step);
    let mut left = after.iter().peekable();
    for (at, was) in before.iter().enumerate() {
        let place = format!("{place}/{at}");
        let same = |now: &&&Value| {
            let renamed = was.as_str().zip(now.as_str());
            // Why: `here` that is left out before `there` was not renamed to it.
            let stands_later = before.iter().skip(at + 1).any(|later| later == **now);
            **now == was || !stands_later && renamed.is_some_and(|(was, now)| is_slip(was, now))
        };
        match left.peek().filter(same) {
            Some(now) => {
                compare(was, now, &place, found);
                left.next();
            }
            None => found.push(Change::Need {
                place: step.to_owned(),
            }),
        }
    }
    if let Some(more) = left.next() {
        found.push(other(place, format!("{more} was added")));
    }
}

fn other(place: &str, what: String) -> Change {
    Change::Other {
        place: place.to_owned(),
        what,
    }
}

/// The last name in a pointer, without the position in a list.
fn last(place: &str) -> &str {
    let mut names = place.rsplit('/');
    let is_name = |name: &&str| name.parse::<usize>().is_err();
    names.find(is_name).unwrap_or_default()
}

/// Whether two texts are the same but for names: all of a field that holds one, or words inside
/// expressions.
fn is_renamed(before: &str, after: &str, place: &str) -> bool {
    let whole = NAMES.contains(&last(place));
    let (before, after) = (pieces(before), pieces(after));
    before.len() == after.len()
        && before.iter().zip(&after).all(|(one, two)| {
            let is_name = |piece: &Piece| piece.text.chars().any(char::is_alphanumeric);
            let names = is_name(one) && is_name(two);
            let renamed = || names && is_slip(&one.text, &two.text);
            one.text == two.text || (whole || one.inside) && renamed()
        })
}

struct Piece {
    text: String,
    /// Whether it stands in an expression.
    inside: bool,
}

/// The words of a text and what stands between them.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let (mut inside, mut in_word) = (false, false);
    for (at, c) in text.char_indices() {
        let is_word = c.is_alphanumeric() || c == '_' || c == '-';
        if text.get(at..).is_some_and(|rest| rest.starts_with("${")) {
            inside = true;
        }
        match pieces.last_mut() {
            Some(last) if in_word == is_word && last.inside == inside => last.text.push(c),
            _ => pieces.push(Piece {
                text: c.to_string(),
                inside,
            }),
        }
        in_word = is_word;
        if c == '}' {
            inside = false;
        }
    }
    pieces
}

/// Whether one name is the other but for a slip of the hand: case, `_` and `-`, or one letter of a
/// word that is long enough not to be another word.
fn is_slip(one: &str, two: &str) -> bool {
    let bare = |name: &str| -> Vec<char> {
        let letters = name.chars().filter(|c| *c != '_' && *c != '-');
        letters.flat_map(char::to_lowercase).collect()
    };
    let digits = |name: &str| -> String { name.chars().filter(char::is_ascii_digit).collect() };
    let words = |name: &str| name.split(['_', '-', '.']).count();
    if bare(one) == bare(two) {
        return true;
    }
    digits(one) == digits(two) && words(one) == words(two) && {
        let parts = one.split(['_', '-', '.']).zip(two.split(['_', '-', '.']));
        let differ: Vec<(&str, &str)> = parts.filter(|(a, b)| a != b).collect();
        matches!(differ.as_slice(), [(a, b)] if is_one_letter_off(a, b))
    }
}

fn is_one_letter_off(one: &str, two: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (one.chars().collect(), two.chars().collect());
    let same = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let (a, b) = (a.get(same..).unwrap_or(&[]), b.get(same..).unwrap_or(&[]));
    let doubled = |rest: &[char], longer: &str| {
        let letter = rest.first();
        longer.chars().nth(same.wrapping_sub(1)).as_ref() == letter
    };
    let long = one.chars().count().min(two.chars().count()) >= 3;
    match (a.len(), b.len()) {
        (x, y) if x == y + 1 => a.get(1..) == Some(b) && (long || doubled(a, one)),
        (x, y) if x + 1 == y => b.get(1..) == Some(a) && (long || doubled(b, two)),
        (x, y) if x == y => {
            let exchanged = matches!((a, b), ([p, q, r @ ..], [s, t, u @ ..])
                if p == t && q == s && r == u);
            same > 0 && long && (exchanged || a.get(1..) == b.get(1..))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_kinds_of_a_fix_are_let_pass() {
        let step = json!({ "id": "a", "needs": ["b", "c"], "risk": "low", "fresh": "1m",
            "when": "${ steps.cont.output.n > 1 }", "args": { "to": "cont" } });
        let plan = |step: &Value| json!({ "steps": [step] });
        let with = |key: &str, value: Value| {
            let mut other = step.clone();
            match value {
                Value::Null => drop(other.as_object_mut().map(|map| map.remove(key))),
                value => drop(
                    other
                        .as_object_mut()
                        .map(|map| map.insert(key.into(), value)),
                ),
            }
            between(&plan(&step), &plan(&other))
        };
        let kinds = |found: Vec<Change>| -> String {
            let words = found.iter().map(|change| match change {
                Change::Renamed { .. } => 'r',
                Change::Need { .. } => 'n',
                Change::Fresh { .. } => 'f',
                Change::Risk { .. } => 'i',
                Change::Other { .. } => '!',
            });
            words.collect()
        };
        for (key, value, expected) in [
            ("needs", json!(["b"]), "n"),
            ("needs", Value::Null, "nn"),
            ("needs", json!(["b", "d"]), "!"),
            ("fresh", Value::Null, "f"),
            ("fresh", json!("2m"), "!"),
            ("risk", Value::Null, "i"),
            ("when", json!("${ steps.count.output.n > 1 }"), "r"),
            ("when", json!("${ steps.cont.output.n > 2 }"), "!"),
            ("when", json!("${ steps.cont.output.n >= 1 }"), "!"),
            ("when", Value::Null, "!"),
            ("args", json!({ "to": "count" }), "!"),
            ("args", json!({ "two": "cont" }), "!!"),
            ("args", json!({ "To": "cont" }), "r"),
            ("approval", json!("required"), "!"),
        ] {
            assert_eq!(kinds(with(key, value.clone())), expected, "{key} {value}");
        }
    }

    #[test]
    fn what_is_left_out_is_not_what_stands_behind_it() {
        let needs = |ids: &[&str]| json!({ "steps": [{ "id": "a", "needs": ids }] });
        let found = between(&needs(&["here", "there"]), &needs(&["there"]));
        assert!(
            matches!(found.as_slice(), [Change::Need { .. }]),
            "{found:?}"
        );
        let found = between(&needs(&["count", "totl"]), &needs(&["total"]));
        let both = [Change::Need {
            place: "/steps/0".to_owned(),
        }];
        assert!(found.starts_with(&both) && found.len() == 2, "{found:?}");
    }
}
