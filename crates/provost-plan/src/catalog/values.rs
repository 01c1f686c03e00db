//! Counted values: what the calls of an operation add up to, by name.
//!
//! Owns which argument counts, what a call with known arguments adds, and whether a sum is in whole
//! units. Never decides what is too much. INVARIANT: check and run read the amount of a call from
//! the same argument, and an argument that is no number has no amount.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Catalog, Operation};
use crate::amount::Amount;
use crate::expr::Segment;
use crate::schema::{Kinds, PathType, Type};

/// A setting `values` that counts nothing.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ValuesError {
    /// There is no such argument.
    #[error("`values` counts `{arg}`, which is no argument")]
    NoArgument {
        /// The argument.
        arg: String,
    },
    /// The argument is no number.
    #[error("`values` counts `{arg}`, which need not be a number")]
    NoNumber {
        /// The argument.
        arg: String,
    },
}

impl ValuesError {
    /// The argument at fault.
    #[must_use]
    pub fn arg(&self) -> &str {
        match self {
            Self::NoArgument { arg } | Self::NoNumber { arg } => arg,
        }
    }
}

impl Operation {
    /// Whether every argument that counts is a number of the input schema.
    ///
    /// # Errors
    /// [`ValuesError`] names the first that is not.
    pub fn hold_values(&self) -> Result<(), ValuesError> {
        for arg in self.values.values() {
            let kinds = self.kinds_of(arg);
            let arg = arg.clone();
            match kinds {
                None => return Err(ValuesError::NoArgument { arg }),
                Some(kinds) if !kinds.within(Kinds::NUMBER | Kinds::NULL) => {
                    return Err(ValuesError::NoNumber { arg });
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// What a call with these arguments adds to each value that it counts; `None` where that
    /// cannot be told: the argument is left out, or no number.
    #[must_use]
    pub fn amounts(&self, args: &Map<String, Value>) -> BTreeMap<String, Option<Amount>> {
        let of = |arg: &String| args.get(arg).and_then(Amount::of_value);
        let each = self.values.iter();
        each.map(|(name, arg)| (name.clone(), of(arg))).collect()
    }

    /// The largest number that the schema admits at an argument; `None` without a bound.
    #[must_use]
    pub fn ceiling(&self, arg: &str) -> Option<Amount> {
        match self.input.at(&[Segment::Field(arg.to_owned())]) {
            PathType::Known { ty, .. } => Type::amount_max(&ty),
            PathType::Unknown { .. } | PathType::Undeclared { .. } | PathType::Absent { .. } => {
                None
            }
        }
    }

    fn kinds_of(&self, arg: &str) -> Option<Kinds> {
        match self.input.at(&[Segment::Field(arg.to_owned())]) {
            PathType::Known { ty, .. } => Some(ty.kinds()),
            PathType::Unknown { .. } => Some(Kinds::JSON),
            PathType::Undeclared { .. } | PathType::Absent { .. } => None,
        }
    }
}

impl Catalog {
    /// The values that operations count, and whether each comes in whole units alone.
    #[must_use]
    pub fn values(&self) -> BTreeMap<String, bool> {
        let mut values = BTreeMap::new();
        for operation in self.iter() {
            for (name, arg) in &operation.values {
                let kinds = operation.kinds_of(arg);
                let whole = kinds.is_some_and(|k| k.within(Kinds::INTEGER | Kinds::NULL));
                let known = values.entry(name.clone()).or_insert(true);
                *known = *known && whole;
            }
        }
        values
    }
}
