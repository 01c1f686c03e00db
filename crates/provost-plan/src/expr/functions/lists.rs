//! CEL's `lists` extension, and the parts of maps.
//!
//! Owns new lists made of old ones. INVARIANT: each item that is copied, compared or made is paid
//! for before it is.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::super::eval::{EvalFault, Evaluated, Evaluator, unfit};
use super::super::tree::Function;
use super::super::value::{Dict, Item, Key, List, Text, as_double};
use super::whole;
use crate::limits::COMPREHENSION_ITEMS_MAX;

impl<'v> Evaluator<'v> {
    pub(super) fn list_function(
        &mut self,
        function: Function,
        list: &List<'v>,
        rest: &[Item<'v>],
    ) -> Evaluated<'v> {
        // Why twice: some are put together in one list and given as another.
        Item::pay_list(list.len().saturating_mul(2), &mut self.fuel)?;
        match (function, rest) {
            (Function::Distinct, []) => self.distinct(list),
            (Function::Flatten, []) => self.flatten(list, 1),
            (Function::Flatten, [depth]) => match whole(function, depth)? {
                depth if depth < 0 => Err(EvalFault::new("`flatten` takes no negative depth")),
                depth => self.flatten(list, depth),
            },
            (Function::Reverse, []) => {
                let mut items: Vec<Item<'v>> = list.iter().collect();
                items.reverse();
                Ok(Item::list(items))
            }
            (Function::Slice, [from, to]) => {
                let (from, to) = (whole(function, from)?, whole(function, to)?);
                let items = list.len();
                let range = usize::try_from(from).ok().zip(usize::try_from(to).ok());
                let Some((from, to)) = range.filter(|(from, to)| from <= to && *to <= items) else {
                    return Err(EvalFault::new(format!(
                        "a list of {items} items has no part from {from} to {to}"
                    )));
                };
                let part = list.iter().skip(from).take(to - from);
                Ok(Item::list(part.collect()))
            }
            (Function::Sort, []) => self.sort(list),
            (Function::Zip, [Item::List(other)]) => self.zip(list, other),
            (_, [other, ..]) => Err(unfit(function.name(), other)),
            (_, []) => Err(EvalFault::new(format!(
                "`{}` takes another number of arguments",
                function.name()
            ))),
        }
    }

    /// `lists.range(n)`: as in CEL, nothing for what is not above 0.
    pub(super) fn range(&mut self, count: &Item<'v>) -> Evaluated<'v> {
        let count = whole(Function::Range, count)?.max(0);
        let is_short = usize::try_from(count).is_ok_and(|count| count <= COMPREHENSION_ITEMS_MAX);
        if !is_short {
            return Err(EvalFault::new(format!(
                "`lists.range` makes at most {COMPREHENSION_ITEMS_MAX} numbers"
            )));
        }
        Item::pay_list(usize::try_from(count).unwrap_or(0), &mut self.fuel)?;
        Ok(Item::list((0..count).map(Item::Int).collect()))
    }

    /// `keys(m)` and `values(m)`, in the order of the keys.
    pub(super) fn parts_of(&mut self, function: Function, map: &Dict<'v>) -> Evaluated<'v> {
        Item::pay_map(map.len(), &mut self.fuel)?;
        Item::pay_list(map.len(), &mut self.fuel)?;
        let mut keys: Vec<(Option<Key>, Item<'v>)> = Vec::with_capacity(map.len());
        for key in map.keys() {
            if let Item::Text(text) = &key {
                self.fuel
                    .spend_bytes(text.as_str().len().saturating_mul(4))?;
            }
            keys.push((Key::of(&key), key));
        }
        keys.sort_by(|(a, _), (b, _)| a.cmp(b));
        let keys = keys.into_iter().map(|(_, key)| key);
        Ok(Item::list(match function {
            Function::Keys => keys.collect(),
            _ => keys.filter_map(|key| map.get(&key)).collect(),
        }))
    }

    fn distinct(&mut self, list: &List<'v>) -> Evaluated<'v> {
        Item::pay_map(list.len(), &mut self.fuel)?;
        let mut seen = BTreeSet::new();
        let mut held: Vec<Item<'v>> = Vec::new();
        let mut items: Vec<Item<'v>> = Vec::new();
        for item in list.iter() {
            if let Item::Text(text) = &item {
                self.fuel
                    .spend_bytes(text.as_str().len().saturating_mul(4))?;
            }
            let is_new = match Mark::of(&item) {
                Some(mark) => seen.insert(mark),
                None => {
                    let mut found = false;
                    for other in &held {
                        if item.equals(other, &mut self.fuel)? {
                            found = true;
                            break;
                        }
                    }
                    if !found {
                        held.push(item.clone());
                    }
                    !found
                }
            };
            if is_new {
                items.push(item);
            }
        }
        Ok(Item::list(items))
    }

    fn flatten(&mut self, list: &List<'v>, depth: i64) -> Evaluated<'v> {
        let mut items: Vec<Item<'v>> = list.iter().collect();
        for _ in 0..depth {
            if !items.iter().any(|item| matches!(item, Item::List(_))) {
                break;
            }
            let mut flat = Vec::new();
            for item in items {
                match item {
                    Item::List(inner) => {
                        Item::pay_list(inner.len().saturating_mul(2), &mut self.fuel)?;
                        flat.extend(inner.iter());
                    }
                    other => flat.push(other),
                }
            }
            Item::pay_list(flat.len(), &mut self.fuel)?;
            items = flat;
        }
        Ok(Item::list(items))
    }

    fn sort(&mut self, list: &List<'v>) -> Evaluated<'v> {
        let mut items: Vec<Item<'v>> = list.iter().collect();
        let looks = u64::from(items.len().checked_ilog2().unwrap_or(0)) + 1;
        let mut units = 0u64;
        for item in &items {
            let bytes = match item {
                Item::Text(text) => text.as_str().len(),
                _ => 0,
            };
            units = units.saturating_add(1 + u64::try_from(bytes / 16).unwrap_or(u64::MAX));
        }
        self.fuel.spend(units.saturating_mul(looks))?;
        let order = order_of(&items)?;
        items.sort_by(order);
        Ok(Item::list(items))
    }

    fn zip(&mut self, left: &List<'v>, right: &List<'v>) -> Evaluated<'v> {
        let (a, b) = (left.len(), right.len());
        if a != b {
            return Err(EvalFault::new(format!(
                "`zip` takes two lists of one length, and these have {a} and {b} items"
            )));
        }
        let mut pairs = Vec::with_capacity(a);
        for (left, right) in left.iter().zip(right.iter()) {
            Item::pay_list(2, &mut self.fuel)?;
            pairs.push(Item::list(vec![left, right]));
        }
        Ok(Item::list(pairs))
    }
}

/// What tells scalars apart as `==` does.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Null,
    Scalar(Key),
    Fraction(u64),
    Other(&'static str, String),
}

impl Mark {
    fn of(item: &Item<'_>) -> Option<Self> {
        Some(match item {
            Item::Null => Self::Null,
            Item::List(_) | Item::Map(_) => return None,
            Item::Double(value) => match Key::of(item) {
                Some(key) => Self::Scalar(key),
                None => Self::Fraction(value.to_bits()),
            },
            Item::Time(time) => Self::Other("time", time.to_string()),
            Item::Length(length) => Self::Other("duration", length.to_string()),
            Item::Type(name) => Self::Other("type", (*name).to_owned()),
            Item::Bool(_) | Item::Int(_) | Item::Text(_) => Self::Scalar(Key::of(item)?),
        })
    }
}

type Order = fn(&Item<'_>, &Item<'_>) -> Ordering;

/// The order of items that are all of one kind that has one.
fn order_of(items: &[Item<'_>]) -> Result<Order, EvalFault> {
    let Some(first) = items.first() else {
        return Ok(|_, _| Ordering::Equal);
    };
    let fits = |item: &Item<'_>| match (first, item) {
        (Item::Int(_) | Item::Double(_), Item::Double(value)) => !value.is_nan(),
        (Item::Int(_) | Item::Double(_), Item::Int(_))
        | (Item::Text(_), Item::Text(_))
        | (Item::Bool(_), Item::Bool(_))
        | (Item::Time(_), Item::Time(_))
        | (Item::Length(_), Item::Length(_)) => true,
        _ => false,
    };
    if let Some(other) = items.iter().find(|item| !fits(item)) {
        let (first, other) = (first.kind_word(), other.kind_word());
        return Err(EvalFault::new(if first == other {
            format!("`sort` does not order {first}")
        } else {
            format!("`sort` does not order {first} and {other}")
        }));
    }
    let has_fraction = items.iter().any(|item| matches!(item, Item::Double(_)));
    // Why one order for all numbers: two ways of comparing them would make no order together.
    Ok(match first {
        Item::Int(_) | Item::Double(_) if has_fraction => |a, b| double(a).total_cmp(&double(b)),
        _ => |a, b| match (a, b) {
            (Item::Int(a), Item::Int(b)) => a.cmp(b),
            (Item::Text(a), Item::Text(b)) => text(a).cmp(text(b)),
            (Item::Bool(a), Item::Bool(b)) => a.cmp(b),
            (Item::Time(a), Item::Time(b)) => a.cmp(b),
            (Item::Length(a), Item::Length(b)) => a.cmp(b),
            _ => Ordering::Equal,
        },
    })
}

fn text<'a>(text: &'a Text<'_>) -> &'a str {
    text.as_str()
}

/// A number to order by; `-0.0` is no less than `0`.
fn double(item: &Item<'_>) -> f64 {
    match item {
        Item::Int(value) => as_double(*value),
        Item::Double(value) => *value + 0.0,
        _ => f64::NAN,
    }
}
