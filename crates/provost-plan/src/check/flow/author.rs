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
        in_catalog || goal.place_of(value).is_some()
    }
}
