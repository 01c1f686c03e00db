//! Expressions: CEL inside `${ }`, and texts and trees that hold them.
//!
//! Owns parsing under limits, references, evaluation and the label rule of an expression. Never
//! reads a clock or the world; a scope is all it sees. INVARIANT: evaluation is bounded in depth by
//! limits that are checked when it is read, and in time by a purse of work.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::label::Label;
use crate::source::Span;
use crate::work::WorkBudget;

mod analysis;
mod args;
mod eval;
mod functions;
mod json;
mod key;
pub(crate) mod names;
pub(crate) mod offsets;
mod parse;
mod status;
mod template;
mod text;
mod time;
pub mod tree;
mod value;

pub use analysis::cases;
pub use analysis::guards::{Fact, Read, Taker};
pub use args::as_written;
pub use key::Key;
pub use status::StepStatus;

pub(crate) use functions::{clauses_of_format, fault_of_literals};

use analysis::label::Labelling;
use analysis::refs;
pub(crate) use analysis::refs::collect as references_of;
use eval::Evaluator;
use tree::Expr;
use value::Item;

/// A text with expressions in it, or one whole-string expression that keeps its type.
#[derive(Clone, Debug)]
pub struct Template {
    text: String,
    span: Span,
    parts: Vec<Part>,
}

/// A part of a template.
#[derive(Clone, Debug)]
pub enum Part {
    /// Text as it is.
    Text(String),
    /// An expression.
    Expr(Expression),
}

/// One parsed expression.
#[derive(Clone, Debug)]
pub struct Expression {
    source: String,
    span: Span,
    references: Vec<Reference>,
    tree: Arc<Expr>,
}

/// One dotted path that an expression reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Where the path begins.
    pub root: Root,
    /// The rest: for a step, `["output", "rows", …]`.
    pub path: Vec<Segment>,
    /// Whether it is only tested by `has()`.
    pub tested: bool,
    /// Where it stands.
    pub span: Span,
}

/// Where a reference begins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Root {
    /// `steps.ID`
    Step(String),
    /// `params`
    Params,
    /// `item`
    Item,
    /// `index`
    Index,
    /// `output`
    Output,
    /// `read`
    Read,
    /// `run`
    Run,
    /// `args`
    Args,
    /// `key`
    Key,
    /// Anything else.
    Unknown(String),
}

impl Root {
    /// The name as written, without the id of a step.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Step(_) => "steps",
            Self::Params => "params",
            Self::Item => "item",
            Self::Index => "index",
            Self::Output => "output",
            Self::Read => "read",
            Self::Run => "run",
            Self::Args => "args",
            Self::Key => "key",
            Self::Unknown(name) => name,
        }
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Why in brackets: the id of a step that refines a subgoal is no name.
            Self::Step(id) if id.contains('/') => write!(f, "steps[\"{id}\"]"),
            Self::Step(id) => write!(f, "steps.{id}"),
            other => f.write_str(other.name()),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.root)?;
        for segment in &self.path {
            match segment {
                Segment::Field(name) => write!(f, ".{name}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Any => write!(f, "[_]")?,
            }
        }
        Ok(())
    }
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// A field.
    Field(String),
    /// A fixed position.
    Index(usize),
    /// Any position or key, computed by an expression or walked by a comprehension.
    Any,
}

/// What an expression sees.
#[derive(Clone, Debug, Default)]
pub struct Scope<'a> {
    steps: std::collections::BTreeMap<&'a str, &'a Value>,
    roots: std::collections::BTreeMap<&'static str, &'a Value>,
    purse: Option<&'a WorkBudget>,
}

impl<'a> Scope<'a> {
    /// An empty scope.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `steps.ID` as an object `{status, output, error}`.
    #[must_use]
    pub fn with_step(mut self, id: &'a str, value: &'a Value) -> Self {
        self.steps.insert(id, value);
        self
    }

    /// Has every evaluation in it paid for from `purse`, beside the limit that each has by itself.
    #[must_use]
    pub fn paid_from(mut self, purse: &'a WorkBudget) -> Self {
        self.purse = Some(purse);
        self
    }

    /// Adds a root such as `params`, `item`, `index`, `output`, `run`, `args` or `key`.
    #[must_use]
    pub fn with(mut self, root: &'static str, value: &'a Value) -> Self {
        self.roots.insert(root, value);
        self
    }
}

/// Why an evaluation failed.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{expression}`: {reason}")]
pub struct EvalError {
    /// The expression as written.
    pub expression: String,
    /// What went wrong: lower case, one line.
    pub reason: String,
}

impl Template {
    /// Reads a text that stands at `span` of `source_text`.
    ///
    /// # Errors
    /// A diagnostic `P009` at the place inside the text, if an expression in it cannot be read.
    pub fn parse(text: &str, span: Span, source_text: &str) -> Result<Self, Box<Diagnostic>> {
        Ok(Self {
            text: text.to_owned(),
            span,
            parts: template::cut(text, span, source_text)?,
        })
    }

    /// The text as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where it stands.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span
    }

    /// The parts.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Whether there is no expression in it.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.expressions().next().is_none()
    }

    /// The text it always is, if there is no expression in it.
    #[must_use]
    pub fn constant(&self) -> Option<Value> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Expr(_) => return None,
            }
        }
        Some(Value::String(text))
    }

    /// The expression that is the whole text, and so keeps its type. A line end behind it, which a
    /// block of YAML leaves there, does not count.
    #[must_use]
    pub fn whole(&self) -> Option<&Expression> {
        match self.parts.as_slice() {
            [Part::Expr(expression)] => Some(expression),
            [Part::Expr(expression), Part::Text(rest)] if rest == "\n" => Some(expression),
            _ => None,
        }
    }

    /// Every expression in it, in the order written.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Expr(expression) => Some(expression),
        })
    }

    /// Every path it reads.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.expressions()
            .flat_map(|expression| expression.references.iter())
    }

    /// Its form: the same for two texts whose expressions differ in spaces, quotes, parentheses and
    /// the names of variables alone.
    #[must_use]
    pub fn form(&self) -> String {
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => format!("{text:?}"),
            Part::Expr(expression) => format!("${{{}}}", expression.tree.form()),
        });
        parts.collect()
    }

    /// The value in this scope: of the expression's type if it is the whole text, else a text.
    ///
    /// # Errors
    /// [`EvalError`] if an expression has no value, or one that has no text.
    pub fn eval(&self, scope: &Scope<'_>) -> Result<Value, EvalError> {
        if let Some(expression) = self.whole() {
            return expression.eval(scope);
        }
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Expr(expression) => text.push_str(&expression.print(scope)?),
            }
        }
        Ok(Value::String(text))
    }

    /// The boolean in this scope.
    ///
    /// # Errors
    /// [`EvalError`] if there is no value, or it is no boolean.
    pub fn eval_bool(&self, scope: &Scope<'_>) -> Result<bool, EvalError> {
        match self.eval(scope)? {
            Value::Bool(value) => Ok(value),
            _ => Err(EvalError {
                expression: self.text.clone(),
                reason: "the result is neither true nor false".to_owned(),
            }),
        }
    }

    /// The label of its value. `literals` is that of what its author wrote.
    #[must_use]
    pub fn label(&self, literals: &Label, of: &LabelOf<'_>) -> Label {
        let mut label = match self.parts.as_slice() {
            [Part::Expr(_)] => Label::trusted(),
            _ if self.whole().is_some() => Label::trusted(),
            _ => literals.clone(),
        };
        for expression in self.expressions() {
            label = label.join(&expression.label(literals, of));
        }
        label
    }
}

impl Expression {
    /// The expression as written, without `${` and `}`.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Where it stands.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span
    }

    /// Every path it reads.
    #[must_use]
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// The tree, for the check of types.
    #[must_use]
    pub fn ast(&self) -> &Expr {
        &self.tree
    }

    /// The value in this scope, in normal form.
    ///
    /// # Errors
    /// [`EvalError`] if there is none.
    pub fn eval(&self, scope: &Scope<'_>) -> Result<Value, EvalError> {
        self.run(scope, |item, evaluator| item.into_json(&mut evaluator.fuel))
    }

    /// The value as it stands inside a text.
    ///
    /// # Errors
    /// [`EvalError`] if there is none, or it is a list, a map or null.
    pub fn print(&self, scope: &Scope<'_>) -> Result<String, EvalError> {
        self.run(scope, |item, evaluator| item.print(&mut evaluator.fuel))
    }

    fn run<T>(
        &self,
        scope: &Scope<'_>,
        finish: impl for<'v> FnOnce(Item<'v>, &mut Evaluator<'v>) -> Result<T, eval::EvalFault>,
    ) -> Result<T, EvalError> {
        let mut evaluator = Evaluator::new(scope);
        let result = evaluator
            .eval(&self.tree)
            .and_then(|item| finish(item, &mut evaluator));
        evaluator.settle();
        result.map_err(|fault| EvalError {
            expression: self.source.clone(),
            reason: fault.reason,
        })
    }

    /// The label of its value. `literals` is that of what its author wrote.
    #[must_use]
    pub fn label(&self, literals: &Label, of: &LabelOf<'_>) -> Label {
        Labelling::new(literals, of).label(&self.tree)
    }
}

/// A tree of values and templates: the arguments of a call.
#[derive(Clone, Debug)]
pub enum ArgTree {
    /// A value without expressions.
    Value(Value, Span),
    /// A text with expressions.
    Template(Template),
    /// A list.
    List(Vec<ArgTree>, Span),
    /// A map.
    Map(Vec<(Key, ArgTree)>, Span),
}

impl ArgTree {
    /// Every template in the tree.
    #[must_use]
    pub fn templates(&self) -> Vec<&Template> {
        match self {
            Self::Value(..) => Vec::new(),
            Self::Template(template) => vec![template],
            Self::List(items, _) => items.iter().flat_map(Self::templates).collect(),
            Self::Map(entries, _) => entries
                .iter()
                .flat_map(|(_, value)| value.templates())
                .collect(),
        }
    }
}

/// The label rule: given the label of each reference, the label of a value.
pub type LabelOf<'a> = dyn Fn(&Reference) -> Label + 'a;
