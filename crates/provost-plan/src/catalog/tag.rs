//! Tags: the words on an operation that policies look at.
//!
//! Owns which words are tags: those that every workspace knows, and those that one declares.
//! INVARIANT: a word that nobody declared is no tag, so that a misspelt one is found, and never
//! takes a rule away in silence.

use std::collections::BTreeMap;

use super::Catalog;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// The tags of a workspace: the known ones, and its own with the place that declares each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags(BTreeMap<String, Span>);

impl Tags {
    /// Those that every workspace knows, and the default policy asks about.
    pub const KNOWN: [&'static str; 7] = [
        "compliance",
        "delete",
        "deploy",
        "email",
        "money",
        "permission",
        "production",
    ];
    /// Those that raise the risk of a call.
    pub const OF_RISK: [&'static str; 5] =
        ["delete", "deploy", "money", "permission", "production"];

    /// The known ones, and these.
    #[must_use]
    pub fn declared(own: impl IntoIterator<Item = (String, Span)>) -> Self {
        Self(own.into_iter().collect())
    }

    /// Whether a word may be a tag at all.
    #[must_use]
    pub fn is_name(word: &str) -> bool {
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
        !word.is_empty() && word.chars().all(good)
    }

    /// All of them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        Self::KNOWN
            .into_iter()
            .chain(self.0.keys().map(String::as_str))
    }

    /// Those that the workspace declares, with the place of each.
    pub fn own(&self) -> impl Iterator<Item = (&str, Span)> {
        self.0.iter().map(|(name, span)| (name.as_str(), *span))
    }

    /// What is wrong with `word` as a tag of a tool, at `span`.
    #[must_use]
    pub fn finding(&self, word: &str, span: Span) -> Option<Diagnostic> {
        if self.names().any(|name| name == word) {
            return None;
        }
        if !Self::is_name(word) {
            let message = format!("`{word}` cannot be a tag");
            let finding = Diagnostic::new(Code::BadName, span, message);
            return Some(finding.hint("a tag has lower-case letters, digits, `_` and `-`"));
        }
        let message = format!("the tag `{word}` is not declared");
        let finding = Diagnostic::new(Code::UnknownTag, span, message);
        let finding = finding.did_you_mean(word, self.names());
        Some(match finding.hint {
            Some(_) => finding,
            None => finding.hint(
                "`[tags]` of provost.toml declares a tag of your own: `TAG = \"what it means\"`",
            ),
        })
    }
}

impl Catalog {
    /// The same operations, in a workspace with these tags.
    #[must_use]
    pub fn with_tags(mut self, tags: Tags) -> Self {
        self.tags = tags;
        self
    }

    /// The tags of the workspace.
    #[must_use]
    pub fn tags(&self) -> &Tags {
        &self.tags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_nobody_declared_is_no_tag() {
        let tags = Tags::declared([("books".to_owned(), Span::default())]);
        let told = |word: &str| {
            let finding = tags.finding(word, Span::default())?;
            Some((finding.code.as_str(), finding.hint.unwrap_or_default()))
        };
        for good in ["money", "compliance", "production", "books"] {
            assert_eq!(told(good), None, "{good}");
        }
        let near = |name: &str| Some(("W811", format!("did you mean `{name}`?")));
        assert_eq!(told("prodution"), near("production"));
        assert_eq!(told("book"), near("books"));
        assert_eq!(told("complience"), near("compliance"));
        assert!(
            told("quarterly").is_some_and(|(code, hint)| code == "W811" && hint.contains("[tags]"))
        );
        assert!(told("Money").is_some_and(|(code, _)| code == "P010"));
    }
}
