//! JSON Schemas: the types of arguments and outputs.
//!
//! Owns compiling and validating; in [`kinds`], [`path`], [`fit`] and [`bytes`] what a schema says
//! about the values it admits. Never fetches a remote `$ref`. INVARIANT: check and run use the same
//! draft and format flags, and no value is looked at before the work that it takes is paid for.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;

use crate::expr::Segment;
use crate::limits::VIOLATIONS_WORK_MAX;
use crate::work::{Exceeded, WorkBudget};

pub mod bytes;
mod ceiling;
pub mod fit;
pub mod kinds;
mod named;
pub mod path;
mod plain;
mod sample;
mod texts;
pub(crate) mod work;

pub use fit::Fit;
pub use kinds::{Kinds, Type};
use path::Absence;
pub use path::PathType;
use work::Work;

/// A compiled JSON Schema, draft 2020-12, formats asserted, nothing fetched.
#[derive(Clone)]
pub struct Schema {
    value: Arc<Value>,
    weight: usize,
    work: Arc<Work>,
    /// Made when a value is judged first, where it is certain that it can be made.
    validator: Arc<OnceLock<Option<jsonschema::Validator>>>,
    shape: Arc<OnceLock<Shape>>,
    listed: Arc<OnceLock<Shape>>,
}

/// Most paths of one schema whose types are kept.
const PLACES_MAX: usize = 256;

/// Heaviest schema that is compiled as late as when a value is judged first: a heavier one would
/// keep whoever drives a run waiting then.
const LATE_WEIGHT_MAX: usize = 500;

/// A type with the places in it that were looked at: a plan reads the same few again and again.
pub(crate) struct Shape {
    ty: Type,
    places: Mutex<BTreeMap<Vec<Segment>, PathType>>,
    absences: Mutex<BTreeMap<Vec<Segment>, Vec<Absence>>>,
}

/// What is asked about the places of a type.
pub(crate) trait Places {
    /// What is at `path`.
    fn at(&self, path: &[Segment]) -> PathType;
    /// The places along `path` that may be absent although what leads to them is there.
    fn absences(&self, path: &[Segment]) -> Vec<Absence>;
}

impl Places for Type {
    fn at(&self, path: &[Segment]) -> PathType {
        Self::at(self, path)
    }

    fn absences(&self, path: &[Segment]) -> Vec<Absence> {
        Self::absences(self, path)
    }
}

impl Places for Shape {
    fn at(&self, path: &[Segment]) -> PathType {
        kept(&self.places, path, || self.ty.at(path))
    }

    fn absences(&self, path: &[Segment]) -> Vec<Absence> {
        kept(&self.absences, path, || self.ty.absences(path))
    }
}

/// What was found at `path` before, else what `find` finds now.
fn kept<T: Clone>(
    found: &Mutex<BTreeMap<Vec<Segment>, T>>,
    path: &[Segment],
    find: impl FnOnce() -> T,
) -> T {
    // Why: nothing panics while the lock is held, and what is kept is whole in any case.
    let known = found.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(path) {
        return known.clone();
    }
    drop(known);
    let new = find();
    let mut known = found.lock().unwrap_or_else(PoisonError::into_inner);
    if known.len() < PLACES_MAX {
        known.insert(path.to_vec(), new.clone());
    }
    new
}

impl Shape {
    fn new(ty: Type) -> Self {
        Self {
            ty,
            places: Mutex::default(),
            absences: Mutex::default(),
        }
    }

    fn keeps(&self, path: &[Segment]) -> bool {
        let kept = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        kept.contains_key(path)
    }
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
    /// [`SchemaError`] if the schema is malformed, refers to a remote document, or has no end.
    pub fn compile(value: Value) -> Result<Self, SchemaError> {
        // Why first: to compile what is nested too deep takes more stack than there is.
        let work = Work::of(&value).map_err(|unbounded| SchemaError {
            reason: unbounded.to_string(),
        })?;
        let (made, weight) = (OnceLock::new(), weight(&value));
        if weight > LATE_WEIGHT_MAX || !plain::is_plain(&value) {
            let validator = validator(&value).map_err(|error| SchemaError {
                reason: error.to_string(),
            })?;
            made.get_or_init(|| Some(validator));
        }
        Ok(Self {
            weight,
            work: Arc::new(work),
            value: Arc::new(value),
            validator: Arc::new(made),
            shape: Arc::default(),
            listed: Arc::default(),
        })
    }

    /// The schema as JSON.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The document, as its holders share it.
    #[must_use]
    pub fn shared_value(&self) -> &Arc<Value> {
        &self.value
    }

    /// How many values it is made of: what looking through it costs.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Whether what is at `path`, of a list of values if `listed`, was looked at before.
    #[must_use]
    pub(crate) fn keeps(&self, path: &[Segment], listed: bool) -> bool {
        let shape = if listed { &self.listed } else { &self.shape };
        shape.get().is_some_and(|shape| shape.keeps(path))
    }

    /// What the schema says about the values it admits; computed once.
    #[must_use]
    pub fn ty(&self) -> &Type {
        &self.shape().ty
    }

    /// The type of a list of values that fit; computed once.
    #[must_use]
    pub fn listed(&self) -> &Type {
        &self.list_shape().ty
    }

    /// What is at `path` in a value that fits.
    #[must_use]
    pub fn at(&self, path: &[Segment]) -> PathType {
        self.shape().at(path)
    }

    /// What is at `path` in a list of values that fit.
    #[must_use]
    pub fn listed_at(&self, path: &[Segment]) -> PathType {
        self.list_shape().at(path)
    }

    /// The places of a value that fits, or of a list of them if `listed`.
    pub(crate) fn places(&self, listed: bool) -> &Shape {
        if listed {
            self.list_shape()
        } else {
            self.shape()
        }
    }

    fn shape(&self) -> &Shape {
        self.shape
            .get_or_init(|| Shape::new(Type::declared(&self.value)))
    }

    fn list_shape(&self) -> &Shape {
        self.listed
            .get_or_init(|| Shape::new(Type::list_of(self.ty())))
    }

    /// Whether `instance` fits; one that takes too much work to judge does not.
    #[must_use]
    pub fn admits(&self, instance: &Value) -> bool {
        self.work.pay(instance, &WorkBudget::of_one_value()).is_ok()
            && self.validator().is_some_and(|made| made.is_valid(instance))
    }

    /// What judges values; none never, and then no value fits.
    fn validator(&self) -> Option<&jsonschema::Validator> {
        let made = self.validator.get_or_init(|| validator(&self.value).ok());
        made.as_ref()
    }

    /// Every way in which `instance` does not fit; empty if it fits. One that takes too much work
    /// to judge does not fit.
    #[must_use]
    pub fn violations(&self, instance: &Value) -> Vec<Violation> {
        self.violations_within(instance, &WorkBudget::of_one_value())
    }

    /// [`Schema::violations`], paid for from a purse.
    #[must_use]
    pub fn violations_within(&self, instance: &Value, purse: &WorkBudget) -> Vec<Violation> {
        self.judge(instance, purse)
            .unwrap_or_else(|exceeded| vec![Violation::of_all("", exceeded.to_string())])
    }

    /// Pays for judging `instance` without judging it; what that costs.
    ///
    /// # Errors
    /// [`Exceeded`] if there is not enough in the purse.
    pub fn pay(&self, instance: &Value, purse: &WorkBudget) -> Result<u64, Exceeded> {
        self.work.pay(instance, purse)
    }

    /// Every way in which `instance` does not fit, paid for from a purse.
    ///
    /// # Errors
    /// [`Exceeded`] if there is not enough in it; nothing is judged then.
    pub fn judge(&self, instance: &Value, purse: &WorkBudget) -> Result<Vec<Violation>, Exceeded> {
        let work = self.pay(instance, purse)?;
        let Some(validator) = self.validator() else {
            let message = "the schema does not load".to_owned();
            return Ok(vec![Violation::of_all("", message)]);
        };
        if validator.is_valid(instance) {
            return Ok(Vec::new());
        }
        if work > VIOLATIONS_WORK_MAX {
            // Why not all of them, and of a choice not even the first: it would hold those of every
            // branch, which can be hundreds of megabytes.
            let first = (self.work.is_without_choice())
                .then(|| validator.validate(instance).err())
                .flatten();
            let first = first.map(|error| Violation::of(&error)).unwrap_or_else(|| {
                Violation::of_all("", "it fits no branch of the schema".to_owned())
            });
            return Ok(vec![first]);
        }
        let errors = validator.iter_errors(instance);
        Ok(errors.map(|error| Violation::of(&error)).collect())
    }
}

/// Makes what every schema is judged by, once in a process. Whoever compiles the first schema makes
/// it otherwise, and it takes longer than all else that opens a small workspace.
pub fn prepare() {
    let _ = jsonschema::draft202012::meta::validator();
}

/// Compiles what judges values by a schema, which is judged itself first.
fn validator(
    schema: &Value,
) -> Result<jsonschema::Validator, jsonschema::ValidationError<'static>> {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .offline()
        .build(schema)
}

impl Violation {
    fn of(error: &jsonschema::ValidationError<'_>) -> Self {
        let path = error.schema_path().to_string();
        Self {
            pointer: error.instance_path().to_string(),
            message: error.masked().to_string(),
            keyword: path.rsplit('/').next().unwrap_or_default().to_owned(),
        }
    }

    fn of_all(keyword: &str, message: String) -> Self {
        Self {
            pointer: String::new(),
            message,
            keyword: keyword.to_owned(),
        }
    }
}

fn weight(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + 1,
        Value::Object(map) => map.values().map(weight).sum::<usize>() + 1,
        _ => 1,
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
