//! Points and lengths of time: CEL's `timestamp` and `duration`, without a clock.
//!
//! Owns reading, printing and arithmetic. The fields of a time in a named zone come from the `cel`
//! crate, whose table of zones is part of the program. INVARIANT: nothing here reads the machine's
//! zone or clock.

use std::sync::{Arc, LazyLock};

use cel::{Context, Env, Value as CelValue};
use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};

use super::eval::{EvalFault, Evaluated, unfit};
use super::tree::{Arith, Function};
use super::value::Item;

const UNITS_NS: [(&str, f64); 7] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3_600e9),
];

pub(super) fn timestamp<'v>(item: &Item<'v>) -> Evaluated<'v> {
    match item {
        Item::Time(time) => Ok(Item::Time(*time)),
        Item::Int(seconds) => Timestamp::from_second(*seconds)
            .map(Item::Time)
            .map_err(|_| EvalFault::new("the time is out of range")),
        Item::Text(text) => parse_timestamp(text.as_str()).map(Item::Time),
        other => Err(unfit("timestamp", other)),
    }
}

fn parse_timestamp(text: &str) -> Result<Timestamp, EvalFault> {
    text.parse().map_err(|_| {
        // Why not taken: which moment it is hangs on a zone, and none is the run's.
        EvalFault::new(match text.parse::<DateTime>() {
            Ok(local) => format!(
                "the time has no zone: write `{local}Z`, or its offset, as in `{local}+02:00`"
            ),
            Err(_) => "the text is not a time such as `2026-01-31T08:00:00Z`".to_owned(),
        })
    })
}

pub(super) fn duration<'v>(item: &Item<'v>) -> Evaluated<'v> {
    match item {
        Item::Length(length) => Ok(Item::Length(*length)),
        Item::Text(text) => parse_duration(text.as_str())
            .map(Item::Length)
            .ok_or_else(|| EvalFault::new("the text is not a duration such as `1h30m` or `90s`")),
        other => Err(unfit("duration", other)),
    }
}

fn parse_duration(text: &str) -> Option<SignedDuration> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    let mut total = SignedDuration::ZERO;
    let mut parts = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at_checked(digits)?;
        let end = behind
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(behind.len());
        let (unit, behind) = behind.split_at_checked(end)?;
        let (_, scale) = UNITS_NS.iter().find(|(name, _)| *name == unit)?;
        total = total.checked_add(part(number, *scale)?)?;
        rest = behind;
        parts += 1;
        if parts > 16 {
            return None;
        }
    }
    if parts == 0 {
        return None;
    }
    if negative {
        total.checked_neg()
    } else {
        Some(total)
    }
}

/// A number of units, exactly where it is whole.
fn part(number: &str, scale_ns: f64) -> Option<SignedDuration> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "scales are whole and small; the fraction is below one unit"
    )]
    if let Ok(whole) = number.parse::<i64>() {
        let nanos = i128::from(whole).checked_mul(i128::from(scale_ns as i64))?;
        return SignedDuration::try_from_nanos_i128(nanos);
    }
    SignedDuration::try_from_secs_f64(number.parse::<f64>().ok()? * scale_ns / 1e9).ok()
}

/// Prints a duration in seconds, as CEL does: `5400s`, `0.25s`.
pub(super) fn print_duration(length: SignedDuration) -> String {
    let nanos = length.as_nanos();
    let sign = if nanos < 0 { "-" } else { "" };
    let (seconds, part) = (
        nanos.unsigned_abs() / 1_000_000_000,
        nanos.unsigned_abs() % 1_000_000_000,
    );
    if part == 0 {
        return format!("{sign}{seconds}s");
    }
    let part = format!("{part:09}");
    format!("{sign}{seconds}.{}s", part.trim_end_matches('0'))
}

/// Arithmetic in which a time or a duration takes part; none if these two do not go together.
pub(super) fn arith<'v>(
    operator: Arith,
    left: &Item<'v>,
    right: &Item<'v>,
) -> Option<Evaluated<'v>> {
    let result = match (operator, left, right) {
        (Arith::Add, Item::Time(time), Item::Length(length))
        | (Arith::Add, Item::Length(length), Item::Time(time)) => {
            time.checked_add(*length).ok().map(Item::Time)
        }
        (Arith::Subtract, Item::Time(time), Item::Length(length)) => {
            time.checked_sub(*length).ok().map(Item::Time)
        }
        (Arith::Subtract, Item::Time(a), Item::Time(b)) => Some(Item::Length(a.duration_since(*b))),
        (Arith::Add, Item::Length(a), Item::Length(b)) => a.checked_add(*b).map(Item::Length),
        (Arith::Subtract, Item::Length(a), Item::Length(b)) => a.checked_sub(*b).map(Item::Length),
        _ => return None,
    };
    Some(result.ok_or_else(|| EvalFault::new("the time is out of range")))
}

/// A field of a time, or a duration in whole units.
pub(super) fn field<'v>(
    function: Function,
    item: &Item<'v>,
    zone: Option<&Item<'v>>,
) -> Evaluated<'v> {
    match (item, zone) {
        (Item::Length(length), None) => {
            let millis = length.as_millis();
            let value = match function {
                Function::Hours => millis / 3_600_000,
                Function::Minutes => millis / 60_000,
                Function::Seconds => millis / 1_000,
                Function::Milliseconds => millis % 1_000,
                _ => return Err(unfit(function.name(), item)),
            };
            Ok(Item::Int(i64::try_from(value).unwrap_or(i64::MAX)))
        }
        (Item::Time(time), None) => in_zone(function, *time, "UTC"),
        (Item::Time(time), Some(Item::Text(zone))) => in_zone(function, *time, zone.as_str()),
        (Item::Time(_), Some(other)) | (other, _) => Err(unfit(function.name(), other)),
    }
}

static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

fn in_zone<'v>(function: Function, time: Timestamp, zone: &str) -> Evaluated<'v> {
    let fault = || EvalFault::new(format!("`{}` does not know this zone", function.name()));
    let source = format!("timestamp(time).{}(zone)", function.name());
    let tree = cel::parser::PrattParser::new()
        .parse(&source)
        .map_err(|_| fault())?;
    let mut context = Context::with_env(Arc::clone(&ENVIRONMENT));
    context.add_variable_from_value("time", time.to_string());
    context.add_variable_from_value("zone", zone.to_owned());
    match CelValue::resolve(&tree, &context) {
        Ok(CelValue::Int(value)) => Ok(Item::Int(value)),
        _ => Err(fault()),
    }
}
