//! Where a byte of a scalar's text stands in the source it was written in.
//!
//! Owns the alignment of decoded YAML with its source: plain, quoted and block scalars. INVARIANT:
//! a span made here lies inside the scalar's span; what cannot be aligned falls back to it.

use crate::source::Span;

/// The map from a scalar's text to its source.
#[derive(Clone, Debug)]
pub(crate) struct Offsets {
    whole: Span,
    /// The source offset of each byte of the text and of its end; none if they do not align.
    starts: Option<Vec<usize>>,
}

/// Longer texts are not aligned: their expressions are placed at the scalar as a whole.
const ALIGNED_BYTES_MAX: usize = 64 * 1024;

impl Offsets {
    pub(crate) fn new(text: &str, whole: Span, source: &str) -> Self {
        let starts = source
            .get(whole.start..whole.end)
            .filter(|_| text.len() <= ALIGNED_BYTES_MAX)
            .and_then(|written| align(text.as_bytes(), written))
            .map(|starts| starts.iter().map(|at| whole.start + at).collect());
        Self { whole, starts }
    }

    /// The place of `start..end` of the text.
    pub(crate) fn span(&self, start: usize, end: usize) -> Span {
        let Some(starts) = &self.starts else {
            return self.whole;
        };
        let first = starts.get(start).copied().unwrap_or(self.whole.start);
        // Why: the end is one past where the last byte stands, not where the next one does.
        let last = end
            .checked_sub(1)
            .filter(|last| *last >= start)
            .and_then(|last| starts.get(last))
            .map_or(first, |at| at + 1);
        Span::new(first, last.max(first).min(self.whole.end))
    }
}

/// Where each byte of the text stands, in the first way of writing in which all of it does.
fn align(text: &[u8], written: &str) -> Option<Vec<usize>> {
    styles(text, written)
        .into_iter()
        .find_map(|(style, at)| align_as(style, text, written.as_bytes(), at))
}

fn align_as(style: OffsetStyle, text: &[u8], source: &[u8], mut at: usize) -> Option<Vec<usize>> {
    let mut starts = Vec::with_capacity(text.len() + 1);
    let mut next = 0;
    while let Some(&byte) = text.get(next) {
        if let Some(width) = escape(style, source, at, byte) {
            starts.push(at);
            at += width;
            next += 1;
        } else if byte.is_ascii_whitespace() {
            next = blanks(text, next, source, &mut at, &mut starts)?;
        } else if source.get(at) == Some(&byte) {
            starts.push(at);
            at += 1;
            next += 1;
        } else {
            return None;
        }
    }
    starts.push(at.min(source.len()));
    Some(starts)
}

/// How a scalar was written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OffsetStyle {
    Plain,
    Single,
    Double,
}

/// The ways in which a scalar may have been written, and where its text begins in each. Why
/// several: a block is given without its header, and its text may begin with any mark.
fn styles(text: &[u8], written: &str) -> [(OffsetStyle, usize); 2] {
    let blanks = |text: &str| text.len() - text.trim_start().len();
    // Why: what begins with blanks was not read from YAML, and stands there as it is.
    let indented = text.first().is_some_and(u8::is_ascii_whitespace);
    let plain = (
        OffsetStyle::Plain,
        if indented { 0 } else { blanks(written) },
    );
    let marked = match written.as_bytes().first() {
        Some(b'\'') => (OffsetStyle::Single, 1),
        Some(b'"') => (OffsetStyle::Double, 1),
        // Why: the body of a block begins on the line after its header, behind the indentation.
        Some(b'|' | b'>') => {
            let header = written.find('\n').unwrap_or(written.len());
            let body = written.get(header..).unwrap_or_default();
            (OffsetStyle::Plain, header + blanks(body))
        }
        _ => plain,
    };
    [marked, plain]
}

/// The width of the escape at `at` if it stands for `byte`.
fn escape(style: OffsetStyle, source: &[u8], at: usize, byte: u8) -> Option<usize> {
    let first = source.get(at)?;
    let second = source.get(at + 1);
    match style {
        OffsetStyle::Single => {
            (*first == b'\'' && second == Some(&b'\'') && byte == b'\'').then_some(2)
        }
        OffsetStyle::Double if *first == b'\\' => {
            let stands_for = match second? {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                plain @ (b'"' | b'\\' | b'/') => *plain,
                _ => return None,
            };
            (stands_for == byte).then_some(2)
        }
        OffsetStyle::Plain | OffsetStyle::Double => None,
    }
}

/// Aligns a run of blanks: indentation and folded line ends differ between text and source.
fn blanks(
    text: &[u8],
    mut next: usize,
    source: &[u8],
    at: &mut usize,
    starts: &mut Vec<usize>,
) -> Option<usize> {
    let written = source.get(*at..)?;
    let run = written
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count();
    let wanted = text.get(next..)?;
    let length = wanted
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count();
    if run == 0 && !(written.is_empty() && length == wanted.len()) {
        return None;
    }
    for offset in 0..length {
        starts.push(*at + offset.min(run));
    }
    next += length;
    *at += run;
    Some(next)
}
