//! Trees of values and templates: the arguments of a call.
//!
//! Owns how they are read and evaluated, and which entries of maps are left out then. Knows no
//! schema. INVARIANT: an entry that may be left out has one whole expression as its value, and is
//! the only one of its name in its map.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{ArgTree, EvalError, Key, LabelOf, Scope, Template};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::digest::canonical;
use crate::label::Label;
use crate::node::{Kind, Node};
use crate::source::{Span, Spanned};

/// Reads the trees of one text.
struct Reader<'a> {
    source_text: &'a str,
    diagnostics: &'a mut Vec<Diagnostic>,
    key: fn(&str, Span) -> Key,
}

impl Reader<'_> {
    fn tree(&mut self, node: &Node) -> ArgTree {
        match &node.kind {
            Kind::Text(text) => match Template::parse(text, node.span, self.source_text) {
                Ok(template) => match template.constant() {
                    Some(value) => ArgTree::Value(value, node.span),
                    None => ArgTree::Template(template),
                },
                Err(diagnostic) => {
                    self.diagnostics.push(*diagnostic);
                    ArgTree::Value(Value::String(text.clone()), node.span)
                }
            },
            Kind::List(items) => {
                let items = items.iter().map(|item| self.tree(item));
                ArgTree::List(items.collect(), node.span)
            }
            Kind::Map(entries) => ArgTree::Map(self.entries(entries), node.span),
            _ => ArgTree::Value(node.to_value(), node.span),
        }
    }

    fn entries(&mut self, entries: &[(Spanned<String>, Node)]) -> Vec<(Key, ArgTree)> {
        let mut names = BTreeSet::new();
        let mut read = Vec::with_capacity(entries.len());
        for (written, node) in entries {
            let key = (self.key)(&written.value, written.span);
            let before = self.diagnostics.len();
            let value = self.tree(node);
            let is_read = self.diagnostics.len() == before;
            if !names.insert(key.as_str().to_owned()) {
                let message = format!("the entry `{}` stands twice", key.as_str());
                let finding = Diagnostic::new(Code::DuplicateKey, key.span(), message);
                let hint = "keep the one with `?`, or the one without";
                self.diagnostics.push(finding.hint(hint));
                continue;
            }
            read.push(
                match key.may_be_left_out() && !value.is_whole_expression() {
                    true => {
                        // Why not of what cannot be read: that is found already.
                        if is_read {
                            self.diagnostics.push(not_one_expression(&key, &value));
                        }
                        (key.without_mark(), value)
                    }
                    false => (key, value),
                },
            );
        }
        read
    }
}

fn not_one_expression(key: &Key, value: &ArgTree) -> Diagnostic {
    let message = format!("`{}` is not one expression", key.written());
    let finding = Diagnostic::new(Code::WrongShape, value.span(), message);
    finding.hint(format!(
        "write `\"${{ … }}\"` and nothing around it, or `{}` without the mark",
        key.as_str()
    ))
}

/// A value as the arguments of a plan write it: nothing in it is read as an expression, or as the
/// mark of an entry that may be left out.
#[must_use]
pub fn as_written(value: &Value) -> Value {
    match value {
        Value::String(text) => text.replace("${", "$${").into(),
        Value::Array(items) => items.iter().map(as_written).collect(),
        Value::Object(map) => {
            let entries = map.iter();
            let entries = entries.map(|(name, value)| (Key::of_name(name), as_written(value)));
            Value::Object(entries.collect())
        }
        other => other.clone(),
    }
}

impl ArgTree {
    /// An empty map, for a call without arguments.
    #[must_use]
    pub fn empty(span: Span) -> Self {
        Self::Map(Vec::new(), span)
    }

    /// Reads the arguments of a call, in which entries of maps may be left out; expressions that
    /// cannot be read are reported and stand as their text.
    #[must_use]
    pub fn read(node: &Node, source_text: &str, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let key = Key::marked;
        let mut reader = Reader {
            source_text,
            diagnostics,
            key,
        };
        reader.tree(node)
    }

    /// Reads a tree whose keys are what they say.
    #[must_use]
    pub fn read_plain(node: &Node, source_text: &str, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let key = Key::plain;
        let mut reader = Reader {
            source_text,
            diagnostics,
            key,
        };
        reader.tree(node)
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
            Self::Map(entries, _) => {
                let mut map = Map::new();
                for (key, value) in entries {
                    let value = value.eval(scope)?;
                    if !key.may_be_left_out() || !value.is_null() {
                        map.insert(key.to_string(), value);
                    }
                }
                Ok(Value::Object(map))
            }
        }
    }

    /// Its form: the same for two trees that differ in the order of names, and in the spaces,
    /// quotes and parentheses of expressions alone. An entry that may be left out is not the entry
    /// that is always there.
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
                    .map(|(key, value)| format!("{:?}:{}", key.written(), value.form()))
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

    /// The entry of a map, with its key; `name` is without the mark.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&(Key, Self)> {
        let mut entries = self.entries().iter();
        entries.find(|(key, _)| **key == *name)
    }

    /// The values of the entries that may be left out, at any depth.
    #[must_use]
    pub fn left_out_if_null(&self) -> Vec<&Template> {
        match self {
            Self::Value(..) | Self::Template(_) => Vec::new(),
            Self::List(items, _) => items.iter().flat_map(Self::left_out_if_null).collect(),
            Self::Map(entries, _) => {
                let values = entries.iter().map(|(key, value)| match value {
                    Self::Template(template) if key.may_be_left_out() => vec![template],
                    _ => value.left_out_if_null(),
                });
                values.flatten().collect()
            }
        }
    }

    fn is_whole_expression(&self) -> bool {
        matches!(self, Self::Template(template) if template.whole().is_some())
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
