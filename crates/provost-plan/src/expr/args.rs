//! Trees of values and templates: the arguments of a call.

use serde_json::{Map, Value};

use super::{ArgTree, EvalError, Key, LabelOf, Scope, Template};
use crate::diagnostic::Diagnostic;
use crate::digest::canonical;
use crate::label::Label;
use crate::node::{Kind, Node};
use crate::source::Span;

impl ArgTree {
    /// An empty map, for a call without arguments.
    #[must_use]
    pub fn empty(span: Span) -> Self {
        Self::Map(Vec::new(), span)
    }

    /// Reads a tree; expressions that cannot be read are reported and stand as their text.
    #[must_use]
    pub fn read(node: &Node, source_text: &str, diagnostics: &mut Vec<Diagnostic>) -> Self {
        match &node.kind {
            Kind::Text(text) => match Template::parse(text, node.span, source_text) {
                Ok(template) => match template.constant() {
                    Some(value) => Self::Value(value, node.span),
                    None => Self::Template(template),
                },
                Err(diagnostic) => {
                    diagnostics.push(*diagnostic);
                    Self::Value(Value::String(text.clone()), node.span)
                }
            },
            Kind::List(items) => Self::List(
                items
                    .iter()
                    .map(|item| Self::read(item, source_text, diagnostics))
                    .collect(),
                node.span,
            ),
            Kind::Map(entries) => Self::Map(
                entries
                    .iter()
                    .map(|(key, value)| {
                        let value = Self::read(value, source_text, diagnostics);
                        let name = key.value.clone();
                        let span = key.span;
                        (Key { name, span }, value)
                    })
                    .collect(),
                node.span,
            ),
            _ => Self::Value(node.to_value(), node.span),
        }
    }

    /// The value in this scope.
    ///
    /// # Errors
    /// [`EvalError`] of the first expression that has none.
    pub fn eval(&self, scope: &Scope<'_>) -> Result<Value, EvalError> {
        match self {
            Self::Value(value, _) => Ok(value.clone()),
            Self::Template(template) => template.eval(scope),
            Self::List(items, _) => items.iter().map(|item| item.eval(scope)).collect(),
            Self::Map(entries, _) => entries
                .iter()
                .map(|(key, value)| Ok((key.to_string(), value.eval(scope)?)))
                .collect::<Result<Map<_, _>, _>>()
                .map(Value::Object),
        }
    }

    /// The value, if nothing in the tree is computed.
    #[must_use]
    pub fn constant(&self) -> Option<Value> {
        match self {
            Self::Value(value, _) => Some(value.clone()),
            Self::Template(template) => template.constant(),
            Self::List(items, _) => items.iter().map(Self::constant).collect(),
            Self::Map(entries, _) => entries
                .iter()
                .map(|(key, value)| Some((key.to_string(), value.constant()?)))
                .collect::<Option<Map<_, _>>>()
                .map(Value::Object),
        }
    }

    /// Its form: the same for two trees that differ in the order of names, and in the spaces,
    /// quotes and parentheses of expressions alone.
    #[must_use]
    pub fn form(&self) -> String {
        match self {
            Self::Value(value, _) => canonical(value),
            Self::Template(template) => template.form(),
            Self::List(items, _) => {
                let items: Vec<String> = items.iter().map(Self::form).collect();
                format!("[{}]", items.join(","))
            }
            Self::Map(entries, _) => {
                let entries = entries.iter();
                let mut forms: Vec<String> = entries
                    .map(|(key, value)| format!("{:?}:{}", &**key, value.form()))
                    .collect();
                forms.sort_unstable();
                format!("{{{}}}", forms.join(","))
            }
        }
    }

    /// The entries of a map, in the order written; none for any other tree.
    #[must_use]
    pub fn entries(&self) -> &[(Key, Self)] {
        match self {
            Self::Map(entries, _) => entries,
            _ => &[],
        }
    }

    /// The entry of a map.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        let mut entries = self.entries().iter();
        entries
            .find(|(name, _)| **name == *key)
            .map(|(_, value)| value)
    }

    /// Where it stands.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Self::Value(_, span) | Self::List(_, span) | Self::Map(_, span) => *span,
            Self::Template(template) => template.span(),
        }
    }

    /// The label of the whole tree: the join of all that stands in it.
    #[must_use]
    pub fn label(&self, literals: &Label, of: &LabelOf<'_>) -> Label {
        match self {
            Self::Value(..) => literals.clone(),
            Self::Template(template) => template.label(literals, of),
            Self::List(items, _) => items.iter().fold(literals.clone(), |label, item| {
                label.join(&item.label(literals, of))
            }),
            // Why: the keys are literals too.
            Self::Map(entries, _) => entries.iter().fold(literals.clone(), |label, (_, value)| {
                label.join(&value.label(literals, of))
            }),
        }
    }
}
