//! Whether a plan is found again in a journal, which holds its canonical form.
//!
//! Owns the answer, and what needs no reading to know it. INVARIANT: a document that is surely
//! found again is, which a property test compares with reading it.

use serde_json::Value;

use super::{is_unwritable, written};
use crate::diagnostic::Diagnostic;
use crate::limits::{SOURCE_BYTES_MAX, SOURCE_NODES_MAX};
use crate::node::parse_yaml;

/// What is left of the bounds of a text while a document is looked through.
struct Room {
    bytes: usize,
    values: usize,
}

/// Whether a document is plainly found again: it has room, and nothing in it is written in a way
/// that somebody could read otherwise.
#[must_use]
pub fn is_surely_read_back(value: &Value) -> bool {
    let mut room = Room {
        bytes: SOURCE_BYTES_MAX,
        // Why half: whoever counts may count keys too.
        values: SOURCE_NODES_MAX / 2,
    };
    room.holds(value).is_some()
}

/// The document that is read where the canonical form of `value` stands.
///
/// Why no plan: a plan is a function of its document, so one that was read from the same document
/// is read from it again.
///
/// # Errors
/// Why its text cannot be read.
pub fn document_read_back(value: &Value) -> Result<Value, Box<Diagnostic>> {
    Ok(parse_yaml(&written(value))?.to_value())
}

impl Room {
    fn holds(&mut self, value: &Value) -> Option<()> {
        self.values = self.values.checked_sub(1)?;
        match value {
            Value::Null | Value::Bool(_) => self.takes(6),
            // Why no other: their texts are as long as they like.
            Value::Number(number) if number.is_i64() => self.takes(24),
            Value::Number(_) => None,
            Value::String(text) => self.holds_text(text),
            Value::Array(items) => {
                self.takes(3)?;
                items.iter().try_for_each(|item| self.holds(item))
            }
            Value::Object(map) => {
                self.takes(3)?;
                map.iter().try_for_each(|(key, value)| {
                    self.holds_text(key)?;
                    self.holds(value)
                })
            }
        }
    }

    fn holds_text(&mut self, text: &str) -> Option<()> {
        let mut escapes = 0;
        let mut odd = false;
        for byte in text.bytes() {
            escapes += usize::from(matches!(byte, b'\n' | b'\t' | b'"' | b'\\'));
            odd |= (byte < b' ' && !matches!(byte, b'\n' | b'\t')) | (byte == 0x7f);
        }
        let is_plain = !odd && (text.is_ascii() || !text.chars().any(is_unwritable));
        self.takes(text.len() + escapes + 4).filter(|()| is_plain)
    }

    fn takes(&mut self, bytes: usize) -> Option<()> {
        self.bytes = self.bytes.checked_sub(bytes)?;
        Some(())
    }
}
