//! JSON Schemas: the types of arguments and outputs.
//!
//! Owns compiling and validating; in [`kinds`], [`path`] and [`fit`] what a schema says about the
//! values it admits. Never fetches a remote `$ref`. INVARIANT: check and run use the same draft
//! and format flags.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

pub mod fit;
pub mod kinds;
pub mod path;
mod sample;

pub use fit::Fit;
pub use kinds::{Kinds, Type};
pub use path::PathType;

/// A compiled JSON Schema, draft 2020-12, formats asserted, nothing fetched.
#[derive(Clone)]
pub struct Schema {
    value: Arc<Value>,
    validator: Arc<jsonschema::Validator>,
    canonical: Arc<OnceLock<Type>>,
}

/// A schema that cannot be used.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("the JSON Schema does not load: {reason}")]
pub struct SchemaError {
    reason: String,
}

/// One way in which a value does not fit a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// JSON pointer into the value.
    pub pointer: String,
    /// What is wrong there: lower case, without the value itself if it is long.
    pub message: String,
    /// The keyword of the schema that refused it (`type`, `required`, …).
    pub keyword: String,
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// [`SchemaError`] if the schema is malformed or refers to a remote document.
    pub fn compile(value: Value) -> Result<Self, SchemaError> {
        let validator = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .should_validate_formats(true)
            .offline()
            .build(&value)
            .map_err(|error| SchemaError {
                reason: error.to_string(),
            })?;
        Ok(Self {
            value: Arc::new(value),
            validator: Arc::new(validator),
            canonical: Arc::default(),
        })
    }

    /// The schema as JSON.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// What the schema says about the values it admits; computed once.
    #[must_use]
    pub fn ty(&self) -> &Type {
        self.canonical.get_or_init(|| Type::of_json(&self.value))
    }

    /// What is at `path` in a value that fits.
    #[must_use]
    pub fn at(&self, path: &[crate::expr::Segment]) -> PathType {
        self.ty().at(path)
    }

    /// Whether `instance` fits.
    #[must_use]
    pub fn admits(&self, instance: &Value) -> bool {
        self.validator.is_valid(instance)
    }

    /// Every way in which `instance` does not fit; empty if it fits.
    #[must_use]
    pub fn violations(&self, instance: &Value) -> Vec<Violation> {
        if self.validator.is_valid(instance) {
            return Vec::new();
        }
        self.validator
            .iter_errors(instance)
            .map(|error| Violation {
                pointer: error.instance_path().to_string(),
                message: error.masked().to_string(),
                keyword: error
                    .schema_path()
                    .to_string()
                    .rsplit('/')
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            })
            .collect()
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.value)
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}
