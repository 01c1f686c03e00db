//! JSON into [`Node`], for texts that are plain JSON, as journals and models write them.
//!
//! Owns a short way to what reading YAML gives, several times faster. Says nothing of what is
//! wrong: whatever it is not sure of it leaves to the other reader. INVARIANT: a tree from here is
//! the tree that reading the text as YAML gives, span for span.

use std::borrow::Cow;

use serde_json::Number;

use super::{Kind, Node};
use crate::digest::normalize_number;
use crate::json;
use crate::limits::{SOURCE_DEPTH_MAX, SOURCE_NODES_MAX};
use crate::source::{Span, Spanned};

/// Most entries of one map that are read here: each name is held against those before it.
const ENTRIES_MAX: usize = 64;
/// Longest name that is read here; YAML has a limit of its own.
const NAME_BYTES_MAX: usize = 256;

struct JsonReader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    count: usize,
}

/// The tree of a text that is one JSON map and nothing else.
pub(super) fn parse(text: &str) -> Option<Node> {
    if !text.starts_with('{') {
        return None;
    }
    let mut reader = JsonReader {
        text,
        at: 0,
        depth: 0,
        count: 0,
    };
    let root = reader.value()?;
    reader.space();
    (reader.at == text.len()).then_some(root)
}

impl<'t> JsonReader<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes past blanks and line ends; a tab is for the other reader, which may refuse it.
    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    fn value(&mut self) -> Option<Node> {
        let start = self.at;
        let kind = match self.peek()? {
            b'{' => self.map()?,
            b'[' => self.list()?,
            b'"' => Kind::Text(self.string()?.into_owned()),
            _ => self.word()?,
        };
        self.count += 1;
        (self.count <= SOURCE_NODES_MAX).then_some(Node {
            kind,
            span: Span::new(start, self.at),
        })
    }

    fn open(&mut self) -> Option<()> {
        self.at += 1;
        self.depth += 1;
        self.space();
        (self.depth <= SOURCE_DEPTH_MAX).then_some(())
    }

    /// Goes past a comma, or past the end of a list or map: whether more follows.
    fn goes_on(&mut self, close: u8) -> Option<bool> {
        self.space();
        if self.take(b',').is_some() {
            self.space();
            return Some(true);
        }
        self.take(close)?;
        self.depth -= 1;
        Some(false)
    }

    fn list(&mut self) -> Option<Kind> {
        self.open()?;
        let mut items = Vec::new();
        if self.peek()? == b']' {
            self.goes_on(b']')?;
            return Some(Kind::List(items));
        }
        loop {
            items.push(self.value()?);
            if !self.goes_on(b']')? {
                return Some(Kind::List(items));
            }
        }
    }

    fn map(&mut self) -> Option<Kind> {
        self.open()?;
        let mut entries: Vec<(Spanned<String>, Node)> = Vec::new();
        if self.peek()? == b'}' {
            self.goes_on(b'}')?;
            return Some(Kind::Map(entries));
        }
        loop {
            let start = self.at;
            let name = self.string()?;
            let known = entries.iter().any(|(key, _)| key.value == name);
            if known || entries.len() == ENTRIES_MAX || name.len() > NAME_BYTES_MAX {
                return None;
            }
            // Why: a name counts as a value.
            self.count += 1;
            let key = Spanned::new(name.into_owned(), Span::new(start, self.at));
            self.take(b':')?;
            self.space();
            entries.push((key, self.value()?));
            if !self.goes_on(b'}')? {
                return Some(Kind::Map(entries));
            }
        }
    }

    /// A text in quotes in which nothing stands that YAML has rules of its own for.
    fn string(&mut self) -> Option<Cow<'t, str>> {
        let start = self.at;
        self.take(b'"')?;
        let mut escaped = false;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let quoted = self.text.get(start..self.at)?;
        let inner = quoted.get(1..quoted.len().checked_sub(1)?)?;
        if inner.chars().any(|c| c.is_control() || is_odd(c)) {
            return None;
        }
        if !escaped {
            return Some(Cow::Borrowed(inner));
        }
        // Why: half a character is an escape of JSON, and an error of YAML.
        if inner.contains("\\u") {
            return None;
        }
        serde_json::from_str(quoted).ok().map(Cow::Owned)
    }

    fn word(&mut self) -> Option<Kind> {
        let rest = self.text.get(self.at..)?;
        let end = rest.bytes().position(|byte| b",]} \n".contains(&byte))?;
        let word = rest.get(..end)?;
        self.at += end;
        match word {
            "null" => Some(Kind::Null),
            "true" => Some(Kind::Bool(true)),
            "false" => Some(Kind::Bool(false)),
            _ => {
                let digits = word
                    .bytes()
                    .all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
                // Why what vanishes: the other reader says what is wrong with it.
                if !digits || json::vanishes(word) {
                    return None;
                }
                let number: Number = serde_json::from_str(word).ok()?;
                normalize_number(&number).ok().map(Kind::Number)
            }
        }
    }
}

/// Line ends and marks that are letters to JSON, and more than that to YAML.
fn is_odd(c: char) -> bool {
    matches!(
        c,
        '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
    )
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::digest::tests::any_value;
    use crate::node::yaml_text;

    /// Both readings, where this one answers.
    fn both(text: &str) -> Option<(Node, Node)> {
        let short = parse(text)?;
        Some((short, yaml_text::parse(text).unwrap()))
    }

    proptest! {
        #[test]
        fn reads_what_yaml_reads(value in any_value(), pretty in any::<bool>()) {
            let value = json!({ "a": value, "b c": [1, { "d": "ü: {e}, [f] # g" }] });
            let text = if pretty {
                serde_json::to_string_pretty(&value).unwrap()
            } else {
                value.to_string()
            };
            if let Some((short, long)) = both(&text) {
                prop_assert_eq!(short, long);
            }
        }

        #[test]
        fn what_is_nearly_json_is_read_as_yaml_reads_it(
            cut in any::<prop::sample::Index>(),
            put in prop::sample::select(vec!["", ",", "\"", "{", "]", ":", " ", "\t", "#", "1", "~"]),
        ) {
            let mut text = json!({ "a": [1, -2.5, true, null], "b": { "c": "d: \"e\"\n", "f": [] } }).to_string();
            let at = cut.index(text.len());
            text.replace_range(at..=at, put);
            if let Some((short, long)) = both(&text) {
                prop_assert_eq!(short, long);
            }
        }
    }

    #[test]
    fn the_plans_of_journals_are_read_here() {
        let text = r#"{"schema":"provost/plan/v1","steps":[{"args":{"n":2.0,"to":"${ params.to }"},"id":"a","tool":"t.x"}]}"#;
        let (short, long) = both(text).unwrap();
        assert_eq!(short, long);
        let value = short.to_value();
        assert_eq!(value.pointer("/steps/0/args/n"), Some(&Value::from(2)));
    }

    #[test]
    fn what_is_not_sure_is_left_to_the_other_reader() {
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"{"a":"\ud83d\ude00"}"#,
            "{\"a\":\t1}",
            "{\"a\":1} x",
            "{a: 1}",
            r#"{"a":1e999}"#,
            r#"{"a":9007199254740993}"#,
            "[1]",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
