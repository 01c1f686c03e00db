//! Evaluation: a tree and a scope into a value.
//!
//! Owns the operators and comprehensions; functions are [`super::functions`]'. Why not the `cel`
//! crate's interpreter: it copies the scope and has no limit on work; a differential test holds
//! the two together. INVARIANT: every node, item and byte touched is paid from one purse, so an
//! evaluation ends within `EXPRESSION_WORK_MAX` units whatever its scope holds.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::text::TextPattern;
use super::tree::{Access, Arith, Compare, Expr, ExprKind, Walk, WalkKind};
use super::value::{Dict, Item, Key, List, Text, as_double};
use super::{Root, Scope};
use crate::limits::{COMPREHENSION_ITEMS_MAX, EXPRESSION_WORK_MAX};
use crate::work::WorkBudget;

/// Why a part of an expression has no value.
#[derive(Clone, Debug)]
pub(super) struct EvalFault {
    pub(super) reason: String,
    /// Whether `&&`, `||`, `all` and `exists` must not pass over it.
    pub(super) fatal: bool,
}

impl EvalFault {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            fatal: false,
        }
    }
}

/// What is left of the work an evaluation may do.
#[derive(Debug)]
pub(super) struct Fuel(u64);

impl Fuel {
    fn of(purse: Option<&WorkBudget>) -> Self {
        let left = purse.map_or(u64::MAX, WorkBudget::left);
        Self(left.min(EXPRESSION_WORK_MAX))
    }

    pub(super) fn spend(&mut self, units: u64) -> Result<(), EvalFault> {
        match self.0.checked_sub(units) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => {
                self.0 = 0;
                Err(EvalFault {
                    reason: "the expression does more work than is allowed; filter in a step"
                        .into(),
                    fatal: true,
                })
            }
        }
    }

    pub(super) fn spend_bytes(&mut self, bytes: usize) -> Result<(), EvalFault> {
        self.spend(u64::try_from(bytes / 16).unwrap_or(u64::MAX))
    }
}

/// One evaluation.
pub(super) struct Evaluator<'v> {
    scope: &'v Scope<'v>,
    variables: Vec<(u32, Item<'v>)>,
    pub(super) fuel: Fuel,
    pub(super) patterns: BTreeMap<String, TextPattern>,
}

pub(super) type Evaluated<'v> = Result<Item<'v>, EvalFault>;

impl<'v> Evaluator<'v> {
    pub(super) fn new(scope: &'v Scope<'v>) -> Self {
        Self {
            scope,
            variables: Vec::new(),
            fuel: Fuel::of(scope.purse),
            patterns: BTreeMap::new(),
        }
    }

    /// Takes what was spent out of the purse that the scope is paid from; an evaluation that would
    /// have needed more than was left in it leaves nothing.
    pub(super) fn settle(&self) {
        if let Some(purse) = self.scope.purse {
            let had = purse.left().min(EXPRESSION_WORK_MAX);
            // Why nothing comes of it: no more was spent than was there.
            let _ = purse.spend(had.saturating_sub(self.fuel.0));
        }
    }

    pub(super) fn eval(&mut self, expr: &'v Expr) -> Evaluated<'v> {
        self.fuel.spend(1)?;
        match &expr.kind {
            ExprKind::Null => Ok(Item::Null),
            ExprKind::Bool(value) => Ok(Item::Bool(*value)),
            ExprKind::Int(value) => Ok(Item::Int(*value)),
            ExprKind::Double(value) => Ok(Item::Double(*value)),
            ExprKind::Text(text) => Ok(Item::Text(Text::Read(text))),
            ExprKind::Type(name) => Ok(Item::Type(name)),
            ExprKind::List(items) => {
                Item::pay_list(items.len(), &mut self.fuel)?;
                self.all(items).map(Item::list)
            }
            ExprKind::Map(entries) => self.map(entries),
            ExprKind::Root(root) => self.root(root),
            ExprKind::Var(variable) => self
                .variables
                .iter()
                .rev()
                .find(|(id, _)| *id == variable.id)
                .map(|(_, item)| item.clone())
                .ok_or_else(|| EvalFault::new(format!("`{}` has no value here", variable.name))),
            ExprKind::Path(base, accesses) => self.path(base, accesses),
            ExprKind::Has(path) => self.has(path),
            ExprKind::Not(operand) => match self.eval(operand)? {
                Item::Bool(value) => Ok(Item::Bool(!value)),
                other => Err(unfit("!", &other)),
            },
            ExprKind::Negate(operand) => match self.eval(operand)? {
                Item::Int(value) => value.checked_neg().map(Item::Int).ok_or_else(overflow),
                Item::Double(value) => Ok(Item::Double(-value)),
                other => Err(unfit("-", &other)),
            },
            ExprKind::And(terms) => self.logical(terms, "&&", false),
            ExprKind::Or(terms) => self.logical(terms, "||", true),
            ExprKind::Chain(first, rest) => self.chain(first, rest),
            ExprKind::Compare(operator, left, right) => self.compare(*operator, left, right),
            ExprKind::Choice(test, yes, no) => match self.eval(test)? {
                Item::Bool(true) => self.eval(yes),
                Item::Bool(false) => self.eval(no),
                other => Err(unfit("? :", &other)),
            },
            ExprKind::Call(function, arguments) => {
                let arguments = self.all(arguments)?;
                self.call(*function, &arguments)
            }
            ExprKind::Walk(walk) => self.walk(walk),
        }
    }

    fn all(&mut self, items: &'v [Expr]) -> Result<Vec<Item<'v>>, EvalFault> {
        // Why with its length: one that grows keeps room for four items from the first.
        let mut all = Vec::with_capacity(items.len());
        for item in items {
            all.push(self.eval(item)?);
        }
        Ok(all)
    }

    fn map(&mut self, entries: &'v [(Expr, Expr)]) -> Evaluated<'v> {
        Item::pay_map(entries.len(), &mut self.fuel)?;
        let mut map = BTreeMap::new();
        for (key, value) in entries {
            let key = self.eval(key)?;
            let key = Key::of(&key)
                .ok_or_else(|| EvalFault::new(format!("{} cannot be a key", key.kind_word())))?;
            let value = self.eval(value)?;
            if map.insert(key, value).is_some() {
                return Err(EvalFault::new("a key stands twice in a map"));
            }
        }
        Ok(Item::Map(Dict::Made(Rc::new(map))))
    }

    fn root(&self, root: &Root) -> Evaluated<'v> {
        let found = match root {
            Root::Step(id) => self.scope.steps.get(id.as_str()),
            // Why unknown ones too: the check refuses them in plans, and a grader of an eval has
            // roots of its own.
            _ => self.scope.roots.get(root.name()),
        };
        found
            .map(|value| Item::read(value))
            .ok_or_else(|| EvalFault::new(format!("`{root}` is not in scope")))
    }

    fn path(&mut self, base: &'v Expr, accesses: &'v [Access]) -> Evaluated<'v> {
        let mut item = self.eval(base)?;
        for (position, access) in accesses.iter().enumerate() {
            let index = match access {
                Access::Field(name) => Item::Text(Text::Read(name)),
                Access::Index(index) => self.eval(index)?,
            };
            self.fuel.spend(1)?;
            item = match step_into(&item, &index) {
                Ok(next) => next,
                Err(problem) => return Err(missing(base, accesses, position, &item, &problem)),
            };
        }
        Ok(item)
    }

    fn has(&mut self, path: &'v Expr) -> Evaluated<'v> {
        let ExprKind::Path(base, accesses) = &path.kind else {
            return Err(EvalFault::new("`has` asks for a field"));
        };
        let Some((Access::Field(name), before)) = accesses.split_last() else {
            return Err(EvalFault::new("`has` asks for a field"));
        };
        match self.path(base, before)? {
            Item::Map(map) => Ok(Item::Bool(map.get(&Item::Text(Text::Read(name))).is_some())),
            other => Err(EvalFault::new(format!(
                "{} has no fields",
                other.kind_word()
            ))),
        }
    }

    /// `&&` and `||`: an operand that decides makes up for a fault of another.
    fn logical(&mut self, terms: &'v [Expr], symbol: &str, decides: bool) -> Evaluated<'v> {
        let mut fault = None;
        for term in terms {
            match self.eval(term) {
                Ok(Item::Bool(value)) if value == decides => return Ok(Item::Bool(decides)),
                Ok(Item::Bool(_)) => {}
                Ok(other) => fault = fault.or(Some(unfit(symbol, &other))),
                Err(found) if found.fatal => return Err(found),
                Err(found) => fault = fault.or(Some(found)),
            }
        }
        fault.map_or(Ok(Item::Bool(!decides)), Err)
    }

    fn chain(&mut self, first: &'v Expr, rest: &'v [(Arith, Expr)]) -> Evaluated<'v> {
        let mut result = self.eval(first)?;
        for (operator, operand) in rest {
            let operand = self.eval(operand)?;
            result = self.arith(*operator, &result, &operand)?;
        }
        Ok(result)
    }

    fn arith(&mut self, operator: Arith, left: &Item<'v>, right: &Item<'v>) -> Evaluated<'v> {
        let two = |a: &Item<'_>, b: &Item<'_>| {
            EvalFault::new(format!(
                "`{}` does not take {} and {}",
                operator.symbol(),
                a.kind_word(),
                b.kind_word()
            ))
        };
        match (left, right) {
            (Item::Int(a), Item::Int(b)) => integers(operator, *a, *b).map(Item::Int),
            (Item::Double(a), Item::Double(b)) => {
                doubles(operator, *a, *b).ok_or_else(|| two(left, right))
            }
            // Why: JSON does not tell `2.0` from `2`, so one operand may be whole by chance.
            (Item::Int(a), Item::Double(b)) => {
                doubles(operator, as_double(*a), *b).ok_or_else(|| two(left, right))
            }
            (Item::Double(a), Item::Int(b)) => {
                doubles(operator, *a, as_double(*b)).ok_or_else(|| two(left, right))
            }
            (Item::Text(a), Item::Text(b)) if operator == Arith::Add => {
                self.fuel.spend_bytes(a.as_str().len() + b.as_str().len())?;
                Ok(Item::text([a.as_str(), b.as_str()].concat()))
            }
            (Item::List(a), Item::List(b)) if operator == Arith::Add => {
                let count = a.len() + b.len();
                Item::pay_list(count, &mut self.fuel)?;
                let mut items = Vec::with_capacity(count);
                items.extend(a.iter().chain(b.iter()));
                Ok(Item::list(items))
            }
            _ => super::time::arith(operator, left, right).unwrap_or_else(|| Err(two(left, right))),
        }
    }

    fn compare(&mut self, operator: Compare, left: &'v Expr, right: &'v Expr) -> Evaluated<'v> {
        let (a, b) = (self.eval(left)?, self.eval(right)?);
        let result = match operator {
            Compare::Equal => a.equals(&b, &mut self.fuel)?,
            Compare::NotEqual => !a.equals(&b, &mut self.fuel)?,
            Compare::In => self.is_in(&a, &b)?,
            Compare::Less => self.order(operator, &a, &b)? == Some(Ordering::Less),
            Compare::Greater => self.order(operator, &a, &b)? == Some(Ordering::Greater),
            Compare::LessEqual => self.order(operator, &a, &b)?.is_some_and(Ordering::is_le),
            Compare::GreaterEqual => self.order(operator, &a, &b)?.is_some_and(Ordering::is_ge),
        };
        Ok(Item::Bool(result))
    }

    fn is_in(&mut self, item: &Item<'v>, holder: &Item<'v>) -> Result<bool, EvalFault> {
        match holder {
            Item::List(list) => {
                for other in list.iter() {
                    if item.equals(&other, &mut self.fuel)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Item::Map(map) => Ok(map.get(item).is_some()),
            other => Err(unfit("in", other)),
        }
    }

    fn order(
        &mut self,
        operator: Compare,
        a: &Item<'v>,
        b: &Item<'v>,
    ) -> Result<Option<Ordering>, EvalFault> {
        order(a, b, &mut self.fuel)?.map_or_else(
            || {
                Err(EvalFault::new(format!(
                    "`{}` does not compare {} with {}",
                    operator.symbol(),
                    a.kind_word(),
                    b.kind_word()
                )))
            },
            Ok,
        )
    }

    fn walk(&mut self, walk: &'v Walk) -> Evaluated<'v> {
        let list = match self.eval(&walk.list)? {
            Item::List(list) => list,
            // Why: a key of what a step gave is text, whatever its schema says of the values.
            Item::Map(map @ Dict::Made(_)) => List::Made(Rc::new(map.keys())),
            other => {
                return Err(EvalFault::new(format!(
                    "{} is not walked",
                    other.kind_word()
                )));
            }
        };
        if list.len() > COMPREHENSION_ITEMS_MAX {
            return Err(EvalFault {
                reason: format!(
                    "the list has {} items, more than the {COMPREHENSION_ITEMS_MAX} that are \
                     walked",
                    list.len()
                ),
                fatal: true,
            });
        }
        let makes_list = matches!(walk.kind, WalkKind::Map | WalkKind::Filter);
        Item::pay_list(if makes_list { list.len() } else { 0 }, &mut self.fuel)?;
        let mut tally = Tally::new(walk.kind);
        for item in list.iter() {
            self.fuel.spend(1)?;
            self.variables.push((walk.variable.id, item));
            let outcome = self.walk_item(walk);
            self.variables.pop();
            if tally.add(outcome)? {
                break;
            }
        }
        tally.finish()
    }

    /// The value of one item; none if the filter leaves it out.
    fn walk_item(&mut self, walk: &'v Walk) -> Result<Option<Item<'v>>, EvalFault> {
        if let Some(filter) = &walk.filter {
            match self.eval(filter)? {
                Item::Bool(true) => {}
                Item::Bool(false) => return Ok(None),
                other => return Err(unfit("filter", &other)),
            }
        }
        self.eval(&walk.body).map(Some)
    }
}

/// What a comprehension has come to so far.
struct Tally<'v> {
    kind: WalkKind,
    items: Vec<Item<'v>>,
    count: usize,
    fault: Option<EvalFault>,
    decided: bool,
}

impl<'v> Tally<'v> {
    fn new(kind: WalkKind) -> Self {
        Self {
            kind,
            items: Vec::new(),
            count: 0,
            fault: None,
            decided: false,
        }
    }

    /// Takes the outcome of one item; true if the rest cannot change the result.
    fn add(&mut self, outcome: Result<Option<Item<'v>>, EvalFault>) -> Result<bool, EvalFault> {
        let passes_over = matches!(self.kind, WalkKind::All | WalkKind::Exists);
        let item = match outcome {
            Ok(Some(item)) => item,
            Ok(None) => return Ok(false),
            Err(fault) if fault.fatal || !passes_over => return Err(fault),
            Err(fault) => {
                self.fault.get_or_insert(fault);
                return Ok(false);
            }
        };
        match (self.kind, item) {
            (WalkKind::Map | WalkKind::Filter, item) => self.items.push(item),
            (WalkKind::All, Item::Bool(value)) => self.decided = !value,
            (WalkKind::Exists, Item::Bool(value)) => self.decided = value,
            (WalkKind::ExistsOne, Item::Bool(value)) => self.count += usize::from(value),
            (WalkKind::ExistsOne, other) => return Err(unfit("exists_one", &other)),
            (_, other) => {
                self.fault.get_or_insert(unfit("all and exists", &other));
            }
        }
        Ok(self.decided)
    }

    fn finish(self) -> Evaluated<'v> {
        match (self.kind, self.fault) {
            (WalkKind::All | WalkKind::Exists, Some(fault)) if !self.decided => Err(fault),
            (WalkKind::All, _) => Ok(Item::Bool(!self.decided)),
            (WalkKind::Exists, _) => Ok(Item::Bool(self.decided)),
            (WalkKind::ExistsOne, _) => Ok(Item::Bool(self.count == 1)),
            (WalkKind::Map | WalkKind::Filter, _) => Ok(Item::list(self.items)),
        }
    }
}

/// The order of two values; none if their kinds have none between them.
#[expect(
    clippy::option_option,
    reason = "not a number compares with nothing, yet is no error"
)]
pub(super) fn order(
    a: &Item<'_>,
    b: &Item<'_>,
    fuel: &mut Fuel,
) -> Result<Option<Option<Ordering>>, EvalFault> {
    Ok(Some(match (a, b) {
        (Item::Int(a), Item::Int(b)) => Some(a.cmp(b)),
        (Item::Double(a), Item::Double(b)) => a.partial_cmp(b),
        (Item::Int(a), Item::Double(b)) => as_double(*a).partial_cmp(b),
        (Item::Double(a), Item::Int(b)) => a.partial_cmp(&as_double(*b)),
        (Item::Text(a), Item::Text(b)) => {
            fuel.spend_bytes(a.as_str().len().min(b.as_str().len()))?;
            Some(a.as_str().cmp(b.as_str()))
        }
        (Item::Bool(a), Item::Bool(b)) => Some(a.cmp(b)),
        (Item::Time(a), Item::Time(b)) => Some(a.cmp(b)),
        (Item::Length(a), Item::Length(b)) => Some(a.cmp(b)),
        _ => return Ok(None),
    }))
}

fn integers(operator: Arith, a: i64, b: i64) -> Result<i64, EvalFault> {
    if b == 0 && matches!(operator, Arith::Divide | Arith::Remainder) {
        return Err(EvalFault::new("a division by zero"));
    }
    match operator {
        Arith::Add => a.checked_add(b),
        Arith::Subtract => a.checked_sub(b),
        Arith::Multiply => a.checked_mul(b),
        Arith::Divide => a.checked_div(b),
        Arith::Remainder => a.checked_rem(b),
    }
    .ok_or_else(overflow)
}

fn doubles<'v>(operator: Arith, a: f64, b: f64) -> Option<Item<'v>> {
    Some(Item::Double(match operator {
        Arith::Add => a + b,
        Arith::Subtract => a - b,
        Arith::Multiply => a * b,
        Arith::Divide => a / b,
        Arith::Remainder => return None,
    }))
}

fn overflow() -> EvalFault {
    EvalFault::new("the result is out of range")
}

pub(super) fn unfit(symbol: &str, item: &Item<'_>) -> EvalFault {
    EvalFault::new(format!("`{symbol}` does not take {}", item.kind_word()))
}

fn step_into<'v>(item: &Item<'v>, index: &Item<'v>) -> Result<Item<'v>, String> {
    match (item, index) {
        (Item::Map(map), Item::Text(_) | Item::Int(_) | Item::Bool(_) | Item::Double(_)) => {
            map.get(index).ok_or_else(|| "is absent".to_owned())
        }
        (Item::List(list), Item::Int(position)) => usize::try_from(*position)
            .ok()
            .and_then(|position| list.get(position))
            .ok_or_else(|| format!("is absent: the list has {} items", list.len())),
        (Item::List(list), Item::Double(position)) if position.fract() == 0.0 => {
            let whole = Key::of(index).and_then(|key| match key {
                Key::Int(whole) => usize::try_from(whole).ok(),
                _ => None,
            });
            whole
                .and_then(|whole| list.get(whole))
                .ok_or_else(|| format!("is absent: the list has {} items", list.len()))
        }
        (Item::Map(_) | Item::List(_), _) => Err(format!(
            "cannot be looked up: {} is no place in {}",
            index.kind_word(),
            item.kind_word()
        )),
        _ => Err(format!("cannot be looked up in {}", item.kind_word())),
    }
}

/// Says which path is missing, and the status of its step if it is a step's output.
fn missing(
    base: &Expr,
    accesses: &[Access],
    position: usize,
    item: &Item<'_>,
    problem: &str,
) -> EvalFault {
    let mut path = match &base.kind {
        ExprKind::Root(root) => root.to_string(),
        ExprKind::Var(variable) => variable.name.clone(),
        _ => "(…)".to_owned(),
    };
    for access in accesses.iter().take(position + 1) {
        match access {
            Access::Field(name) => {
                path.push('.');
                path.push_str(name);
            }
            Access::Index(Expr {
                kind: ExprKind::Int(index),
                ..
            }) => path.push_str(&format!("[{index}]")),
            Access::Index(Expr {
                kind: ExprKind::Text(name),
                ..
            }) => path.push_str(&format!("[{name:?}]")),
            Access::Index(_) => path.push_str("[…]"),
        }
    }
    let status = match (&base.kind, item, position) {
        (ExprKind::Root(Root::Step(id)), Item::Map(step), 0) => {
            match step.get(&Item::Text(Text::Read("status"))) {
                // Why not its status: such a step has every right to an output.
                Some(Item::Text(status)) if status.as_str() == "succeeded" => {
                    format!(": `{id}` was settled without an output")
                }
                Some(Item::Text(status)) => {
                    format!(": step `{id}` is `{}`", status.as_str())
                }
                _ => String::new(),
            }
        }
        _ => String::new(),
    };
    EvalFault::new(format!("`{path}` {problem}{status}"))
}
