//! The functions of the language over evaluated arguments.
//!
//! Owns what each function takes and gives. Arity and form were checked when the expression was
//! read. INVARIANT: a function touches no byte that it has not paid for.

use super::Scope;
use super::eval::{EvalFault, Evaluated, Evaluator, Fuel, order, unfit};
use super::json;
use super::text::{TextPattern, compile_pattern};
use super::time;
use super::tree::{Expr, Function};
use super::value::{Item, List, as_double};
use crate::schema::Kinds;
use crate::work::WorkBudget;

pub(super) mod format;
mod lists;
mod numbers;
mod texts;

/// The price of compiling a regular expression.
const PATTERN_UNITS: u64 = 10_000;
/// Most work of a call of literals during a check.
const LITERALS_WORK_MAX: u64 = 100_000;
/// The room that a text takes beside its bytes.
const TEXT_BYTES: usize = 64;
/// How many places of a pattern, each looked at for one byte of a text, are one unit.
const PLACES_A_UNIT: u64 = 8;
/// How many places a pattern counts beside its own.
const PLACES_LEAST: u64 = 8;

/// Why a call of literals has no value, by the evaluation that a run does.
pub(crate) fn fault_of_literals(call: &Expr) -> Option<String> {
    let purse = WorkBudget::of(LITERALS_WORK_MAX);
    let scope = Scope::new().paid_from(&purse);
    let fault = Evaluator::new(&scope).eval(call).err()?;
    // Why: where it is cut short for its cost, a run may well evaluate it.
    (!fault.fatal).then_some(fault.reason)
}

/// What the clauses of a text to format take; none if it cannot be read.
pub(crate) fn clauses_of_format(text: &str) -> Vec<Kinds> {
    let clauses = format::clauses(text).unwrap_or_default();
    clauses.into_iter().map(format::Clause::takes).collect()
}

impl<'v> Evaluator<'v> {
    pub(super) fn call(&mut self, function: Function, arguments: &[Item<'v>]) -> Evaluated<'v> {
        let Some(first) = arguments.first() else {
            return Err(EvalFault::new(format!(
                "`{}` takes a value",
                function.name()
            )));
        };
        let second = arguments.get(1);
        match function {
            Function::Size => size(first, &mut self.fuel),
            Function::Contains | Function::StartsWith | Function::EndsWith | Function::Matches => {
                self.search(function, first, second)
            }
            Function::Int => integer(first),
            Function::Double => double(first),
            Function::String => match first {
                Item::Null | Item::List(_) | Item::Map(_) => Err(unfit("string", first)),
                _ => first.clone().print(&mut self.fuel).map(Item::text),
            },
            Function::Bool => boolean(first),
            Function::Dyn => Ok(first.clone()),
            Function::Type => Ok(Item::Type(first.type_name())),
            Function::Timestamp => time::timestamp(first),
            Function::Duration => time::duration(first),
            Function::FullYear
            | Function::Month
            | Function::Date
            | Function::DayOfMonth
            | Function::DayOfWeek
            | Function::DayOfYear
            | Function::Hours
            | Function::Minutes
            | Function::Seconds
            | Function::Milliseconds => {
                self.fuel.spend(500)?;
                time::field(function, first, second)
            }
            Function::Round => round(first, second),
            Function::Sum => self.sum(first),
            Function::Min => self.extreme(function, arguments),
            Function::Max => self.extreme(function, arguments),
            Function::Join => self.join(first, second),
            Function::First => match first {
                Item::List(list) => list
                    .get(0)
                    .ok_or_else(|| EvalFault::new("the list is empty")),
                other => Err(unfit("first", other)),
            },
            Function::Json => json::text(first, &mut self.fuel).map(Item::text),
            _ => self.extension(function, first, arguments),
        }
    }

    /// The functions of CEL's extensions, and ours that are like them.
    fn extension(
        &mut self,
        function: Function,
        first: &Item<'v>,
        arguments: &[Item<'v>],
    ) -> Evaluated<'v> {
        let rest = arguments.get(1..).unwrap_or_default();
        match (function, first) {
            (Function::Reverse, Item::List(list)) => self.list_function(function, list, rest),
            (
                Function::Abs
                | Function::Ceil
                | Function::Floor
                | Function::MathRound
                | Function::Sign
                | Function::Trunc,
                number,
            ) => numbers::one(function, number),
            (Function::Greatest | Function::Least, _) => self.extreme_number(function, arguments),
            (Function::Range, count) => self.range(count),
            (Function::Keys | Function::Values, Item::Map(map)) => self.parts_of(function, map),
            (Function::Keys | Function::Values, other) => Err(unfit(function.name(), other)),
            (
                Function::Distinct
                | Function::Flatten
                | Function::Slice
                | Function::Sort
                | Function::Zip,
                Item::List(list),
            ) => self.list_function(function, list, rest),
            (_, Item::Text(text)) => self.text_function(function, text.as_str(), rest),
            (_, other) => Err(unfit(function.name(), other)),
        }
    }

    /// Pays for a text that is made, of so many bytes.
    fn pay_text(&mut self, bytes: usize) -> Result<(), EvalFault> {
        self.fuel.spend_bytes(bytes.saturating_add(TEXT_BYTES))
    }

    fn search(
        &mut self,
        function: Function,
        text: &Item<'v>,
        sought: Option<&Item<'v>>,
    ) -> Evaluated<'v> {
        let (Item::Text(text), Some(Item::Text(sought))) = (text, sought) else {
            return Err(unfit(
                function.name(),
                match text {
                    Item::Text(_) => sought.unwrap_or(&Item::Null),
                    other => other,
                },
            ));
        };
        let (text, sought) = (text.as_str(), sought.as_str());
        self.fuel.spend_bytes(sought.len())?;
        if matches!(function, Function::Contains | Function::Matches) {
            self.fuel.spend_bytes(text.len())?;
        }
        Ok(Item::Bool(match function {
            Function::Contains => text.contains(sought),
            Function::StartsWith => text.starts_with(sought),
            Function::EndsWith => text.ends_with(sought),
            _ => self.matches(text, sought)?,
        }))
    }

    fn matches(&mut self, text: &str, pattern: &str) -> Result<bool, EvalFault> {
        let known = self.pattern(text, pattern)?;
        Ok(known.is_some_and(|known| known.regex.is_match(text)))
    }

    /// A pattern, and what it takes to look for it in a text is paid for.
    fn pattern(&mut self, text: &str, pattern: &str) -> Result<Option<&TextPattern>, EvalFault> {
        if !self.patterns.contains_key(pattern) {
            self.fuel.spend(PATTERN_UNITS)?;
            let compiled = compile_pattern(pattern).map_err(EvalFault::new)?;
            self.patterns.insert(pattern.to_owned(), compiled);
        }
        let Some(known) = self.patterns.get(pattern) else {
            return Ok(None);
        };
        // Why: at each byte of the text a search can be at every place of the pattern at once.
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let each = known.places.saturating_add(PLACES_LEAST);
        self.fuel
            .spend(bytes.saturating_mul(each) / PLACES_A_UNIT)?;
        Ok(Some(known))
    }

    fn list<'i>(
        &mut self,
        function: Function,
        item: &'i Item<'v>,
    ) -> Result<&'i List<'v>, EvalFault> {
        let Item::List(list) = item else {
            return Err(unfit(function.name(), item));
        };
        self.fuel
            .spend(u64::try_from(list.len()).unwrap_or(u64::MAX))?;
        Ok(list)
    }

    fn sum(&mut self, item: &Item<'v>) -> Evaluated<'v> {
        let list = self.list(Function::Sum, item)?;
        let mut whole = 0i64;
        let mut broken = None;
        for item in list.iter() {
            match (item, broken) {
                (Item::Int(value), None) => {
                    whole = whole
                        .checked_add(value)
                        .ok_or_else(|| EvalFault::new("the result is out of range"))?;
                }
                (Item::Int(value), Some(sum)) => broken = Some(sum + as_double(value)),
                (Item::Double(value), sum) => {
                    broken = Some(sum.unwrap_or_else(|| as_double(whole)) + value);
                }
                (other, _) => return Err(unfit("sum", &other)),
            }
        }
        Ok(broken.map_or(Item::Int(whole), Item::Double))
    }

    fn extreme(&mut self, function: Function, arguments: &[Item<'v>]) -> Evaluated<'v> {
        let items = match arguments {
            [only] => self.list(function, only)?.iter().collect::<Vec<_>>(),
            several => several.to_vec(),
        };
        let wanted = if function == Function::Min {
            std::cmp::Ordering::Less
        } else {
            std::cmp::Ordering::Greater
        };
        let mut best: Option<Item<'v>> = None;
        for item in items {
            let Some(held) = &best else {
                best = Some(item);
                continue;
            };
            match order(&item, held, &mut self.fuel)? {
                Some(found) if found == Some(wanted) => best = Some(item),
                Some(_) => {}
                None => return Err(unfit(function.name(), &item)),
            }
        }
        match best {
            Some(item @ (Item::List(_) | Item::Map(_) | Item::Null)) => {
                Err(unfit(function.name(), &item))
            }
            Some(item) => Ok(item),
            None => Err(EvalFault::new("the list is empty")),
        }
    }

    fn join(&mut self, item: &Item<'v>, separator: Option<&Item<'v>>) -> Evaluated<'v> {
        let separator = match separator {
            None => "",
            Some(Item::Text(text)) => text.as_str(),
            Some(other) => return Err(unfit("join", other)),
        };
        let mut joined = String::new();
        for (position, item) in self.list(Function::Join, item)?.iter().enumerate() {
            if position > 0 {
                joined.push_str(separator);
            }
            let text = item.print(&mut self.fuel)?;
            self.fuel.spend_bytes(text.len() + separator.len())?;
            joined.push_str(&text);
        }
        Ok(Item::text(joined))
    }
}

fn size<'v>(item: &Item<'v>, fuel: &mut Fuel) -> Evaluated<'v> {
    let count = match item {
        Item::Text(text) => {
            fuel.spend_bytes(text.as_str().len())?;
            text.as_str().chars().count()
        }
        Item::List(list) => list.len(),
        Item::Map(map) => map.len(),
        other => return Err(unfit("size", other)),
    };
    Ok(Item::Int(i64::try_from(count).unwrap_or(i64::MAX)))
}

fn integer<'v>(item: &Item<'v>) -> Evaluated<'v> {
    match item {
        Item::Int(value) => Ok(Item::Int(*value)),
        Item::Double(value) => truncated(*value),
        Item::Text(text) => text
            .as_str()
            .parse()
            .map(Item::Int)
            .map_err(|_| EvalFault::new("the text is not a whole number")),
        Item::Time(time) => Ok(Item::Int(time.as_second())),
        other => Err(unfit("int", other)),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the range is checked before"
)]
fn truncated<'v>(value: f64) -> Evaluated<'v> {
    if value.abs() < 9.2e18 {
        Ok(Item::Int(value as i64))
    } else {
        Err(EvalFault::new("the result is out of range"))
    }
}

fn double<'v>(item: &Item<'v>) -> Evaluated<'v> {
    match item {
        Item::Int(value) => Ok(Item::Double(as_double(*value))),
        Item::Double(value) => Ok(Item::Double(*value)),
        Item::Text(text) => text
            .as_str()
            .parse::<f64>()
            .ok()
            .filter(|value| value.is_finite())
            .map(Item::Double)
            .ok_or_else(|| EvalFault::new("the text is not a number")),
        other => Err(unfit("double", other)),
    }
}

fn boolean<'v>(item: &Item<'v>) -> Evaluated<'v> {
    match item {
        Item::Bool(value) => Ok(Item::Bool(*value)),
        Item::Text(text) => match text.as_str() {
            "true" | "True" | "TRUE" | "t" | "1" => Ok(Item::Bool(true)),
            "false" | "False" | "FALSE" | "f" | "0" => Ok(Item::Bool(false)),
            _ => Err(EvalFault::new("the text is neither true nor false")),
        },
        other => Err(unfit("bool", other)),
    }
}

/// A whole number that a function takes, such as a position.
fn whole(function: Function, item: &Item<'_>) -> Result<i64, EvalFault> {
    match item {
        Item::Int(value) => Ok(*value),
        Item::Double(value) if value.fract() == 0.0 => match truncated(*value)? {
            Item::Int(value) => Ok(value),
            other => Err(unfit(function.name(), &other)),
        },
        other => Err(unfit(function.name(), other)),
    }
}

fn round<'v>(item: &Item<'v>, places: Option<&Item<'v>>) -> Evaluated<'v> {
    let places = match places {
        None => 0,
        Some(Item::Int(places @ 0..=15)) => i32::try_from(*places).unwrap_or(0),
        Some(_) => return Err(EvalFault::new("`round` takes 0 to 15 decimals")),
    };
    match item {
        Item::Int(value) => Ok(Item::Int(*value)),
        Item::Double(value) if places == 0 => truncated(value.round()),
        Item::Double(value) => {
            let scale = 10f64.powi(places);
            let scaled = value * scale;
            if scaled.is_finite() {
                Ok(Item::Double(scaled.round() / scale))
            } else {
                Ok(Item::Double(*value))
            }
        }
        other => Err(unfit("round", other)),
    }
}
