//! The strict field reader: takes fields out of a map and reports what is left.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use super::{Kind, Node};
use crate::amount::Amount;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, nearest};
use crate::duration;
use crate::money::Money;
use crate::source::{Span, Spanned};

/// Most maps are looked at for no more fields.
const TAKEN_USUAL: usize = 32;

/// Reads the fields of one map. Every wrong field becomes a diagnostic, and [`Fields::finish`]
/// reports the fields nobody took, so nothing is silently ignored.
pub struct Fields<'n, 'd> {
    owner: Cow<'static, str>,
    span: Span,
    entries: &'n [(Spanned<String>, Node)],
    /// What was looked for, some more than once: a plan has many maps, and few are wrong.
    taken: Vec<&'static str>,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl<'n, 'd> Fields<'n, 'd> {
    /// Begins to read `node` as `owner` (in words, such as "a step"). Reports and returns `None`
    /// if it is not a map.
    pub fn new(
        owner: impl Into<Cow<'static, str>>,
        node: &'n Node,
        diagnostics: &'d mut Vec<Diagnostic>,
    ) -> Option<Self> {
        let owner = owner.into();
        match &node.kind {
            Kind::Map(entries) => Some(Self {
                owner,
                span: node.span,
                entries,
                taken: Vec::with_capacity(TAKEN_USUAL),
                diagnostics,
            }),
            _ => {
                let message = format!("{owner} must be a map, not {}", node.kind_word());
                diagnostics.push(Diagnostic::new(Code::WrongShape, node.span, message));
                None
            }
        }
    }

    /// Where the map stands.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span
    }

    /// The list that diagnostics go to.
    pub fn diagnostics(&mut self) -> &mut Vec<Diagnostic> {
        self.diagnostics
    }

    /// Takes a field as it is; a `null` counts as absent.
    pub fn node(&mut self, name: &'static str) -> Option<&'n Node> {
        self.taken.push(name);
        self.entries
            .iter()
            .find(|(key, _)| key.value == name)
            .map(|(_, value)| value)
            .filter(|value| value.kind != Kind::Null)
    }

    /// Takes a field that must be there.
    pub fn required(&mut self, name: &'static str) -> Option<&'n Node> {
        let node = self.node(name);
        if node.is_none() {
            let message = format!("{} needs the field `{name}`", self.owner);
            let span = Span::new(self.span.start, self.span.start);
            self.diagnostics
                .push(Diagnostic::new(Code::MissingField, span, message));
        }
        node
    }

    fn wrong(&mut self, name: &str, node: &Node, wanted: &str) {
        let message = format!("`{name}` must be {wanted}, not {}", node.kind_word());
        self.diagnostics
            .push(Diagnostic::new(Code::WrongShape, node.span, message));
    }

    /// Takes a text.
    pub fn text(&mut self, name: &'static str) -> Option<Spanned<String>> {
        let node = self.node(name)?;
        self.as_text(name, node)
    }

    /// Takes a text that must be there.
    pub fn required_text(&mut self, name: &'static str) -> Option<Spanned<String>> {
        let node = self.required(name)?;
        self.as_text(name, node)
    }

    fn as_text(&mut self, name: &str, node: &Node) -> Option<Spanned<String>> {
        if let Kind::Text(text) = &node.kind {
            return Some(Spanned::new(text.clone(), node.span));
        }
        self.wrong(name, node, "a text");
        None
    }

    /// Takes a boolean.
    pub fn boolean(&mut self, name: &'static str) -> Option<bool> {
        let node = self.node(name)?;
        if let Kind::Bool(value) = node.kind {
            return Some(value);
        }
        self.wrong(name, node, "true or false");
        None
    }

    /// Takes a whole number from zero on.
    pub fn count(&mut self, name: &'static str) -> Option<Spanned<u64>> {
        let node = self.node(name)?;
        if let Kind::Number(number) = &node.kind
            && let Some(count) = number.as_u64()
        {
            return Some(Spanned::new(count, node.span));
        }
        self.wrong(name, node, "a whole number from 0 on");
        None
    }

    /// Takes a duration such as `30s`.
    pub fn duration(&mut self, name: &'static str) -> Option<Spanned<Duration>> {
        let text = self.text(name)?;
        match duration::parse(&text.value) {
            Ok(value) => Some(Spanned::new(value, text.span)),
            Err(error) => {
                let message = error.to_string();
                self.diagnostics
                    .push(Diagnostic::new(Code::WrongShape, text.span, message));
                None
            }
        }
    }

    /// Takes an amount of money, a text such as `"5.00"`.
    pub fn money(&mut self, name: &'static str) -> Option<Spanned<Money>> {
        let node = self.node(name)?;
        let wrong = |message: String| {
            Diagnostic::new(Code::WrongShape, node.span, message)
                .hint("a number would be rounded: write a text such as \"5.00\"")
        };
        let Kind::Text(text) = &node.kind else {
            let message = format!(
                "`{name}` must be an amount of money in quotes, not {}",
                node.kind_word()
            );
            self.diagnostics.push(wrong(message));
            return None;
        };
        match Money::parse(text) {
            Ok(value) => Some(Spanned::new(value, node.span)),
            Err(error) => {
                let finding = Diagnostic::new(Code::WrongShape, node.span, error.to_string());
                self.diagnostics.push(finding);
                None
            }
        }
    }

    /// Takes a map of amounts, each a number from 0 on.
    pub fn amounts(&mut self, name: &'static str) -> Vec<(Spanned<String>, Amount)> {
        let mut amounts = Vec::new();
        for (key, node) in self.map(name).unwrap_or_default() {
            let number = match &node.kind {
                Kind::Number(number) => number.as_f64().filter(|n| *n >= 0.0).map(|_| number),
                _ => None,
            };
            match number.and_then(Amount::of_number) {
                Some(amount) => amounts.push((key.clone(), amount)),
                None => self.wrong(&key.value, node, "a number from 0 on"),
            }
        }
        amounts
    }

    /// Takes one of a few words.
    pub fn choice<T: Copy>(&mut self, name: &'static str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(name)?;
        let found = words.iter().find(|(word, _)| *word == text.value);
        if found.is_none() {
            let list = words
                .iter()
                .map(|(word, _)| format!("`{word}`"))
                .collect::<Vec<_>>();
            let message = format!("`{name}` must be one of {}", list.join(", "));
            self.diagnostics.push(
                Diagnostic::new(Code::WrongShape, text.span, message)
                    .did_you_mean(&text.value, words.iter().map(|(word, _)| *word)),
            );
        }
        found.map(|(_, value)| *value)
    }

    /// Takes a list.
    pub fn list(&mut self, name: &'static str) -> Option<&'n [Node]> {
        let node = self.node(name)?;
        if let Kind::List(items) = &node.kind {
            return Some(items);
        }
        self.wrong(name, node, "a list");
        None
    }

    /// Takes a list of texts; one text alone counts as a list of one.
    pub fn texts(&mut self, name: &'static str) -> Vec<Spanned<String>> {
        let Some(node) = self.node(name) else {
            return Vec::new();
        };
        let items: &[Node] = match &node.kind {
            Kind::List(items) => items,
            _ => std::slice::from_ref(node),
        };
        items
            .iter()
            .filter_map(|item| self.as_text(name, item))
            .collect()
    }

    /// Takes a map, as its entries in the order written.
    pub fn map(&mut self, name: &'static str) -> Option<&'n [(Spanned<String>, Node)]> {
        let node = self.node(name)?;
        if let Kind::Map(entries) = &node.kind {
            return Some(entries);
        }
        self.wrong(name, node, "a map");
        None
    }

    /// Refuses a field that a later version carries out.
    pub fn later(&mut self, name: &'static str, what: &str) {
        self.taken.push(name);
        if let Some((key, _)) = self.entries.iter().find(|(key, _)| key.value == name) {
            let message = format!("`{name}` is not carried out by this version: {what}");
            self.diagnostics
                .push(
                    Diagnostic::new(Code::LaterField, key.span, message).hint(format!(
                        "leave `{name}` out; nothing is run under a rule that is ignored"
                    )),
                );
        }
    }

    /// What was looked for, each once and by name.
    fn known(&self) -> impl Iterator<Item = &'static str> + use<> {
        let known: BTreeSet<&'static str> = self.taken.iter().copied().collect();
        known.into_iter()
    }

    /// Reports the fields that nobody took but that are spelt almost like one that was looked
    /// for: where reading stops early, and what else may stand there is not known.
    pub fn finish_misspelt(self) {
        for (key, _) in self.entries {
            let taken = self.taken.contains(&key.value.as_str());
            let meant = nearest(&key.value, self.known());
            if let (false, Some(meant)) = (taken, meant) {
                let message = format!("{} has no field `{}`", self.owner, key.value);
                self.diagnostics.push(
                    Diagnostic::new(Code::UnknownField, key.span, message)
                        .hint(format!("did you mean `{meant}`?")),
                );
            }
        }
    }

    /// Reports the fields that nobody took.
    pub fn finish(self) {
        self.finish_with(|_| None);
    }

    /// Reports the fields that nobody took; `elsewhere` says of a name where it belongs.
    pub fn finish_with(self, elsewhere: impl Fn(&str) -> Option<String>) {
        for (key, _) in self.entries {
            if self.taken.contains(&key.value.as_str()) {
                continue;
            }
            let message = format!("{} has no field `{}`", self.owner, key.value);
            let mut diagnostic = Diagnostic::new(Code::UnknownField, key.span, message);
            diagnostic = match elsewhere(&key.value) {
                Some(hint) => diagnostic.hint(hint),
                None => diagnostic.did_you_mean(&key.value, self.known()),
            };
            if diagnostic.hint.is_none() {
                let names = self
                    .known()
                    .map(|name| format!("`{name}`"))
                    .collect::<Vec<_>>();
                diagnostic = diagnostic.hint(format!("the fields are {}", names.join(", ")));
            }
            self.diagnostics.push(diagnostic);
        }
    }
}
