//! Text that a planner does not get to see, and conditions that would need it.
//!
//! Owns the difference between looking at the shape of a value (its length, whether it is there)
//! and at the value itself. INVARIANT: a condition that passes here gives the same result over
//! the view as it would over the full observation.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::catalog::Catalog;
use provost_plan::check::flow::output_integrity;
use provost_plan::expr::tree::{Access, Expr, ExprKind, Function, Walk, WalkKind};
use provost_plan::expr::{Part, Root, Segment, Template};
use provost_plan::label::Integrity;
use provost_plan::plan::{Plan, Step, StepKind};
use provost_plan::schema::{Kinds, PathType, Type};
use serde_json::{Map, Value, json};

/// Refuses a condition that reads withheld text, with the reason.
pub(super) fn refuse(when: &Template, views: &[(&String, Value)]) -> Result<(), String> {
    for part in when.parts() {
        if let Part::Expr(expression) = part {
            let mut look = Look {
                views,
                bound: BTreeMap::new(),
            };
            look.at(expression.ast(), WithheldDepth::Whole)
                .map_err(|Withheld| {
                    format!(
                        "`{}` reads text that no planner is shown; compare numbers, flags or \
                         words of a fixed list instead",
                        expression.source()
                    )
                })?;
        }
    }
    Ok(())
}

struct Withheld;

/// How much of a value an expression looks at.
#[derive(Clone, Copy, PartialEq)]
enum WithheldDepth {
    /// All of it.
    Whole,
    /// Its length, its keys or whether it is there.
    Shape,
}

/// Whether a value of a view stands for a text: `{ref, chars}`.
fn is_withheld(value: &Value) -> bool {
    value.as_object().is_some_and(|map| {
        map.len() == 2
            && map.get("ref").is_some_and(Value::is_string)
            && map.get("chars").is_some_and(Value::is_number)
    })
}

fn holds_withheld(value: &Value) -> bool {
    is_withheld(value)
        || match value {
            Value::Array(items) => items.iter().any(holds_withheld),
            Value::Object(map) => map.values().any(holds_withheld),
            _ => false,
        }
}

struct Look<'v> {
    views: &'v [(&'v String, Value)],
    /// What the variables of comprehensions may be.
    bound: BTreeMap<u32, Vec<&'v Value>>,
}

impl<'v> Look<'v> {
    fn at(&mut self, expr: &Expr, depth: WithheldDepth) -> Result<(), Withheld> {
        match &expr.kind {
            ExprKind::Root(_) | ExprKind::Var(_) => self.judge(expr, depth),
            ExprKind::Path(base, accesses) => {
                self.judge(expr, depth)?;
                for access in accesses {
                    if let Access::Index(index) = access {
                        self.at(index, WithheldDepth::Whole)?;
                    }
                }
                self.at(base, WithheldDepth::Shape)
            }
            ExprKind::Has(path) => self.at(path, WithheldDepth::Shape),
            ExprKind::Walk(walk) => self.walk(walk, depth),
            ExprKind::Choice(test, yes, no) => {
                self.at(test, WithheldDepth::Whole)?;
                self.at(yes, depth)?;
                self.at(no, depth)
            }
            ExprKind::Call(Function::Size, args) => {
                // Why not a text itself: its length in the view would be that of `{ref, chars}`.
                args.iter().try_for_each(|arg| {
                    if self.values(arg).into_iter().any(is_withheld) {
                        return Err(Withheld);
                    }
                    self.at(arg, WithheldDepth::Shape)
                })
            }
            ExprKind::Call(Function::First, args) => {
                args.iter().try_for_each(|arg| self.at(arg, depth))
            }
            _ => expr
                .children()
                .into_iter()
                .try_for_each(|child| self.at(child, WithheldDepth::Whole)),
        }
    }

    fn judge(&self, expr: &Expr, depth: WithheldDepth) -> Result<(), Withheld> {
        let seen = self.values(expr);
        let hidden = match depth {
            WithheldDepth::Whole => seen.into_iter().any(holds_withheld),
            WithheldDepth::Shape => false,
        };
        if hidden { Err(Withheld) } else { Ok(()) }
    }

    fn walk(&mut self, walk: &Walk, depth: WithheldDepth) -> Result<(), Withheld> {
        self.at(&walk.list, WithheldDepth::Shape)?;
        let items = self.items(&walk.list);
        self.bound.insert(walk.variable.id, items);
        if let Some(filter) = &walk.filter {
            self.at(filter, WithheldDepth::Whole)?;
        }
        // Why: `map` and `filter` make a list of their bodies, of which the outside may want only
        // the length; the others look at their body themselves.
        let body = match walk.kind {
            WalkKind::Map | WalkKind::Filter => depth,
            WalkKind::All | WalkKind::Exists | WalkKind::ExistsOne => WithheldDepth::Whole,
        };
        self.at(&walk.body, body)
    }

    fn items(&self, list: &Expr) -> Vec<&'v Value> {
        self.values(list).into_iter().flat_map(items_of).collect()
    }

    /// The values of the views that `expr` may be; none for what is computed.
    fn values(&self, expr: &Expr) -> Vec<&'v Value> {
        match &expr.kind {
            ExprKind::Root(Root::Step(step)) => self
                .views
                .iter()
                .filter(|(id, _)| *id == step)
                .map(|(_, view)| view)
                .collect(),
            ExprKind::Var(variable) => self.bound.get(&variable.id).cloned().unwrap_or_default(),
            ExprKind::Path(base, accesses) => {
                let mut found = self.values(base);
                for access in accesses {
                    found = found
                        .into_iter()
                        .flat_map(|value| step_into(value, access))
                        .collect();
                }
                found
            }
            ExprKind::Choice(_, yes, no) => {
                let mut found = self.values(yes);
                found.extend(self.values(no));
                found
            }
            ExprKind::Call(Function::First, args) => {
                args.iter().flat_map(|list| self.items(list)).collect()
            }
            ExprKind::Walk(walk) if walk.kind == WalkKind::Filter => self.values(&walk.list),
            _ => Vec::new(),
        }
    }
}

fn items_of(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}

fn step_into<'v>(value: &'v Value, access: &Access) -> Vec<&'v Value> {
    if is_withheld(value) {
        // Why itself: what lies in it is withheld with it.
        return vec![value];
    }
    match access {
        Access::Field(name) => value.get(name).into_iter().collect(),
        Access::Index(_) => match value {
            Value::Array(items) => items.iter().collect(),
            Value::Object(map) => map.values().collect(),
            _ => Vec::new(),
        },
    }
}

/// Deepest value that is looked through.
const DEPTH_MAX: usize = 8;

/// What no planner is shown of the outputs that a condition reads, if it would have to be: the same
/// judgment, over what the schemas say of every output.
pub(super) fn always(when: &Template, plan: &Plan, catalog: &Catalog) -> Option<String> {
    let steps: BTreeSet<&String> = when
        .references()
        .filter_map(|read| match &read.root {
            Root::Step(id) => Some(id),
            _ => None,
        })
        .collect();
    let views: Vec<(&String, Value)> = steps
        .into_iter()
        .filter_map(|id| {
            let step = plan.step(id)?;
            Some((
                id,
                json!({ "status": "succeeded", "output": shown(step, catalog) }),
            ))
        })
        .collect();
    refuse(when, &views).err()
}

/// What a view of the output of a step is like: texts are withheld, everything else is 0.
fn shown(step: &Step, catalog: &Catalog) -> Value {
    let operation = step.tool().and_then(|tool| catalog.get(&tool.value));
    let operation = operation.map(|operation| &**operation);
    let schema = match (&step.kind, operation) {
        (StepKind::Subgoal(subgoal), _) => Some(&subgoal.output),
        (StepKind::Assertion(assertion), _) => Some(&assertion.output),
        (_, Some(operation)) => operation.output.as_ref().or(step.expect.as_ref()),
        (_, None) => None,
    };
    let trust = |path: &[Segment]| output_integrity(operation, step, path);
    let one = match schema {
        Some(schema) => part(schema.ty(), &trust, &mut Vec::new()),
        None => leaf(trust(&[]) == Integrity::Text),
    };
    match step.for_each {
        Some(_) => json!([one]),
        None => one,
    }
}

fn leaf(is_withheld: bool) -> Value {
    match is_withheld {
        true => json!({ "ref": "", "chars": 0 }),
        false => json!(0),
    }
}

fn part(ty: &Type, trust: &dyn Fn(&[Segment]) -> Integrity, path: &mut Vec<Segment>) -> Value {
    if trust(path) != Integrity::Text || path.len() > DEPTH_MAX {
        return json!(0);
    }
    let mut inner = |ty: &Type, segment: Segment| {
        path.push(segment);
        let inner = part(ty, trust, path);
        path.pop();
        inner
    };
    let mut fields = BTreeSet::new();
    field_names(&ty.to_json(), &mut fields);
    let known = fields.into_iter().filter_map(|name| {
        let segment = Segment::Field(name.clone());
        match ty.at(std::slice::from_ref(&segment)) {
            PathType::Known { ty, .. } => Some((name, inner(&ty, segment))),
            _ => None,
        }
    });
    let known: Map<String, Value> = known.collect();
    if !known.is_empty() {
        return Value::Object(known);
    }
    let item = ty.at(&[Segment::Any]);
    match (ty.kinds(), item) {
        (kinds, PathType::Known { ty, .. }) if kinds.meets(Kinds::LIST) => {
            json!([inner(&ty, Segment::Any)])
        }
        (kinds, _) if kinds.meets(Kinds::LIST) => json!([leaf(true)]),
        (kinds, _) => leaf(kinds.meets(Kinds::TEXT | Kinds::MAP)),
    }
}

/// The fields that a schema names, in any of its branches.
fn field_names(schema: &Value, names: &mut BTreeSet<String>) {
    let fields = schema.get("properties").and_then(Value::as_object);
    names.extend(fields.into_iter().flat_map(Map::keys).cloned());
    for key in ["anyOf", "oneOf", "allOf"] {
        let branches = schema.get(key).and_then(Value::as_array);
        for branch in branches.into_iter().flatten() {
            field_names(branch, names);
        }
    }
}
