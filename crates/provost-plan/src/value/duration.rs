//! Durations as people write them: `500ms`, `30s`, `5m`, `24h`, `7d`.
//!
//! Owns reading and printing. INVARIANT: what [`print()`] writes, [`parse`] reads back unchanged.

use std::time::Duration;

/// A text that is no duration.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "`{text}` is not a duration: write a whole number and a unit, such as `500ms`, `30s`, `5m`, \
     `24h` or `7d`"
)]
pub struct DurationError {
    text: String,
}

const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// Reads a duration.
///
/// # Errors
/// [`DurationError`] if the text is not a whole number followed by a unit.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let error = || DurationError {
        text: text.to_owned(),
    };
    let digits_end = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(error)?;
    let (digits, unit) = text.split_at_checked(digits_end).ok_or_else(error)?;
    let count: u64 = digits.parse().map_err(|_| error())?;
    let (_, scale) = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(error)?;
    count
        .checked_mul(*scale)
        .map(Duration::from_millis)
        .ok_or_else(error)
}

/// Prints a duration in its largest unit that divides it.
#[must_use]
pub fn print(duration: Duration) -> String {
    let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let (unit, scale) = UNITS
        .iter()
        .rev()
        .find(|(_, scale)| ms != 0 && ms.is_multiple_of(*scale))
        .copied()
        .unwrap_or(("ms", 1));
    format!("{}{unit}", ms / scale)
}

/// Says a duration in its two largest units, rounded up: `4m 35s`.
#[must_use]
pub fn words(duration: Duration) -> String {
    let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let largest = UNITS.iter().rposition(|(_, scale)| ms >= *scale);
    let Some((at, (unit, scale))) = largest.and_then(|at| Some((at, UNITS.get(at)?))) else {
        return print(duration);
    };
    let smaller = at.checked_sub(1).and_then(|at| UNITS.get(at));
    // Why: nobody waits for parts of a second.
    let Some((small_unit, small)) = smaller.filter(|(unit, _)| *unit != "ms" || ms < 10_000) else {
        return format!("{}{unit}", ms.div_ceil(*scale));
    };
    let in_small = ms.div_ceil(*small);
    let per_large = scale / small;
    match (in_small / per_large, in_small % per_large) {
        (large, 0) => format!("{large}{unit}"),
        (large, rest) => format!("{large}{unit} {rest}{small_unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_two_largest_units_rounded_up() {
        for (ms, expected) in [
            (0, "0ms"),
            (250, "250ms"),
            (1_500, "1s 500ms"),
            (12_300, "13s"),
            (90_000, "1m 30s"),
            (274_500, "4m 35s"),
            (3_600_000, "1h"),
            (5_400_001, "1h 31m"),
            (93_600_000, "1d 2h"),
        ] {
            assert_eq!(words(Duration::from_millis(ms)), expected, "{ms}");
        }
    }
}
