//! What a call costs: a fixed amount, and tokens that go in and come out.
//!
//! Owns the price of one attempt, for the check and for the run alike. Never guesses a price or a
//! bound. INVARIANT: a worst case is never less than what an attempt can cost, and where there is
//! none the missing setting is named.

use serde::{Deserialize, Serialize};

use crate::money::Money;

/// What one attempt of an operation costs. What is left out costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// A fixed amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<Money>,
    /// Tokens that are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<Tokens>,
    /// Tokens that come back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<Tokens>,
}

/// Tokens of one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// The most of one attempt. Of tokens that are sent, the bytes of the arguments bound it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// What a million of them cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Money>,
}

/// The most that one attempt, or many, can use up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spend {
    /// Money, as far as it has a bound.
    pub money: Money,
    /// Tokens, as far as they have a bound.
    pub tokens: u64,
    /// Settings without which the money has no bound.
    pub unpriced: Vec<&'static str>,
    /// Settings without which the tokens have no bound.
    pub uncounted: Vec<&'static str>,
}

impl Cost {
    /// Whether an attempt takes neither money nor tokens.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        let free = self.money.unwrap_or_default() == Money::ZERO;
        free && self.tokens_in.is_none() && self.tokens_out.is_none()
    }

    /// The most one attempt costs that sends `bytes` of arguments, if that has a bound. Why bytes:
    /// no token is shorter than one.
    #[must_use]
    pub fn of_attempt(&self, bytes: Option<u64>) -> Spend {
        let mut spend = Spend {
            money: self.money.unwrap_or_default(),
            ..Spend::default()
        };
        if let Some(tokens) = &self.tokens_in {
            let most = match (tokens.max, bytes) {
                (Some(max), Some(bytes)) => Some(max.min(bytes)),
                (max, bytes) => max.or(bytes),
            };
            let missing = ["cost.tokens_in.max", "cost.tokens_in.price"];
            spend.add(most, tokens.price, missing);
        }
        if let Some(tokens) = &self.tokens_out {
            let missing = ["cost.tokens_out.max", "cost.tokens_out.price"];
            spend.add(tokens.max, tokens.price, missing);
        }
        spend
    }
}

impl Spend {
    /// What an operation without a `cost` costs: nobody knows.
    #[must_use]
    pub fn unknown() -> Self {
        Self {
            unpriced: vec!["cost"],
            uncounted: vec!["cost"],
            ..Self::default()
        }
    }

    fn add(&mut self, most: Option<u64>, price: Option<Money>, missing: [&'static str; 2]) {
        let [no_most, no_price] = missing;
        match most {
            Some(most) => self.tokens = self.tokens.saturating_add(most),
            None => self.uncounted.push(no_most),
        }
        match (most, price) {
            // Why: what costs nothing costs nothing however many there are.
            (_, Some(Money::ZERO)) | (Some(0), _) => {}
            (Some(most), Some(price)) => {
                self.money = self.money.saturating_add(price.per_million(most));
            }
            (_, None) => self.unpriced.push(no_price),
            (None, Some(_)) => self.unpriced.push(no_most),
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(mut self, other: Self) -> Self {
        self.money = self.money.saturating_add(other.money);
        self.tokens = self.tokens.saturating_add(other.tokens);
        for (own, others) in [
            (&mut self.unpriced, other.unpriced),
            (&mut self.uncounted, other.uncounted),
        ] {
            own.extend(others);
            own.sort_unstable();
            own.dedup();
        }
        self
    }

    /// The same, `times` over.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.money = self.money.saturating_mul(times);
        self.tokens = self.tokens.saturating_mul(times);
        self
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn money(text: &str) -> Money {
        Money::parse(text).unwrap()
    }

    fn tokens(max: Option<u64>, price: Option<&str>) -> Option<Tokens> {
        let price = price.map(money);
        Some(Tokens { max, price })
    }

    #[test]
    fn both_directions_are_priced() {
        let cost = Cost {
            money: Some(money("0.02")),
            tokens_in: tokens(Some(8_000), Some("3.00")),
            tokens_out: tokens(Some(1_000), Some("15.00")),
        };
        let spend = cost.of_attempt(None);
        assert_eq!(spend.money, money("0.059"));
        assert_eq!(spend.tokens, 9_000);
        assert_eq!(spend.times(3).money, money("0.177"));
        assert_eq!(cost.of_attempt(Some(1_000)).tokens, 2_000, "the narrower");
    }

    #[test]
    fn what_is_missing_is_named() {
        let cost = Cost {
            money: None,
            tokens_in: tokens(None, Some("3.00")),
            tokens_out: tokens(Some(10), None),
        };
        let spend = cost.of_attempt(None);
        assert_eq!(spend.uncounted, ["cost.tokens_in.max"]);
        assert_eq!(
            spend.unpriced,
            ["cost.tokens_in.max", "cost.tokens_out.price"]
        );
        let spend = cost.of_attempt(Some(5));
        assert_eq!((spend.tokens, spend.uncounted.len()), (15, 0));
        let free = Cost {
            tokens_out: tokens(None, Some("0")),
            ..Cost::default()
        };
        assert_eq!(free.of_attempt(None).unpriced, [""; 0]);
        assert_eq!(Spend::unknown().unpriced, ["cost"]);
    }
}
