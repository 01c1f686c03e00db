//! Expressions in one world, whose unknown parts are chosen as they are met.
//!
//! Owns what an expression comes to when statuses, presence, nulls, emptiness and conditions on
//! data are chosen. INVARIANT: one choice has one key, so it is the same wherever it is met again.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::expr::tree::{Access, Expr, ExprKind, Function, Walk, WalkKind};
use provost_plan::expr::{Root, Template};
use provost_plan::source::Span;
use serde_json::{Value as Json, json};

use super::{Setting, schemas};

mod accepted;
mod conditions;
mod ended;

/// Why an evaluation did not come to an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Something is not chosen yet: its key, and how many ways there are.
    Open(String, usize),
    /// No such world can be.
    Impossible,
}

/// What an expression comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// True or false.
    Bool(bool),
    /// A constant.
    Known(Json),
    /// How a step ended.
    Status(&'static str),
    /// A part of an output, by a key of its own.
    Part {
        /// Its key.
        key: String,
        /// Its schema.
        schema: Option<Json>,
    },
    /// A list: its item if it has one.
    List(Option<Box<Value>>),
    /// A length above 0.
    Positive,
    /// The length 0.
    Zero,
    /// Something.
    Unknown,
    /// Nothing: the evaluation fails.
    Fault,
}

/// The ways a step may have ended.
const ENDS: [&str; 4] = ["succeeded", "skipped", "failed", "blocked"];

type Seen = Result<Value, Stop>;

/// How closely guards are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Following {
    /// As evaluation would: nothing that cannot happen counts.
    Exact,
    /// A condition without a step in it, and a guard that fails, may turn out either way.
    Loose,
    /// And no case of an `a || b` is ruled out by what is known elsewhere, a walk says nothing of
    /// its list, and what a step's own guard says of others is known only from place to place.
    Plainly,
}

/// Evaluates in one world.
#[derive(Debug)]
pub struct Evaluator<'a> {
    setting: &'a Setting<'a>,
    /// The step in which the place stands.
    here: Option<usize>,
    chosen: BTreeMap<String, usize>,
    settled: BTreeSet<String>,
    item: Option<Value>,
    variables: Vec<(u32, Value)>,
    watching: bool,
    absent: bool,
    live: BTreeSet<Span>,
    following: Following,
    loose: bool,
    /// Whether the truth of the part being evaluated is turned round.
    negated: bool,
    /// The `a || b` being evaluated.
    case: Option<usize>,
    /// Whether the list of a `for_each` is being looked at.
    apart: bool,
    /// The steps that ran because the place stands under the same condition.
    ran: BTreeSet<String>,
    /// Whether a proof is being looked at.
    proving: bool,
}

impl<'a> Evaluator<'a> {
    /// An evaluator for a place in the step of this number, with what is chosen so far.
    #[must_use]
    pub fn new(
        setting: &'a Setting<'a>,
        here: Option<usize>,
        chosen: BTreeMap<String, usize>,
        following: Following,
    ) -> Self {
        Self {
            setting,
            here,
            chosen,
            settled: BTreeSet::new(),
            item: None,
            variables: Vec::new(),
            watching: false,
            absent: false,
            live: BTreeSet::new(),
            following,
            loose: following > Following::Exact,
            negated: false,
            case: None,
            apart: false,
            ran: BTreeSet::new(),
            proving: false,
        }
    }

    /// What is chosen.
    #[must_use]
    pub fn chosen(&self) -> &BTreeMap<String, usize> {
        &self.chosen
    }

    /// From here on a read of what is absent counts.
    pub fn watch(&mut self) {
        self.watching = true;
    }

    /// The parts of the place that were evaluated.
    #[must_use]
    pub fn live(&self) -> &BTreeSet<Span> {
        &self.live
    }

    /// Whether a read that counts was absent.
    #[must_use]
    pub fn was_absent(&self) -> bool {
        self.absent
    }

    /// The value of a text.
    ///
    /// # Errors
    /// [`Stop`] if something is not chosen yet.
    pub fn template(&mut self, template: &Template) -> Seen {
        if let Some(whole) = template.whole() {
            return self.eval(whole.ast());
        }
        for expression in template.expressions() {
            if self.eval(expression.ast())? == Value::Fault {
                return Ok(Value::Fault);
            }
        }
        Ok(Value::Unknown)
    }

    /// Whether a guard holds.
    ///
    /// # Errors
    /// [`Stop`] if something is not chosen yet.
    pub fn guard(&mut self, template: &Template) -> Result<bool, Stop> {
        let Some(whole) = template.whole() else {
            return Ok(false);
        };
        Ok(self.truth(whole.ast())? == Value::Bool(true))
    }

    /// Whether a proof holds, as far as that says how steps ended: nothing is taken from it about
    /// one that may be skipped, nor about what is in an output.
    ///
    /// # Errors
    /// [`Stop`] if something is not chosen yet.
    pub fn proof(&mut self, template: &Template) -> Result<bool, Stop> {
        self.proving = true;
        let holds = self.guard(template);
        self.proving = false;
        holds
    }

    /// The list of a `for_each`. That it has an item is no guard for what is read of it elsewhere,
    /// though what is read there may be sure by it.
    ///
    /// # Errors
    /// [`Stop`] if something is not chosen yet.
    pub fn begin_each(&mut self, list: &Template) -> Result<bool, Stop> {
        self.apart = self.loose;
        let list = self.template(list);
        let item = list.and_then(|list| self.item_of(list, "each"));
        self.apart = false;
        self.item = item?;
        Ok(self.item.is_some())
    }

    fn choose(&self, mut key: String, options: usize) -> Result<usize, Stop> {
        if self.apart && key.starts_with("empty") {
            key.insert_str(0, "list ");
        }
        if let Some(case) = self.case {
            key.push_str(&format!(" in {case}"));
        }
        let chosen = self.chosen.get(&key).copied();
        chosen.ok_or(Stop::Open(key, options))
    }

    fn flip(&self, key: String) -> Result<bool, Stop> {
        Ok(self.choose(key, 2)? == 1)
    }

    fn missing(&mut self) -> Value {
        self.absent |= self.watching;
        if self.loose {
            Value::Unknown
        } else {
            Value::Fault
        }
    }

    /// The value of an expression.
    ///
    /// # Errors
    /// [`Stop`] if something is not chosen yet.
    pub fn eval(&mut self, expr: &Expr) -> Seen {
        if self.watching {
            self.live.insert(expr.span);
        }
        match &expr.kind {
            ExprKind::Null => Ok(Value::Known(Json::Null)),
            ExprKind::Bool(_) if self.loose => Ok(Value::Unknown),
            ExprKind::Bool(value) => Ok(Value::Bool(*value)),
            ExprKind::Int(value) => Ok(Value::Known(json!(value))),
            ExprKind::Text(value) => Ok(Value::Known(json!(value))),
            ExprKind::Double(_) | ExprKind::Type(_) => Ok(Value::Unknown),
            ExprKind::List(items) => self.literal_list(items),
            ExprKind::Root(_) => self.path(expr, &[], expr),
            ExprKind::Var(_) => self.path(expr, &[], expr),
            ExprKind::Path(base, accesses) => self.path(base, accesses, expr),
            ExprKind::Has(inner) => self.has(inner),
            ExprKind::Not(inner) => {
                self.negated = !self.negated;
                let value = self.truth(inner);
                self.negated = !self.negated;
                Ok(match value? {
                    Value::Bool(value) => Value::Bool(!value),
                    other => other,
                })
            }
            ExprKind::And(terms) => self.logical(terms, false),
            ExprKind::Or(terms) => self.logical(terms, true),
            ExprKind::Choice(test, yes, no) => match self.truth(test)? {
                Value::Bool(true) => self.eval(yes),
                Value::Bool(false) => self.eval(no),
                _ => Ok(Value::Fault),
            },
            ExprKind::Compare(operator, left, right) => self.compare(*operator, left, right, expr),
            ExprKind::Walk(walk) => self.walk(walk, expr),
            ExprKind::Call(Function::First, arguments) => self.first(arguments),
            ExprKind::Call(Function::Size, arguments) => self.size(arguments),
            ExprKind::Negate(_) | ExprKind::Chain(..) | ExprKind::Map(_) | ExprKind::Call(..) => {
                self.parts(expr)
            }
        }
    }

    fn parts(&mut self, expr: &Expr) -> Seen {
        let mut result = Value::Unknown;
        for child in expr.children() {
            if self.eval(child)? == Value::Fault {
                result = Value::Fault;
            }
        }
        Ok(result)
    }

    fn literal_list(&mut self, items: &[Expr]) -> Seen {
        let mut found = None;
        for item in items {
            match self.eval(item)? {
                Value::Fault => return Ok(Value::Fault),
                value => found = Some(Box::new(value)),
            }
        }
        Ok(Value::List(found))
    }

    /// True or false; what hangs on data is chosen.
    fn truth(&mut self, expr: &Expr) -> Seen {
        match self.eval(expr)? {
            Value::Bool(value) => Ok(Value::Bool(value)),
            Value::Fault => Ok(Value::Fault),
            _ => self.opaque(expr),
        }
    }

    fn opaque(&mut self, expr: &Expr) -> Seen {
        let key = format!("condition {}", expr.span.start);
        Ok(Value::Bool(self.flip(format!("{key}-{}", expr.span.end))?))
    }

    /// `&&` and `||`: a term that decides makes the rest unneeded, whatever failed before.
    fn logical(&mut self, terms: &[Expr], decides: bool) -> Seen {
        let outer = self.case;
        if self.following == Following::Plainly && decides != self.negated {
            self.case = self.case.or(terms.first().map(|term| term.span.start));
        }
        let result = self.terms(terms, decides);
        self.case = outer;
        result
    }

    fn terms(&mut self, terms: &[Expr], decides: bool) -> Seen {
        let mut result = Value::Bool(!decides);
        for term in terms {
            match self.truth(term)? {
                Value::Bool(value) if value == decides => return Ok(Value::Bool(decides)),
                Value::Fault => result = Value::Fault,
                _ => {}
            }
        }
        Ok(result)
    }

    fn path(&mut self, base: &Expr, accesses: &[Access], whole: &Expr) -> Seen {
        let mut rest = accesses;
        let mut value = match &base.kind {
            ExprKind::Root(Root::Step(id)) => {
                let Some((field, after)) = rest.split_first() else {
                    return Ok(Value::Unknown);
                };
                rest = after;
                self.step_part(id, field)?
            }
            ExprKind::Root(Root::Item) => self.item.clone().unwrap_or(Value::Unknown),
            ExprKind::Root(Root::Output) => self.own_output(),
            ExprKind::Root(Root::Read) => self.read_back(),
            ExprKind::Root(_) => Value::Unknown,
            ExprKind::Var(variable) => {
                let mut bound = self.variables.iter().rev();
                let found = bound.find(|(id, _)| *id == variable.id);
                found.map_or(Value::Unknown, |(_, value)| value.clone())
            }
            _ => self.eval(base)?,
        };
        for access in rest {
            value = self.go(value, access, whole)?;
            if value == Value::Fault {
                break;
            }
        }
        Ok(value)
    }

    fn step_part(&mut self, id: &str, field: &Access) -> Seen {
        let setting = self.setting;
        let (Some((number, step)), Access::Field(field)) = (setting.step(id), field) else {
            return Ok(Value::Unknown);
        };
        let is_self = self.here == Some(number);
        if self.proving && field != "status" {
            return Ok(Value::Unknown);
        }
        match field.as_str() {
            "status" if is_self => Ok(Value::Unknown),
            "status" => Ok(Value::Status(self.status(step)?)),
            "output" | "error" if is_self => Ok(Value::Unknown),
            "output" if !self.has_output(step)? => Ok(self.missing()),
            "output" => Ok(Value::Part {
                key: format!("output {id}"),
                schema: schemas::of_output(setting, step),
            }),
            "error" if self.status(step)? != "failed" => Ok(self.missing()),
            _ => Ok(Value::Unknown),
        }
    }

    fn own_output(&self) -> Value {
        let setting = self.setting;
        let step = self.here.and_then(|number| setting.plan.steps.get(number));
        Value::Part {
            key: match step.filter(|step| step.for_each.is_none()) {
                Some(step) => format!("output {}", step.id.value),
                None => "own output".to_owned(),
            },
            schema: step.and_then(|step| schemas::of_call(setting, step)),
        }
    }

    /// What the read that proves the step gave.
    fn read_back(&self) -> Value {
        let setting = self.setting;
        let step = self.here.and_then(|number| setting.plan.steps.get(number));
        let confirm = step.and_then(|step| step.confirm.as_ref());
        let read = confirm.and_then(|confirm| setting.operations.get(&confirm.tool.value));
        let schema = read.and_then(|read| read.output.as_ref());
        Value::Part {
            key: "read".to_owned(),
            schema: schema.map(|schema| schema.value().clone()),
        }
    }

    /// One step into a value.
    fn go(&mut self, value: Value, access: &Access, whole: &Expr) -> Seen {
        if let Access::Index(index) = access
            && self.eval(index)? == Value::Fault
        {
            return Ok(Value::Fault);
        }
        let (key, schema) = match value {
            Value::Part {
                key,
                schema: Some(schema),
            } => (key, schema),
            Value::List(item) => return Ok(item.map_or_else(|| self.missing(), |item| *item)),
            Value::Fault => return Ok(Value::Fault),
            _ => return Ok(Value::Unknown),
        };
        if schemas::is_nullable(&schema) && self.flip(format!("null {key}"))? {
            return Ok(self.missing());
        }
        match access {
            Access::Field(name) => {
                let Some((inner, optional)) = schemas::field(&schema, name) else {
                    return Ok(Value::Unknown);
                };
                let key = format!("{key}.{name}");
                if optional && !self.flip(format!("there {key}"))? {
                    return Ok(self.missing());
                }
                Ok(Value::Part {
                    key,
                    schema: Some(inner),
                })
            }
            Access::Index(_) => {
                let list = Value::Part {
                    key,
                    schema: Some(schema),
                };
                let site = format!("{}", whole.span.start);
                let item = self.item_of(list, &site)?;
                Ok(item.unwrap_or_else(|| self.missing()))
            }
        }
    }

    /// An item of a list, if it has one.
    fn item_of(&mut self, list: Value, site: &str) -> Result<Option<Value>, Stop> {
        match list {
            Value::List(item) => Ok(item.map(|item| *item)),
            Value::Part {
                key,
                schema: Some(schema),
            } => {
                if schemas::may_be_empty(&schema) && self.flip(format!("empty {key}"))? {
                    return Ok(None);
                }
                // Why a site: two looks at one list need not see the same item.
                let key = format!("{key}[{site}]");
                Ok(Some(Value::Part {
                    key,
                    schema: schemas::item(&schema),
                }))
            }
            Value::Fault => Ok(None),
            _ => Ok(Some(Value::Unknown)),
        }
    }

    fn has(&mut self, inner: &Expr) -> Seen {
        let ExprKind::Path(base, accesses) = &inner.kind else {
            return Ok(Value::Unknown);
        };
        let Some((last, before)) = accesses.split_last() else {
            return Ok(Value::Unknown);
        };
        let value = self.path(base, before, inner)?;
        match value {
            Value::Fault => Ok(Value::Fault),
            Value::Part {
                key,
                schema: Some(schema),
            } => {
                if schemas::is_nullable(&schema) && self.flip(format!("null {key}"))? {
                    return Ok(self.missing());
                }
                let Access::Field(name) = last else {
                    return Ok(Value::Unknown);
                };
                match schemas::field(&schema, name) {
                    Some((_, true)) => Ok(Value::Bool(self.flip(format!("there {key}.{name}"))?)),
                    Some((_, false)) => Ok(Value::Bool(true)),
                    None => Ok(Value::Unknown),
                }
            }
            _ => Ok(Value::Unknown),
        }
    }

    fn first(&mut self, arguments: &[Expr]) -> Seen {
        let Some(list) = arguments.first() else {
            return Ok(Value::Unknown);
        };
        let value = self.eval(list)?;
        if value == Value::Fault {
            return Ok(Value::Fault);
        }
        let site = format!("{}", list.span.start);
        Ok(self
            .item_of(value, &site)?
            .unwrap_or_else(|| self.missing()))
    }

    fn size(&mut self, arguments: &[Expr]) -> Seen {
        let Some(list) = arguments.first() else {
            return Ok(Value::Unknown);
        };
        let value = self.eval(list)?;
        let is_list = match &value {
            Value::Part { schema, .. } => schema.as_ref().is_some_and(schemas::may_be_empty),
            Value::List(_) => true,
            _ => false,
        };
        match value {
            Value::Fault => Ok(Value::Fault),
            value if is_list => Ok(match self.item_of(value, "size")? {
                None => Value::Zero,
                Some(_) => Value::Positive,
            }),
            _ => Ok(Value::Unknown),
        }
    }

    /// A walk, by one item that stands for all.
    fn walk(&mut self, walk: &Walk, whole: &Expr) -> Seen {
        let list = self.eval(&walk.list)?;
        if list == Value::Fault {
            return Ok(Value::Fault);
        }
        let site = format!("{}", walk.list.span.start);
        let Some(item) = self.item_of(list, &site)? else {
            return Ok(match walk.kind {
                WalkKind::All | WalkKind::Exists if self.following == Following::Plainly => {
                    Value::Unknown
                }
                WalkKind::All => Value::Bool(true),
                WalkKind::Exists | WalkKind::ExistsOne => Value::Bool(false),
                WalkKind::Map | WalkKind::Filter => Value::List(None),
            });
        };
        self.variables.push((walk.variable.id, item));
        let result = self.walk_item(walk);
        self.variables.pop();
        match (result?, walk.kind) {
            (Value::Fault, _) => Ok(Value::Fault),
            (list, WalkKind::Map | WalkKind::Filter) => Ok(list),
            _ => self.opaque(whole),
        }
    }

    fn walk_item(&mut self, walk: &Walk) -> Seen {
        if let Some(filter) = &walk.filter {
            match self.truth(filter)? {
                Value::Bool(true) => {}
                Value::Bool(false) => return Ok(Value::List(None)),
                _ => return Ok(Value::Fault),
            }
        }
        match walk.kind {
            WalkKind::Map | WalkKind::Filter => Ok(match self.eval(&walk.body)? {
                Value::Fault => Value::Fault,
                value => Value::List(Some(Box::new(value))),
            }),
            _ => self.truth(&walk.body),
        }
    }
}
