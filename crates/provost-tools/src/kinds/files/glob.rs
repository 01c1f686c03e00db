//! File patterns: `*`, `?` and `**`.
//!
//! Owns matching a path below a root. Never looks at a file system. INVARIANT: matching takes time
//! bounded by pattern times path.

use provost_run::outcome::Class;

use crate::fault::Fault;
use crate::limits::GLOB_BYTES_MAX;

/// A pattern over paths: `*` and `?` stay within a name and do not take a leading dot; `**` takes
/// any number of folders.
#[derive(Clone, Debug)]
pub(crate) struct Glob {
    parts: Vec<String>,
}

impl Glob {
    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        let invalid = |what: &str| {
            let message = format!("`{text}` is not a file pattern: {what}");
            Fault::refused("glob", Class::InvalidArguments, message)
        };
        if text.is_empty() || text.len() > GLOB_BYTES_MAX {
            return Err(invalid("it is empty or too long"));
        }
        if text.chars().any(char::is_control) {
            return Err(invalid("it holds a control character"));
        }
        let parts = text.split('/').map(str::to_owned).collect::<Vec<_>>();
        if text.starts_with('/') || parts.iter().any(|part| part == "..") {
            let message = format!("`{text}` would leave the root");
            return Err(Fault::refused("glob", Class::PermissionDenied, message));
        }
        if parts.iter().any(|part| part.is_empty() || part == ".") {
            return Err(invalid("it holds an empty part or `.`"));
        }
        if parts.iter().any(|part| part != "**" && part.contains("**")) {
            return Err(invalid("`**` stands alone between slashes"));
        }
        Ok(Self { parts })
    }

    /// Whether the whole `path` fits.
    pub(crate) fn matches(&self, path: &str) -> bool {
        let names = path.split('/').collect::<Vec<_>>();
        // reached[i]: the first i parts of the pattern can stand for the names so far.
        let mut reached = self.closure(vec![true]);
        for name in names {
            let mut next = vec![false; self.parts.len() + 1];
            for (index, part) in self.parts.iter().enumerate() {
                if !reached.get(index).copied().unwrap_or(false) {
                    continue;
                }
                let (stays, moves) = if part == "**" {
                    (!name.starts_with('.'), false)
                } else {
                    (false, name_matches(part, name))
                };
                if stays && let Some(slot) = next.get_mut(index) {
                    *slot = true;
                }
                if moves && let Some(slot) = next.get_mut(index + 1) {
                    *slot = true;
                }
            }
            reached = self.closure(next);
        }
        reached.last().copied().unwrap_or(false)
    }

    /// `**` also stands for nothing.
    fn closure(&self, mut reached: Vec<bool>) -> Vec<bool> {
        reached.resize(self.parts.len() + 1, false);
        for (index, part) in self.parts.iter().enumerate() {
            if part == "**"
                && reached.get(index).copied().unwrap_or(false)
                && let Some(slot) = reached.get_mut(index + 1)
            {
                *slot = true;
            }
        }
        reached
    }
}

fn name_matches(pattern: &str, name: &str) -> bool {
    let pattern = pattern.chars().collect::<Vec<_>>();
    if name.starts_with('.') && matches!(pattern.first(), Some('*' | '?')) {
        return false;
    }
    let mut reached = vec![false; pattern.len() + 1];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    spread(&pattern, &mut reached);
    for c in name.chars() {
        let mut next = vec![false; pattern.len() + 1];
        for (index, part) in pattern.iter().enumerate() {
            if !reached.get(index).copied().unwrap_or(false) {
                continue;
            }
            let target = match part {
                '*' => Some(index),
                '?' => Some(index + 1),
                literal => (*literal == c).then_some(index + 1),
            };
            if let Some(slot) = target.and_then(|target| next.get_mut(target)) {
                *slot = true;
            }
        }
        spread(&pattern, &mut next);
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

/// `*` also stands for nothing.
fn spread(pattern: &[char], reached: &mut [bool]) {
    for (index, part) in pattern.iter().enumerate() {
        if *part == '*'
            && reached.get(index).copied().unwrap_or(false)
            && let Some(slot) = reached.get_mut(index + 1)
        {
            *slot = true;
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::Glob;

    #[test]
    fn patterns_stand_for_paths() {
        let cases = [
            ("*.jsonl", "a.jsonl b/a.jsonl .a.jsonl a.json", "a.jsonl"),
            ("**", "a a/b a/b/c .a a/.b", "a a/b a/b/c"),
            (
                "**/*.md",
                "a.md x/a.md x/y/a.md x/.y/a.md a.mdx",
                "a.md x/a.md x/y/a.md",
            ),
            ("a/**/z", "a/z a/b/z a/b/c/z a z", "a/z a/b/z a/b/c/z"),
            ("a?c", "abc ac a/c aüc", "abc aüc"),
            ("*a*b*", "ab xaybz ba", "ab xaybz"),
            (".h*", ".hid h", ".hid"),
            ("a", "a b a/a", "a"),
        ];
        for (pattern, paths, expected) in cases {
            let glob = Glob::parse(pattern).unwrap();
            let found = paths
                .split(' ')
                .filter(|path| glob.matches(path))
                .collect::<Vec<_>>();
            assert_eq!(found.join(" "), expected, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_cannot_climb_or_explode() {
        for wrong in ["", "/a", "../*", "a/../b", "a//b", "./a", "a**", "a\0"] {
            assert!(Glob::parse(wrong).is_err(), "{wrong:?}");
        }
        let evil = Glob::parse(&"*a".repeat(90)).unwrap();
        assert!(!evil.matches(&"a".repeat(1_000).replace("aaaaaaaaaaaaaaaaaaaa", "b")));
    }
}
