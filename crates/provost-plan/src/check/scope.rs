//! What a place in a plan sees: names, and the types of what they hold.
//!
//! Owns the scope of every field. Reports nothing. INVARIANT: the names allowed here are the names
//! that the run puts into the scope of the same field.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::json;

use super::Pass;
use super::typing::{Typed, TypedPlace, type_of};
use crate::expr::tree::Expr;
use crate::expr::{Expression, Root, Segment, StepStatus};
use crate::plan::{CallRole, Field, Step, StepKind};
use crate::schema::{Kinds, PathType, Schema, Shape, Type};

/// Where an expression stands.
pub(crate) struct Site<'a> {
    step: Option<&'a Step>,
    /// The type of `item`, where it is in scope.
    item: Option<Typed>,
    /// Whether `output` is in scope.
    output: bool,
    /// Whether `read` is in scope.
    read: bool,
}

static STATUS: LazyLock<Type> =
    LazyLock::new(|| Type::of_json(&json!({ "enum": StepStatus::words() })));
static RUN: LazyLock<Type> = LazyLock::new(|| {
    Type::of_json(&json!({
        "type": "object",
        "required": ["id", "started_at"],
        "properties": { "id": {"type": "string"}, "started_at": {"type": "string"} },
        "additionalProperties": false,
    }))
});

/// The fields of `steps.ID`.
pub(crate) const STEP_FIELDS: [&str; 3] = ["status", "output", "error"];

impl<'a> Site<'a> {
    /// `success` and `answer`: after everything.
    pub(crate) fn end() -> Self {
        Self {
            step: None,
            item: None,
            output: false,
            read: false,
        }
    }

    /// `when` and the list of `for_each`: before the step.
    pub(crate) fn before(step: &'a Step) -> Self {
        Self {
            step: Some(step),
            ..Self::end()
        }
    }

    /// `args` and `question`: of one item.
    pub(crate) fn call(pass: &Pass<'_>, step: &'a Step) -> Self {
        let list = step.for_each.as_ref().map(|each| each.list.whole());
        Self {
            item: list.map(|list| Self::item(pass, step, list.map(Expression::ast))),
            ..Self::before(step)
        }
    }

    /// The same of one item of `list`: of the whole one, of which a condition takes some.
    pub(crate) fn of_item(pass: &Pass<'_>, step: &'a Step, list: &Expr) -> Self {
        Self {
            item: Some(Self::item(pass, step, Some(list))),
            ..Self::before(step)
        }
    }

    fn item(pass: &Pass<'_>, step: &'a Step, list: Option<&Expr>) -> Typed {
        let site = Self::before(step);
        let names = |root: &Root, path: &[Segment]| pass.place(&site, root, path);
        // What is wrong in it is reported where the list itself is checked.
        let list = list.map(|list| type_of(list, &names, &mut Vec::new()));
        let item = list.and_then(|list| list.to_type().item());
        item.map_or(Typed::of(Kinds::JSON), Typed::ty)
    }

    /// `until` and `accept`: of one item, with its output.
    pub(crate) fn after(pass: &Pass<'_>, step: &'a Step) -> Self {
        Self {
            output: true,
            ..Self::call(pass, step)
        }
    }

    /// `accept` of `confirm`: of one item, with its output and what was read back.
    pub(crate) fn confirmed(pass: &Pass<'_>, step: &'a Step) -> Self {
        Self {
            read: true,
            ..Self::after(pass, step)
        }
    }

    /// Where a field of a step stands.
    pub(crate) fn of(pass: &Pass<'_>, step: &'a Step, field: Field) -> Self {
        match field {
            Field::When | Field::ForEach | Field::Result | Field::Assert | Field::Message => {
                Self::before(step)
            }
            Field::Args(CallRole::Own) | Field::Question => Self::call(pass, step),
            Field::Args(_) | Field::Until | Field::Accept(CallRole::Own) => Self::after(pass, step),
            Field::Accept(_) => Self::confirmed(pass, step),
        }
    }

    /// The step it is part of; none of proofs and claims.
    pub(crate) fn step(&self) -> Option<&'a Step> {
        self.step
    }

    /// Whether a name is in scope; a step and a parameter are looked up elsewhere.
    pub(crate) fn knows(&self, root: &Root) -> bool {
        match root {
            Root::Step(_) | Root::Params | Root::Run => true,
            Root::Item | Root::Index => self.item.is_some(),
            Root::Output => self.output,
            Root::Read => self.read,
            Root::Args | Root::Key | Root::Unknown(_) => false,
        }
    }

    /// The type of `item`, where it is in scope and known.
    pub(crate) fn item_type(&self) -> Option<Type> {
        let item = self.item.as_ref()?;
        (!item.is_unknown()).then(|| item.to_type())
    }

    /// The places of `output`, where it is in scope and known.
    pub(crate) fn output<'p>(&self, pass: &'p Pass<'_>) -> Option<&'p Shape> {
        let step = self.step.filter(|_| self.output)?;
        let schema = pass.outputs.one.get(&step.id.value)?;
        Some(schema.places(false))
    }

    /// The places of `read`, where it is in scope and known.
    pub(crate) fn read<'p>(&self, pass: &'p Pass<'_>) -> Option<&'p Shape> {
        let step = self.step.filter(|_| self.read)?;
        let schema = pass.called(step, CallRole::Confirm)?.output.as_ref()?;
        Some(schema.places(false))
    }

    /// The names in scope, as a person writes them.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let mut names = vec!["steps", "params", "run"];
        if self.item.is_some() {
            names.extend(["item", "index"]);
        }
        if self.output {
            names.push("output");
        }
        if self.read {
            names.push("read");
        }
        names
    }
}

/// The types of what every step yields: of one call, and of the step.
#[derive(Default)]
pub(crate) struct Outputs {
    one: BTreeMap<String, Schema>,
}

/// Finds the type of what every step yields.
pub(crate) fn assign_types(pass: &mut Pass<'_>) {
    let mut outputs = Outputs::default();
    for step in &pass.plan.steps {
        if let Some(schema) = output_schema(pass, step) {
            // Of two steps with one id, which is an error, the first is meant.
            let one = outputs.one.entry(step.id.value.clone());
            one.or_insert_with(|| schema.clone());
        }
    }
    pass.outputs = outputs;
}

impl Outputs {
    /// The schema of what one call of a step yields, if it is known.
    pub(crate) fn schema(&self, step: &Step) -> Option<&Schema> {
        self.one.get(&step.id.value)
    }

    /// The places of `steps.ID.output`, if its type is known.
    pub(crate) fn of_step(&self, step: &Step) -> Option<&Shape> {
        let schema = self.one.get(&step.id.value)?;
        Some(schema.places(step.for_each.is_some()))
    }

    /// What looking through the output of a step costs.
    pub(crate) fn weight(&self, step: &Step) -> usize {
        self.one.get(&step.id.value).map_or(0, Schema::weight)
    }

    /// What is at a path of `steps.ID.output`, if its type is known.
    fn of_step_at(&self, pass: &Pass<'_>, step: &Step, path: &[Segment]) -> Option<PathType> {
        let schema = self.one.get(&step.id.value)?;
        if !schema.keeps(path, step.for_each.is_some()) && !pass.spends(schema.weight()) {
            return None;
        }
        Some(if step.for_each.is_some() {
            schema.listed_at(path)
        } else {
            schema.at(path)
        })
    }
}

/// The schema of one call's output, if there is one.
pub(crate) fn output_schema<'s>(pass: &'s Pass<'_>, step: &'s Step) -> Option<&'s Schema> {
    match &step.kind {
        StepKind::Question { answer, .. } => Some(answer),
        StepKind::Subgoal(subgoal) => Some(&subgoal.output),
        StepKind::Assertion(assertion) => Some(&assertion.output),
        StepKind::Tool { .. } => {
            let declared = pass.operation(step).and_then(|op| op.output.as_ref());
            declared.or(step.expect.as_ref())
        }
    }
}

impl Pass<'_> {
    /// What a name holds at a path. Names that are not there at all are reported by `refs`, and
    /// hold anything here.
    pub(crate) fn place(&self, site: &Site<'_>, root: &Root, path: &[Segment]) -> TypedPlace {
        match self.any_place(site, root, path) {
            TypedPlace::Absent { reason, depth, .. } if !self.suggests() => TypedPlace::Absent {
                reason,
                depth,
                known: Vec::new(),
            },
            place => place,
        }
    }

    fn any_place(&self, site: &Site<'_>, root: &Root, path: &[Segment]) -> TypedPlace {
        let anything = || TypedPlace::Typed(Typed::reported());
        match root {
            Root::Step(id) => self.step_place(id, path),
            Root::Params => {
                let name = match path.first() {
                    Some(Segment::Field(name)) => Some(name),
                    _ => None,
                };
                if let Some(types) = &self.open.params {
                    let known = name.and_then(|name| types.get(name));
                    return match (known, path.get(1..)) {
                        (Some(schema), Some(rest)) => deeper(TypedPlace::of(schema.at(rest)), 1),
                        _ => anything(),
                    };
                }
                let known = name.and_then(|name| self.terms.goal.params.get(name));
                match (known, path.get(1..)) {
                    (Some(value), Some(rest)) => {
                        deeper(TypedPlace::within(&Type::of_value(value), rest), 1)
                    }
                    _ => anything(),
                }
            }
            Root::Item => match &site.item {
                Some(item) if item.is_unknown() => TypedPlace::Typed(Typed::of(Kinds::JSON)),
                Some(item) => TypedPlace::within(&item.to_type(), path),
                None => anything(),
            },
            Root::Index if path.is_empty() => TypedPlace::Typed(Typed::of(Kinds::INTEGER)),
            Root::Output => match site.step.and_then(|s| self.outputs.one.get(&s.id.value)) {
                Some(schema) if schema.keeps(path, false) || self.spends(schema.weight()) => {
                    TypedPlace::of(schema.at(path))
                }
                Some(_) | None => TypedPlace::Typed(Typed::of(Kinds::JSON)),
            },
            Root::Read if site.read => {
                let called = |step| self.called(step, CallRole::Confirm);
                let operation = site.step.and_then(called);
                match operation.and_then(|operation| operation.output.as_ref()) {
                    Some(schema) if schema.keeps(path, false) || self.spends(schema.weight()) => {
                        TypedPlace::of(schema.at(path))
                    }
                    Some(_) | None => TypedPlace::Typed(Typed::of(Kinds::JSON)),
                }
            }
            Root::Run => TypedPlace::within(&RUN, path),
            Root::Index | Root::Read | Root::Args | Root::Key | Root::Unknown(_) => anything(),
        }
    }

    fn step_place(&self, id: &str, path: &[Segment]) -> TypedPlace {
        let anything = TypedPlace::Typed(Typed::reported());
        let Some(step) = self.plan.step(id) else {
            return anything;
        };
        let absent = |reason: &str, known: &[&str]| TypedPlace::Absent {
            reason: reason.to_owned(),
            depth: 0,
            known: known.iter().map(|&name| name.to_owned()).collect(),
        };
        let Some((first, rest)) = path.split_first() else {
            return absent("read its `output` or its `status`", &STEP_FIELDS);
        };
        let Segment::Field(first) = first else {
            return absent("a step has fields, no items", &STEP_FIELDS);
        };
        match first.as_str() {
            "status" => deeper(TypedPlace::within(&STATUS, rest), 1),
            "output" => match self.outputs.of_step_at(self, step, rest) {
                Some(place) => deeper(TypedPlace::of(place), 1),
                None => TypedPlace::Typed(Typed::of(Kinds::JSON)),
            },
            "error" => TypedPlace::Typed(Typed::of(Kinds::JSON)),
            _ => absent("a step has `status`, `output` and `error`", &STEP_FIELDS),
        }
    }
}

/// A place of which the first `by` segments were read already.
fn deeper(place: TypedPlace, by: usize) -> TypedPlace {
    match place {
        TypedPlace::Absent {
            reason,
            depth,
            known,
        } => TypedPlace::Absent {
            reason,
            depth: depth + by,
            known,
        },
        typed @ TypedPlace::Typed(_) => typed,
    }
}
