//! CEL's `math` extension.
//!
//! Owns what each function makes of a number. Whole results of `ceil`, `floor`, `round` and `trunc`
//! stay numbers, as CEL defines them: `int()` makes a whole number of one.

use super::super::eval::{EvalFault, Evaluated, Evaluator, unfit};
use super::super::tree::Function;
use super::super::value::{Item, as_double};

/// A function of one number.
pub(super) fn one<'v>(function: Function, item: &Item<'v>) -> Evaluated<'v> {
    let double = match (function, item) {
        (Function::Abs, Item::Int(value)) => {
            let positive = value.checked_abs().map(Item::Int);
            return positive.ok_or_else(|| EvalFault::new("the result is out of range"));
        }
        (Function::Sign, Item::Int(value)) => return Ok(Item::Int(value.signum())),
        // Why: JSON does not tell `2.0` from `2`, so it may be whole by chance.
        (_, Item::Int(value)) => as_double(*value),
        (_, Item::Double(value)) => *value,
        (_, other) => return Err(unfit(function.name(), other)),
    };
    Ok(Item::Double(match function {
        Function::Abs => double.abs(),
        Function::Ceil => double.ceil(),
        Function::Floor => double.floor(),
        Function::MathRound => double.round(),
        Function::Trunc => double.trunc(),
        _ if double == 0.0 || double.is_nan() => double,
        _ => double.signum(),
    }))
}

impl<'v> Evaluator<'v> {
    /// `math.greatest` and `math.least`.
    pub(super) fn extreme_number(
        &mut self,
        function: Function,
        arguments: &[Item<'v>],
    ) -> Evaluated<'v> {
        let items = match arguments {
            [only @ Item::List(_)] => self.list(function, only)?.iter().collect(),
            several => several.to_vec(),
        };
        let mut items = items.into_iter();
        let mut best = match items.next() {
            Some(first) => number(function, first)?,
            None => return Err(EvalFault::new("the list is empty")),
        };
        for item in items {
            let item = number(function, item)?;
            let is_less = match (&item, &best) {
                (Item::Int(a), Item::Int(b)) if a == b => continue,
                (Item::Int(a), Item::Int(b)) => a < b,
                (a, b) if double(a) == double(b) => continue,
                (a, b) => double(a) < double(b),
            };
            if is_less == (function == Function::Least) {
                best = item;
            }
        }
        Ok(best)
    }
}

fn number<'v>(function: Function, item: Item<'v>) -> Evaluated<'v> {
    match item {
        Item::Int(_) | Item::Double(_) => Ok(item),
        other => Err(unfit(function.name(), &other)),
    }
}

fn double(item: &Item<'_>) -> f64 {
    match item {
        Item::Int(value) => as_double(*value),
        Item::Double(value) => *value,
        _ => f64::NAN,
    }
}
