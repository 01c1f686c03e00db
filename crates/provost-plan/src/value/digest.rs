//! Digests: the identity of plans, steps, tools, policies and evidence.
//!
//! Owns the canonical form (RFC 8785 over numbers in ±2^53) and the domain tags. INVARIANT: two
//! documents have one digest only if their canonical forms are byte-equal under the same domain.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::limits::INTEGER_MAX;

mod serial;

pub use serial::canonical_of;

/// What is being digested; part of the hashed bytes, so that no two kinds can collide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// A whole plan document.
    Plan,
    /// One step in canonical form with all it rests on.
    Closure,
    /// A goal.
    Goal,
    /// A catalog entry.
    Tool,
    /// The list of a role.
    Role,
    /// Policy text.
    Policy,
    /// A principal with its groups.
    Principal,
    /// Limits.
    Limits,
    /// The terms under which a plan was checked.
    Terms,
    /// An approval card.
    Card,
    /// A question to a person.
    Question,
    /// Concrete arguments of a call.
    Args,
    /// An attempt at a call, of which somebody says what became.
    Attempt,
    /// An event's payload.
    Event,
    /// The links of one store commit.
    Commit,
    /// One event's link in the chain of its run.
    Link,
    /// Bytes of evidence.
    Evidence,
    /// An idempotency key.
    Key,
    /// A finding, wherever it stands.
    Finding,
    /// What a run waits for, as the listing keeps it.
    Waits,
    /// A run, or an event of it, as a trace names it.
    Trace,
}

impl Domain {
    /// The versioned tag that precedes the hashed bytes.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::Plan => "provost/plan/v1",
            Self::Closure => "provost/closure/v1",
            Self::Goal => "provost/goal/v1",
            Self::Tool => "provost/tool/v1",
            Self::Role => "provost/role/v1",
            Self::Policy => "provost/policy/v1",
            Self::Principal => "provost/principal/v1",
            Self::Limits => "provost/limits/v1",
            Self::Terms => "provost/terms/v1",
            Self::Card => "provost/card/v1",
            Self::Question => "provost/question/v1",
            Self::Args => "provost/args/v1",
            Self::Attempt => "provost/attempt/v1",
            Self::Event => "provost/event/v1",
            Self::Commit => "provost/commit/v1",
            Self::Link => "provost/link/v1",
            Self::Evidence => "provost/evidence/v1",
            Self::Key => "provost/key/v1",
            Self::Finding => "provost/finding/v1",
            Self::Waits => "provost/waits/v1",
            Self::Trace => "provost/otel/v1",
        }
    }
}

/// What a printed digest begins with.
const PREFIX: &str = "sha256:";
/// A printed digest before its digits are written.
const PRINTED: &[u8; 71] =
    b"sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// A SHA-256 digest, printed as `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Digests raw bytes under a domain.
    #[must_use]
    pub fn of_bytes(domain: Domain, bytes: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update(domain.tag().as_bytes());
        hash.update([0]);
        hash.update(bytes);
        Self(hash.finalize().into())
    }

    /// Digests what can be serialized in canonical form under a domain.
    #[must_use]
    pub fn of<T: Serialize + ?Sized>(domain: Domain, value: &T) -> Self {
        // Why a value for the rest: only a number beyond ±2^53 is refused.
        let text = canonical_of(value).unwrap_or_else(|_| canonical(&json!(value)));
        Self::of_bytes(domain, text.as_bytes())
    }

    /// Digests a JSON value in canonical form under a domain.
    #[must_use]
    pub fn of_value(domain: Domain, value: &Value) -> Self {
        Self::of_bytes(domain, canonical(value).as_bytes())
    }

    /// The 64 hexadecimal digits, without the prefix.
    #[must_use]
    pub fn hex(&self) -> String {
        self.with_text(|text| text.trim_start_matches(PREFIX).to_owned())
    }

    /// Writes the digest as it is printed.
    pub fn write_to(&self, text: &mut String) {
        self.with_text(|printed| text.push_str(printed));
    }

    /// Hands over the digest as it is printed.
    fn with_text<T>(&self, then: impl FnOnce(&str) -> T) -> T {
        let mut printed = *PRINTED;
        let (_, digits) = printed.split_at_mut(PREFIX.len());
        write_hex(&self.0, digits);
        then(std::str::from_utf8(&printed).unwrap_or_default())
    }

    /// The first twelve hexadecimal digits, as shown to people.
    #[must_use]
    pub fn short(&self) -> String {
        self.hex().chars().take(12).collect()
    }

    /// The first sixteen, as commands name it: enough to be unique, short enough to type.
    #[must_use]
    pub fn in_command(&self) -> String {
        self.hex().chars().take(16).collect()
    }

    /// The digest whose 32 bytes these are.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Whether `text` names this digest: with or without `sha256:`, in full or as a prefix of at
    /// least eight digits.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let text = text.strip_prefix(PREFIX).unwrap_or(text);
        text.len() >= 8 && self.hex().starts_with(&text.to_ascii_lowercase())
    }
}

/// Why at once: digests are most of the text of an event, and a digit at a time costs more than
/// the digest itself.
fn write_hex(bytes: &[u8; 32], digits: &mut [u8]) {
    for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        *pair = [hex_digit(byte >> 4), hex_digit(byte & 15)];
    }
}

const fn hex_digit(nibble: u8) -> u8 {
    match nibble {
        0..10 => b'0' + nibble,
        _ => b'a' + (nibble & 15) - 10,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| f.write_str(text))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A text that is no digest.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{text}` is not a digest: expected `sha256:` and 64 hexadecimal digits")]
pub struct DigestError {
    text: String,
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || DigestError {
            text: text.to_owned(),
        };
        let hex = text.strip_prefix(PREFIX).ok_or_else(error)?;
        let digits: Option<Vec<u8>> = hex
            .chars()
            .map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok()))
            .collect();
        let digits = digits.ok_or_else(error)?;
        let bytes: Vec<u8> = digits
            .chunks_exact(2)
            .map(|pair| pair.iter().fold(0u8, |byte, digit| (byte << 4) | digit))
            .collect();
        <[u8; 32]>::try_from(bytes)
            .ok()
            .filter(|_| digits.len() == 64)
            .map(Self)
            .ok_or_else(error)
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.with_text(|text| serializer.serialize_str(text))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// The canonical (RFC 8785) text of a value: sorted keys, no spaces, shortest numbers.
///
/// INVARIANT: called only on values whose numbers passed [`normalize`] or came from a text that
/// did, so that no two different integers print alike.
#[must_use]
pub fn canonical(value: &Value) -> String {
    // Why the reference for the rest: only a number beyond ±2^53 is refused.
    serial::canonical_of_value(value).unwrap_or_else(|_| reference(value))
}

/// The canonical text of a map, from the canonical texts of its values; names are plain words, and
/// each stands there once.
pub(crate) fn canonical_map(mut entries: Vec<(&str, String)>) -> String {
    entries.sort_unstable_by_key(|(name, _)| *name);
    // Why the more: two quotes, a colon and a comma for each.
    let each = entries
        .iter()
        .map(|(name, value)| name.len() + value.len() + 4);
    let mut text = String::with_capacity(each.sum::<usize>() + 2);
    text.push('{');
    for (at, (name, value)) in entries.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        write_text(&mut text, name);
        text.push(':');
        text.push_str(value);
    }
    text.push('}');
    text
}

/// As the reference implementation writes it.
fn reference(value: &Value) -> String {
    serde_json_canonicalizer::to_string(value).unwrap_or_else(|_| value.to_string())
}

/// Writes a text in quotes, as its canonical form is; what needs no escape, which is nearly all,
/// is copied.
pub fn write_text(text: &mut String, inner: &str) {
    let escaped = |byte: u8| (byte < b' ') | (byte == b'"') | (byte == b'\\');
    // Why to the end: many bytes are looked at in one step where none decides.
    if !inner.bytes().fold(false, |any, byte| any | escaped(byte)) {
        text.push('"');
        text.push_str(inner);
        text.push('"');
    } else {
        let written = serde_json_canonicalizer::to_string(&inner);
        text.push_str(&written.unwrap_or_default());
    }
}

/// Writes a number as its canonical form is.
pub fn write_number(text: &mut String, number: impl Into<serde_json::Number>) {
    let number = number.into();
    match number.as_i64() {
        Some(small) if small.unsigned_abs() <= INTEGER_MAX.unsigned_abs() => {
            text.push_str(itoa::Buffer::new().format(small));
        }
        _ => text.push_str(&reference(&Value::Number(number))),
    }
}

/// A number outside the range in which every reader agrees.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("the integer {number} is beyond ±2^53, where readers disagree on its value")]
pub struct NumberError {
    /// The number as written.
    pub number: String,
}

/// Brings a value into the form that is digested and sent: `1.0` becomes `1`; an integer beyond
/// ±2^53 is refused.
///
/// # Errors
/// [`NumberError`] names the first number that cannot be held exactly.
pub fn normalize(value: Value) -> Result<Value, NumberError> {
    match value {
        Value::Number(number) => normalize_number(&number).map(Value::Number),
        Value::Array(items) => items
            .into_iter()
            .map(normalize)
            .collect::<Result<_, _>>()
            .map(Value::Array),
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| Ok((key, normalize(value)?)))
            .collect::<Result<_, _>>()
            .map(Value::Object),
        other => Ok(other),
    }
}

/// [`normalize`] for one number.
///
/// # Errors
/// [`NumberError`] if the number is an integer beyond ±2^53.
pub fn normalize_number(number: &serde_json::Number) -> Result<serde_json::Number, NumberError> {
    let error = || NumberError {
        number: number.to_string(),
    };
    if let Some(integer) = number.as_i64() {
        return (integer.unsigned_abs() <= INTEGER_MAX.unsigned_abs())
            .then(|| number.clone())
            .ok_or_else(error);
    }
    let float = number.as_f64().ok_or_else(error)?;
    if float.fract() == 0.0 {
        // Why: 2^53 is exact in an f64, so the comparison is too.
        #[expect(clippy::cast_precision_loss, reason = "2^53 is exact in f64")]
        if float.abs() > INTEGER_MAX as f64 {
            return Err(error());
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the range was checked above"
        )]
        return Ok(serde_json::Number::from(float as i64));
    }
    serde_json::Number::from_f64(float).ok_or_else(error)
}

#[cfg(test)]
pub(crate) mod tests {
    #![expect(clippy::expect_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    pub(crate) fn any_value() -> impl Strategy<Value = Value> {
        let text = || proptest::string::string_regex(".{0,6}").expect("a pattern");
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            text().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::btree_map(text(), inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().rev().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn as_the_reference_writes_it(value in any_value()) {
            let reference = serde_json_canonicalizer::to_string(&value).expect("a text");
            prop_assert_eq!(canonical(&value), reference);
        }
    }

    #[test]
    fn keys_sort_by_utf_16_and_texts_are_escaped() {
        let value =
            json!({ "\u{e000}": 1, "\u{1f600}": 2, "a": "\u{7}\n\"\\é\u{2028}", "b": 1e21 });
        let reference = serde_json_canonicalizer::to_string(&value).expect("a text");
        assert_eq!(canonical(&value), reference);
        assert!(
            reference.starts_with("{\"a\":\"\\u0007\\n\\\""),
            "{reference}"
        );
        assert!(reference.find('\u{1f600}') < reference.find('\u{e000}'));
        let turned = json!({ "b": [], "a": { "z": 1, "y": 2 } });
        assert_eq!(canonical(&turned), "{\"a\":{\"y\":2,\"z\":1},\"b\":[]}");
        let parts = vec![("b", canonical(&json!([1]))), ("a", canonical(&json!("x")))];
        assert_eq!(
            canonical_map(parts),
            canonical(&json!({ "a": "x", "b": [1] }))
        );
    }
}
