//! Units: numbers of one unit where those of another are meant.
//!
//! Owns T211. What is known of a value is the schema of it, as far as one says anything; a number
//! that an expression makes has a schema that says its unit alone. INVARIANT: what has no unit fits
//! any.

use std::collections::BTreeMap;

use provost_plan::expr::tree::{Access, Arith, Compare, Expr, ExprKind, Function, WalkKind};
use provost_plan::expr::{ArgTree, Root};
use provost_plan::plan::{CallRole, Step};
use serde_json::{Value, json};

use super::{Answers, Setting, constants, place_of, schemas};

/// Finds the numbers of another unit than is meant.
pub fn judge(setting: &Setting<'_>, answers: &mut Answers) {
    for spot in setting.spots() {
        let mut units = Units::of(setting, spot.step);
        for expression in spot.template.expressions() {
            units.of_value(expression.ast());
        }
        if units.mixed {
            answers.find("T211", spot.place);
        }
    }
    for (number, step) in setting.plan.steps.iter().enumerate() {
        for (role, called, args) in step.calls() {
            let operation = setting.operations.get(&called.value);
            let input = operation.map(|operation| operation.input.value());
            if input.is_some_and(|input| is_given_another(setting, number, args, input)) {
                let word = match role {
                    CallRole::Own => "args",
                    CallRole::Confirm => "confirm.args",
                    CallRole::Undo => "undo.args",
                };
                answers.find("T211", format!("{}.{word}", place_of(number, step)));
            }
        }
    }
}

/// Whether an argument is a number of one unit where its schema wants another.
fn is_given_another(setting: &Setting<'_>, number: usize, args: &ArgTree, input: &Value) -> bool {
    args.entries().iter().any(|(name, tree)| {
        let wanted = schemas::field(input, name).and_then(|(field, _)| {
            let unit = field.get("x-unit")?.clone();
            let beside = unit.get("from").and_then(Value::as_str);
            let beside = beside.map(|field| currency(setting, args, input, field));
            beside.unwrap_or_else(|| unit.as_str().map(str::to_owned))
        });
        let whole = match tree {
            ArgTree::Template(template) => template.whole(),
            _ => None,
        };
        let mut units = Units::of(setting, Some(number));
        let given = whole.and_then(|whole| unit(&units.of_value(whole.ast())));
        matches!((wanted, given), (Some(wanted), Some(given)) if wanted != given)
    })
}

/// What the field beside an amount says: the one word that may stand there, or the constant that
/// does.
fn currency(setting: &Setting<'_>, args: &ArgTree, input: &Value, field: &str) -> Option<String> {
    let (schema, _) = schemas::field(input, field)?;
    let words = schema.get("enum").and_then(Value::as_array);
    let only = words
        .filter(|words| words.len() == 1)
        .and_then(|words| words.first());
    let given = || constants::known(setting, &args.get(field)?.1);
    let word = only.cloned().or_else(given)?;
    word.as_str().map(str::to_owned)
}

fn unit(of: &Value) -> Option<String> {
    of.get("x-unit")?.as_str().map(str::to_owned)
}

fn number_in(unit: Option<String>) -> Value {
    unit.map_or(Value::Null, |unit| json!({ "x-unit": unit }))
}

fn item(of: &Value) -> Value {
    schemas::item(of).unwrap_or_default()
}

/// Follows units through expressions that stand in one step, or in none.
struct Units<'a> {
    setting: &'a Setting<'a>,
    step: Option<&'a Step>,
    variables: BTreeMap<u32, Value>,
    /// Whether two units were joined.
    mixed: bool,
}

impl<'a> Units<'a> {
    fn of(setting: &'a Setting<'a>, step: Option<usize>) -> Self {
        Self {
            setting,
            step: step.and_then(|number| setting.plan.steps.get(number)),
            variables: BTreeMap::new(),
            mixed: false,
        }
    }

    /// The schema of a value; null where nothing is known.
    fn of_value(&mut self, expr: &Expr) -> Value {
        match &expr.kind {
            ExprKind::Root(_) | ExprKind::Var(_) => self.named(expr),
            ExprKind::Path(base, accesses) => {
                let mut at = match &base.kind {
                    ExprKind::Root(Root::Step(_)) => self.named(base),
                    _ => self.of_value(base),
                };
                for access in accesses {
                    at = match access {
                        Access::Field(name) => {
                            let inner = schemas::field(&at, name);
                            inner.map_or(Value::Null, |(inner, _)| inner)
                        }
                        Access::Index(index) => {
                            self.of_value(index);
                            item(&at)
                        }
                    };
                }
                at
            }
            ExprKind::Negate(inner) => number_in(unit(&self.of_value(inner))),
            ExprKind::Chain(first, rest) => self.chain(first, rest),
            ExprKind::Compare(operator, left, right) => {
                let (a, b) = (self.of_value(left), self.of_value(right));
                if *operator != Compare::In {
                    self.join(unit(&a), unit(&b));
                }
                Value::Null
            }
            ExprKind::Choice(test, yes, no) => {
                self.of_value(test);
                let (yes, no) = (self.branch(yes), self.branch(no));
                match (yes, no) {
                    (Some(one), None) | (None, Some(one)) => one,
                    (Some(yes), Some(no)) if unit(&yes) == unit(&no) => yes,
                    _ => Value::Null,
                }
            }
            ExprKind::Call(function, arguments) => self.call(*function, arguments),
            ExprKind::Walk(walk) => {
                let list = self.of_value(&walk.list);
                self.variables.insert(walk.variable.id, item(&list));
                if let Some(filter) = &walk.filter {
                    self.of_value(filter);
                }
                let body = self.of_value(&walk.body);
                match walk.kind {
                    WalkKind::Map => json!({ "type": "array", "items": body }),
                    WalkKind::Filter => list,
                    _ => Value::Null,
                }
            }
            _ => {
                for part in expr.children() {
                    self.of_value(part);
                }
                Value::Null
            }
        }
    }

    /// A branch of a choice; nothing where it is null, which is no number.
    fn branch(&mut self, expr: &Expr) -> Option<Value> {
        (expr.kind != ExprKind::Null).then(|| self.of_value(expr))
    }

    /// `steps.ID` as a map with its output, `item`, `output`, and the variables of walks.
    fn named(&mut self, expr: &Expr) -> Value {
        let setting = self.setting;
        match &expr.kind {
            ExprKind::Root(Root::Step(id)) => {
                let step = setting.step(id).map(|(_, step)| step);
                let output = step.and_then(|step| schemas::of_output(setting, step));
                json!({ "properties": { "output": output } })
            }
            ExprKind::Root(Root::Item) => {
                let each = self.step.and_then(|step| step.for_each.as_ref());
                let list = each.and_then(|each| each.list.whole());
                let list = list.map(|list| Units::of(setting, None).of_value(list.ast()));
                list.map_or(Value::Null, |list| item(&list))
            }
            ExprKind::Root(Root::Output) => {
                let own = self.step.and_then(|step| schemas::of_call(setting, step));
                own.unwrap_or_default()
            }
            ExprKind::Var(variable) => {
                let known = self.variables.get(&variable.id);
                known.cloned().unwrap_or_default()
            }
            _ => Value::Null,
        }
    }

    /// The unit of two numbers that something joins.
    fn join(&mut self, a: Option<String>, b: Option<String>) -> Option<String> {
        match (a, b) {
            (Some(a), Some(b)) if a != b => {
                self.mixed = true;
                None
            }
            (a, b) => a.or(b),
        }
    }

    fn chain(&mut self, first: &Expr, rest: &[(Arith, Expr)]) -> Value {
        let is_plain = |expr: &Expr| matches!(expr.kind, ExprKind::Int(_) | ExprKind::Double(_));
        let mut so_far = unit(&self.of_value(first));
        let mut only_numbers = is_plain(first);
        for (operator, next) in rest {
            let other = unit(&self.of_value(next));
            so_far = match operator {
                Arith::Add | Arith::Subtract => self.join(so_far, other),
                _ if is_plain(next) => so_far,
                Arith::Multiply if only_numbers => other,
                _ => None,
            };
            only_numbers &= is_plain(next);
        }
        number_in(so_far)
    }

    fn call(&mut self, function: Function, arguments: &[Expr]) -> Value {
        let mut all = Vec::new();
        for argument in arguments {
            all.push(self.of_value(argument));
        }
        let Some(first) = all.first().cloned() else {
            return Value::Null;
        };
        match function {
            Function::Sum | Function::First => item(&first),
            Function::Min | Function::Max if first.get("items").is_some() => item(&first),
            Function::Min | Function::Max => {
                let units = all.iter().map(unit);
                let joined = units.fold(None, |so_far, next| self.join(so_far, next));
                number_in(joined)
            }
            Function::Abs | Function::Round => number_in(unit(&first)),
            _ => Value::Null,
        }
    }
}
