//! What a regular expression costs: to compile it, and to search a text with it; and texts like it.
//!
//! Owns the two measures, of which the bounds of plans, schemas and expressions are made, and the
//! texts at the edges of a pattern. Never matches anything. INVARIANT: repetitions are counted
//! written out, as an engine holds them.

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

/// How often a part is repeated beyond its least, where nothing says how often it may be.
const MORE: u32 = 80;
/// Longest text that is made up, in bytes.
const TEXT_BYTES_MAX: usize = 2_000;

/// Texts that are probably like a pattern for a whole text: the shortest, the longest, and some
/// between. Whoever uses one matches it first.
#[must_use]
pub fn edge_texts(pattern: &str) -> Vec<String> {
    // Why each: the fewest or the most repetitions, with the first or the last choice each time.
    let ends = |most: bool, last: bool| {
        like(pattern, &mut |few, choices| match few {
            Pick::Repetitions => {
                if most {
                    choices - 1
                } else {
                    0
                }
            }
            Pick::Choice => {
                if last {
                    choices - 1
                } else {
                    0
                }
            }
        })
    };
    let mut turn = 0usize;
    let mixed = |turn: &mut usize| {
        like(pattern, &mut |_, choices| {
            *turn = turn.wrapping_mul(31).wrapping_add(7);
            *turn % choices
        })
    };
    let mut texts: Vec<String> = [(false, false), (true, false), (false, true), (true, true)]
        .into_iter()
        .filter_map(|(most, last)| ends(most, last))
        .collect();
    for _ in 0..4 {
        turn += 1;
        texts.extend(mixed(&mut turn));
    }
    texts.sort();
    texts.dedup();
    texts
}

/// What is picked while a text is made up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// How often a part is repeated beyond its least.
    Repetitions,
    /// Which character, or which alternative.
    Choice,
}

/// A text like a pattern, as `pick` wants it: a number below the one it is given.
pub fn like(pattern: &str, pick: &mut dyn FnMut(Pick, usize) -> usize) -> Option<String> {
    let mut text = String::new();
    grow(&regex_syntax::parse(pattern).ok()?, pick, &mut text)?;
    Some(text)
}

fn grow(hir: &Hir, pick: &mut dyn FnMut(Pick, usize) -> usize, text: &mut String) -> Option<()> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(class) => text.push(letter(class, pick)?),
        HirKind::Repetition(repetition) => {
            let least = repetition.min;
            let most = repetition.max.unwrap_or(least.saturating_add(MORE));
            let choices = usize::try_from(most.saturating_sub(least)).ok()? + 1;
            let more = pick(Pick::Repetitions, choices);
            for _ in 0..usize::try_from(least).ok()? + more {
                grow(&repetition.sub, pick, text)?;
            }
        }
        HirKind::Capture(capture) => grow(&capture.sub, pick, text)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| grow(part, pick, text))?,
        HirKind::Alternation(parts) => {
            let at = pick(Pick::Choice, parts.len());
            grow(parts.get(at)?, pick, text)?;
        }
    }
    Some(())
}

/// A character of a class; one that can be printed, if it has any.
fn letter(class: &Class, pick: &mut dyn FnMut(Pick, usize) -> usize) -> Option<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.iter().map(|r| (r.start(), r.end())).collect(),
        Class::Bytes(class) => {
            let ranges = class.iter();
            ranges
                .map(|r| (char::from(r.start()), char::from(r.end())))
                .collect()
        }
    };
    let printed = ranges.iter().filter_map(|(from, to)| {
        let (from, to) = ((*from).max('!'), (*to).min('~'));
        (from <= to).then_some((from, to))
    });
    let printed: Vec<(char, char)> = printed.collect();
    let ranges = if printed.is_empty() { ranges } else { printed };
    let (from, to) = *ranges.get(pick(Pick::Choice, ranges.len().max(1)))?;
    let choices = u32::from(to) - u32::from(from) + 1;
    let more = pick(Pick::Choice, usize::try_from(choices).ok()?);
    char::from_u32(u32::from(from) + u32::try_from(more).ok()?)
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
