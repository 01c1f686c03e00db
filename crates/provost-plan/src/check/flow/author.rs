//! What the literals of a plan are worth: as much as what their author had seen.
//!
//! Owns which of them are trusted for standing in the catalog, or in a goal that a person typed.
//! INVARIANT: a goal that a planner wrote makes none of its words trusted.

use serde_json::Value;

use super::Labels;
use crate::check::Pass;
use crate::expr::ArgTree;
use crate::label::Label;
use crate::plan::Step;

/// Who wrote the literals of an argument.
pub(super) struct Author<'a> {
    pub(super) pass: &'a Pass<'a>,
    pub(super) literals: &'a Label,
    /// The schema of the argument in the catalog.
    pub(super) known: Option<&'a Value>,
}

impl Author<'_> {
    pub(super) fn label(&self, labels: &Labels<'_>, step: &Step, tree: &ArgTree) -> Label {
        let join = |all: Label, inner: &ArgTree| all.join(&self.label(labels, step, inner));
        match tree {
            ArgTree::Value(value, _) if self.is_known(value) => Label::trusted(),
            ArgTree::Value(..) => self.literals.clone(),
            ArgTree::Template(template) => labels.template(Some(step), template, self.literals),
            ArgTree::List(items, _) => items.iter().fold(Label::trusted(), join),
            ArgTree::Map(entries, _) => entries
                .iter()
                .map(|(_, value)| value)
                .fold(Label::trusted(), join),
        }
    }

    /// Whether a literal stands in the catalog, or in a goal that a person typed.
    fn is_known(&self, value: &Value) -> bool {
        let goal = &self.pass.terms.goal;
        let in_catalog = self.known.is_some_and(|schema| {
            let listed = schema.get("enum").and_then(Value::as_array);
            listed.is_some_and(|values| values.contains(value))
                || schema.get("const") == Some(value)
        });
        if goal.untrusted {
            return in_catalog;
        }
        let in_params = goal.params.values().any(|param| param == value);
        let in_text = match value {
            Value::String(text) => stands_in(&goal.text, text),
            Value::Number(number) => stands_in(&goal.text, &number.to_string()),
            _ => false,
        };
        in_catalog || in_params || in_text
    }
}

/// Whether `part` stands in `text` as whole words.
fn stands_in(text: &str, part: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '@' | '.' | '/');
    let is_part = |c: Option<char>| c.is_some_and(is_word);
    !part.trim().is_empty()
        && text.match_indices(part).any(|(at, _)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let mut after = text.get(at + part.len()..).unwrap_or_default().chars();
            let next = after.next();
            // Why: a sentence's full stop behind an address is not a part of it.
            let next = next.filter(|c| *c != '.' || is_part(after.next()));
            !is_part(before) && !is_part(next)
        })
}

#[cfg(test)]
mod tests {
    use super::stands_in;

    #[test]
    fn words_of_the_goal() {
        let goal = "Page ada@example.org about PAY-7, not bob@example.org.";
        for (part, expected) in [
            ("ada@example.org", true),
            ("bob@example.org", true),
            ("PAY-7", true),
            ("PAY", false),
            ("example.org", false),
            ("eve@example.org", false),
            ("", false),
            (" ", false),
        ] {
            assert_eq!(stands_in(goal, part), expected, "{part}");
        }
    }
}
