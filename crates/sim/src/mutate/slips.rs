//! Slips of the hand: a name with one letter too many, missing, another or in another place.
//!
//! Owns where a name stands in a document. Never says whether a slip is found: one may make
//! another name that means something. INVARIANT: a slip changes one name in one place.

use serde_json::{Map, Value};

use super::Change;
use super::document::{Document, escape};
use crate::rng::Rng;

/// Fields whose text is a name.
const NAMES: [&str; 7] = [
    "after",
    "cites",
    "drop",
    "for",
    "needs",
    "on_failure",
    "tool",
];
/// Fewest letters of a name with slips.
const LETTERS_MIN: usize = 3;

/// A slip in each name of a plan.
#[must_use]
pub fn slips(plan: &Document) -> Vec<Change> {
    let mut found = Vec::new();
    each(&plan.0, "", &mut |place, old, new| {
        let mut changed = plan.0.clone();
        if let Some(value) = changed.pointer_mut(place) {
            *value = new;
        }
        let what = format!("{place}: a slip in `{old}`");
        found.push(Change::of(what, &Document(changed)));
    });
    found
}

/// Calls `see` with a place, the name in it, and what stands there with a slip in that name.
fn each(value: &Value, place: &str, see: &mut dyn FnMut(&str, &str, Value)) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let inside = format!("{place}/{}", escape(key));
                if let Some(other) = slip(key, &inside).filter(|key| !map.contains_key(key)) {
                    see(place, key, renamed(map, key, &other));
                }
                each(inner, &inside, see);
            }
        }
        Value::Array(items) => {
            for (at, inner) in items.iter().enumerate() {
                each(inner, &format!("{place}/{at}"), see);
            }
        }
        Value::String(text) => {
            let is_position = |part: &&str| part.parse::<usize>().is_ok();
            let field = place.rsplit('/').find(|part| !is_position(part));
            let is_name = field.is_some_and(|field| NAMES.contains(&field));
            for (at, word, inside) in words(text) {
                let other = slip(word, &format!("{place} {at}")).filter(|_| inside || is_name);
                if let Some(other) = other {
                    let mut changed = text.clone();
                    changed.replace_range(at..at + word.len(), &other);
                    see(place, word, changed.into());
                }
            }
        }
        _ => {}
    }
}

fn renamed(map: &Map<String, Value>, from: &str, to: &str) -> Value {
    let entries = map.iter().map(|(key, value)| {
        let key = if key == from { to } else { key };
        (key.to_owned(), value.clone())
    });
    entries.collect::<Map<_, _>>().into()
}

/// The words of a text with their places, and whether each stands in an expression.
fn words(text: &str) -> Vec<(usize, &str, bool)> {
    let mut found = Vec::new();
    let (mut inside, mut from) = (false, None);
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let is_word = c.is_alphanumeric() || c == '_';
        match (from, is_word) {
            (None, true) => from = Some(at),
            (Some(start), false) => {
                found.extend(text.get(start..at).map(|word| (start, word, inside)));
                from = None;
            }
            _ => {}
        }
        if text.get(at..).is_some_and(|rest| rest.starts_with("${")) {
            inside = true;
        }
        if c == '}' {
            inside = false;
        }
    }
    found
}

/// A name with a slip; which one follows from the place.
fn slip(name: &str, place: &str) -> Option<String> {
    let mut letters: Vec<char> = name.chars().collect();
    if letters.len() < LETTERS_MIN || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut rng = Rng::new(1, &format!("{place} {name}"));
    let end = letters.len() - 1;
    let last = i64::try_from(end).ok()?;
    let at = usize::try_from(rng.between(0, last)).ok()?;
    match rng.between(0, 3) {
        0 => {
            letters.remove(at);
        }
        1 => letters.insert(at, letters.get(at).copied()?),
        2 => letters.swap(at, (at + 1).min(end)),
        _ => *letters.get_mut(at)? = rng.pick(&['a', 'e', 'n', 's', 't']),
    }
    let changed: String = letters.into_iter().collect();
    (changed != name).then_some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_whether_they_stand_in_an_expression() {
        let found = words("to ${ steps.a } and b");
        let found: Vec<(&str, bool)> = found.iter().map(|(_, w, inside)| (*w, *inside)).collect();
        let expected = [
            ("to", false),
            ("steps", true),
            ("a", true),
            ("and", false),
            ("b", false),
        ];
        assert_eq!(found, expected);
    }
}
