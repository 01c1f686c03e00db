//! The text that `json` makes: written from a value at once, with no JSON value in between.
//!
//! Owns its price. INVARIANT: what has no text is refused, and most of the text is paid for, before
//! a byte of it is written; the text is the canonical one of [`Item::into_json`].

use std::collections::BTreeMap;

use serde::ser::{Error as _, Serialize, SerializeMap as _, SerializeSeq as _, Serializer};

use super::eval::{EvalFault, Fuel};
use super::value::{Dict, Item, finite, whole};
use crate::digest::canonical_of;

/// What one value in it costs.
const VALUE_UNITS: u64 = 8;
/// How often each of its bytes is paid for: it is written, and read by whoever asked for it.
const TIMES: usize = 4;

/// The canonical text of a value.
pub(super) fn text(item: &Item<'_>, fuel: &mut Fuel) -> Result<String, EvalFault> {
    let mut sure = 0;
    pay(item, fuel, &mut sure)?;
    let text = canonical_of(item).map_err(|error| EvalFault::new(error.to_string()))?;
    fuel.spend_bytes(text.len().saturating_sub(sure).saturating_mul(TIMES))?;
    Ok(text)
}

/// Pays for all that stands in a value, and for the bytes that its text has at least, which are
/// added to `sure`.
fn pay(item: &Item<'_>, fuel: &mut Fuel, sure: &mut usize) -> Result<(), EvalFault> {
    fuel.spend(VALUE_UNITS)?;
    match item {
        Item::Int(value) => whole(*value).map(|_| ()),
        Item::Double(value) => finite(*value).map(|_| ()),
        Item::Text(text) => pay_bytes(text.as_str(), fuel, sure),
        Item::List(list) => list.iter().try_for_each(|item| pay(&item, fuel, sure)),
        Item::Map(Dict::Read(map)) => map.iter().try_for_each(|(key, value)| {
            pay_bytes(key, fuel, sure)?;
            pay(&Item::read(value), fuel, sure)
        }),
        Item::Map(Dict::Made(map)) => map.iter().try_for_each(|(key, value)| {
            pay_bytes(&key.name(), fuel, sure)?;
            pay(value, fuel, sure)
        }),
        _ => Ok(()),
    }
}

fn pay_bytes(text: &str, fuel: &mut Fuel, sure: &mut usize) -> Result<(), EvalFault> {
    *sure = sure.saturating_add(text.len());
    fuel.spend_bytes(text.len().saturating_mul(TIMES + 1))
}

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::Double(value) => match finite(*value) {
                Ok(number) => number.serialize(serializer),
                Err(_) => Err(S::Error::custom("not a finite number")),
            },
            Self::Text(text) => serializer.serialize_str(text.as_str()),
            Self::List(list) => {
                let mut items = serializer.serialize_seq(Some(list.len()))?;
                for item in list.iter() {
                    items.serialize_element(&item)?;
                }
                items.end()
            }
            Self::Map(Dict::Read(map)) => {
                let mut entries = serializer.serialize_map(Some(map.len()))?;
                for (key, value) in *map {
                    entries.serialize_entry(key, &Item::read(value))?;
                }
                entries.end()
            }
            Self::Map(Dict::Made(map)) => {
                // Why again: two keys of different kinds can have one name.
                let named: BTreeMap<String, &Item<'_>> =
                    map.iter().map(|(key, value)| (key.name(), value)).collect();
                named.serialize(serializer)
            }
            Self::Time(time) => serializer.serialize_str(&time.to_string()),
            Self::Length(length) => serializer.serialize_str(&super::time::print_duration(*length)),
            Self::Type(name) => serializer.serialize_str(name),
        }
    }
}
