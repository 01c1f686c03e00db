//! CEL's `format`: the values of a list in the `%` clauses of a text.
//!
//! Owns the clauses and how each prints a value. The check reads the clauses by the same function.
//! INVARIANT: as many values are taken as there are clauses.

use super::super::eval::{EvalFault, Fuel};
use super::super::value::{Item, List, as_double};
use crate::schema::Kinds;

/// Most decimals that a clause may ask for.
const PRECISION_MAX: usize = 100;
/// Decimals where a clause does not say.
const PRECISION_DEFAULT: usize = 6;

/// A piece of a text to format.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::expr) enum Piece<'t> {
    Text(&'t str),
    Clause(Clause),
}

/// How a value is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clause {
    /// `%s`
    Text,
    /// `%d`
    Decimal,
    /// `%f`, `%.2f`
    Fixed(usize),
    /// `%e`, `%.2e`
    Scientific(usize),
    /// `%b`
    Binary,
    /// `%x`, `%X`
    Hex(bool),
    /// `%o`
    Octal,
}

impl Clause {
    /// What it prints.
    pub(crate) fn takes(self) -> Kinds {
        match self {
            Self::Text => Kinds::ANY,
            Self::Decimal | Self::Fixed(_) | Self::Scientific(_) => Kinds::NUMBER,
            Self::Binary => Kinds::INTEGER | Kinds::BOOL,
            Self::Hex(_) => Kinds::INTEGER | Kinds::TEXT,
            Self::Octal => Kinds::INTEGER,
        }
    }
}

/// Reads a text to format; an error says in words what is wrong with it.
pub(in crate::expr) fn read(text: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        pieces.push(Piece::Text(before));
        if let Some(after) = after.strip_prefix('%') {
            pieces.push(Piece::Text("%"));
            rest = after;
            continue;
        }
        let (precision, after) = precision(after)?;
        let mut letters = after.chars();
        let decimals = precision.unwrap_or(PRECISION_DEFAULT);
        let clause = match (letters.next(), precision) {
            (Some('f'), _) => Clause::Fixed(decimals),
            (Some('e'), _) => Clause::Scientific(decimals),
            (Some('s'), None) => Clause::Text,
            (Some('d'), None) => Clause::Decimal,
            (Some('b'), None) => Clause::Binary,
            (Some('x'), None) => Clause::Hex(false),
            (Some('X'), None) => Clause::Hex(true),
            (Some('o'), None) => Clause::Octal,
            (Some(letter), _) => {
                return Err(format!(
                    "`format` does not know `%{letter}` here: it knows `%s`, `%d`, `%.2f`, `%e`, \
                     `%b`, `%x`, `%X`, `%o` and `%%`"
                ));
            }
            (None, _) => return Err("the text to format ends in a `%`; write `%%`".to_owned()),
        };
        pieces.push(Piece::Clause(clause));
        rest = letters.as_str();
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

/// The clauses of a text.
pub(crate) fn clauses(text: &str) -> Result<Vec<Clause>, String> {
    let pieces = read(text)?.into_iter();
    Ok(pieces
        .filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Clause(clause) => Some(clause),
        })
        .collect())
}

/// What is wrong with the number of values for a text.
pub(crate) fn miscount(clauses: usize, values: usize) -> Option<String> {
    (clauses != values)
        .then(|| format!("the text has {clauses} clauses, and there are {values} values for them"))
}

fn precision(text: &str) -> Result<(Option<usize>, &str), String> {
    let Some(text) = text.strip_prefix('.') else {
        return Ok((None, text));
    };
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, rest) = text.split_at_checked(digits).unwrap_or((text, ""));
    match number.parse() {
        Ok(number) if number <= PRECISION_MAX => Ok((Some(number), rest)),
        _ => Err(format!("`format` prints 0 to {PRECISION_MAX} decimals")),
    }
}

/// The text with the values in it.
pub(super) fn format(text: &str, values: &List<'_>, fuel: &mut Fuel) -> Result<String, EvalFault> {
    let pieces = read(text).map_err(EvalFault::new)?;
    let is_clause = |piece: &&Piece<'_>| matches!(piece, Piece::Clause(_));
    let clauses = pieces.iter().filter(is_clause).count();
    if let Some(problem) = miscount(clauses, values.len()) {
        return Err(EvalFault::new(problem));
    }
    let mut values = values.iter();
    fuel.spend_bytes(text.len().saturating_mul(2))?;
    let mut made = String::new();
    for piece in pieces {
        fuel.spend(1)?;
        match piece {
            Piece::Text(text) => made.push_str(text),
            Piece::Clause(clause) => {
                let value = values.next().unwrap_or(Item::Null);
                print(clause, &value, &mut made, fuel)?;
            }
        }
    }
    Ok(made)
}

fn print(
    clause: Clause,
    value: &Item<'_>,
    made: &mut String,
    fuel: &mut Fuel,
) -> Result<(), EvalFault> {
    // Why: a number may take as many digits as a double can have.
    fuel.spend(32)?;
    let text = match (clause, value) {
        (Clause::Text, value) => return words(value, made, fuel),
        (Clause::Decimal, Item::Int(value)) => value.to_string(),
        (Clause::Decimal, Item::Double(value)) => plain(*value),
        (Clause::Fixed(decimals), Item::Int(value)) => fixed(as_double(*value), decimals),
        (Clause::Fixed(decimals), Item::Double(value)) => fixed(*value, decimals),
        (Clause::Scientific(decimals), Item::Int(value)) => scientific(as_double(*value), decimals),
        (Clause::Scientific(decimals), Item::Double(value)) => scientific(*value, decimals),
        (Clause::Binary, Item::Bool(value)) => u8::from(*value).to_string(),
        (Clause::Binary, Item::Int(value)) => signed(*value, |n| format!("{n:b}")),
        (Clause::Hex(false), Item::Int(value)) => signed(*value, |n| format!("{n:x}")),
        (Clause::Hex(true), Item::Int(value)) => signed(*value, |n| format!("{n:X}")),
        (Clause::Hex(is_upper), Item::Text(text)) => {
            fuel.spend_bytes(text.as_str().len().saturating_mul(2))?;
            let hex = |byte: u8| match is_upper {
                true => format!("{byte:02X}"),
                false => format!("{byte:02x}"),
            };
            text.as_str().bytes().map(hex).collect()
        }
        (Clause::Octal, Item::Int(value)) => signed(*value, |n| format!("{n:o}")),
        (clause, value) => {
            let (takes, is) = (clause.takes().words(), value.kind_word());
            return Err(EvalFault::new(format!(
                "a clause of `format` needs {takes}, and this is {is}"
            )));
        }
    };
    fuel.spend_bytes(text.len())?;
    made.push_str(&text);
    Ok(())
}

/// `%s`: a text as it is, other values as CEL prints them.
fn words(value: &Item<'_>, made: &mut String, fuel: &mut Fuel) -> Result<(), EvalFault> {
    fuel.spend(8)?;
    match value {
        Item::Null => made.push_str("null"),
        Item::Bool(value) => made.push_str(if *value { "true" } else { "false" }),
        Item::Double(value) => {
            fuel.spend(32)?;
            made.push_str(&plain(*value));
        }
        Item::List(list) => {
            made.push('[');
            for (at, item) in list.iter().enumerate() {
                made.push_str(if at > 0 { ", " } else { "" });
                words(&item, made, fuel)?;
            }
            made.push(']');
        }
        Item::Map(map) => {
            let mut entries = Vec::new();
            for key in map.keys() {
                let mut name = String::new();
                words(&key, &mut name, fuel)?;
                let mut text = String::new();
                words(&map.get(&key).unwrap_or(Item::Null), &mut text, fuel)?;
                entries.push((name, text));
            }
            entries.sort();
            made.push('{');
            for (at, (name, text)) in entries.iter().enumerate() {
                fuel.spend_bytes(name.len() + text.len())?;
                made.push_str(if at > 0 { ", " } else { "" });
                made.push_str(&format!("{name}: {text}"));
            }
            made.push('}');
        }
        Item::Text(text) => {
            // Why twice: a text that grows keeps room for more.
            fuel.spend_bytes(text.as_str().len().saturating_mul(2))?;
            made.push_str(text.as_str());
        }
        Item::Int(value) => made.push_str(&value.to_string()),
        Item::Time(time) => made.push_str(&time.to_string()),
        Item::Length(length) => {
            made.push_str(&super::super::time::print_duration(*length));
        }
        Item::Type(name) => made.push_str(name),
    }
    Ok(())
}

/// A double that is no number in words, as CEL says them.
fn infinite(value: f64) -> Option<String> {
    let word = match value {
        _ if value.is_nan() => "NaN",
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => return None,
    };
    Some(word.to_owned())
}

fn plain(value: f64) -> String {
    infinite(value).unwrap_or_else(|| value.to_string())
}

fn fixed(value: f64, decimals: usize) -> String {
    infinite(value).unwrap_or_else(|| format!("{value:.decimals$}"))
}

/// As CEL prints it: the exponent has a sign and two digits at least.
fn scientific(value: f64, decimals: usize) -> String {
    infinite(value).unwrap_or_else(|| {
        let text = format!("{value:.decimals$e}");
        match text.split_once('e') {
            Some((digits, exponent)) => {
                let (sign, exponent) = match exponent.strip_prefix('-') {
                    Some(exponent) => ('-', exponent),
                    None => ('+', exponent),
                };
                format!("{digits}e{sign}{exponent:0>2}")
            }
            None => text,
        }
    })
}

fn signed(value: i64, digits: impl Fn(u64) -> String) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", digits(value.unsigned_abs()))
}
