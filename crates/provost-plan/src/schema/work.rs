//! How much work it is to judge a value by a schema.
//!
//! Owns the count: schema and value are walked together, every subschema as often as a validator
//! may look at it, and paid for before it does. Never judges. INVARIANT: a reference is followed as
//! often as it stands there, so what is written once and meant a thousand times costs a thousand;
//! what is nested past `VALIDATION_DEPTH_MAX` is [`Exceeded`].

use std::collections::BTreeSet;

use serde_json::Value;

use crate::limits::VALIDATION_DEPTH_MAX;
use crate::work::{Exceeded, WorkBudget};

mod rules;

use rules::Rule;
pub(crate) use rules::Unbounded;

/// A value whose worst case is no more than this is not walked.
const SMALL: u64 = 2_000;
/// How many bytes cost one unit, each at one place of a pattern.
const PLACES_A_UNIT: u64 = 8;
/// What one search with a pattern that looks around or refers back may come to.
const IRREGULAR_MAX: u64 = 1_000_000;
/// Most items of a list that are compared one by one whatever they are.
const COMPARED_MAX: u64 = 15;

/// A schema, as far as it says what judging by it costs.
#[derive(Debug)]
pub(crate) struct Work {
    rules: Vec<Rule>,
    /// The most for each node of a value, where that is a small number.
    each: Option<u64>,
}

impl Work {
    /// Reads what judging by a schema costs.
    ///
    /// # Errors
    /// [`Unbounded`] if it has no end, or is nested too deep to be looked at.
    pub(crate) fn of(schema: &Value) -> Result<Self, Unbounded> {
        let mut work = Self {
            rules: rules::of(schema)?,
            each: None,
        };
        let mut each = 0_u64;
        let counted = work.expand(0, &mut BTreeSet::new(), &mut |rule, leads_back| {
            let places = rule.places.saturating_add(rule.name_places);
            each = each.saturating_add(rule.own.saturating_add(places));
            each <= SMALL && !leads_back && !rule.grows_with_the_value()
        });
        work.each = counted.then_some(each);
        Ok(work)
    }

    /// How many subschemas it comes to with every reference written out, if no more than `most`;
    /// one that leads back to itself counts once each time.
    pub(crate) fn expansion(&self, most: u64) -> Option<u64> {
        let mut subschemas = 0;
        let counted = self.expand(0, &mut BTreeSet::new(), &mut |_, _| {
            subschemas += 1;
            subschemas <= most
        });
        counted.then_some(subschemas)
    }

    /// Whether no value is judged by several branches of which one has to hold.
    pub(crate) fn is_without_choice(&self) -> bool {
        self.rules.iter().all(|rule| !rule.chooses)
    }

    /// Pays for judging `value`; what it cost.
    pub(super) fn pay(&self, value: &Value, purse: &WorkBudget) -> Result<u64, Exceeded> {
        let most = self.each.and_then(|each| {
            let nodes = size(value, SMALL / each.max(1))?;
            nodes.checked_mul(each)
        });
        if let Some(most) = most {
            return purse.spend(most).map(|()| most);
        }
        let before = purse.left();
        self.walk(0, value, purse, 0)?;
        Ok(before.saturating_sub(purse.left()))
    }

    /// Shows every subschema as often as it is met, until `take` has enough; whether it never had.
    fn expand(
        &self,
        place: usize,
        above: &mut BTreeSet<usize>,
        take: &mut dyn FnMut(&Rule, bool) -> bool,
    ) -> bool {
        let Some(rule) = self.rules.get(place) else {
            return true;
        };
        let leads_back = !above.insert(place);
        if !take(rule, leads_back) || above.len() > VALIDATION_DEPTH_MAX {
            return false;
        }
        if leads_back {
            return true;
        }
        let all = rule.below().all(|next| self.expand(next, above, take));
        above.remove(&place);
        all
    }

    fn walk(
        &self,
        place: usize,
        value: &Value,
        purse: &WorkBudget,
        depth: usize,
    ) -> Result<(), Exceeded> {
        let Some(rule) = self.rules.get(place) else {
            return Ok(());
        };
        if depth > VALIDATION_DEPTH_MAX {
            purse.spend(u64::MAX)?;
        }
        purse.spend(rule.own)?;
        match value {
            Value::String(text) => {
                purse.spend(searched(text, rule.places, rule.irregular))?;
            }
            Value::Array(items) => {
                if rule.unique {
                    purse.spend(told_apart(items))?;
                }
                for (at, item) in items.iter().enumerate() {
                    for next in rule.first_items.get(at).into_iter().chain(&rule.items) {
                        self.walk(*next, item, purse, depth + 1)?;
                    }
                }
            }
            Value::Object(map) => {
                for (name, value) in map {
                    if rule.looks_at_names() {
                        purse.spend(searched(name, rule.name_places, rule.irregular))?;
                    }
                    if let Some(names) = rule.names {
                        self.walk(names, &Value::String(name.clone()), purse, depth + 1)?;
                    }
                    for next in rule.of_field(name) {
                        self.walk(next, value, purse, depth + 1)?;
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        let before = purse.left();
        for next in &rule.beside {
            self.walk(*next, value, purse, depth + 1)?;
        }
        // Why again: what they leave over is found by judging each of them once more, and in them
        // those that stand beside it.
        let again = before.saturating_sub(purse.left());
        purse.spend(again.saturating_mul(rule.again))
    }
}

/// What it costs to search a text with a pattern of so many places.
fn searched(text: &str, places: u64, irregular: bool) -> u64 {
    let bytes = count(text.len());
    let regular = bytes.saturating_mul(places.max(1)) / PLACES_A_UNIT;
    if irregular {
        let each = bytes.saturating_mul(bytes.saturating_add(places));
        regular.saturating_add(each.min(IRREGULAR_MAX))
    } else {
        regular
    }
}

/// What it costs to tell the items of a list apart.
fn told_apart(items: &[Value]) -> u64 {
    let sizes = items
        .iter()
        .map(|item| size(item, u64::MAX).unwrap_or(u64::MAX));
    let sizes = sizes.fold(0, u64::saturating_add);
    let holders = items
        .iter()
        .filter(|item| item.is_array() || item.is_object());
    let holders = count(holders.count());
    // Why each with each: lists that differ in their brackets alone have equal digests.
    let pairs = if holders > COMPARED_MAX {
        holders.saturating_mul(holders) / 2
    } else {
        0
    };
    sizes.saturating_mul(2).saturating_add(pairs)
}

/// The nodes of a value, and what its texts come to; none if they are more than `most`.
fn size(value: &Value, most: u64) -> Option<u64> {
    let text = |text: &str| count(text.len()) / PLACES_A_UNIT;
    let mut left = most.checked_sub(1)?;
    match value {
        Value::String(string) => left = left.checked_sub(text(string))?,
        Value::Array(items) => {
            for item in items {
                left -= size(item, left)?;
            }
        }
        Value::Object(map) => {
            for (name, value) in map {
                left = left.checked_sub(text(name))?;
                left -= size(value, left)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Some(most - left)
}

fn count(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
