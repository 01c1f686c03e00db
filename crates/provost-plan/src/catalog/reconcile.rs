//! Reconcile reads: how a doubt about a write is settled by asking the tool.
//!
//! Owns what such a read must be, what it asks and what its answer means. Never makes it: that is
//! the executor's. INVARIANT: nothing but a plain read of the same catalog counts as one.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Catalog, Effect};
use crate::expr::{EvalError, Reference, Root, Scope, Segment, Template};
use crate::source::Span;

/// The read that tells whether a write landed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconcile {
    /// The operation that is read, a plain read.
    pub tool: String,
    /// Its arguments; expressions in them see `args` and `key` of the write.
    pub args: Value,
    /// The expression over `output` that is true if the write landed.
    pub landed: String,
    /// The expression over `output` that gives the output of the write, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// How long a write that is not found may still land, in milliseconds.
    pub final_after_ms: u64,
}

/// Why a reconcile read cannot be believed.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ReconcileError {
    /// It names no operation.
    #[error("`reconcile` reads `{0}`, which the catalog does not hold")]
    UnknownTool(String),
    /// It names what is no plain read.
    #[error("`reconcile` reads `{0}`, which is no plain read")]
    NotRead(String),
    /// An expression in it cannot be used.
    #[error("`{field}` of `reconcile`: {reason}")]
    Expression {
        /// Where it stands.
        field: &'static str,
        /// What is wrong.
        reason: String,
    },
}

impl Reconcile {
    /// Holds it against the catalog it belongs to.
    ///
    /// # Errors
    /// [`ReconcileError`] if it is no plain read of the catalog, or reads what is not in scope.
    pub fn hold(&self, catalog: &Catalog) -> Result<(), ReconcileError> {
        let operation = catalog
            .get(&self.tool)
            .ok_or_else(|| ReconcileError::UnknownTool(self.tool.clone()))?;
        if operation.effect != Effect::Read {
            return Err(ReconcileError::NotRead(self.tool.clone()));
        }
        for_texts(&self.args, &mut |text| {
            expression("args", text, &[Root::Args, Root::Key]).map(|_| ())
        })?;
        let after = [Root::Args, Root::Key, Root::Output];
        let landed = expression("landed", &self.landed, &after)?;
        let looks = landed.references().any(|r| r.root == Root::Output);
        if landed.whole().is_none() || !looks {
            return Err(wrong("landed", "it is no expression over `output`"));
        }
        if let Some(output) = &self.output {
            expression("output", output, &after)?;
        }
        Ok(())
    }
}

/// A write whose landing is asked about.
#[derive(Clone, Copy, Debug)]
pub struct WriteInDoubt<'a> {
    /// Its arguments.
    pub args: &'a Value,
    /// The key it was sent with, or null.
    pub key: &'a Value,
}

impl<'a> WriteInDoubt<'a> {
    fn scope(&self) -> Scope<'a> {
        Scope::new().with("args", self.args).with("key", self.key)
    }
}

impl Reconcile {
    /// Whether the read is given something of the write's argument `name`.
    #[must_use]
    pub fn is_given(&self, name: &str) -> bool {
        let reads = |reference: &Reference| {
            let first = reference.path.first();
            reference.root == Root::Args
                && first.is_none_or(|first| !matches!(first, Segment::Field(f) if f != name))
        };
        let looked = for_texts(&self.args, &mut |text| {
            let template = Template::parse(text, Span::default(), text);
            match template.is_ok_and(|template| template.references().any(reads)) {
                true => Err(()),
                false => Ok(()),
            }
        });
        looked.is_err()
    }

    /// The arguments of the read that asks about a write.
    ///
    /// # Errors
    /// [`ReconcileError::Expression`] if one of them cannot be evaluated.
    pub fn request(&self, write: WriteInDoubt<'_>) -> Result<Value, ReconcileError> {
        filled(&self.args, &write.scope())
    }

    /// Whether the write landed, by what the read gave.
    ///
    /// # Errors
    /// [`ReconcileError::Expression`] if the answer says neither.
    pub fn landed(&self, write: WriteInDoubt<'_>, read: &Value) -> Result<bool, ReconcileError> {
        let scope = write.scope().with("output", read);
        let said = evaluated("landed", &self.landed, &scope)?;
        said.as_bool()
            .ok_or_else(|| wrong("landed", "it is neither true nor false"))
    }

    /// The output of a write that landed, if the read tells it.
    ///
    /// # Errors
    /// [`ReconcileError::Expression`] if it cannot be evaluated.
    pub fn recovered(
        &self,
        write: WriteInDoubt<'_>,
        read: &Value,
    ) -> Result<Option<Value>, ReconcileError> {
        let scope = write.scope().with("output", read);
        let output = self.output.as_ref();
        output
            .map(|text| evaluated("output", text, &scope))
            .transpose()
    }
}

fn evaluated(field: &'static str, text: &str, scope: &Scope<'_>) -> Result<Value, ReconcileError> {
    let failed = |error: EvalError| wrong(field, error.to_string());
    let template = Template::parse(text, Span::default(), text)
        .map_err(|diagnostic| wrong(field, diagnostic.message))?;
    template.eval(scope).map_err(failed)
}

/// `value` with every text in it evaluated.
pub(super) fn filled(value: &Value, scope: &Scope<'_>) -> Result<Value, ReconcileError> {
    match value {
        Value::String(text) => evaluated("args", text, scope),
        Value::Array(items) => items.iter().map(|item| filled(item, scope)).collect(),
        Value::Object(map) => {
            let entry = |(key, item): (&String, &Value)| Ok((key.clone(), filled(item, scope)?));
            map.iter()
                .map(entry)
                .collect::<Result<_, _>>()
                .map(Value::Object)
        }
        plain => Ok(plain.clone()),
    }
}

fn wrong(field: &'static str, reason: impl Into<String>) -> ReconcileError {
    let reason = reason.into();
    ReconcileError::Expression { field, reason }
}

fn expression(field: &'static str, text: &str, scope: &[Root]) -> Result<Template, ReconcileError> {
    let template = Template::parse(text, Span::default(), text)
        .map_err(|diagnostic| wrong(field, diagnostic.message))?;
    let beyond = template.references().find(|r| !scope.contains(&r.root));
    if let Some(reference) = beyond {
        return Err(wrong(field, format!("`{reference}` is not in scope")));
    }
    Ok(template)
}

/// Looks at every text in a value.
pub(super) fn for_texts<E>(
    value: &Value,
    look: &mut impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    match value {
        Value::String(text) => look(text),
        Value::Array(items) => items.iter().try_for_each(|item| for_texts(item, look)),
        Value::Object(map) => map.values().try_for_each(|item| for_texts(item, look)),
        _ => Ok(()),
    }
}
