//! The canonical text of whatever can be serialized, without a value in between.
//!
//! Owns a serializer that writes what [`super::canonical`] writes of the same thing as a JSON
//! value. INVARIANT: equal to that way for everything both can write; what has a number beyond
//! ±2^53 is refused.

use std::cmp::Ordering;
use std::fmt::Display;

use serde::ser::{self, Serialize};
use serde_json::{Number, Value};

use super::{INTEGER_MAX, NumberError, normalize_number, reference, write_text};

/// Most texts are no longer than this, in bytes.
const TEXT_BYTES_USUAL: usize = 1024;
/// The same of a value that may be small, such as the arguments of a call.
const VALUE_BYTES_USUAL: usize = 128;
/// Most maps and those within them have no more entries than this.
const ENTRIES_USUAL: usize = 32;

/// The canonical text of `value`.
///
/// # Errors
/// [`NumberError`] names the first number that cannot be held exactly, or whatever else has no
/// form in JSON.
pub fn canonical_of<T: Serialize + ?Sized>(value: &T) -> Result<String, NumberError> {
    written(value, String::with_capacity(TEXT_BYTES_USUAL))
}

/// The canonical text of a value that may be small.
pub(super) fn canonical_of_value(value: &Value) -> Result<String, NumberError> {
    written(value, String::with_capacity(VALUE_BYTES_USUAL))
}

fn written<T: Serialize + ?Sized>(value: &T, text: String) -> Result<String, NumberError> {
    let entries = Vec::with_capacity(ENTRIES_USUAL);
    let mut out = Out { text, entries };
    match value.serialize(DigestWriter { out: &mut out }) {
        Ok(()) => Ok(out.text),
        Err(Refused(number)) => Err(NumberError { number }),
    }
}

/// What is written, and the entries of all maps under way, those of the innermost last.
struct Out {
    text: String,
    entries: Vec<Entry>,
}

/// What cannot be written.
#[derive(Debug)]
struct Refused(String);

impl Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl ser::Error for Refused {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

type Written = Result<(), Refused>;

struct DigestWriter<'t> {
    out: &'t mut Out,
}

impl DigestWriter<'_> {
    fn number(self, number: &Number) -> Written {
        let number = normalize_number(number).map_err(|error| Refused(error.number))?;
        match number.as_i64() {
            Some(integer) => self.integer(integer),
            None => {
                self.out.text.push_str(&reference(&Value::Number(number)));
                Ok(())
            }
        }
    }

    fn integer(self, integer: i64) -> Written {
        if integer.unsigned_abs() > INTEGER_MAX.unsigned_abs() {
            return Err(Refused(integer.to_string()));
        }
        self.out.text.push_str(itoa::Buffer::new().format(integer));
        Ok(())
    }
}

/// A list under way.
struct List<'t> {
    out: &'t mut Out,
    first: bool,
    close: &'static str,
}

impl<'t> List<'t> {
    fn begin(out: &'t mut Out, close: &'static str) -> Self {
        out.text.push('[');
        Self {
            out,
            first: true,
            close,
        }
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        if !std::mem::replace(&mut self.first, false) {
            self.out.text.push(',');
        }
        value.serialize(DigestWriter { out: self.out })
    }

    fn close(self) -> Written {
        self.out.text.push_str(self.close);
        Ok(())
    }
}

/// A map under way: each entry stands in the text as it came, and they are sorted at the end.
struct Map<'t> {
    out: &'t mut Out,
    /// Where its first entry stands, in the text and in the list of entries.
    begin: usize,
    first: usize,
    /// Whether every name is ASCII that stands in the text as it is.
    plain: bool,
    /// Whether they came in their order, as far as all names are plain.
    sorted: bool,
    close: &'static str,
}

/// Where an entry begins, its value begins and both end: the first two have `"name":` between.
#[derive(Clone, Copy)]
struct Entry {
    at: usize,
    value: usize,
    end: usize,
    /// The first bytes of its name, which decide the order of most.
    prefix: u64,
}

impl Entry {
    /// The name as it stands in the text, without quotes.
    fn name(self, text: &str) -> &str {
        text.get(self.at + 1..self.value.saturating_sub(2))
            .unwrap_or_default()
    }

    /// How the plain name of this stands to that of another: as UTF-16 does, since it is ASCII.
    fn cmp(&self, other: &Self, text: &str) -> Ordering {
        let by_prefix = self.prefix.cmp(&other.prefix);
        by_prefix.then_with(|| self.name(text).cmp(other.name(text)))
    }

    /// The name that this stands for.
    fn decoded(self, text: &str) -> Vec<u16> {
        let quoted = text.get(self.at..self.value.saturating_sub(1));
        let name = quoted.and_then(|quoted| serde_json::from_str::<String>(quoted).ok());
        name.unwrap_or_default().encode_utf16().collect()
    }
}

impl<'t> Map<'t> {
    fn begin(out: &'t mut Out, close: &'static str) -> Self {
        out.text.push('{');
        Self {
            begin: out.text.len(),
            first: out.entries.len(),
            out,
            plain: true,
            sorted: true,
            close,
        }
    }

    /// Begins an entry, whose name `write` writes with its quotes.
    fn key(&mut self, write: impl FnOnce(&mut Out) -> Written) -> Written {
        if self.out.entries.len() > self.first {
            self.out.text.push(',');
        }
        let at = self.out.text.len();
        write(self.out)?;
        self.out.text.push(':');
        let value = self.out.text.len();
        let entry = Entry {
            at,
            value,
            end: value,
            prefix: 0,
        };
        let Out { text, entries } = &mut *self.out;
        let name = entry.name(text).as_bytes();
        let special = |byte: &u8| (*byte >= 0x80) | (*byte == b'\\');
        // Why to the end: many bytes are looked at in one step where none decides.
        self.plain &= !name.iter().fold(false, |any, byte| any | special(byte));
        let entry = Entry {
            prefix: prefix(name),
            ..entry
        };
        let before = entries.get(self.first..).and_then(<[Entry]>::last);
        self.sorted &= before.is_none_or(|before| before.cmp(&entry, text).is_le());
        entries.push(entry);
        Ok(())
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        value.serialize(DigestWriter { out: self.out })?;
        if let Some(entry) = self.out.entries.last_mut() {
            entry.end = self.out.text.len();
        }
        Ok(())
    }

    fn entry<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Written {
        self.key(|out| {
            write_text(&mut out.text, key);
            Ok(())
        })?;
        self.value(value)
    }

    fn close(self) -> Written {
        let Self {
            out,
            begin,
            first,
            plain,
            sorted,
            close,
        } = self;
        let Out { text, entries } = out;
        if !(plain && sorted) {
            let own = entries.get_mut(first..).unwrap_or_default();
            sort(text, begin, own, plain);
        }
        entries.truncate(first);
        text.push_str(close);
        Ok(())
    }
}

/// Brings the entries of a map, which stand in `text` from `begin` on with commas between them,
/// into their order.
fn sort(text: &mut String, begin: usize, entries: &mut [Entry], plain: bool) {
    let written = text.len();
    if plain {
        entries.sort_unstable_by(|one, two| one.cmp(two, text));
    } else {
        entries.sort_by_cached_key(|entry| entry.decoded(text));
    }
    // Why behind it first: what is sorted is as long as what is not.
    for (n, entry) in entries.iter().enumerate() {
        if n > 0 {
            text.push(',');
        }
        text.extend_from_within(entry.at..entry.end);
    }
    text.drain(begin..written);
}

/// The first eight bytes of a name as a number that orders as they do; a shorter name comes first.
fn prefix(name: &[u8]) -> u64 {
    if let Some(first) = name.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    let mut first = [0; 8];
    for (place, byte) in first.iter_mut().zip(name) {
        *place = *byte;
    }
    u64::from_be_bytes(first)
}

/// The name of an entry, in quotes whatever it is: a text, a number or a truth.
fn name<T: Serialize + ?Sized>(out: &mut Out, key: &T) -> Written {
    let at = out.text.len();
    key.serialize(DigestWriter { out: &mut *out })?;
    match out.text.as_bytes().get(at) {
        Some(b'"') => Ok(()),
        Some(b'-' | b'0'..=b'9' | b't' | b'f') => {
            out.text.insert(at, '"');
            out.text.push('"');
            Ok(())
        }
        _ => Err(ser::Error::custom("the name of a field is no text")),
    }
}

fn named(text: &mut String, variant: &str) {
    text.push('{');
    write_text(text, variant);
    text.push(':');
}

impl<'t> ser::Serializer for DigestWriter<'t> {
    type Ok = ();
    type Error = Refused;
    type SerializeSeq = List<'t>;
    type SerializeTuple = List<'t>;
    type SerializeTupleStruct = List<'t>;
    type SerializeTupleVariant = List<'t>;
    type SerializeMap = Map<'t>;
    type SerializeStruct = Map<'t>;
    type SerializeStructVariant = Map<'t>;

    fn serialize_bool(self, value: bool) -> Written {
        self.out.text.push_str(if value { "true" } else { "false" });
        Ok(())
    }
    fn serialize_i8(self, value: i8) -> Written {
        self.serialize_i64(value.into())
    }
    fn serialize_i16(self, value: i16) -> Written {
        self.serialize_i64(value.into())
    }
    fn serialize_i32(self, value: i32) -> Written {
        self.serialize_i64(value.into())
    }
    fn serialize_i64(self, value: i64) -> Written {
        self.integer(value)
    }
    fn serialize_u8(self, value: u8) -> Written {
        self.serialize_u64(value.into())
    }
    fn serialize_u16(self, value: u16) -> Written {
        self.serialize_u64(value.into())
    }
    fn serialize_u32(self, value: u32) -> Written {
        self.serialize_u64(value.into())
    }
    fn serialize_u64(self, value: u64) -> Written {
        match i64::try_from(value) {
            Ok(integer) => self.integer(integer),
            Err(_) => Err(Refused(value.to_string())),
        }
    }
    fn serialize_f32(self, value: f32) -> Written {
        self.serialize_f64(value.into())
    }
    fn serialize_f64(self, value: f64) -> Written {
        match Number::from_f64(value) {
            Some(number) => self.number(&number),
            None => self.serialize_unit(),
        }
    }
    fn serialize_char(self, value: char) -> Written {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }
    fn serialize_str(self, value: &str) -> Written {
        write_text(&mut self.out.text, value);
        Ok(())
    }
    fn serialize_bytes(self, value: &[u8]) -> Written {
        value.serialize(self)
    }
    fn serialize_none(self) -> Written {
        self.serialize_unit()
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Written {
        self.out.text.push_str("null");
        Ok(())
    }
    fn serialize_unit_struct(self, _: &'static str) -> Written {
        self.serialize_unit()
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Written {
        self.serialize_str(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Written {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Written {
        named(&mut self.out.text, variant);
        value.serialize(DigestWriter { out: self.out })?;
        self.out.text.push('}');
        Ok(())
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<List<'t>, Refused> {
        Ok(List::begin(self.out, "]"))
    }
    fn serialize_tuple(self, _: usize) -> Result<List<'t>, Refused> {
        Ok(List::begin(self.out, "]"))
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<List<'t>, Refused> {
        Ok(List::begin(self.out, "]"))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<List<'t>, Refused> {
        named(&mut self.out.text, variant);
        Ok(List::begin(self.out, "]}"))
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Map<'t>, Refused> {
        Ok(Map::begin(self.out, "}"))
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Map<'t>, Refused> {
        Ok(Map::begin(self.out, "}"))
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Map<'t>, Refused> {
        named(&mut self.out.text, variant);
        Ok(Map::begin(self.out, "}}"))
    }
}

impl ser::SerializeSeq for List<'_> {
    type Ok = ();
    type Error = Refused;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        self.item(value)
    }
    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeTuple for List<'_> {
    type Ok = ();
    type Error = Refused;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        self.item(value)
    }
    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeTupleStruct for List<'_> {
    type Ok = ();
    type Error = Refused;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        self.item(value)
    }
    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeTupleVariant for List<'_> {
    type Ok = ();
    type Error = Refused;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        self.item(value)
    }
    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeMap for Map<'_> {
    type Ok = ();
    type Error = Refused;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Written {
        self.key(|out| name(out, key))
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        self.value(value)
    }
    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeStruct for Map<'_> {
    type Ok = ();
    type Error = Refused;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        self.entry(name, value)
    }
    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeStructVariant for Map<'_> {
    type Ok = ();
    type Error = Refused;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        self.entry(name, value)
    }
    fn end(self) -> Written {
        self.close()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::digest::tests::any_value;
    use crate::digest::{canonical, normalize};

    proptest! {
        #[test]
        fn writes_what_the_canonical_text_of_the_value_is(value in any_value()) {
            match normalize(value.clone()) {
                Ok(normal) => prop_assert_eq!(canonical_of(&value).unwrap(), canonical(&normal)),
                Err(_) => prop_assert!(canonical_of(&value).is_err()),
            }
        }
    }

    #[derive(serde::Serialize)]
    enum Shape {
        Point,
        Round(u8),
        Pair(i64, f64),
        Named { z: Option<char>, a: () },
    }

    #[test]
    fn writes_every_shape_as_a_value_would_be() {
        let all = (
            [Shape::Point, Shape::Round(3), Shape::Pair(-1, 2.0)],
            Shape::Named { z: None, a: () },
            BTreeMap::from([(10, "ten"), (9, "nine")]),
            BTreeMap::from([("\u{e000}", 1.5), ("\u{1f600}", f64::NAN)]),
        );
        let value = normalize(serde_json::to_value(&all).unwrap()).unwrap();
        assert_eq!(canonical_of(&all).unwrap(), canonical(&value));
        let beyond = canonical_of(&json!({ "a": [1_u64 << 60] }));
        assert_eq!(beyond.unwrap_err().number, (1_u64 << 60).to_string());
    }
}
