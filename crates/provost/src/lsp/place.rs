//! Places in a text as the Language Server Protocol counts them: lines from 0, UTF-16 units.
//!
//! Owns the way from bytes to a position and back. INVARIANT: every offset handed out lies on the
//! border of a character of its text.

use serde_json::{Value, json};

/// The position of a byte.
pub fn position(text: &str, byte: usize) -> Value {
    let mut byte = byte.min(text.len());
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    let before = text.get(..byte).unwrap_or_default();
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap_or_default();
    json!({ "line": line, "character": column.encode_utf16().count() })
}

/// The range of two bytes.
pub fn range(text: &str, start: usize, end: usize) -> Value {
    json!({ "start": position(text, start), "end": position(text, end) })
}

/// The byte of a position; the end of its line if it lies behind that.
pub fn byte(text: &str, position: &Value) -> usize {
    let number = |name: &str| {
        let value = position.get(name).and_then(Value::as_u64);
        value.and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
    };
    let mut start = 0;
    for _ in 0..number("line") {
        let rest = text.get(start..).unwrap_or_default();
        match rest.find('\n') {
            Some(end) => start += end + 1,
            None => return text.len(),
        }
    }
    let line = text.get(start..).unwrap_or_default();
    let line = line.split('\n').next().unwrap_or_default();
    let (mut units, mut at) = (0, start);
    for letter in line.chars() {
        if units >= number("character") {
            break;
        }
        units += letter.len_utf16();
        at += letter.len_utf8();
    }
    at
}
