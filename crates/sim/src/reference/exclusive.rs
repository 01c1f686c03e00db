//! Steps of which at most one runs, found by trying every world of what their guards ask.
//!
//! Owns a second reading of "their `when` exclude each other". A world gives each place that the
//! two guards read a value: a status that the step can have there, a word of its type, a number at,
//! above and below each that it is compared with. What is computed is one unknown value by its
//! form. INVARIANT: two guards exclude each other only if no world meets both.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::expr::Root;
use provost_plan::expr::tree::{Access, Compare, Expr, ExprKind, Function};
use provost_plan::plan::Step;
use serde_json::{Value, json};

use super::{Setting, constants, schemas};

/// Most worlds tried for one pair of steps.
const WORLDS_MAX: usize = 60_000;

/// A text that nobody compares anything with.
const OTHER: &str = "\u{1}other";

/// Why a guard came to no end.
enum Stop {
    /// Something has no value yet: its key, and the values that it can have.
    Open(String, Vec<Value>),
    /// The evaluation fails.
    Fault,
}

/// How many steps are followed, each of which the guard of the one before asks to have succeeded.
const CHAIN_MAX: usize = 4;

/// Whether no run meets the guards of both steps; none if there are too many worlds to say so.
#[must_use]
pub fn exclude(setting: &Setting<'_>, one: &Step, two: &Step) -> Option<bool> {
    // Why not with `fresh`: that asks the guard again, of newer readings.
    let (Some(first), Some(second)) = (guard(one), guard(two)) else {
        return Some(false);
    };
    let alone = never(setting, &[first, second], &BTreeMap::new());
    if alone == Some(true) {
        return alone;
    }
    let mut behind = BTreeMap::new();
    for step in [one, two] {
        follow(setting, step, CHAIN_MAX, &mut behind);
    }
    let (first, second) = guard(one).zip(guard(two))?;
    match never(setting, &[first, second], &behind) {
        Some(true) => Some(true),
        // Why: too many worlds with the guards behind; without them it is known.
        _ => alone,
    }
}

fn guard(step: &Step) -> Option<Expr> {
    let when = step.when.as_ref().filter(|_| step.fresh.is_none());
    Some(when?.whole()?.ast().clone())
}

/// The guards of the steps that the guard of this one reads, and of those that these read.
fn follow(setting: &Setting<'_>, step: &Step, chain: usize, into: &mut BTreeMap<String, Expr>) {
    if chain == 0 || guard(step).is_none() {
        return;
    }
    for reference in step.when.iter().flat_map(|when| when.references()) {
        let Root::Step(id) = &reference.root else {
            continue;
        };
        let Some((_, read)) = setting.step(id) else {
            continue;
        };
        if let Some(asks) = guard(read).filter(|_| !into.contains_key(id)) {
            into.insert(id.clone(), asks);
            follow(setting, read, chain - 1, into);
        }
    }
}

/// Whether no world meets all these guards, and of each step that succeeded in it the one behind.
fn never(setting: &Setting<'_>, guards: &[Expr], behind: &BTreeMap<String, Expr>) -> Option<bool> {
    let (mut asked, mut texts) = (BTreeSet::new(), BTreeSet::from([OTHER.to_owned()]));
    for guard in guards.iter().chain(behind.values()) {
        numbers(guard, &mut asked);
        words(guard, &mut texts);
    }
    let mut open = vec![BTreeMap::new()];
    let mut tried = 0_usize;
    while let Some(chosen) = open.pop() {
        tried += 1;
        if tried > WORLDS_MAX {
            return None;
        }
        let world = World {
            setting,
            numbers: &asked,
            texts: &texts,
            chosen,
        };
        match world.meets(guards, behind) {
            Ok(true) => return Some(false),
            Ok(false) | Err(Stop::Fault) => {}
            Err(Stop::Open(key, values)) => {
                for value in values {
                    let mut next = world.chosen.clone();
                    next.insert(key.clone(), value);
                    open.push(next);
                }
            }
        }
    }
    Some(true)
}

/// The numbers that stand in an expression.
fn numbers(expr: &Expr, into: &mut BTreeSet<i64>) {
    if let ExprKind::Int(number) = expr.kind {
        into.insert(number);
    }
    expr.children()
        .into_iter()
        .for_each(|part| numbers(part, into));
}

/// The texts that stand in an expression.
fn words(expr: &Expr, into: &mut BTreeSet<String>) {
    if let ExprKind::Text(word) = &expr.kind {
        into.insert(word.clone());
    }
    expr.children()
        .into_iter()
        .for_each(|part| words(part, into));
}

struct World<'a> {
    setting: &'a Setting<'a>,
    numbers: &'a BTreeSet<i64>,
    texts: &'a BTreeSet<String>,
    chosen: BTreeMap<String, Value>,
}

impl World<'_> {
    fn meets(&self, guards: &[Expr], behind: &BTreeMap<String, Expr>) -> Result<bool, Stop> {
        let succeeded =
            |id: &str| self.chosen.get(&format!("status {id}")) == Some(&json!("succeeded"));
        // Why only those: of a step whose end nobody asked about, nothing is known.
        let met = behind.iter().filter(|(id, _)| succeeded(id));
        for guard in guards.iter().chain(met.map(|(_, guard)| guard)) {
            if !self.truth(guard)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn choose(&self, key: String, values: impl FnOnce() -> Vec<Value>) -> Result<Value, Stop> {
        match self.chosen.get(&key) {
            Some(value) => Ok(value.clone()),
            None => Err(Stop::Open(key, values())),
        }
    }

    fn flag(&self, key: String) -> Result<bool, Stop> {
        let either = || vec![json!(true), json!(false)];
        Ok(self.choose(key, either)? == json!(true))
    }

    fn truth(&self, expr: &Expr) -> Result<bool, Stop> {
        if let Some(known) = plain(self.setting, expr) {
            return known.as_bool().ok_or(Stop::Fault);
        }
        match &expr.kind {
            ExprKind::Not(inner) => Ok(!self.truth(inner)?),
            ExprKind::And(terms) => self.terms(terms, false),
            ExprKind::Or(terms) => self.terms(terms, true),
            ExprKind::Choice(test, yes, no) => self.truth(if self.truth(test)? { yes } else { no }),
            ExprKind::Compare(operator, left, right) => self.compare(*operator, left, right),
            ExprKind::Has(inner) => self.has(inner),
            ExprKind::Path(base, accesses) if matches!(base.kind, ExprKind::Root(_)) => {
                match self.path(base, accesses, expr)? {
                    Value::Bool(value) => Ok(value),
                    _ => Err(Stop::Fault),
                }
            }
            _ => self.flag(format!("flag {}", expr.form())),
        }
    }

    /// A term that decides makes the rest unneeded, also one that fails.
    fn terms(&self, terms: &[Expr], decides: bool) -> Result<bool, Stop> {
        let mut failed = false;
        for term in terms {
            match self.truth(term) {
                Ok(value) if value == decides => return Ok(decides),
                Ok(_) => {}
                Err(Stop::Fault) => failed = true,
                Err(open) => return Err(open),
            }
        }
        if failed {
            Err(Stop::Fault)
        } else {
            Ok(!decides)
        }
    }

    fn compare(&self, operator: Compare, left: &Expr, right: &Expr) -> Result<bool, Stop> {
        if operator == Compare::In && plain(self.setting, right).is_none() {
            return self.flag(format!("{} in {}", left.form(), right.form()));
        }
        let (a, b) = (self.operand(left)?, self.operand(right)?);
        let order = || a.as_f64()?.partial_cmp(&b.as_f64()?);
        let order = || order().ok_or(Stop::Fault);
        Ok(match operator {
            Compare::Equal => same(&a, &b),
            Compare::NotEqual => !same(&a, &b),
            Compare::In => b
                .as_array()
                .is_some_and(|all| all.iter().any(|b| same(&a, b))),
            Compare::Less => order()?.is_lt(),
            Compare::LessEqual => order()?.is_le(),
            Compare::Greater => order()?.is_gt(),
            Compare::GreaterEqual => order()?.is_ge(),
        })
    }

    fn operand(&self, expr: &Expr) -> Result<Value, Stop> {
        if let Some(known) = plain(self.setting, expr) {
            return Ok(known);
        }
        match &expr.kind {
            ExprKind::Not(_)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Compare(..)
            | ExprKind::Has(_) => Ok(json!(self.truth(expr)?)),
            ExprKind::Path(base, accesses) if matches!(base.kind, ExprKind::Root(_)) => {
                self.path(base, accesses, expr)
            }
            ExprKind::Call(Function::Size, _) => {
                let sizes = || {
                    self.all_numbers()
                        .filter(|n| *n >= 0)
                        .map(Value::from)
                        .collect()
                };
                self.choose(format!("size {}", expr.form()), sizes)
            }
            _ => self.choose(format!("value {}", expr.form()), || self.anything()),
        }
    }

    /// Each number that something is compared with, and what lies beside it.
    fn all_numbers(&self) -> impl Iterator<Item = i64> {
        let beside = |number: &i64| [number.saturating_sub(1), *number, number.saturating_add(1)];
        let all: BTreeSet<i64> = self.numbers.iter().flat_map(beside).chain([0]).collect();
        all.into_iter()
    }

    fn anything(&self) -> Vec<Value> {
        let texts = self.texts.iter().map(|text| json!(text));
        let plain = [json!(true), json!(false), Value::Null].into_iter();
        let numbers = self.all_numbers().map(Value::from);
        texts.chain(numbers).chain(plain).collect()
    }

    /// The values that a place of this type can have, as far as the guards tell them apart.
    fn values_of(&self, schema: Option<&Value>) -> Vec<Value> {
        let Some(schema) = schema else {
            return self.anything();
        };
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            return words.clone();
        }
        let bound = |name: &str| schema.get(name).and_then(Value::as_i64);
        let within = |n: &i64| {
            bound("minimum").is_none_or(|least| *n >= least)
                && bound("maximum").is_none_or(|most| *n <= most)
        };
        let mut values: Vec<Value> = match schemas::kind(schema) {
            Some("boolean") => vec![json!(true), json!(false)],
            Some("integer" | "number") => {
                self.all_numbers().filter(within).map(Value::from).collect()
            }
            Some("string") => self.texts.iter().map(|text| json!(text)).collect(),
            Some("array") => vec![json!([]), json!([OTHER])],
            Some("object") => vec![json!({ "an": "object" })],
            _ => self.anything(),
        };
        if schemas::is_nullable(schema) {
            values.push(Value::Null);
        }
        values
    }

    fn path(&self, base: &Expr, accesses: &[Access], whole: &Expr) -> Result<Value, Stop> {
        let unknown = || self.choose(format!("value {}", whole.form()), || self.anything());
        match (&base.kind, accesses) {
            (ExprKind::Root(Root::Params), [Access::Field(name)]) => {
                let known = self.setting.params.get(name);
                known.cloned().map_or_else(unknown, Ok)
            }
            (ExprKind::Root(Root::Step(id)), [Access::Field(field)]) if field == "status" => {
                self.status(id)
            }
            (ExprKind::Root(Root::Step(id)), [Access::Field(field), rest @ ..])
                if field == "output" =>
            {
                self.output(id, rest, whole)
            }
            _ => unknown(),
        }
    }

    /// Who reads a step goes on if that succeeded, was skipped by its own guard, or failed and the
    /// plan went on.
    fn status(&self, id: &str) -> Result<Value, Stop> {
        let ends = || {
            let step = self.setting.step(id).map(|(_, step)| step);
            let guarded = step.is_none_or(|step| step.when.is_some());
            let goes_on = step.is_none_or(|step| step.on_failure.may_go_on());
            let skipped = guarded.then_some("skipped");
            let failed = goes_on.then_some("failed");
            let ends = ["succeeded"].into_iter().chain(skipped).chain(failed);
            ends.map(|end| json!(end)).collect()
        };
        self.choose(format!("status {id}"), ends)
    }

    fn output(&self, id: &str, accesses: &[Access], whole: &Expr) -> Result<Value, Stop> {
        let step = self.setting.step(id).map(|(_, step)| step);
        let mut schema = step.and_then(|step| schemas::of_output(self.setting, step));
        let mut key = format!("output {id}");
        for access in accesses {
            self.holds(&key, schema.as_ref())?;
            match access {
                Access::Field(name) => {
                    let inner = schema.as_ref().and_then(|of| schemas::field(of, name));
                    let is_optional = inner.as_ref().is_none_or(|(_, optional)| *optional);
                    key = format!("{key}.{name}");
                    if is_optional && !self.flag(format!("there {key}"))? {
                        return Err(Stop::Fault);
                    }
                    schema = inner.map(|(inner, _)| inner);
                }
                // Why by its form: which item it is hangs on what is computed.
                Access::Index(_) => {
                    let key = format!("value {}", whole.form());
                    return self.choose(key, || self.anything());
                }
            }
        }
        self.choose(key, || self.values_of(schema.as_ref()))
    }

    /// Goes on only where a holder is not null.
    fn holds(&self, key: &str, schema: Option<&Value>) -> Result<(), Stop> {
        if schema.is_some_and(schemas::is_nullable) {
            let value = self.choose(key.to_owned(), || self.values_of(schema))?;
            if value.is_null() {
                return Err(Stop::Fault);
            }
        }
        Ok(())
    }

    fn has(&self, inner: &Expr) -> Result<bool, Stop> {
        let ExprKind::Path(base, accesses) = &inner.kind else {
            return self.flag(format!("has {}", inner.form()));
        };
        let fields = accesses.iter().map(|access| match access {
            Access::Field(name) => Some(name.as_str()),
            Access::Index(_) => None,
        });
        let fields: Option<Vec<&str>> = fields.collect();
        match (&base.kind, fields.as_deref()) {
            (ExprKind::Root(Root::Step(id)), Some(["output", rest @ ..])) if !rest.is_empty() => {
                let last = rest.join(".");
                self.flag(format!("there output {id}.{last}"))
            }
            _ => self.flag(format!("has {}", inner.form())),
        }
    }
}

/// The value of what reads nothing at all.
fn plain(setting: &Setting<'_>, expr: &Expr) -> Option<Value> {
    fn reads(expr: &Expr) -> bool {
        let own = matches!(expr.kind, ExprKind::Root(_) | ExprKind::Var(_));
        own || expr.children().into_iter().any(reads)
    }
    (!reads(expr))
        .then(|| constants::value(setting, None, expr))
        .flatten()
}

fn same(a: &Value, b: &Value) -> bool {
    a == b || (a.is_number() && a.as_f64() == b.as_f64())
}
