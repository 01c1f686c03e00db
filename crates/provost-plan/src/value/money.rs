//! Money: amounts in millionths of the one currency of a workspace.
//!
//! Owns reading, printing and arithmetic. Never rounds a sum, and rounds a price up. INVARIANT:
//! what is printed is read back as the same amount, and no sum is ever smaller than its parts.

use std::fmt;
use std::iter::Sum;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const SCALE: u64 = 1_000_000;
/// Digits behind the point.
const PLACES: usize = 6;
/// Digits behind the point that are always printed.
const PLACES_MIN: usize = 2;

/// An amount of money, zero or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(u64);

/// A text that is no amount of money.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "`{text}` is not an amount of money: write digits, and up to six of them behind a point, such \
     as \"5.00\" or \"0.0025\""
)]
pub struct MoneyError {
    text: String,
}

impl Money {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The largest amount, at which sums stay.
    pub const MAX: Self = Self(u64::MAX);

    /// An amount in millionths.
    #[must_use]
    pub const fn from_millionths(millionths: u64) -> Self {
        Self(millionths)
    }

    /// The amount in millionths.
    #[must_use]
    pub const fn millionths(self) -> u64 {
        self.0
    }

    /// Reads an amount such as `5`, `5.00` or `0.0025`.
    ///
    /// # Errors
    /// [`MoneyError`] if the text is anything else, or too large.
    pub fn parse(text: &str) -> Result<Self, MoneyError> {
        let read = || {
            let (whole, part) = match text.split_once('.') {
                Some((whole, part)) => (whole, Some(part)),
                None => (text, None),
            };
            let is_digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
            if !is_digits(whole) || part.is_some_and(|p| !is_digits(p) || p.len() > PLACES) {
                return None;
            }
            let whole: u64 = whole.parse().ok()?;
            let part: u64 = format!("{:0<PLACES$}", part.unwrap_or("0")).parse().ok()?;
            whole.checked_mul(SCALE)?.checked_add(part).map(Self)
        };
        read().ok_or_else(|| MoneyError {
            text: text.to_owned(),
        })
    }

    /// The sum, if it is not too large.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The sum, or the largest amount.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or nothing.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The amount `times` over, or the largest amount.
    #[must_use]
    pub fn saturating_mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }

    /// What `count` cost if a million cost this, rounded up to the next millionth.
    #[must_use]
    pub fn per_million(self, count: u64) -> Self {
        let product = u128::from(self.0) * u128::from(count);
        Self(u64::try_from(product.div_ceil(u128::from(SCALE))).unwrap_or(u64::MAX))
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Self::saturating_add)
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = format!("{:06}", self.0 % SCALE);
        let kept = part.trim_end_matches('0').len().max(PLACES_MIN);
        write!(
            f,
            "{}.{}",
            self.0 / SCALE,
            part.get(..kept).unwrap_or(&part)
        )
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_and_printed_exactly() {
        for (text, millionths, printed) in [
            ("0", 0, "0.00"),
            ("5", 5_000_000, "5.00"),
            ("5.0", 5_000_000, "5.00"),
            ("0.02", 20_000, "0.02"),
            ("0.0025", 2_500, "0.0025"),
            ("0.000001", 1, "0.000001"),
            ("1234567.89", 1_234_567_890_000, "1234567.89"),
            ("18446744073709.551615", u64::MAX, "18446744073709.551615"),
        ] {
            let money = Money::parse(text).unwrap();
            assert_eq!(money.millionths(), millionths, "{text}");
            assert_eq!(money.to_string(), printed);
            assert_eq!(Money::parse(printed), Ok(money));
            assert_eq!(serde_json::to_value(money).unwrap(), printed);
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in [
            "",
            ".",
            "5.",
            ".5",
            "-1",
            "+1",
            "1e3",
            "1_000",
            "1,00",
            " 1",
            "0.0000001",
            "١",
            "18446744073709.551616",
            "99999999999999999999",
        ] {
            assert!(Money::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sums_never_wrap_and_prices_round_up() {
        let one = Money::from_millionths(1);
        assert_eq!(Money::MAX.checked_add(one), None);
        assert_eq!(Money::MAX.saturating_add(one), Money::MAX);
        assert_eq!(Money::MAX.saturating_mul(2), Money::MAX);
        assert_eq!(one.saturating_sub(Money::MAX), Money::ZERO);
        assert_eq!(Money::MAX.per_million(u64::MAX), Money::MAX);
        assert_eq!(
            one.per_million(1),
            one,
            "a fraction of a millionth is a millionth"
        );
        let three = Money::parse("3.00").unwrap();
        assert_eq!(three.per_million(8_000), Money::parse("0.024").unwrap());
        assert_eq!(
            [one, three].into_iter().sum::<Money>().to_string(),
            "3.000001"
        );
    }
}
