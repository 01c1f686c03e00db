//! JSON that somebody else wrote, read without guessing what was meant.
//!
//! Owns what is refused although a lenient reader takes it: a name that stands twice in a map, of
//! which one would have to win, and a number so small that it would become zero. INVARIANT: what
//! is read here says what the text says.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Why a text is not read.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// It is no JSON, or a name stands twice.
    #[error("{0}")]
    Text(#[from] serde_json::Error),
    /// A number that is not zero has no other value that could be held.
    #[error("the number `{0}` is too close to zero to be held")]
    Vanishes(String),
}

/// Reads a text.
///
/// # Errors
/// [`JsonError`] says what is wrong with it.
pub fn read(text: &str) -> Result<Value, JsonError> {
    let Strict(value) = serde_json::from_str(text)?;
    match vanishing(text) {
        Some(number) => Err(JsonError::Vanishes(number.to_owned())),
        None => Ok(value),
    }
}

/// Whether a number as written is not zero, and would be zero if it were held.
pub(crate) fn vanishes(number: &str) -> bool {
    let digits = number.split(['e', 'E']).next().unwrap_or_default();
    digits.contains(|c: char| ('1'..='9').contains(&c)) && number.parse() == Ok(0.0_f64)
}

/// The first number of a JSON text that [`vanishes`].
fn vanishing(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let from = at;
        at += 1;
        match byte {
            b'"' => {
                while let Some(byte) = bytes.get(at) {
                    at += if *byte == b'\\' { 2 } else { 1 };
                    if *byte == b'"' {
                        break;
                    }
                }
            }
            b'-' | b'0'..=b'9' => {
                while bytes
                    .get(at)
                    .is_some_and(|b| b"+-.eE0123456789".contains(b))
                {
                    at += 1;
                }
                let number = text.get(from..at).filter(|number| vanishes(number));
                if number.is_some() {
                    return number;
                }
            }
            _ => {}
        }
    }
    None
}

/// A value whose maps hold each name once.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reading).map(Self)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let Strict(value) = entries.next_value()?;
            if map.contains_key(&name) {
                return Err(A::Error::custom(format!(
                    "the name `{name}` stands twice in a map"
                )));
            }
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::digest::tests::any_value;

    #[test]
    fn what_a_lenient_reader_would_guess_is_refused() {
        for (text, says) in [
            (r#"{"a": 1, "a": 2}"#, "`a` stands twice"),
            (r#"[{"x": {"b": 1, "c": 2, "b": 1}}]"#, "`b` stands twice"),
            (r#"{"a": 1, "\u0061": 2}"#, "`a` stands twice"),
            (r#"{"a": 1e-400}"#, "`1e-400` is too close to zero"),
            ("[-0.5E-999]", "`-0.5E-999` is too close to zero"),
            ("{", "EOF"),
            ("[1e999]", "out of range"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        let tiny = format!("0.{}1", "0".repeat(400));
        assert!(read(&tiny).is_err());
    }

    #[test]
    fn what_says_one_thing_is_read() {
        for (text, value) in [
            (
                r#"{"a": {"a": 1}, "b": [{"a": 2}, {"a": 2}]}"#,
                json!({"a": {"a": 1}, "b": [{"a": 2}, {"a": 2}]}),
            ),
            ("[0, 0.0, 0e-999, 1e-300]", json!([0, 0.0, 0.0, 1e-300])),
            (
                r#"["1e-400", "\"1e-400", "a\\", 1]"#,
                json!(["1e-400", "\"1e-400", "a\\", 1]),
            ),
            ("null", json!(null)),
        ] {
            let read = read(text).unwrap();
            assert_eq!(read, value, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_as_it_was(value in any_value()) {
            let text = value.to_string();
            prop_assert_eq!(read(&text).unwrap(), serde_json::from_str::<Value>(&text).unwrap());
        }
    }
}
