//! Amounts: what an argument of a call adds to a counted value, exact to a millionth.
//!
//! Owns reading of JSON numbers, printing and sums. Never rounds down. INVARIANT: no amount is
//! less than the number it was read from, and no sum less than its parts.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Number, Value};

const SCALE: u128 = 1_000_000;
/// Digits behind the point.
const PLACES: usize = 6;
/// Most digits before the point; no sum of such amounts wraps.
const DIGITS_MAX: usize = 27;

/// An amount, zero or more. What is below zero counts as zero: it makes no room for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(u128);

/// The most of each counted value; `None` where nothing bounds it.
pub type Totals = BTreeMap<String, Option<Amount>>;

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// So many whole units.
    #[must_use]
    pub fn of_count(count: u64) -> Self {
        Self(u128::from(count) * SCALE)
    }

    /// The amount that a number stands for, rounded up to a millionth; none if it is too large.
    #[must_use]
    pub fn of_number(number: &Number) -> Option<Self> {
        if let Some(whole) = number.as_u64() {
            return Some(Self::of_count(whole));
        }
        let value = number.as_f64()?;
        if value <= 0.0 {
            return Some(Self::ZERO);
        }
        // Why: the shortest text that reads back as the same number is what its author wrote.
        Self::of_digits(&value.to_string())
    }

    /// The amount of a value that is a number.
    #[must_use]
    pub fn of_value(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => Self::of_number(number),
            _ => None,
        }
    }

    fn of_digits(text: &str) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let is_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || whole.len() > DIGITS_MAX || !is_digits(whole) || !is_digits(part) {
            return None;
        }
        let kept = part.get(..PLACES.min(part.len()))?;
        let cut = part.get(kept.len()..)?;
        let millionths: u128 = format!("{kept:0<PLACES$}").parse().ok()?;
        let up = u128::from(cut.bytes().any(|digit| digit != b'0'));
        let whole: u128 = whole.parse().ok()?;
        Some(Self(whole * SCALE + millionths + up))
    }

    /// The sum, or the largest amount.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The amount `times` over, or the largest amount.
    #[must_use]
    pub fn times(self, times: u64) -> Self {
        Self(self.0.saturating_mul(u128::from(times)))
    }

    /// The difference, or nothing.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// In whole units, rounded up; none beyond what policy can hold.
    #[must_use]
    pub fn units(self) -> Option<i64> {
        i64::try_from(self.0.div_ceil(SCALE)).ok()
    }

    /// With four digits behind the point, rounded up; none beyond what policy can hold.
    #[must_use]
    pub fn decimal(self) -> Option<String> {
        let parts = i64::try_from(self.0.div_ceil(100)).ok()?;
        Some(format!("{}.{:04}", parts / 10_000, parts % 10_000))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / SCALE, self.0 % SCALE);
        if part == 0 {
            return write!(f, "{whole}");
        }
        let part = format!("{part:06}");
        write!(f, "{whole}.{}", part.trim_end_matches('0'))
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let amount = match &value {
            Value::String(text) => Self::of_digits(text),
            value => Self::of_value(value),
        };
        amount.ok_or_else(|| D::Error::custom(format!("{value} is not an amount")))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_number_is_read_exactly_or_rounded_up() {
        for (number, printed) in [
            (json!(0), "0"),
            (json!(500), "500"),
            (json!(-3), "0"),
            (json!(-0.5), "0"),
            (json!(0.1), "0.1"),
            (json!(19.99), "19.99"),
            (json!(2.5e3), "2500"),
            (json!(0.000_001), "0.000001"),
            (json!(0.000_000_1), "0.000001"),
            (json!(1.000_000_4), "1.000001"),
            (json!(u64::MAX), "18446744073709551615"),
            (json!(1e26), "100000000000000000000000000"),
        ] {
            let amount = Amount::of_value(&number).unwrap();
            assert_eq!(amount.to_string(), printed, "{number}");
            let text = serde_json::to_value(amount).unwrap();
            assert_eq!(text, json!(printed));
            assert_eq!(serde_json::from_value::<Amount>(text).unwrap(), amount);
        }
        for none in [json!(1e30), json!("5"), json!(null), json!([1])] {
            assert_eq!(Amount::of_value(&none), None, "{none}");
        }
    }

    #[test]
    fn sums_never_wrap_and_policy_sees_no_less() {
        let amount = |number: Value| Amount::of_value(&number).unwrap();
        assert_eq!(
            amount(json!(0.1)).plus(amount(json!(0.2))),
            amount(json!(0.3))
        );
        assert_eq!(amount(json!(1e26)).times(u64::MAX).units(), None);
        assert_eq!(amount(json!(12.25)).units(), Some(13));
        assert_eq!(amount(json!(12.25)).decimal().unwrap(), "12.2500");
        assert_eq!(amount(json!(0.000_001)).decimal().unwrap(), "0.0001");
        assert_eq!(amount(json!(3)).minus(amount(json!(5))), Amount::ZERO);
    }
}
