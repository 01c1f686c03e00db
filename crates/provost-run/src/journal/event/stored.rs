//! A stored event as one map, of its kind and its payload, read without a copy of either.
//!
//! Owns nothing else. INVARIANT: what is read is what a map with both in it would give.

use serde::de::value::{BorrowedStrDeserializer, MapDeserializer};
use serde::de::{Deserialize, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use super::Event;

/// One of the two values of the map.
enum Part<'de> {
    Kind(&'de str),
    Payload(&'de Value),
}

/// Reads it.
pub(super) fn read(kind: &str, payload: &Value) -> Result<Event, serde_json::Error> {
    let parts = [
        ("kind", Part::Kind(kind)),
        ("payload", Part::Payload(payload)),
    ];
    Event::deserialize(MapDeserializer::new(parts.into_iter()))
}

impl<'de> IntoDeserializer<'de, serde_json::Error> for Part<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Part<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self {
            Self::Kind(kind) => visitor.visit_borrowed_str(kind),
            Self::Payload(payload) => payload.deserialize_any(visitor),
        }
    }

    /// Why of its own: a kind is read as the variant that it names.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        match self {
            Self::Kind(kind) => {
                BorrowedStrDeserializer::new(kind).deserialize_enum(name, variants, visitor)
            }
            Self::Payload(payload) => payload.deserialize_enum(name, variants, visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}
