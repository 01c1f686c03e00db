//! How deep the conditions of a policy may be nested, and how many policies there may be.
//!
//! Owns both bounds; the first is looked at before Cedar reads a text: Cedar, and we after it, walk
//! a condition by recursion, and a text of a few kilobytes would take more stack than there is.
//! Never judges what a condition says. INVARIANT: a chain of operators counts as deep as it is
//! long, for it is read as one operation inside the other.

use super::load::Finding;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::limits::{POLICIES_MAX, POLICY_DEPTH_MAX};
use crate::source::{Source, Span};

/// The finding at the place where a policy of `source` becomes too deep.
pub(super) fn too_deep(source: &Source) -> Option<Finding> {
    let span = Depth::default().passed_in(&source.text)?;
    let message = format!("a condition may be {POLICY_DEPTH_MAX} operations deep");
    let finding = Diagnostic::new(Code::BadPolicy, span, message).hint(
        "write a long chain of `||` as several policies, or as `[…].contains(…)`; an `if` inside \
         an `if` as several policies",
    );
    Some((source.clone(), finding))
}

/// The finding at the file with which there are too many policies.
pub(super) fn too_many(policies: usize, source: &Source) -> Option<Finding> {
    let message = format!("there are more than {POLICIES_MAX} policies");
    let finding = Diagnostic::new(Code::BadPolicy, Span::default(), message)
        .hint("one policy can be about many operations: `action in [ … ]`");
    (policies > POLICIES_MAX).then(|| (source.clone(), finding))
}

/// How deep the text is nested where it is read.
#[derive(Default)]
struct Depth {
    /// One for each open bracket.
    levels: Vec<Level>,
    here: Level,
    /// What the open brackets come to.
    above: usize,
}

/// A chain of operations between two brackets.
#[derive(Clone, Copy, Default)]
struct Level {
    /// `||`, and what holds all that follows: `if`, `when`.
    choices: usize,
    /// `&&`, since the last of those.
    terms: usize,
    /// Any other operation, since the last of either.
    others: usize,
}

impl Level {
    fn depth(self) -> usize {
        self.choices + self.terms + self.others
    }
}

impl Depth {
    /// Where it passes the bound.
    fn passed_in(mut self, text: &str) -> Option<Span> {
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let len = token(rest);
            self.take(rest.get(..len).unwrap_or(rest));
            if self.above + self.here.depth() > POLICY_DEPTH_MAX {
                return Some(Span::new(at, at + len));
            }
            at += len;
        }
        None
    }

    fn take(&mut self, token: &str) {
        match token {
            "(" | "[" | "{" => {
                self.here.others += 1;
                self.above += self.here.depth();
                self.levels.push(self.here);
                self.here = Level::default();
            }
            ")" | "]" | "}" => {
                let before = self.levels.pop().unwrap_or_default();
                self.above = self.above.saturating_sub(before.depth());
                self.here = before;
            }
            ";" => *self = Self::default(),
            "," => self.here = Level::default(),
            "||" | "if" | "when" | "unless" => {
                self.here = Level {
                    choices: self.here.choices + 1,
                    ..Level::default()
                }
            }
            "&&" => {
                self.here = Level {
                    choices: self.here.choices,
                    terms: self.here.terms + 1,
                    others: 0,
                }
            }
            "." | "!" | "-" | "+" | "*" | "has" | "like" | "in" | "is" | "==" | "!=" | "<"
            | "<=" | ">" | ">=" => self.here.others += 1,
            _ => {}
        }
    }
}

/// The length of what a text begins with: a word, a string, a comment, an operator or one letter.
fn token(text: &str) -> usize {
    let until = |from: usize, ends: fn(char) -> bool| {
        let rest = text.get(from..).unwrap_or_default();
        rest.find(ends).map_or(text.len(), |len| from + len)
    };
    let word = |c: char| c.is_alphanumeric() || c == '_';
    match text.chars().next() {
        Some('"') => string(text),
        Some('/') if text.starts_with("//") => until(2, |c| c == '\n' || c == '\r'),
        Some(first) if word(first) => until(0, |c| !(c.is_alphanumeric() || c == '_')),
        Some(first) => {
            let two = ["||", "&&", "==", "!=", "<=", ">=", "::"];
            let long = two.iter().any(|two| text.starts_with(two));
            if long { 2 } else { first.len_utf8() }
        }
        None => 0,
    }
}

/// The length of the string that a text begins with.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth_is_passed(text: &str) -> Option<String> {
        let span = Depth::default().passed_in(text)?;
        text.get(span.start..span.end).map(str::to_owned)
    }

    #[test]
    fn what_counts_as_deep() {
        let condition =
            |text: &str| format!("permit (principal, action, resource) when {{ {text} }};");
        let chain = |of: &str, by: &str, times: usize| vec![of; times].join(by);
        let much = POLICY_DEPTH_MAX + 1;
        for (text, at) in [
            (chain("true", " || ", much), "||"),
            (chain("true", " && ", much), "&&"),
            (format!("1 < {}", chain("1", " + ", much)), "+"),
            (format!("{}true", "!".repeat(much)), "!"),
            (format!("{}1 == 1", "-".repeat(much)), "-"),
            (format!("{}true{}", "(".repeat(much), ")".repeat(much)), "("),
            (
                format!("{}1{} == [1]", "[".repeat(much), "]".repeat(much)),
                "[",
            ),
            (
                format!("{}true", "if true then false else ".repeat(much)),
                "if",
            ),
            (format!("context{} == 1", ".a".repeat(much)), "."),
            (format!("(true || {})", chain("true", " || ", much)), "||"),
        ] {
            assert_eq!(
                depth_is_passed(&condition(&text)).as_deref(),
                Some(at),
                "{text}"
            );
        }
        let clauses = "when { true } ".repeat(much);
        assert_eq!(depth_is_passed(&clauses).as_deref(), Some("{"));
        let half = POLICY_DEPTH_MAX / 2 - 4;
        for text in [
            chain("context.args.amount < 1", " && ", half),
            chain("(1 == 1)", " || ", half),
            format!("[{}].contains(1)", chain("1", ",", 10 * much)),
            format!("context.x == \"{}\"", "\\\" || ".repeat(much)),
            format!("true // {}\n", "|| ".repeat(much)),
        ] {
            assert_eq!(depth_is_passed(&condition(&text)), None, "{text}");
        }
        let many = condition(&chain("true", " || ", half)).repeat(much);
        assert_eq!(depth_is_passed(&many), None, "each policy counts by itself");
    }
}
