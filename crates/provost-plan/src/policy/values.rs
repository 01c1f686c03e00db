//! A call as policy sees it: `args`, `sinks`, `hosts`, `opaque`, and `total` of its plan.
//!
//! Owns the conversion of JSON values by [`EntityShape`]. Never drops anything in silence: what
//! has no type, or no exact value, is named in `opaque`. INVARIANT: a value that does not fit its
//! shape is an error, never a guess.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Number, Value};

use super::hosts::hosts_in;
use super::shape::{EntityShape, ShapeField, ShapeFields};
use crate::amount::Totals;
use crate::catalog::Operation;
use crate::digest::normalize_number;

/// Largest number that Cedar's decimal holds, in whole units.
const DECIMAL_UNITS_MAX: f64 = 922_337_203_685_477.0;
/// Digits after the point of Cedar's decimal.
const DECIMAL_PLACES: usize = 4;

/// Stands among the hosts for a text that two readers may read differently, so that no list of
/// allowed hosts lets it pass.
const UNCLEAR_HOST: &str = "?";

/// An argument that policy cannot be asked about.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("argument `{path}` is not {expected}, which its schema demands")]
pub(super) struct ValueError {
    path: String,
    expected: &'static str,
}

/// A value that Cedar can hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CedarValue {
    /// A string.
    Text(String),
    /// An integer.
    Whole(i64),
    /// A decimal, as Cedar writes it.
    Number(String),
    /// A boolean.
    Flag(bool),
    /// A set.
    List(Vec<Self>),
    /// A record.
    Record(BTreeMap<String, Self>),
}

/// The context of a decision.
#[derive(Clone, Debug, Default)]
pub(super) struct DecisionInput {
    /// The typed arguments.
    pub args: BTreeMap<String, CedarValue>,
    /// The values at sinks.
    pub sinks: BTreeSet<String>,
    /// Hosts of URLs and domains of mail addresses among them.
    pub hosts: BTreeSet<String>,
    /// The paths of what `args` does not hold, or not exactly.
    pub opaque: BTreeSet<String>,
    /// The most of each counted value in the whole plan, where it has a bound.
    pub total: BTreeMap<String, CedarValue>,
}

impl DecisionInput {
    /// Converts the arguments of a call of `operation`; those in `unknown` may be missing.
    ///
    /// # Errors
    /// [`ValueError`] names the first argument that does not fit its schema.
    pub fn of<'v>(
        fields: &ShapeFields,
        operation: &Operation,
        args: impl Iterator<Item = (&'v String, &'v Value)> + Clone,
        unknown: &BTreeSet<String>,
    ) -> Result<Self, ValueError> {
        let mut seen = Self::default();
        seen.args = fields_of(fields, args.clone(), "", &mut seen.opaque)?;
        require(fields, &seen.args, unknown, "")?;
        for (name, value) in args {
            if operation.is_sink(name) {
                seen.add_sink(value);
            }
        }
        Ok(seen)
    }

    /// Adds what the plan of the call comes to: of each of the `values`, in whole units or not.
    pub fn add_totals(&mut self, values: &BTreeMap<String, bool>, totals: &Totals) {
        for (name, is_whole) in values {
            // Why nothing at all where none is told: zero would be the smallest sum there is.
            let Some(most) = totals.get(name).copied().flatten() else {
                continue;
            };
            let value = match is_whole {
                true => most.units().map(CedarValue::Whole),
                false => most.decimal().map(CedarValue::Number),
            };
            self.total.extend(value.map(|value| (name.clone(), value)));
        }
    }

    fn add_sink(&mut self, value: &Value) {
        match value {
            Value::Null => {}
            Value::String(text) => {
                let found = hosts_in(text);
                self.hosts.extend(found.hosts);
                if found.ambiguous {
                    self.hosts.insert(UNCLEAR_HOST.to_owned());
                }
                self.sinks.insert(text.clone());
            }
            Value::Array(items) => items.iter().for_each(|item| self.add_sink(item)),
            Value::Object(map) => map.values().for_each(|value| self.add_sink(value)),
            Value::Bool(_) | Value::Number(_) => {
                self.sinks.insert(value.to_string());
            }
        }
    }
}

fn fields_of<'v>(
    fields: &ShapeFields,
    map: impl Iterator<Item = (&'v String, &'v Value)>,
    at: &str,
    opaque: &mut BTreeSet<String>,
) -> Result<BTreeMap<String, CedarValue>, ValueError> {
    let mut typed = BTreeMap::new();
    for (name, value) in map {
        let path = if at.is_empty() {
            name.clone()
        } else {
            format!("{at}.{name}")
        };
        match fields.known.get(name) {
            Some(field) => {
                if let Some(value) = typed_of(field, value, &path, opaque)? {
                    typed.insert(name.clone(), value);
                }
            }
            None => {
                opaque.insert(path);
            }
        }
    }
    Ok(typed)
}

/// Refuses a record without one of the fields it must have.
fn require(
    fields: &ShapeFields,
    typed: &BTreeMap<String, CedarValue>,
    excused: &BTreeSet<String>,
    at: &str,
) -> Result<(), ValueError> {
    let needed = |field: &ShapeField| field.required && field.shape != EntityShape::Untyped;
    let missing = fields.known.iter().find(|(name, field)| {
        needed(field) && !typed.contains_key(*name) && !excused.contains(*name)
    });
    match missing {
        Some((name, _)) => Err(ValueError {
            path: if at.is_empty() {
                name.clone()
            } else {
                format!("{at}.{name}")
            },
            expected: "there",
        }),
        None => Ok(()),
    }
}

fn typed_of(
    field: &ShapeField,
    value: &Value,
    path: &str,
    opaque: &mut BTreeSet<String>,
) -> Result<Option<CedarValue>, ValueError> {
    let error = |expected| ValueError {
        path: path.to_owned(),
        expected,
    };
    if value.is_null() && !field.required && field.shape != EntityShape::Untyped {
        return Ok(None);
    }
    Ok(Some(match (&field.shape, value) {
        (EntityShape::Untyped, _) => {
            opaque.insert(path.to_owned());
            return Ok(None);
        }
        (EntityShape::Text, Value::String(text)) => CedarValue::Text(text.clone()),
        (EntityShape::Flag, Value::Bool(flag)) => CedarValue::Flag(*flag),
        (EntityShape::Whole, Value::Number(number)) => normalize_number(number)
            .ok()
            .and_then(|number| number.as_i64())
            .map(CedarValue::Whole)
            .ok_or_else(|| error("an integer within ±2^53"))?,
        (EntityShape::Number, Value::Number(number)) => {
            let (text, exact) = decimal_of(number).ok_or_else(|| error("a number"))?;
            if !exact {
                opaque.insert(path.to_owned());
            }
            CedarValue::Number(text)
        }
        (EntityShape::List(item), Value::Array(values)) => {
            let path = format!("{path}[]");
            let mut items = Vec::with_capacity(values.len());
            for value in values {
                match typed_of(item, value, &path, opaque)? {
                    Some(item) => items.push(item),
                    // Why: a set cannot hold `null`; without a word it would look shorter.
                    None => {
                        opaque.insert(path.clone());
                    }
                }
            }
            CedarValue::List(items)
        }
        (EntityShape::Record(fields), Value::Object(map)) => {
            let typed = fields_of(fields, map.iter(), path, opaque)?;
            require(fields, &typed, &BTreeSet::new(), path)?;
            CedarValue::Record(typed)
        }
        (shape, _) => return Err(error(shape.word())),
    }))
}

/// A number as Cedar's decimal, and whether that is its exact value.
fn decimal_of(number: &Number) -> Option<(String, bool)> {
    let value = number.as_f64()?;
    if value.abs() > DECIMAL_UNITS_MAX {
        let sign = if value < 0.0 { "-" } else { "" };
        return Some((format!("{sign}{DECIMAL_UNITS_MAX}.0"), false));
    }
    // Why: the shortest text that reads back as the same number is what its author wrote.
    let text = value.to_string();
    let exact = match text.split_once('.') {
        None => return Some((format!("{text}.0"), true)),
        Some((_, places)) => places.len() <= DECIMAL_PLACES,
    };
    Some((
        if exact {
            text
        } else {
            format!("{value:.DECIMAL_PLACES$}")
        },
        exact,
    ))
}

#[cfg(test)]
mod tests;
