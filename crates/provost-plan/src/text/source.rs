//! Source files and byte spans: where in a text something stands.
//!
//! Owns the pair (name, text) that diagnostics are drawn over. Never reads a file itself.
//! INVARIANT: a span handed out for a source lies inside its text.

use std::sync::Arc;

/// A half-open range of bytes in a source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The span from `start` to `end`, in bytes.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self {
            start,
            end: end.max(start),
        }
    }

    /// The span from the start of this to the end of `other`.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self::new(self.start, other.end)
    }

    /// The span of `len` bytes that starts `offset` bytes into this one.
    #[must_use]
    pub fn sub(self, offset: usize, len: usize) -> Self {
        Self::new(self.start + offset, self.start + offset + len)
    }
}

/// A value with the place where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Pairs `value` with `span`.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

/// A named text: a plan, a playbook or a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name shown in diagnostics: a path as the user typed it, or `<planner>`.
    pub name: Arc<str>,
    /// The text.
    pub text: Arc<str>,
}

impl Source {
    /// A source called `name` that holds `text`.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
        }
    }

    /// One-based line and column (in characters) of a byte offset.
    #[must_use]
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let before = self
            .text
            .get(..offset.min(self.text.len()))
            .unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        (line, column)
    }
}
