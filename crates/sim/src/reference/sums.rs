//! Counted values: the most that all calls of a plan add up to.
//!
//! Owns B509, B510 and R119, and the sums that policy is told. The most of all steps is found by
//! trying every set of steps of which no two exclude each other. INVARIANT: a step that says not
//! how much it adds, and has no bound, leaves no sum.

use std::collections::BTreeMap;

use provost_plan::catalog::Operation;
use provost_plan::expr::tree::{Access, Arith, Expr, ExprKind, Function};
use provost_plan::expr::{ArgTree, Root, Template};
use provost_plan::plan::Step;
use serde_json::Value;

use super::{Answers, Setting, constants, effects, place_of, schemas};

/// Most steps of which every set is tried.
const STEPS_MAX: usize = 12;

/// What a step adds: its number, and the most of all its calls.
type Share = (usize, Option<i64>);

/// Finds sums above their limit, and steps without a bound under one.
pub fn judge(setting: &Setting<'_>, answers: &mut Answers) {
    let counted = counted(setting);
    let Some(limits) = &setting.plan.limits else {
        return;
    };
    for (name, limit) in &limits.values {
        let Some(shares) = counted.get(name) else {
            answers.find("R119", "nowhere");
            continue;
        };
        let place = |number: usize| {
            let step = setting.plan.steps.get(number);
            step.map(|step| place_of(number, step)).unwrap_or_default()
        };
        for (number, most) in shares {
            if most.is_none() {
                answers.find("B510", place(*number));
            }
        }
        let limit = limit.units().unwrap_or(i64::MAX);
        if most(setting, shares).is_some_and(|most| most > limit) {
            // The first of those that add the most.
            let largest = shares.iter().filter_map(|(_, most)| *most).max();
            let first = shares.iter().find(|(_, most)| *most == largest);
            if let Some((number, _)) = first {
                answers.find("B509", place(*number));
            }
        }
    }
}

/// What a plan adds to a value at most; none where a step has no bound.
#[must_use]
pub fn total(setting: &Setting<'_>, name: &str) -> Option<i64> {
    most(setting, counted(setting).get(name)?)
}

/// The steps that add to each value that an operation counts.
fn counted(setting: &Setting<'_>) -> BTreeMap<String, Vec<Share>> {
    let names = setting.operations.values().flat_map(|op| op.values.keys());
    let mut counted: BTreeMap<String, Vec<Share>> =
        names.map(|name| (name.clone(), Vec::new())).collect();
    for (number, step) in setting.plan.steps.iter().enumerate() {
        let Some(operation) = setting.operation(step) else {
            continue;
        };
        for (name, arg) in &operation.values {
            let share = (number, of_step(setting, step, operation, arg));
            counted.entry(name.clone()).or_default().push(share);
        }
    }
    counted
}

/// The largest sum of steps of which no two exclude each other.
fn most(setting: &Setting<'_>, shares: &[Share]) -> Option<i64> {
    let all: Option<Vec<(usize, i64)>> = shares
        .iter()
        .map(|(number, most)| Some((*number, (*most)?)))
        .collect();
    let all = all?;
    let apart = |one: usize, two: usize| effects::are_apart(setting, one, two) == Some(true);
    let mut sets: Vec<(Vec<usize>, i64)> = vec![(Vec::new(), 0)];
    for (number, most) in all.into_iter().take(STEPS_MAX) {
        let free = sets
            .iter()
            .filter(|(set, _)| !set.iter().any(|one| apart(*one, number)));
        let more: Vec<(Vec<usize>, i64)> = free
            .map(|(set, sum)| ([set.as_slice(), &[number]].concat(), sum + most))
            .collect();
        sets.extend(more);
    }
    sets.into_iter().map(|(_, sum)| sum).max()
}

/// The most of all calls of a step.
fn of_step(setting: &Setting<'_>, step: &Step, operation: &Operation, arg: &str) -> Option<i64> {
    let (key, tree) = effects::args(step)?.get(arg)?;
    let list = step.for_each.as_ref().map(|each| &each.list);
    let known = list.and_then(|list| items(setting, list));
    let most = step
        .for_each
        .as_ref()
        .map_or(1, |each| each.max_items.value);
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let calls = known
        .as_ref()
        .map_or(most, |items| most.min(items.len() as i64));
    let adds = |amount: i64| amount.max(0);
    if let Some(value) = constants::known(setting, tree) {
        return Some(adds(value.as_i64()?) * calls);
    }
    let whole = match tree {
        ArgTree::Template(template) => template.whole(),
        _ => None,
    };
    let each = known.zip(whole).and_then(|(items, whole)| {
        let amount = |(at, item): (usize, &Value)| {
            constants::value(setting, Some((item, at)), whole.ast())?.as_i64()
        };
        let amounts: Option<Vec<i64>> = items.iter().enumerate().map(amount).collect();
        amounts
    });
    if let Some(amounts) = each {
        return Some(amounts.into_iter().map(adds).sum());
    }
    if key.may_be_left_out() {
        return None;
    }
    let input = schemas::field(operation.input.value(), arg);
    let declared = input.and_then(|(schema, _)| Bounds::of_schema(&schema).most);
    let written = whole.and_then(|whole| bounds(setting, whole.ast()).most);
    let one = match (declared, written) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    Some(adds(one?) * calls)
}

/// The items of a list that is known before the run.
fn items(setting: &Setting<'_>, list: &Template) -> Option<Vec<Value>> {
    let known = constants::value(setting, None, list.whole()?.ast())?;
    known.as_array().cloned()
}

/// The least and the most that something comes to, as far as they are known.
#[derive(Clone, Copy, Default)]
struct Bounds {
    least: Option<i64>,
    most: Option<i64>,
}

impl Bounds {
    fn of_schema(schema: &Value) -> Self {
        let bound = |name: &str| schema.get(name).and_then(Value::as_i64);
        Self {
            least: bound("minimum"),
            most: bound("maximum"),
        }
    }

    fn exactly(number: i64) -> Self {
        Self {
            least: Some(number),
            most: Some(number),
        }
    }

    /// A sum or a difference; of anything else nothing is known.
    fn joined(self, by: Arith, other: Self) -> Self {
        let both = |a: Option<i64>, b: Option<i64>, of: fn(i64, i64) -> Option<i64>| of(a?, b?);
        match by {
            Arith::Add => Self {
                least: both(self.least, other.least, i64::checked_add),
                most: both(self.most, other.most, i64::checked_add),
            },
            // Of a value and itself too: the rule asks for the bounds of each side alone.
            Arith::Subtract => Self {
                least: both(self.least, other.most, i64::checked_sub),
                most: both(self.most, other.least, i64::checked_sub),
            },
            _ => Self::default(),
        }
    }
}

/// Between what an expression lies.
fn bounds(setting: &Setting<'_>, expr: &Expr) -> Bounds {
    let of = |expr: &Expr| bounds(setting, expr);
    let every = |all: &[Option<i64>]| -> Option<Vec<i64>> { all.iter().copied().collect() };
    let sides = |all: Vec<Bounds>| -> (Vec<Option<i64>>, Vec<Option<i64>>) {
        all.into_iter().map(|one| (one.least, one.most)).unzip()
    };
    match &expr.kind {
        ExprKind::Int(number) => Bounds::exactly(*number),
        ExprKind::Choice(_, yes, no) => {
            let (leasts, mosts) = sides(vec![of(yes), of(no)]);
            Bounds {
                least: every(&leasts).and_then(|all| all.into_iter().min()),
                most: every(&mosts).and_then(|all| all.into_iter().max()),
            }
        }
        ExprKind::Chain(first, rest) => rest
            .iter()
            .fold(of(first), |sum, (by, next)| sum.joined(*by, of(next))),
        ExprKind::Call(Function::Min, all) if all.len() > 1 => {
            let (leasts, mosts) = sides(all.iter().map(of).collect());
            Bounds {
                least: every(&leasts).and_then(|all| all.into_iter().min()),
                most: mosts.into_iter().flatten().min(),
            }
        }
        ExprKind::Call(Function::Max, all) if all.len() > 1 => {
            let (leasts, mosts) = sides(all.iter().map(of).collect());
            Bounds {
                least: leasts.into_iter().flatten().max(),
                most: every(&mosts).and_then(|all| all.into_iter().max()),
            }
        }
        ExprKind::Path(base, accesses) => {
            of_path(setting, base, accesses, expr).unwrap_or_default()
        }
        _ => Bounds::default(),
    }
}

/// Between what a parameter or a part of an output lies.
fn of_path(
    setting: &Setting<'_>,
    base: &Expr,
    accesses: &[Access],
    whole: &Expr,
) -> Option<Bounds> {
    match &base.kind {
        ExprKind::Root(Root::Params) => {
            let known = constants::value(setting, None, whole)?;
            Some(Bounds::exactly(known.as_i64()?))
        }
        ExprKind::Root(Root::Step(id)) => {
            let (_, step) = setting.step(id)?;
            let mut schema = schemas::of_output(setting, step)?;
            let fields = accesses.iter().map(|access| match access {
                Access::Field(name) => Some(name.as_str()),
                Access::Index(_) => None,
            });
            let fields: Option<Vec<&str>> = fields.collect();
            for name in fields?.into_iter().skip(1) {
                schema = schemas::field(&schema, name)?.0;
            }
            Some(Bounds::of_schema(&schema))
        }
        _ => None,
    }
}
