//! Redaction: known secret values taken out of bytes, texts and JSON.
//!
//! Owns the forms in which a value may come back: as it is, escaped in JSON, percent-encoded, in
//! base64 at any alignment, in hexadecimal. Knows no patterns: only values that are secrets are
//! taken out. INVARIANT: nothing that [`Redactor::redact`] returns holds one of these forms, and
//! nothing that [`Redactor::redact_cut`] returns ends in the beginning of one.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::secret::Secret;

/// What stands where a secret stood.
const MARK: &[u8] = b"[redacted]";
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Replaces the values of secrets, in every form that they may take, by a mark.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Every form of every value, longest first.
    needles: Vec<Vec<u8>>,
    /// The bytes with which one of them begins.
    first: BTreeSet<u8>,
}

/// Says nothing of what it knows.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactor")
    }
}

impl Redactor {
    /// A redactor that knows these secrets.
    pub fn new<'s>(secrets: impl IntoIterator<Item = &'s Secret>) -> Self {
        Self::of_values(secrets.into_iter().map(Secret::expose))
    }

    /// A redactor that knows these values, which are no secrets of a configuration.
    pub fn of_values<'v>(values: impl IntoIterator<Item = &'v str>) -> Self {
        let mut needles = Vec::new();
        for value in values {
            forms(value, &mut needles);
        }
        needles.sort_by_key(|needle| std::cmp::Reverse(needle.len()));
        needles.dedup();
        let first = needles.iter().filter_map(|n| n.first().copied()).collect();
        Self { needles, first }
    }

    /// Whether there is nothing to take out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// The bytes with a mark in place of every secret.
    #[must_use]
    pub fn redact(&self, bytes: &[u8]) -> Vec<u8> {
        if self.needles.is_empty() {
            return bytes.to_vec();
        }
        let mut clean = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some((first, tail)) = rest.split_first() {
            let found = if self.first.contains(first) {
                self.needle_at(rest)
            } else {
                None
            };
            // Why: the mark stays between what stood around a secret, so that no two halves meet.
            match found {
                Some(length) => {
                    clean.extend_from_slice(MARK);
                    rest = rest.get(length..).unwrap_or_default();
                }
                None => {
                    clean.push(*first);
                    rest = tail;
                }
            }
        }
        clean
    }

    /// The bytes without the secrets, where they were cut off at their end: the beginning of a
    /// secret that stands there goes with it, since it may be all of it but one character.
    #[must_use]
    pub fn redact_cut(&self, bytes: &[u8]) -> Vec<u8> {
        let mut clean = self.redact(bytes);
        let begun = self
            .needles
            .iter()
            .filter_map(|needle| begun(needle, &clean));
        if let Some(length) = begun.max() {
            clean.truncate(clean.len() - length);
            clean.extend_from_slice(MARK);
        }
        clean
    }

    /// The bytes without the secrets, where something before them was cut off: the end of a secret
    /// that stands at their beginning goes with it.
    #[must_use]
    pub fn redact_rest(&self, bytes: &[u8]) -> Vec<u8> {
        let clean = self.redact(bytes);
        let ended = self
            .needles
            .iter()
            .filter_map(|needle| ended(needle, &clean));
        match ended.max().and_then(|length| clean.get(length..)) {
            Some(rest) => [MARK, rest].concat(),
            None => clean,
        }
    }

    fn needle_at(&self, rest: &[u8]) -> Option<usize> {
        self.needles
            .iter()
            .find(|needle| rest.starts_with(needle))
            .map(Vec::len)
    }

    /// Whether a text holds one of the secrets, in any form.
    #[must_use]
    pub fn finds_in(&self, text: &str) -> bool {
        !self.needles.is_empty() && self.redact(text.as_bytes()) != text.as_bytes()
    }

    /// The text with a mark in place of every secret.
    #[must_use]
    pub fn redact_text(&self, text: &str) -> String {
        if self.needles.is_empty() {
            return text.to_owned();
        }
        String::from_utf8_lossy(&self.redact(text.as_bytes())).into_owned()
    }

    /// The value without the secrets, keys included.
    #[must_use]
    pub fn redact_value(&self, value: Value) -> Value {
        if self.needles.is_empty() {
            return value;
        }
        match value {
            Value::String(text) => Value::String(self.redact_text(&text)),
            Value::Array(items) => items
                .into_iter()
                .map(|item| self.redact_value(item))
                .collect(),
            Value::Object(map) => Value::Object(
                map.into_iter()
                    .map(|(key, value)| (self.redact_text(&key), self.redact_value(value)))
                    .collect::<Map<_, _>>(),
            ),
            other => other,
        }
    }
}

/// Adds every form of one value.
fn forms(value: &str, needles: &mut Vec<Vec<u8>>) {
    let bytes = value.as_bytes();
    needles.push(bytes.to_vec());
    let quoted = Value::from(value).to_string();
    let escaped = quoted.get(1..quoted.len() - 1).unwrap_or(value);
    needles.push(escaped.as_bytes().to_vec());
    // Why: some writers escape the slash, which JSON allows and does not ask for.
    needles.push(escaped.replace('/', "\\/").into_bytes());
    let encoded = percent(value);
    needles.push(lower_escapes(&encoded));
    needles.push(encoded.replace("%20", "+").into_bytes());
    needles.push(encoded.into_bytes());
    for alignment in 0..3 {
        let standard = base64_inside(bytes, alignment);
        let url = standard.iter().map(|byte| match byte {
            b'+' => b'-',
            b'/' => b'_',
            other => *other,
        });
        needles.push(url.collect());
        needles.push(standard);
    }
    let hex = |upper: bool| {
        bytes
            .iter()
            .flat_map(|byte| {
                let text = if upper {
                    format!("{byte:02X}")
                } else {
                    format!("{byte:02x}")
                };
                text.into_bytes()
            })
            .collect::<Vec<_>>()
    };
    needles.push(hex(false));
    needles.push(hex(true));
}

/// How many bytes of the beginning of `needle` stand at the end of `bytes`, if any do.
fn begun(needle: &[u8], bytes: &[u8]) -> Option<usize> {
    let most = needle.len().saturating_sub(1).min(bytes.len());
    let stands = |length: &usize| {
        needle
            .get(..*length)
            .is_some_and(|part| bytes.ends_with(part))
    };
    (1..=most).rev().find(stands)
}

/// How many bytes at the beginning of a text are the end of a needle.
fn ended(needle: &[u8], bytes: &[u8]) -> Option<usize> {
    let most = needle.len().saturating_sub(1).min(bytes.len());
    let stands = |length: &usize| {
        needle
            .get(needle.len() - *length..)
            .is_some_and(|part| bytes.starts_with(part))
    };
    (1..=most).rev().find(stands)
}

/// The same with `%2F` written `%2f`.
fn lower_escapes(encoded: &str) -> Vec<u8> {
    let mut lower = Vec::with_capacity(encoded.len());
    let mut escape = 0u8;
    for byte in encoded.bytes() {
        escape = if byte == b'%' { 3 } else { escape };
        lower.push(if escape > 0 {
            byte.to_ascii_lowercase()
        } else {
            byte
        });
        escape = escape.saturating_sub(1);
    }
    lower
}

fn percent(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// The characters of base64 that these bytes alone decide when they stand `alignment` bytes into
/// a group of three.
fn base64_inside(bytes: &[u8], alignment: usize) -> Vec<u8> {
    let bit = |index: usize| -> Option<u8> {
        let byte = bytes.get((index / 8).checked_sub(alignment)?)?;
        Some((byte >> (7 - index % 8)) & 1)
    };
    let bits = (alignment + bytes.len()) * 8;
    let first = (alignment * 8).div_ceil(6);
    (first..bits / 6)
        .filter_map(|group| {
            let mut index = 0usize;
            for offset in 0..6 {
                index = index * 2 + usize::from(bit(group * 6 + offset)?);
            }
            BASE64.get(index).copied()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::string_slice, reason = "tests")]

    use proptest::prelude::*;
    use serde_json::json;

    use super::{BASE64, Redactor};
    use crate::secret::Secret;

    const VALUE: &str = "s3cr\"t/v\\lue é+1";

    fn redactor() -> Redactor {
        Redactor::new([&Secret::new(VALUE)])
    }

    /// Base64 written in another way than the code under test does it.
    fn base64(bytes: &[u8]) -> String {
        let mut text = String::new();
        for chunk in bytes.chunks(3) {
            let word = chunk
                .iter()
                .fold(0u32, |word, b| (word << 8) | u32::from(*b))
                << (8 * (3 - chunk.len()));
            for place in 0..=chunk.len() {
                let index = (word >> (18 - 6 * place)) & 63;
                text.push(char::from(
                    *BASE64.get(usize::try_from(index).unwrap()).unwrap(),
                ));
            }
        }
        text
    }

    #[test]
    fn every_form_is_taken_out() {
        let upper = "s3cr%22t%2Fv%5Clue%20%C3%A9%2B1";
        let hex = VALUE
            .bytes()
            .map(|b| format!("{b:02x}"))
            .collect::<String>();
        let forms = [
            VALUE.to_owned(),
            json!(VALUE).to_string(),
            json!(VALUE).to_string().replace('/', "\\/"),
            upper.to_owned(),
            upper.replace("%20", "+"),
            upper
                .replace("%2F", "%2f")
                .replace("%5C", "%5c")
                .replace("%C3%A9%2B", "%c3%a9%2b"),
            hex.to_uppercase(),
            hex,
        ];
        for form in forms {
            let text = format!("before {form} after");
            let clean = redactor().redact_text(&text);
            assert!(clean.contains("[redacted]"), "{form}: {clean}");
            assert!(
                clean.starts_with("before ") && clean.ends_with(" after"),
                "{clean}"
            );
            // The control: without the secret nothing changes.
            assert_eq!(Redactor::default().redact_text(&text), text);
        }
    }

    #[test]
    fn the_beginning_of_a_secret_at_a_cut_goes_with_it() {
        let hex: String = VALUE.bytes().map(|b| format!("{b:02x}")).collect();
        for form in [VALUE.to_owned(), base64(VALUE.as_bytes()), hex] {
            let text = format!("{VALUE} before {form}");
            for cut in 1..form.len().min(20) {
                let Some(cut) = text.get(..text.len() - cut) else {
                    continue;
                };
                let clean = String::from_utf8(redactor().redact_cut(cut.as_bytes())).unwrap();
                let rest = clean.strip_prefix("[redacted] before ").unwrap();
                assert!(rest.is_empty() || rest.starts_with("[redacted]"), "{clean}");
                assert!(rest.len() < "[redacted]".len() + 3, "{clean}");
            }
        }
        // The same where the beginning was cut off.
        let text = format!("{VALUE} behind");
        for from in 1..VALUE.len() {
            if let Some(rest) = text.get(from..) {
                let clean = String::from_utf8(redactor().redact_rest(rest.as_bytes())).unwrap();
                assert_eq!(clean, "[redacted] behind");
            }
        }
        assert_eq!(redactor().redact_rest(b" behind"), b" behind");
        // The controls: what is whole stays whole, and what was cut elsewhere loses nothing.
        let whole = format!("before {VALUE}");
        assert_eq!(
            redactor().redact_cut(whole.as_bytes()),
            b"before [redacted]"
        );
        assert_eq!(
            redactor().redact_cut(b"before and after"),
            b"before and after"
        );
        let most = VALUE.get(..8).unwrap();
        assert_eq!(redactor().redact_text(most), most, "an end is no cut");
    }

    #[test]
    fn values_are_redacted_to_the_leaves() {
        let value = json!({"a": [VALUE, 1, null], VALUE: {"b": format!("x{VALUE}")}, "c": "fine"});
        assert_eq!(
            redactor().redact_value(value),
            json!({"a": ["[redacted]", 1, null], "[redacted]": {"b": "x[redacted]"}, "c": "fine"})
        );
    }

    proptest! {
        #[test]
        fn base64_of_any_surroundings_hides_nothing(
            before in proptest::collection::vec(any::<u8>(), 0..7),
            after in proptest::collection::vec(any::<u8>(), 0..7),
        ) {
            let mut whole = before.clone();
            whole.extend_from_slice(VALUE.as_bytes());
            whole.extend_from_slice(&after);
            let text = base64(&whole);
            let url = text.replace('+', "-").replace('/', "_");
            for text in [text, url] {
                prop_assert!(redactor().redact_text(&text).contains("[redacted]"), "{}", text);
            }
        }

        #[test]
        fn nothing_is_left(cut in 1usize..15, noise in "[a-z]{0,5}") {
            prop_assume!(VALUE.is_char_boundary(cut));
            // A value inside a value: taking the inner one out must not leave the outer one.
            let nested = format!("{}{VALUE}{}{noise}", &VALUE[..cut], &VALUE[cut..]);
            let clean = redactor().redact_text(&nested);
            prop_assert!(!clean.contains(VALUE), "{}", clean);
        }
    }
}
