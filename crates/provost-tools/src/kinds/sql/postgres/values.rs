//! Values on their way to and from PostgreSQL.
//!
//! Owns the table of types in docs/reference/provost-toml.md. Arguments travel as texts that the
//! server reads by the type of their parameter; results are read from its binary form. INVARIANT:
//! a value comes out exact or not at all.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::BytesMut;
use jiff::civil::{Date, DateTime, Time};
use jiff::{SignedDuration, Timestamp};
use provost_plan::json;
use serde_json::Value;
use tokio_postgres::types::{Format, FromSql, IsNull, Kind, ToSql, Type, to_sql_checked};

use crate::fault::Fault;
use crate::kinds::sql::rows::{integer, real};

type ConversionError = Box<dyn std::error::Error + Sync + Send>;

/// 2000-01-01, from which the server counts days and microseconds.
const EPOCH: DateTime = DateTime::constant(2000, 1, 1, 0, 0, 0, 0);

/// An argument as the server reads it; nothing is NULL.
#[derive(Clone, Debug)]
pub(super) struct TextArgument(Option<String>);

impl ToSql for TextArgument {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, ConversionError> {
        Ok(match &self.0 {
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                IsNull::No
            }
            None => IsNull::Yes,
        })
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// The bytes of a value, as the server sends them.
pub(super) struct RawCell<'a>(pub(super) &'a [u8]);

impl<'a> FromSql<'a> for RawCell<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, ConversionError> {
        Ok(Self(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// The text of an argument for a parameter of this type; an `Err` says what it is not.
pub(super) fn argument(of: &Type, value: &Value) -> Result<TextArgument, String> {
    if value.is_null() {
        return Ok(TextArgument(None));
    }
    text(of, value).map(|text| TextArgument(Some(text)))
}

fn text(of: &Type, value: &Value) -> Result<String, String> {
    if let Kind::Domain(inner) = of.kind() {
        return text(inner, value);
    }
    if *of == Type::JSON || *of == Type::JSONB {
        return Ok(value.to_string());
    }
    Ok(match (value, of.kind()) {
        (Value::Array(items), Kind::Array(member)) => array_text(member, items)?,
        (Value::String(text), _) if *of == Type::BYTEA => {
            let bytes = BASE64
                .decode(text)
                .map_err(|_| "is no bytes in base64".to_owned())?;
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("\\x{digits}")
        }
        (Value::String(text), _) => text.clone(),
        (Value::Bool(_) | Value::Number(_), _) => value.to_string(),
        (Value::Array(_) | Value::Object(_), _) => {
            return Err(format!("is a list or a map, and the parameter is `{of}`"));
        }
        (Value::Null, _) => String::new(),
    })
}

/// `{"a","b",NULL}`
fn array_text(member: &Type, items: &[Value]) -> Result<String, String> {
    let item = |item: &Value| {
        if item.is_null() {
            return Ok("NULL".to_owned());
        }
        let text = text(member, item)?;
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        Ok(format!("\"{escaped}\""))
    };
    let items: Result<Vec<String>, String> = items.iter().map(item).collect();
    Ok(format!("{{{}}}", items?.join(",")))
}

/// The value that stands in `raw`.
pub(super) fn value(of: &Type, raw: &[u8], column: &str) -> Result<Value, Fault> {
    match of.kind() {
        Kind::Domain(inner) => return value(inner, raw, column),
        Kind::Enum(_) => return utf8(raw, column),
        Kind::Array(member) => return array(member, raw, column),
        _ => {}
    }
    let read = match *of {
        Type::INT8 => return integer(i64::from_be_bytes(sized(raw, column)?), column),
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::CHAR | Type::UNKNOWN => {
            return utf8(raw, column);
        }
        Type::BOOL => Some(Value::Bool(raw.first().is_some_and(|byte| *byte != 0))),
        Type::INT2 => Some(Value::from(i16::from_be_bytes(sized(raw, column)?))),
        Type::INT4 => Some(Value::from(i32::from_be_bytes(sized(raw, column)?))),
        Type::OID => Some(Value::from(u32::from_be_bytes(sized(raw, column)?))),
        Type::FLOAT4 => {
            // Why over text: the shortest one that names it, not the digits of a wider number.
            let narrow = f32::from_be_bytes(sized(raw, column)?).to_string();
            Some(narrow.parse().map_or(Value::Null, real))
        }
        Type::FLOAT8 => Some(real(f64::from_be_bytes(sized(raw, column)?))),
        Type::NUMERIC => numeric(raw).map(Value::from),
        Type::UUID => uuid(raw).map(Value::from),
        Type::BYTEA => Some(Value::from(BASE64.encode(raw))),
        Type::JSON => json_of(raw),
        // Why without its first byte: it is the version of the form.
        Type::JSONB => raw.get(1..).and_then(json_of),
        Type::DATE => date(i32::from_be_bytes(sized(raw, column)?)),
        Type::TIME => time(i64::from_be_bytes(sized(raw, column)?)),
        Type::TIMESTAMP => timestamp(i64::from_be_bytes(sized(raw, column)?)),
        Type::TIMESTAMPTZ => instant(i64::from_be_bytes(sized(raw, column)?)),
        Type::VOID => Some(Value::Null),
        _ => {
            let message = format!(
                "the column `{column}` is of type `{of}`, which is not read; \
                 select it as text: CAST({column} AS TEXT)"
            );
            return Err(Fault::bad_output(message));
        }
    };
    read.ok_or_else(|| unread(of, column))
}

/// What is written exactly once and means what it says: `json` keeps a name that stands twice.
fn json_of(raw: &[u8]) -> Option<Value> {
    json::read(std::str::from_utf8(raw).ok()?).ok()
}

fn unread(of: &Type, column: &str) -> Fault {
    Fault::bad_output(format!(
        "the column `{column}` holds a value of type `{of}` that has no exact form; \
         select it as text: CAST({column} AS TEXT)"
    ))
}

fn utf8(raw: &[u8], column: &str) -> Result<Value, Fault> {
    std::str::from_utf8(raw).map(Value::from).map_err(|_| {
        Fault::bad_output(format!(
            "the column `{column}` holds text that is not UTF-8"
        ))
    })
}

fn sized<const N: usize>(raw: &[u8], column: &str) -> Result<[u8; N], Fault> {
    raw.try_into().map_err(|_| {
        let length = raw.len();
        let message = format!("the column `{column}` holds {length} bytes where {N} belong");
        Fault::bad_output(message)
    })
}

/// Takes big-endian numbers off the front.
struct BinaryReader<'a>(&'a [u8]);

impl<'a> BinaryReader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn i32(&mut self) -> Option<i32> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i32::from_be_bytes(*head))
    }

    fn i16(&mut self) -> Option<i16> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i16::from_be_bytes(*head))
    }
}

/// A list; one of several dimensions is not read.
fn array(member: &Type, raw: &[u8], column: &str) -> Result<Value, Fault> {
    let none = || unread(member, column);
    let mut reader = BinaryReader(raw);
    let dimensions = reader.i32().ok_or_else(none)?;
    reader.bytes(8).ok_or_else(none)?;
    if dimensions == 0 {
        return Ok(Value::Array(Vec::new()));
    }
    let length = reader.i32().filter(|_| dimensions == 1).ok_or_else(none)?;
    reader.bytes(4).ok_or_else(none)?;
    let mut items = Vec::new();
    for _ in 0..length {
        items.push(match reader.i32().ok_or_else(none)? {
            size if size < 0 => Value::Null,
            size => {
                let size = usize::try_from(size).unwrap_or(usize::MAX);
                value(member, reader.bytes(size).ok_or_else(none)?, column)?
            }
        });
    }
    Ok(Value::Array(items))
}

/// A decimal number as text, with as many places as it is stored with.
fn numeric(raw: &[u8]) -> Option<String> {
    let mut reader = BinaryReader(raw);
    let groups = reader.i16()?;
    let weight = reader.i16()?;
    let sign = reader.i16()?.cast_unsigned();
    let places = usize::try_from(reader.i16()?).ok()?;
    let sign = match sign {
        0 => "",
        0x4000 => "-",
        0xC000 => return Some("NaN".to_owned()),
        0xD000 => return Some("Infinity".to_owned()),
        0xF000 => return Some("-Infinity".to_owned()),
        _ => return None,
    };
    let (mut whole, mut fraction) = (String::new(), String::new());
    // Why from the weight: groups of four digits that are zero at either end are not sent.
    for at in 0..groups {
        let group = format!("{:04}", reader.i16()?);
        if at <= weight {
            whole.push_str(&group);
        } else {
            let missing = usize::try_from(at - weight - 1).ok()? * 4;
            fraction.push_str(&"0".repeat(missing.saturating_sub(fraction.len())));
            fraction.push_str(&group);
        }
    }
    let wanted = usize::try_from(i32::from(weight) + 1).unwrap_or(0) * 4;
    whole.push_str(&"0".repeat(wanted.saturating_sub(whole.len())));
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    fraction.push_str(&"0".repeat(places.saturating_sub(fraction.len())));
    fraction.truncate(places);
    let point = if places > 0 { "." } else { "" };
    Some(format!("{sign}{whole}{point}{fraction}"))
}

fn uuid(raw: &[u8]) -> Option<String> {
    let digits: String = raw.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = |from: usize, to: usize| digits.get(from..to);
    (digits.len() == 32).then_some(())?;
    Some(format!(
        "{}-{}-{}-{}-{}",
        part(0, 8)?,
        part(8, 12)?,
        part(12, 16)?,
        part(16, 20)?,
        part(20, 32)?
    ))
}

/// Why nothing for the ends of the range: they stand for infinity.
fn date(days: i32) -> Option<Value> {
    let hours = i64::from(days).checked_mul(24)?;
    let date: Date = EPOCH
        .date()
        .checked_add(SignedDuration::from_hours(hours))
        .ok()?;
    Some(Value::from(date.to_string()))
}

fn time(micros: i64) -> Option<Value> {
    let time = Time::midnight().checked_add(SignedDuration::from_micros(micros));
    Some(Value::from(time.ok()?.to_string()))
}

fn timestamp(micros: i64) -> Option<Value> {
    let moment = EPOCH
        .checked_add(SignedDuration::from_micros(micros))
        .ok()?;
    Some(Value::from(moment.to_string()))
}

fn instant(micros: i64) -> Option<Value> {
    let epoch = Timestamp::constant(946_684_800, 0);
    let moment = epoch
        .checked_add(SignedDuration::from_micros(micros))
        .ok()?;
    Some(Value::from(moment.to_string()))
}
