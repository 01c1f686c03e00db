//! Previews: the read whose result stands beside a call on its approval card.
//!
//! Owns what such a read must be and what it asks. Never makes it, and never judges the call by
//! it: that is a person's. INVARIANT: nothing but a plain read of the same catalog counts as one,
//! and nothing but the arguments of the call chooses what it asks.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::creates::never_there;
use super::reconcile::{filled, for_texts};
use super::{Catalog, Effect, Operation, ReconcileError};
use crate::expr::{Reference, Root, Scope, Segment, Template};
use crate::schema::{Kinds, PathType, Schema, Type};
use crate::source::Span;

/// The read that shows what a call is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preview {
    /// The operation that is read, a plain read.
    pub tool: String,
    /// Its arguments; expressions in them see `args` of the call.
    pub args: Value,
}

/// Why a preview cannot be made.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum PreviewError {
    /// It stands at what nobody is asked about.
    #[error("`preview` stands at a plain read, about which nobody is asked")]
    OfRead,
    /// It names no operation.
    #[error("`preview` reads `{0}`, which the catalog does not hold")]
    UnknownTool(String),
    /// It names what is no plain read.
    #[error("`preview` reads `{0}`, which is no plain read")]
    NotRead(String),
    /// It names a read whose output no card may show.
    #[error("`preview` reads `{0}`, whose output is secret")]
    Secret(String),
    /// It names a read that costs something.
    #[error("`preview` reads `{0}`, which has a `cost`: what is asked about would pay for it")]
    Costs(String),
    /// Its arguments are not those of the read.
    #[error("`args` of `preview`: {0}")]
    Args(String),
}

impl Preview {
    /// Holds it against the catalog it belongs to; `call` is the operation that has it.
    ///
    /// # Errors
    /// [`PreviewError`] if it is no plain read of the catalog, or cannot be asked like this.
    pub fn hold(&self, call: &Operation, catalog: &Catalog) -> Result<(), PreviewError> {
        if call.effect == Effect::Read {
            return Err(PreviewError::OfRead);
        }
        let name = || self.tool.clone();
        let read = catalog.get(&self.tool);
        let read = read.ok_or_else(|| PreviewError::UnknownTool(name()))?;
        if read.effect != Effect::Read {
            return Err(PreviewError::NotRead(name()));
        }
        if read.secret {
            return Err(PreviewError::Secret(name()));
        }
        if read.cost.as_ref().is_some_and(|cost| !cost.is_nothing()) {
            return Err(PreviewError::Costs(name()));
        }
        fits(&self.args, &call.input, &read.input).map_err(PreviewError::Args)
    }

    /// The arguments of the read beside a call with these.
    ///
    /// # Errors
    /// A sentence if one of them cannot be evaluated.
    pub fn request(&self, args: &Value) -> Result<Value, String> {
        let scope = Scope::new().with("args", args);
        filled(&self.args, &scope).map_err(|error| match error {
            ReconcileError::Expression { reason, .. } => reason,
            other => other.to_string(),
        })
    }
}

/// Whether the read takes arguments like these, as far as that is known before there is a call.
fn fits(args: &Value, of: &Schema, wanted: &Schema) -> Result<(), String> {
    if is_constant(args, of)? {
        let violations = wanted.violations(args);
        return violations.first().map_or(Ok(()), |violation| {
            let (place, message) = (&violation.pointer, &violation.message);
            Err(format!("argument `{place}`: {message}"))
        });
    }
    let Value::Object(args) = args else {
        return Err("they are no map".to_owned());
    };
    let required = wanted.value().get("required").and_then(Value::as_array);
    let mut required = required.into_iter().flatten().filter_map(Value::as_str);
    if let Some(name) = required.find(|name| !args.contains_key(*name)) {
        return Err(format!("`{name}` is missing"));
    }
    for (name, value) in args {
        match wanted.at(&[Segment::Field(name.clone())]) {
            PathType::Undeclared { .. } | PathType::Absent { .. } => {
                return Err(format!("the read has no argument `{name}`"));
            }
            PathType::Unknown { .. } => {}
            PathType::Known { ty, .. } => {
                let given = given(value, of)?;
                if let Some(reason) = given.and_then(|given| given.never_fits(&ty)) {
                    return Err(format!("`{name}` never fits: {reason}"));
                }
            }
        }
    }
    Ok(())
}

/// Whether there is no expression in a value; each of them reads what a call can have.
fn is_constant(value: &Value, of: &Schema) -> Result<bool, String> {
    let mut constant = true;
    for_texts(value, &mut |text| {
        let template = template(text)?;
        for reference in template.references() {
            if reference.root != Root::Args {
                return Err(format!("`{reference}` is not in scope"));
            }
            if let PathType::Absent {
                reason,
                depth,
                known,
            } = of.at(&reference.path)
            {
                return Err(never_there(reference, &reason, depth, &known));
            }
        }
        constant &= template.is_constant();
        Ok(())
    })?;
    Ok(constant)
}

/// What an argument is before there is a call, if that is known.
fn given(value: &Value, of: &Schema) -> Result<Option<Type>, String> {
    if is_constant(value, of)? {
        return Ok(Some(Type::of_value(value)));
    }
    let Value::String(text) = value else {
        return Ok(None);
    };
    let template = template(text)?;
    let Some(whole) = template.whole() else {
        return Ok(Some(Type::of_kinds(Kinds::TEXT)));
    };
    let alone = |reference: &Reference| reference.to_string() == whole.source().trim();
    let only = template.references().find(|reference| alone(reference));
    Ok(match only.map(|only| of.at(&only.path)) {
        Some(PathType::Known { ty, .. }) => Some(ty),
        _ => None,
    })
}

fn template(text: &str) -> Result<Template, String> {
    Template::parse(text, Span::default(), text).map_err(|diagnostic| diagnostic.message)
}
