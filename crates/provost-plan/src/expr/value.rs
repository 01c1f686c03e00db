//! Values during an evaluation: borrowed from the scope where they can be, shared where not.
//!
//! Owns the kinds a value can have and its way from and to JSON; [`super::json`] owns its text.
//! INVARIANT: making a copy of a value costs nothing that grows with it; what is made has been paid
//! for before, by the room it takes.

use std::collections::BTreeMap;
use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Number, Value};

use super::eval::{EvalFault, Fuel};
use crate::digest::{canonical, normalize_number};

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Item<'v> {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(Text<'v>),
    List(List<'v>),
    Map(Dict<'v>),
    Time(Timestamp),
    Length(SignedDuration),
    Type(&'static str),
}

#[derive(Clone, Debug)]
pub(super) enum Text<'v> {
    Read(&'v str),
    /// Why no `Rc<str>`: that would copy what was just written.
    Made(Rc<String>),
}

#[derive(Clone, Debug)]
pub(super) enum List<'v> {
    Read(&'v [Value]),
    Made(Rc<Vec<Item<'v>>>),
}

#[derive(Clone, Debug)]
pub(super) enum Dict<'v> {
    Read(&'v Map<String, Value>),
    Made(Rc<BTreeMap<Key, Item<'v>>>),
}

/// What a list takes beside its items: its counts, where it stands, what the allocator adds.
const LIST_BYTES: usize = 64;
/// What an entry of a map takes that an expression makes.
const ENTRY_BYTES: usize = 128;
/// What a map of JSON takes beside its entries: room for eleven from the first.
const MAP_UNITS: u64 = 40;

/// A key of a map that an expression made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Bool(bool),
    Int(i64),
    Text(String),
}

impl Text<'_> {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Read(text) => text,
            Self::Made(text) => text,
        }
    }

    /// The text itself; copied only where something else holds it too.
    fn into_string(self) -> String {
        match self {
            Self::Read(text) => text.to_owned(),
            Self::Made(text) => Rc::unwrap_or_clone(text),
        }
    }
}

impl<'v> List<'v> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Read(items) => items.len(),
            Self::Made(items) => items.len(),
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<Item<'v>> {
        match self {
            Self::Read(items) => items.get(index).map(Item::read),
            Self::Made(items) => items.get(index).cloned(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Item<'v>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

impl<'v> Dict<'v> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Read(map) => map.len(),
            Self::Made(map) => map.len(),
        }
    }

    /// The value of a key; a key that is no text is found only in a map that an expression made.
    pub(super) fn get(&self, key: &Item<'_>) -> Option<Item<'v>> {
        match self {
            Self::Read(map) => match key {
                Item::Text(text) => map.get(text.as_str()).map(Item::read),
                _ => None,
            },
            Self::Made(map) => Key::of(key).and_then(|key| map.get(&key).cloned()),
        }
    }

    pub(super) fn keys(&self) -> Vec<Item<'v>> {
        match self {
            Self::Read(map) => map.keys().map(|key| Item::Text(Text::Read(key))).collect(),
            Self::Made(map) => map.keys().map(Key::item).collect(),
        }
    }
}

impl Key {
    pub(super) fn of(item: &Item<'_>) -> Option<Self> {
        match item {
            Item::Bool(value) => Some(Self::Bool(*value)),
            Item::Int(value) => Some(Self::Int(*value)),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the value is whole and small"
            )]
            Item::Double(value) if value.fract() == 0.0 && value.abs() < 9e15 => {
                Some(Self::Int(*value as i64))
            }
            Item::Text(text) => Some(Self::Text(text.as_str().to_owned())),
            _ => None,
        }
    }

    fn item<'v>(&self) -> Item<'v> {
        match self {
            Self::Bool(value) => Item::Bool(*value),
            Self::Int(value) => Item::Int(*value),
            Self::Text(text) => Item::text(text.clone()),
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

impl<'v> Item<'v> {
    pub(super) fn read(value: &'v Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::number(number),
            Value::String(text) => Self::Text(Text::Read(text)),
            Value::Array(items) => Self::List(List::Read(items)),
            Value::Object(map) => Self::Map(Dict::Read(map)),
        }
    }

    /// A value that no scope holds.
    pub(super) fn owned(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Number(number) => Self::number(&number),
            Value::String(text) => Self::text(text),
            Value::Array(items) => Self::list(items.into_iter().map(Self::owned).collect()),
            Value::Object(map) => {
                let entries = map.into_iter();
                let entries = entries.map(|(key, value)| (Key::Text(key), Self::owned(value)));
                Self::Map(Dict::Made(Rc::new(entries.collect())))
            }
        }
    }

    fn number(number: &Number) -> Self {
        number.as_i64().map_or_else(
            || Self::Double(number.as_f64().unwrap_or(f64::NAN)),
            Self::Int,
        )
    }

    /// A text that has been paid for.
    pub(super) fn text(text: String) -> Self {
        Self::Text(Text::Made(Rc::new(text)))
    }

    /// A list whose items have been paid for by [`Self::pay_list`].
    pub(super) fn list(mut items: Vec<Self>) -> Self {
        items.shrink_to_fit();
        Self::List(List::Made(Rc::new(items)))
    }

    /// Pays for a list of so many items.
    pub(super) fn pay_list(count: usize, fuel: &mut Fuel) -> Result<(), EvalFault> {
        fuel.spend_bytes(made_bytes(count, size_of::<Self>()))
    }

    /// Pays for a map of so many entries.
    pub(super) fn pay_map(count: usize, fuel: &mut Fuel) -> Result<(), EvalFault> {
        fuel.spend_bytes(made_bytes(count, ENTRY_BYTES))
    }

    /// The name of its type in the language.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Time(_) => "google.protobuf.Timestamp",
            Self::Length(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
        }
    }

    /// What it is, in words.
    pub(super) fn kind_word(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "an integer",
            Self::Double(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
            Self::Time(_) => "a time",
            Self::Length(_) => "a duration",
            Self::Type(_) => "a type",
        }
    }

    /// Equality as in CEL: numbers by value, other kinds only with their own.
    pub(super) fn equals(&self, other: &Self, fuel: &mut Fuel) -> Result<bool, EvalFault> {
        fuel.spend(1)?;
        Ok(match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Int(a), Self::Double(b)) | (Self::Double(b), Self::Int(a)) => {
                as_double(*a) == *b
            }
            (Self::Double(a), Self::Double(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => {
                fuel.spend_bytes(a.as_str().len().min(b.as_str().len()))?;
                a.as_str() == b.as_str()
            }
            (Self::List(a), Self::List(b)) => {
                if a.len() != b.len() {
                    return Ok(false);
                }
                for (left, right) in a.iter().zip(b.iter()) {
                    if !left.equals(&right, fuel)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Self::Map(a), Self::Map(b)) => {
                if a.len() != b.len() {
                    return Ok(false);
                }
                for key in a.keys() {
                    match (a.get(&key), b.get(&key)) {
                        (Some(left), Some(right)) if left.equals(&right, fuel)? => {}
                        _ => return Ok(false),
                    }
                }
                true
            }
            (Self::Time(a), Self::Time(b)) => a == b,
            (Self::Length(a), Self::Length(b)) => a == b,
            (Self::Type(a), Self::Type(b)) => a == b,
            _ => false,
        })
    }

    /// The JSON value, in normal form. Times and durations become text.
    pub(super) fn into_json(self, fuel: &mut Fuel) -> Result<Value, EvalFault> {
        if matches!(self, Self::Map(_)) {
            fuel.spend(MAP_UNITS)?;
        }
        // Why: it makes what everything else only points at.
        // Why so dear: what is made takes room, some 80 bytes for a list of one item.
        fuel.spend(8)?;
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Int(value) => Value::Number(whole(value)?),
            Self::Double(value) => Value::Number(finite(value)?),
            Self::Text(text) => {
                fuel.spend_bytes(text.as_str().len())?;
                Value::String(text.into_string())
            }
            Self::List(list) => {
                // Why with its length: one that grows keeps room for four items from the first.
                let mut items = Vec::with_capacity(list.len());
                for item in list.iter() {
                    items.push(item.into_json(fuel)?);
                }
                Value::Array(items)
            }
            Self::Map(Dict::Read(map)) => map
                .iter()
                .map(|(key, value)| {
                    fuel.spend_bytes(key.len())?;
                    Ok((key.clone(), Item::read(value).into_json(fuel)?))
                })
                .collect::<Result<_, _>>()
                .map(Value::Object)?,
            Self::Map(Dict::Made(map)) => map
                .iter()
                .map(|(key, value)| Ok((key.name(), value.clone().into_json(fuel)?)))
                .collect::<Result<_, _>>()
                .map(Value::Object)?,
            Self::Time(time) => Value::String(time.to_string()),
            Self::Length(length) => Value::String(super::time::print_duration(length)),
            Self::Type(name) => Value::String(name.to_owned()),
        })
    }

    /// The text that stands for it inside a text.
    pub(super) fn print(self, fuel: &mut Fuel) -> Result<String, EvalFault> {
        match &self {
            Self::Null => Err(EvalFault::new(
                "null has no text; give a default or use `json()`",
            )),
            Self::List(_) => Err(EvalFault::new(
                "a list has no text; use `join()` or `json()`",
            )),
            Self::Map(_) => Err(EvalFault::new(
                "a map has no text; use a field of it or `json()`",
            )),
            _ => match self.into_json(fuel)? {
                Value::String(text) => Ok(text),
                other => Ok(canonical(&other)),
            },
        }
    }
}

/// What a list or a map of so many takes, of so many bytes each.
fn made_bytes(count: usize, each: usize) -> usize {
    count.saturating_mul(each).saturating_add(LIST_BYTES)
}

/// An integer as JSON holds it.
pub(super) fn whole(value: i64) -> Result<Number, EvalFault> {
    normal(&Number::from(value))
}

/// A number as JSON holds it.
pub(super) fn finite(value: f64) -> Result<Number, EvalFault> {
    let number = Number::from_f64(value);
    normal(&number.ok_or_else(|| EvalFault::new("the result is not a finite number"))?)
}

fn normal(number: &Number) -> Result<Number, EvalFault> {
    normalize_number(number).map_err(|error| EvalFault::new(error.to_string()))
}

/// The double nearest to an integer.
#[expect(
    clippy::cast_precision_loss,
    reason = "integers in scope are within ±2^53"
)]
pub(super) fn as_double(value: i64) -> f64 {
    value as f64
}
