//! CEL's `strings` extension, and what is read out of a text.
//!
//! Owns positions in texts, which are counted in characters. INVARIANT: a text that is looked
//! through or made is paid for before it is.

use serde_json::Value;

use super::super::eval::{EvalFault, Evaluated, Evaluator, unfit};
use super::super::tree::Function;
use super::super::value::Item;
use super::{format, whole};
use crate::digest::normalize;
use crate::json;
use crate::limits::SOURCE_DEPTH_MAX;

/// The room that a map takes while it is read, as JSON and as a value of an expression.
const PARSED_MAP_BYTES: usize = 2_048;
/// The room that an item takes so.
const PARSED_ITEM_BYTES: usize = 320;

impl<'v> Evaluator<'v> {
    pub(super) fn text_function(
        &mut self,
        function: Function,
        text: &str,
        rest: &[Item<'v>],
    ) -> Evaluated<'v> {
        // Why twice: what most of them make is as long as the text, and they look through it.
        self.fuel.spend_bytes(text.len())?;
        self.pay_text(text.len())?;
        match (function, rest) {
            (Function::LowerAscii, []) => Ok(Item::text(text.to_ascii_lowercase())),
            (Function::UpperAscii, []) => Ok(Item::text(text.to_ascii_uppercase())),
            (Function::Trim, []) => Ok(Item::text(text.trim().to_owned())),
            (Function::Reverse, []) => Ok(Item::text(text.chars().rev().collect())),
            (Function::CharAt, [at]) => {
                let at = whole(function, at)?;
                let part = part(text, at, at.saturating_add(1).min(length(text)))?;
                Ok(Item::text(part.to_owned()))
            }
            (Function::Substring, [from]) => {
                let part = part(text, whole(function, from)?, length(text))?;
                Ok(Item::text(part.to_owned()))
            }
            (Function::Substring, [from, to]) => {
                let part = part(text, whole(function, from)?, whole(function, to)?)?;
                Ok(Item::text(part.to_owned()))
            }
            (Function::IndexOf | Function::LastIndexOf, [Item::Text(sought), from @ ..]) => {
                let from = from.first().map(|from| whole(function, from)).transpose()?;
                self.fuel.spend_bytes(text.len().saturating_mul(2))?;
                let is_last = function == Function::LastIndexOf;
                position(text, sought.as_str(), from, is_last).map(Item::Int)
            }
            (Function::Split, [Item::Text(by), most @ ..]) => {
                let most = most.first().map_or(Ok(-1), |most| whole(function, most))?;
                self.split(text, by.as_str(), most)
            }
            (Function::Replace, [Item::Text(old), Item::Text(new), most @ ..]) => {
                let most = most.first().map_or(Ok(-1), |most| whole(function, most))?;
                self.replace(text, old.as_str(), new.as_str(), most)
            }
            (Function::Format, [Item::List(values)]) => {
                format::format(text, values, &mut self.fuel).map(Item::text)
            }
            (Function::Capture, [Item::Text(pattern)]) => self.capture(text, pattern.as_str()),
            (Function::JsonParse, []) => self.json_parse(text),
            (_, rest) => {
                let is_wrong = |item: &&Item<'v>| !matches!(item, Item::Text(_));
                let wrong = rest.iter().find(is_wrong).cloned();
                Err(unfit(function.name(), &wrong.unwrap_or(Item::Null)))
            }
        }
    }

    fn split(&mut self, text: &str, by: &str, most: i64) -> Evaluated<'v> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let count = text.matches(by).count().saturating_add(1).min(most);
        Item::pay_list(count, &mut self.fuel)?;
        let mut items = Vec::with_capacity(count);
        let mut rest = Some(text);
        // Why not the library's for an empty separator: there it also cuts at both ends.
        while let Some(left) = rest.filter(|_| items.len() < most) {
            let cut = if by.is_empty() {
                let mut ends = left.char_indices().map(|(at, _)| at).skip(1);
                ends.next().and_then(|at| left.split_at_checked(at))
            } else {
                left.split_once(by)
            };
            let (piece, after) = match cut {
                Some((piece, after)) if items.len() + 1 < most => (piece, Some(after)),
                _ if by.is_empty() && left.is_empty() => break,
                _ => (left, None),
            };
            self.pay_text(piece.len())?;
            items.push(Item::text(piece.to_owned()));
            rest = after;
        }
        Ok(Item::list(items))
    }

    fn replace(&mut self, text: &str, old: &str, new: &str, most: i64) -> Evaluated<'v> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        self.fuel.spend_bytes(text.len())?;
        let places = text.matches(old).take(most).count();
        // Why before it is made: what replaces may be much longer than what was there.
        let size = text.len().saturating_add(places.saturating_mul(new.len()));
        self.fuel.spend_bytes(size.saturating_mul(2))?;
        Ok(Item::text(text.replacen(old, new, most)))
    }

    /// The first group of what a pattern finds, or all of it if the pattern has no group.
    fn capture(&mut self, text: &str, pattern: &str) -> Evaluated<'v> {
        // Why twice: where groups lie is found in a second look.
        self.pattern(text, pattern)?;
        let found = match self.pattern(text, pattern)? {
            Some(known) => known.regex.captures(text).and_then(|found| {
                let group = if known.regex.captures_len() > 1 { 1 } else { 0 };
                found.get(group).map(|group| group.as_str().to_owned())
            }),
            None => None,
        };
        Ok(found.map_or(Item::Null, Item::text))
    }

    fn json_parse(&mut self, text: &str) -> Evaluated<'v> {
        self.fuel.spend_bytes(parsed_bytes(text))?;
        let fault = |reason: String| EvalFault::new(format!("the text is not JSON: {reason}"));
        let value = json::read(text).map_err(|error| fault(error.to_string()))?;
        let value = normalize(value).map_err(|error| fault(error.to_string()))?;
        if is_deeper(&value, SOURCE_DEPTH_MAX) {
            let reason = format!("it nests deeper than {SOURCE_DEPTH_MAX}");
            return Err(fault(reason));
        }
        Ok(Item::owned(value))
    }
}

/// The room that the value of a JSON text takes at most while it is read.
fn parsed_bytes(text: &str) -> usize {
    text.bytes()
        .fold(text.len().saturating_mul(4), |room, byte| {
            room.saturating_add(match byte {
                b'{' => PARSED_MAP_BYTES,
                b'[' | b',' => PARSED_ITEM_BYTES,
                _ => 0,
            })
        })
}

fn is_deeper(value: &Value, most: usize) -> bool {
    let Some(inside) = most.checked_sub(1) else {
        return true;
    };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper(item, inside)),
        Value::Object(map) => map.values().any(|item| is_deeper(item, inside)),
        _ => false,
    }
}

/// How many characters a text has.
fn length(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}

/// Where the character at a position begins; the end is a position too.
fn offset(text: &str, at: usize) -> Option<usize> {
    let ends = text.char_indices().map(|(offset, _)| offset);
    ends.chain(std::iter::once(text.len())).nth(at)
}

fn part(text: &str, from: i64, to: i64) -> Result<&str, EvalFault> {
    let place = |at: i64| usize::try_from(at).ok().and_then(|at| offset(text, at));
    let range = place(from).zip(place(to));
    let found = range.and_then(|(from, to)| text.get(from..to));
    found.ok_or_else(|| {
        let length = length(text);
        EvalFault::new(format!(
            "a text of {length} characters has no part from {from} to {to}"
        ))
    })
}

/// The position of a text in another, the first from a position on or the last that begins by it.
fn position(text: &str, sought: &str, by: Option<i64>, last: bool) -> Result<i64, EvalFault> {
    let length = length(text);
    let by = by.unwrap_or(if last { length } else { 0 });
    let Ok(at) = usize::try_from(by) else {
        return Err(EvalFault::new(format!("{by} is no position in a text")));
    };
    if sought.is_empty() {
        return Ok(by.min(length));
    }
    let count = |offset: usize| text.get(..offset).map_or(-1, self::length);
    let found = match offset(text, at) {
        Some(from) if last => {
            let end = from.saturating_add(sought.len()).min(text.len());
            // Why from behind over characters: the end may lie within one.
            let end = (end..=text.len()).find(|end| text.is_char_boundary(*end));
            let head = end.and_then(|end| text.get(..end)).unwrap_or(text);
            head.rfind(sought)
        }
        Some(from) => {
            let rest = text.get(from..).and_then(|rest| rest.find(sought));
            rest.map(|found| found + from)
        }
        // Why not an error: CEL's own looks from the end where the position lies behind it.
        None => None,
    };
    Ok(found.map_or(-1, count))
}
