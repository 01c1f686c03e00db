//! What a call makes: the kind of thing, and where its id stands in the output.
//!
//! Owns what may be declared of it and how the id is found. Never judges a call by it: an id that
//! cannot be found is unknown, and the call as good as it was. INVARIANT: an id is a text or an
//! integer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Operation;
use crate::diagnostic::nearest;
use crate::expr::{Reference, Root, Scope, Segment, Template};
use crate::schema::{Kinds, PathType};
use crate::source::Span;

/// What a call of an operation makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Creates {
    /// The kind of thing, as people call it: `page`, `draft`.
    pub kind: String,
    /// The text over `args` and `output` of the call that gives its id.
    pub id: String,
}

/// Why a declaration of what is made cannot be used.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum CreatesError {
    /// A read makes nothing.
    #[error("`creates` stands at a read, which makes nothing")]
    Read,
    /// The id cannot be found by it.
    #[error("`id` of `creates`: {0}")]
    Id(String),
}

impl Creates {
    /// Holds it against the operation it belongs to.
    ///
    /// # Errors
    /// [`CreatesError`] if the operation is a read, or the id is no text or integer it can give.
    pub fn hold(&self, operation: &Operation) -> Result<(), CreatesError> {
        if operation.effect.is_read() {
            return Err(CreatesError::Read);
        }
        let wrong = |reason: String| Err(CreatesError::Id(reason));
        let template = match self.template() {
            Ok(template) => template,
            Err(reason) => return wrong(reason),
        };
        let mut looks = false;
        for reference in template.references() {
            let schema = match reference.root {
                Root::Output => operation.output.as_ref(),
                Root::Args => Some(&operation.input),
                _ => return wrong(format!("`{reference}` is not in scope")),
            };
            looks |= reference.root == Root::Output;
            let Some(found) = schema.map(|schema| schema.at(&reference.path)) else {
                continue;
            };
            match found {
                PathType::Absent {
                    reason,
                    depth,
                    known,
                } => return wrong(never_there(reference, &reason, depth, &known)),
                PathType::Known { ty, .. } if !ty.kinds().meets(Kinds::TEXT | Kinds::INTEGER) => {
                    let words = ty.kinds().words();
                    return wrong(format!(
                        "`{reference}` is {words}, not a text or an integer"
                    ));
                }
                PathType::Known { .. } | PathType::Undeclared { .. } | PathType::Unknown { .. } => {
                }
            }
        }
        if looks {
            Ok(())
        } else {
            wrong("it reads nothing of `output`".to_owned())
        }
    }

    /// The id of what a call made, if it can be told.
    #[must_use]
    pub fn id_of(&self, args: &Value, output: &Value) -> Option<Value> {
        let scope = Scope::new().with("args", args).with("output", output);
        let id = self.template().ok()?.eval(&scope).ok()?;
        (id.is_string() || id.is_i64() || id.is_u64()).then_some(id)
    }

    fn template(&self) -> Result<Template, String> {
        Template::parse(&self.id, Span::default(), &self.id).map_err(|found| found.message)
    }
}

/// That a schema has nothing where an entry reads, with the name that may be meant.
pub(super) fn never_there(
    reference: &Reference,
    reason: &str,
    depth: usize,
    known: &[String],
) -> String {
    let near = match reference.path.get(depth) {
        Some(Segment::Field(name)) => nearest(name, known.iter().map(String::as_str)),
        _ => None,
    };
    let near = near.map(|near| format!(" (did you mean `{near}`?)"));
    let near = near.unwrap_or_default();
    format!("`{reference}` is never there: {reason}{near}")
}
