//! What a regular expression costs: to compile it, and to search a text with it.
//!
//! Owns the two measures, of which the bounds of plans, schemas and expressions are made. Never
//! matches anything. INVARIANT: repetitions are counted written out, as an engine holds them.

use regex_syntax::hir::{Class, Hir, HirKind};

/// How large a pattern is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Ranges of characters, repetitions written out: what compiling it costs.
    pub(crate) ranges: usize,
    /// Places in it where a search can be at once: what one byte of a text costs at most.
    pub(crate) places: usize,
}

/// The size of a pattern; none of one that looks around, refers back or cannot be read. The time
/// that such a one takes grows with the text in no way that can be bounded.
pub(crate) fn size(pattern: &str) -> Option<Size> {
    let hir = regex_syntax::parse(pattern).ok()?;
    Some(Size {
        ranges: count(&hir, true),
        places: count(&hir, false),
    })
}

fn count(hir: &Hir, by_range: bool) -> usize {
    let sum = |parts: &[Hir]| {
        let counts = parts.iter().map(|part| count(part, by_range));
        counts.fold(0, usize::saturating_add)
    };
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Unicode(class)) if by_range => class.ranges().len(),
        HirKind::Class(Class::Bytes(class)) if by_range => class.ranges().len(),
        HirKind::Class(_) => 1,
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(repetition.min.saturating_add(1));
            let times = usize::try_from(most.max(1)).unwrap_or(usize::MAX);
            count(&repetition.sub, by_range).saturating_mul(times)
        }
        HirKind::Capture(capture) => count(&capture.sub, by_range),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pattern_costs() {
        let of = |pattern| size(pattern).map(|size| (size.ranges, size.places));
        assert_eq!(of("abc"), Some((3, 3)));
        assert_eq!(of("[a-c]|x"), Some((2, 2)));
        assert_eq!(of("^([a-c0-9]{3}){4}$"), Some((26, 14)));
        assert!(of(r"\p{L}").is_some_and(|(ranges, places)| ranges > 300 && places == 1));
        assert!(of("(((a{99}){99}){99}){99}").is_some_and(|(ranges, _)| ranges > 90_000_000));
        for unbounded in ["(?=a)b", "(?<!a)b", r"(a)\1", "("] {
            assert_eq!(of(unbounded), None, "{unbounded}");
        }
    }
}
