//! The forms of texts that are put together: what stands in them, and where something is left open.
//!
//! Owns the type of a text with expressions in it, however it is written: `"a ${ x }"`, `"a " + x`.
//! Reads no value. INVARIANT: each text that the parts can make has the form.

use serde_json::{Value, json};

use super::{Exact, Typed};
use crate::schema::{Kinds, Type};

/// What an expression inside a text may come to.
const GAP: &str = r"[\s\S]*";
/// Longest form of a text with expressions in it that is told apart, in bytes; of a longer one its
/// least length is known.
const PATTERN_BYTES_MAX: usize = 4_096;

/// What is known of a text of which the parts come one after the other.
pub(crate) struct TextForm {
    chars: usize,
    pattern: String,
    is_open: bool,
}

impl TextForm {
    /// That of no part.
    pub(crate) fn new() -> Self {
        Self {
            chars: 0,
            pattern: String::from("^"),
            is_open: false,
        }
    }

    /// A part that is written.
    pub(crate) fn push_text(&mut self, text: &str) {
        self.chars += text.chars().count();
        self.pattern.push_str(&regex_syntax::escape(text));
    }

    /// A part that may be anything.
    pub(crate) fn push_gap(&mut self) {
        self.is_open = true;
        // Why not one for each: two gaps side by side are one.
        if !self.pattern.ends_with(GAP) {
            self.pattern.push_str(GAP);
        }
    }

    /// An operand of `+`.
    pub(super) fn push(&mut self, operand: &Typed) {
        match &operand.exact {
            Exact::Value(Value::String(text)) => self.push_text(text),
            _ => self.push_gap(),
        }
    }

    /// The type of such a text.
    pub(crate) fn typed(mut self) -> Typed {
        self.pattern.push('$');
        let mut schema = json!({ "type": "string", "minLength": self.chars });
        if let Some(map) = schema.as_object_mut()
            && self.pattern.len() <= PATTERN_BYTES_MAX
        {
            map.insert("pattern".to_owned(), self.pattern.into());
        }
        Typed::ty(Type::of_json(&schema))
    }

    /// The same of what `+` made, where that is a text and something of it is known. Why not all:
    /// what is known to the last letter is a parameter, and compared as one.
    pub(super) fn of_chain(self, made: Typed) -> Typed {
        match made.kinds == Kinds::TEXT && self.chars > 0 && self.is_open {
            true => self.typed(),
            false => made,
        }
    }
}

/// Whether both sides are texts of forms that no text has both of.
pub(super) fn are_apart(a: &Typed, b: &Typed) -> bool {
    match (&a.exact, &b.exact) {
        (Exact::Type(one), Exact::Type(other)) => one.has_no_text_of(other),
        _ => false,
    }
}

/// What is said where [`is_apart_from_items`].
pub(super) const NEVER_IN: &str = "`in` is always false: no item has the form of this text";

/// Whether a text is of a form that no item of a list has.
pub(super) fn is_apart_from_items(text: &Typed, list: &Typed) -> bool {
    let item = match &list.exact {
        Exact::Type(list) => list.item(),
        _ => None,
    };
    item.is_some_and(|item| are_apart(text, &Typed::ty(item)))
}
