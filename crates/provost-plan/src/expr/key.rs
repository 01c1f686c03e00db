//! The key of an entry in a map of arguments, and the mark `?` of one that may be left out.
//!
//! Owns how the mark is written: in front of the name, as CEL marks optional entries, and doubled
//! where the name itself begins with it. Judges no value. INVARIANT: a key that is written out and
//! read again is the same key.

use crate::source::Span;

/// The mark in front of a name.
const MARK: char = '?';

/// The key of a map of arguments, with the place where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    name: String,
    span: Span,
    may_be_left_out: bool,
}

impl Key {
    /// Reads the key of an entry that may have the mark: of the arguments of a call.
    #[must_use]
    pub fn marked(written: &str, span: Span) -> Self {
        let (name, may_be_left_out) = Self::parts(written);
        Self {
            name: name.to_owned(),
            span,
            may_be_left_out,
        }
    }

    /// A key that is what it says, such as a name in the request of a tool's entry.
    #[must_use]
    pub fn plain(name: &str, span: Span) -> Self {
        Self {
            name: name.to_owned(),
            span,
            may_be_left_out: false,
        }
    }

    /// The name of a key as a plan writes it, and whether its entry may be left out.
    #[must_use]
    pub fn parts(written: &str) -> (&str, bool) {
        match written.strip_prefix(MARK) {
            Some(name) if name.starts_with(MARK) => (name, false),
            Some(name) => (name, true),
            None => (written, false),
        }
    }

    /// How a plan writes the key of an entry that is always there.
    #[must_use]
    pub fn of_name(name: &str) -> String {
        match name.starts_with(MARK) {
            true => format!("{MARK}{name}"),
            false => name.to_owned(),
        }
    }

    /// The name, without the mark.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// The key as a plan writes it.
    #[must_use]
    pub fn written(&self) -> String {
        match self.may_be_left_out {
            true => format!("{MARK}{}", self.name),
            false => Self::of_name(&self.name),
        }
    }

    /// Where it stands.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span
    }

    /// Whether the entry is left out where its value is null.
    #[must_use]
    pub fn may_be_left_out(&self) -> bool {
        self.may_be_left_out
    }

    /// The same key of an entry that is always there.
    pub(super) fn without_mark(self) -> Self {
        Self {
            may_be_left_out: false,
            ..self
        }
    }
}

impl std::ops::Deref for Key {
    type Target = str;

    fn deref(&self) -> &str {
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_written_out_is_read_as_the_same() {
        let span = Span::default();
        for (written, name, may_be_left_out) in [
            ("note", "note", false),
            ("?note", "note", true),
            ("??note", "?note", false),
            ("???note", "??note", false),
            ("note?", "note?", false),
            ("?", "", true),
            ("", "", false),
        ] {
            let key = Key::marked(written, span);
            let found = (key.as_str(), key.may_be_left_out());
            assert_eq!(found, (name, may_be_left_out), "{written}");
            assert_eq!(key.written(), written);
        }
        for name in ["note", "?note", "??note"] {
            let key = Key::marked(&Key::of_name(name), span);
            assert_eq!((key.as_str(), key.may_be_left_out()), (name, false));
        }
    }
}
