//! Whether two schemas have a text in common, by their patterns and formats.
//!
//! Owns the proof that no text fits both: the automata of their patterns never accept together.
//! Knows no values but those that a schema lists. INVARIANT: what is said to be disjoint is a
//! proof; a pattern that is not understood, or is too large, may match anything.

use std::collections::BTreeSet;

use regex::Regex;
use regex_syntax::hir::{Class, Hir, HirKind, Look};
use serde_json::Value;

/// Most states of the automaton of one pattern.
const STATES_MAX: usize = 400;
/// Most pairs of states that are looked at.
const PAIRS_MAX: usize = 20_000;
/// Most alternatives of one schema.
const SHAPES_MAX: usize = 8;

/// One kind of text: patterns that all match, or the listed texts alone.
#[derive(Clone, Debug, Default)]
struct Shape {
    patterns: Vec<String>,
    listed: Option<Vec<String>>,
}

impl Shape {
    fn admits_any(&self, texts: &[String]) -> bool {
        // Why one that cannot be read is left out: it may match anything.
        let patterns = self.patterns.iter();
        let patterns: Vec<Regex> = patterns.filter_map(|text| Regex::new(text).ok()).collect();
        texts.iter().any(|text| {
            let is_listed = self.listed.as_ref().is_none_or(|all| all.contains(text));
            is_listed && patterns.iter().all(|pattern| pattern.is_match(text))
        })
    }
}

/// Whether both schemas admit texts and none in common; where that is not decided they do.
pub(super) fn are_disjoint(one: &Value, other: &Value) -> bool {
    let (Some(ones), Some(others)) = (shapes(one), shapes(other)) else {
        return false;
    };
    let some = !ones.is_empty() && !others.is_empty();
    some && ones
        .iter()
        .all(|a| others.iter().all(|b| shapes_differ(a, b)))
}

/// The kinds of text that a schema admits; nothing if that is not understood.
fn shapes(schema: &Value) -> Option<Vec<Shape>> {
    let Value::Object(fields) = schema else {
        return None;
    };
    if let Some(Value::Array(branches)) = fields.get("anyOf").or(fields.get("oneOf")) {
        let all: Option<Vec<Vec<Shape>>> = branches.iter().map(shapes).collect();
        let all: Vec<Shape> = all?.into_iter().flatten().collect();
        return (all.len() <= SHAPES_MAX).then_some(all);
    }
    let values = match (fields.get("enum"), fields.get("const")) {
        (Some(Value::Array(values)), _) => Some(values.clone()),
        (_, Some(value)) => Some(vec![value.clone()]),
        _ => None,
    };
    if let Some(values) = values {
        let texts = values.iter().filter_map(Value::as_str);
        let listed: Vec<String> = texts.map(str::to_owned).collect();
        let patterns = Vec::new();
        let shape = Shape {
            patterns,
            listed: Some(listed),
        };
        let is_empty = shape.listed.as_ref().is_some_and(Vec::is_empty);
        return Some(if is_empty { Vec::new() } else { vec![shape] });
    }
    let is_text = match fields.get("type") {
        Some(Value::String(name)) => name == "string",
        Some(Value::Array(names)) => names.iter().any(|name| name == "string"),
        _ => return None,
    };
    if !is_text {
        return Some(Vec::new());
    }
    let mut shape = Shape::default();
    let mut all = vec![fields];
    if let Some(Value::Array(parts)) = fields.get("allOf") {
        all.extend(parts.iter().filter_map(Value::as_object));
    }
    for fields in all {
        let text = |key: &str| fields.get(key).and_then(Value::as_str);
        shape.patterns.extend(text("pattern").map(str::to_owned));
        let format = text("format").and_then(of_format);
        shape.patterns.extend(format.map(str::to_owned));
    }
    Some(vec![shape])
}

/// A pattern that every text of a format matches.
fn of_format(format: &str) -> Option<&'static str> {
    Some(match format {
        "date" => "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
        "date-time" => "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[^ ]*$",
        "email" | "idn-email" => "^(\"[^\"]*\"|[^@ ]+)@[^ ]+$",
        "uuid" => "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
        "uri" | "iri" => "^[a-zA-Z][a-zA-Z0-9+.-]*:",
        "ipv4" => r"^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+$",
        _ => return None,
    })
}

fn shapes_differ(one: &Shape, other: &Shape) -> bool {
    match (&one.listed, &other.listed) {
        (Some(listed), _) => !other.admits_any(listed),
        (None, Some(listed)) => !one.admits_any(listed),
        (None, None) => {
            let pairs = one
                .patterns
                .iter()
                .flat_map(|a| other.patterns.iter().map(move |b| (a, b)));
            let mut pairs = pairs.filter(|(a, b)| a != b);
            pairs.any(|(a, b)| never_both(a, b) == Some(true))
        }
    }
}

/// Whether no text matches both patterns; nothing if that is not decided.
fn never_both(one: &str, other: &str) -> Option<bool> {
    let (one, other) = (Automaton::of(one)?, Automaton::of(other)?);
    let mut open = vec![(one.start, other.start, true, false)];
    let mut seen = BTreeSet::new();
    while let Some(here) = open.pop() {
        if !seen.insert(here) {
            continue;
        }
        if seen.len() > PAIRS_MAX {
            return None;
        }
        let (a, b, begins, ends) = here;
        let (from, to) = (one.states.get(a)?, other.states.get(b)?);
        if a == one.end && b == other.end {
            return Some(false);
        }
        for (next, look) in from.skips.iter() {
            if let Some(ended) = look.passes(begins) {
                open.push((*next, b, begins, ends || ended));
            }
        }
        for (next, look) in to.skips.iter() {
            if let Some(ended) = look.passes(begins) {
                open.push((a, *next, begins, ends || ended));
            }
        }
        // Why not behind an end: nothing is left to be read there.
        if ends {
            continue;
        }
        for (next, ranges) in &from.reads {
            for (other, others) in &to.reads {
                if meet(ranges, others) {
                    open.push((*next, *other, false, false));
                }
            }
        }
    }
    Some(true)
}

fn meet(one: &[(u32, u32)], other: &[(u32, u32)]) -> bool {
    let overlaps = |a: &(u32, u32), b: &(u32, u32)| a.0 <= b.1 && b.0 <= a.1;
    one.iter().any(|a| other.iter().any(|b| overlaps(a, b)))
}

/// What a step without a character asks for.
#[derive(Clone, Copy)]
enum Gate {
    Free,
    Begin,
    End,
}

impl Gate {
    /// Whether it can be passed, and whether the text has to end then.
    fn passes(self, begins: bool) -> Option<bool> {
        match self {
            Self::Free => Some(false),
            Self::Begin => begins.then_some(false),
            Self::End => Some(true),
        }
    }
}

#[derive(Default)]
struct State {
    skips: Vec<(usize, Gate)>,
    reads: Vec<(usize, Vec<(u32, u32)>)>,
}

struct Automaton {
    states: Vec<State>,
    start: usize,
    end: usize,
}

impl Automaton {
    /// That of a pattern that is found anywhere in a text.
    fn of(pattern: &str) -> Option<Self> {
        let hir = regex_syntax::parse(pattern).ok()?;
        let states = Vec::new();
        let mut automaton = Self {
            states,
            start: 0,
            end: 0,
        };
        let (before, after) = (automaton.state()?, automaton.state()?);
        let any = vec![(0, u32::from(char::MAX))];
        for at in [before, after] {
            automaton.states.get_mut(at)?.reads.push((at, any.clone()));
        }
        automaton.start = before;
        automaton.end = after;
        let end = automaton.add(&hir, before)?;
        automaton.skip(end, after, Gate::Free)?;
        Some(automaton)
    }

    fn state(&mut self) -> Option<usize> {
        self.states.push(State::default());
        (self.states.len() <= STATES_MAX).then(|| self.states.len() - 1)
    }

    fn skip(&mut self, from: usize, to: usize, gate: Gate) -> Option<()> {
        self.states.get_mut(from)?.skips.push((to, gate));
        Some(())
    }

    /// Adds what matches `hir` behind a state; the state behind it.
    fn add(&mut self, hir: &Hir, from: usize) -> Option<usize> {
        match hir.kind() {
            HirKind::Empty => Some(from),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).ok()?;
                let mut chars = text.chars().map(u32::from);
                chars.try_fold(from, |at, char| self.read(at, vec![(char, char)]))
            }
            HirKind::Class(Class::Unicode(class)) => {
                let ranges = class.ranges().iter();
                let ranges = ranges.map(|range| (range.start().into(), range.end().into()));
                self.read(from, ranges.collect())
            }
            HirKind::Class(Class::Bytes(_)) => None,
            HirKind::Look(look) => {
                let gate = match look {
                    Look::Start => Gate::Begin,
                    Look::End => Gate::End,
                    _ => return None,
                };
                let to = self.state()?;
                self.skip(from, to, gate)?;
                Some(to)
            }
            HirKind::Repetition(repetition) => {
                let mut at = from;
                for _ in 0..repetition.min {
                    at = self.add(&repetition.sub, at)?;
                }
                let Some(max) = repetition.max else {
                    let again = self.state()?;
                    self.skip(at, again, Gate::Free)?;
                    let end = self.add(&repetition.sub, again)?;
                    self.skip(end, again, Gate::Free)?;
                    return Some(again);
                };
                let end = self.state()?;
                for _ in repetition.min..max {
                    self.skip(at, end, Gate::Free)?;
                    at = self.add(&repetition.sub, at)?;
                }
                self.skip(at, end, Gate::Free)?;
                Some(end)
            }
            HirKind::Capture(capture) => self.add(&capture.sub, from),
            HirKind::Concat(parts) => parts.iter().try_fold(from, |at, part| self.add(part, at)),
            HirKind::Alternation(parts) => {
                let end = self.state()?;
                for part in parts {
                    let behind = self.add(part, from)?;
                    self.skip(behind, end, Gate::Free)?;
                }
                Some(end)
            }
        }
    }

    fn read(&mut self, from: usize, ranges: Vec<(u32, u32)>) -> Option<usize> {
        let to = self.state()?;
        self.states.get_mut(from)?.reads.push((to, ranges));
        Some(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn patterns_that_have_no_text_in_common() {
        for (one, other, disjoint) in [
            ("^L[0-9]{6}$", "^T[0-9]{5}$", true),
            ("^L[0-9]{6}$", "^L[0-9]{5}$", true),
            ("^L[0-9]{6}$", "^[A-Z][0-9]+$", false),
            ("^pay-", "^cus_", true),
            ("^pay-", "cus_", false),
            ("^[a-z]+$", "^[0-9]+$", true),
            ("^[a-z]*$", "^[0-9]*$", false),
            ("^(a|b)c$", "^[bd]c$", false),
            ("^(a|b)c$", "^dc$", true),
            ("^a|b$", "^c", false),
            ("^x{2,4}$", "^x{5,}$", true),
            ("^x{2,4}$", "^x{4,}$", false),
            (r"^\bx$", "^y$", false),
        ] {
            assert_eq!(
                never_both(one, other) == Some(true),
                disjoint,
                "{one} {other}"
            );
            assert_eq!(
                never_both(other, one) == Some(true),
                disjoint,
                "{other} {one}"
            );
        }
    }

    #[test]
    fn schemas_that_have_no_text_in_common() {
        let text = |pattern: &str| json!({ "type": "string", "pattern": pattern });
        let date = json!({ "type": "string", "format": "date" });
        let email = json!({ "type": ["string", "null"], "format": "email" });
        assert!(are_disjoint(&text("^SP-[0-9]{3}$"), &email));
        assert!(are_disjoint(&date, &email));
        assert!(are_disjoint(
            &json!({ "enum": ["a", "b"] }),
            &text("^[0-9]+$")
        ));
        assert!(!are_disjoint(
            &json!({ "enum": ["a", "1"] }),
            &text("^[0-9]+$")
        ));
        assert!(!are_disjoint(&json!({ "type": "string" }), &email));
        assert!(!are_disjoint(&json!({ "type": "integer" }), &email));
        let either = json!({ "anyOf": [text("^a$"), { "type": "null" }] });
        assert!(are_disjoint(&either, &text("^b$")));
        assert!(!are_disjoint(&json!({ "$ref": "#/x" }), &text("^b$")));
    }
}
