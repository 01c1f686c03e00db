//! Texts that match a simple regular expression.
//!
//! Owns the few forms that schemas of tools use: classes, groups, alternatives, repetitions. Never
//! proves a match: whoever uses a text validates it. INVARIANT: a form it does not know gives a
//! text all the same.

use std::iter::Peekable;
use std::str::Chars;

use crate::rng::Rng;

/// A text that probably matches `pattern`.
pub(super) fn matching(pattern: &str, rng: &mut Rng) -> String {
    let mut chars = pattern.chars().peekable();
    alternatives(&mut chars, rng)
}

/// One of the alternatives up to the end of the group.
fn alternatives(chars: &mut Peekable<Chars<'_>>, rng: &mut Rng) -> String {
    let mut all = vec![String::new()];
    while let Some(c) = chars.next() {
        let atom: Vec<String> = match c {
            ')' => break,
            '|' => {
                all.push(String::new());
                continue;
            }
            '^' | '$' => continue,
            '(' => {
                if chars.peek() == Some(&'?') {
                    chars.next();
                    chars.next();
                }
                vec![alternatives(chars, rng)]
            }
            '[' => class(chars),
            '.' => vec!["x".to_owned()],
            '\\' => escaped(chars.next()),
            other => vec![other.to_string()],
        };
        let count = repetitions(chars, rng);
        if let Some(last) = all.last_mut() {
            for _ in 0..count {
                let at = rng.between(0, i64::try_from(atom.len()).unwrap_or(1) - 1);
                last.extend(
                    usize::try_from(at)
                        .ok()
                        .and_then(|at| atom.get(at).cloned()),
                );
            }
        }
    }
    let at = rng.between(0, i64::try_from(all.len()).unwrap_or(1) - 1);
    let at = usize::try_from(at).unwrap_or(0);
    all.into_iter().nth(at).unwrap_or_default()
}

fn escaped(c: Option<char>) -> Vec<String> {
    match c {
        Some('d') => ('0'..='9').map(String::from).collect(),
        Some('w') => ('a'..='z').map(String::from).collect(),
        Some('s') => vec![" ".to_owned()],
        Some('S') => vec!["x".to_owned()],
        Some(c) => vec![c.to_string()],
        None => Vec::new(),
    }
}

/// The letters of a class; of one that is negated, a letter that is rarely in it.
fn class(chars: &mut Peekable<Chars<'_>>) -> Vec<String> {
    let negated = chars.next_if_eq(&'^').is_some();
    let mut letters: Vec<char> = Vec::new();
    while let Some(c) = chars.next() {
        match c {
            ']' => break,
            '\\' => {
                let more = escaped(chars.next());
                letters.extend(more.iter().flat_map(|text| text.chars()));
            }
            '-' if !letters.is_empty() && chars.peek().is_some_and(|next| *next != ']') => {
                if let (Some(from), Some(to)) = (letters.last().copied(), chars.next()) {
                    letters.extend((from..=to).skip(1).take(64));
                }
            }
            other => letters.push(other),
        }
    }
    if negated {
        let free = ('a'..='z').chain('0'..='9').find(|c| !letters.contains(c));
        return free.map(String::from).into_iter().collect();
    }
    letters.into_iter().map(String::from).collect()
}

fn repetitions(chars: &mut Peekable<Chars<'_>>, rng: &mut Rng) -> i64 {
    match chars.peek() {
        Some('*' | '+') => {
            chars.next();
            rng.between(1, 4)
        }
        Some('?') => {
            chars.next();
            rng.between(0, 1)
        }
        Some('{') => {
            chars.next();
            let inner: String = std::iter::from_fn(|| chars.next_if(|c| *c != '}')).collect();
            chars.next();
            let (low, high) = inner.split_once(',').unwrap_or((&inner, &inner));
            let low: i64 = low.trim().parse().unwrap_or(1);
            let high = high.trim().parse().unwrap_or(low + 2).min(low + 8);
            rng.between(low, high.max(low))
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_match() {
        let mut rng = Rng::new(1, "pattern");
        for (pattern, shape) in [
            ("^[A-Z]{3}-\\d{2}$", "AAA-00"),
            ("(?:eu|us)-west", "aa-aaaa"),
        ] {
            let text = matching(pattern, &mut rng);
            let kind = |c: char| match c {
                'A'..='Z' => 'A',
                'a'..='z' => 'a',
                '0'..='9' => '0',
                other => other,
            };
            assert_eq!(text.chars().map(kind).collect::<String>(), shape, "{text}");
        }
    }
}
