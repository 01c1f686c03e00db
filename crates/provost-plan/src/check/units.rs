//! The pass `units`: numbers of one unit where those of another are meant.
//!
//! Owns what `x-unit` of a schema says of an expression, and the finding. Never converts, and never
//! guesses: what has no unit fits any. INVARIANT: a finding names two units that schemas, or
//! constants of the plan, give to the two places.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Pass;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::tree::{Access, Arith, Compare, Expr, ExprKind, Function, Walk, WalkKind};
use crate::expr::{ArgTree, Root, Template};
use crate::plan::{CallRole, Step};
use crate::schema::Schema;
use crate::source::Span;

/// How many references of a schema are followed to one place.
const REFS_MAX: usize = 16;

/// What is known of a value.
#[derive(Clone, Debug, PartialEq)]
enum Meaning<'s> {
    /// Nothing: it fits any unit.
    None,
    /// A number of a unit.
    Unit(String),
    /// What stands at a place of a schema.
    Place(Place<'s>),
    /// A list of what means this.
    List(Box<Self>),
}

/// A place in a schema.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place<'s> {
    root: &'s Value,
    /// The schema of the value.
    own: &'s Value,
    /// The schema of the map that it is a field of.
    map: Option<&'s Value>,
}

impl<'s> Place<'s> {
    fn of(root: &'s Value) -> Self {
        let place = Self {
            root,
            own: root,
            map: None,
        };
        place.at(root, None)
    }

    /// The same at a schema, where that refers to another.
    fn at(self, own: &'s Value, map: Option<&'s Value>) -> Self {
        let mut own = own;
        for _ in 0..REFS_MAX {
            let target = own.get("$ref").and_then(Value::as_str);
            let found = target.and_then(|target| self.root.pointer(target.strip_prefix('#')?));
            match found {
                Some(found) => own = found,
                None => break,
            }
        }
        let root = self.root;
        Self { root, own, map }
    }

    fn field(self, name: &str) -> Option<Self> {
        let own = self.own.get("properties")?.get(name)?;
        Some(self.at(own, Some(self.own)))
    }

    fn item(self) -> Option<Self> {
        Some(self.at(self.own.get("items")?, None))
    }

    /// The unit of the number here; `value` is that of a field beside it, where that is known.
    fn unit(self, value: impl Fn(&str) -> Option<String>) -> Option<String> {
        match self.own.get("x-unit")? {
            Value::String(unit) => Some(unit.clone()),
            Value::Object(of) => {
                let field = of.get("from")?.as_str()?;
                let beside = self.map?.get("properties").and_then(|all| all.get(field));
                let only = beside.and_then(|schema| only(self.at(schema, None).own));
                only.or_else(|| value(field))
            }
            _ => None,
        }
    }
}

/// The one text that a schema admits.
fn only(schema: &Value) -> Option<String> {
    let listed = schema.get("enum").and_then(Value::as_array);
    let one = match listed.map(Vec::as_slice) {
        Some([one]) => Some(one),
        _ => schema.get("const"),
    };
    one.and_then(Value::as_str).map(str::to_owned)
}

impl Meaning<'_> {
    fn unit(&self) -> Option<String> {
        match self {
            Self::Unit(unit) => Some(unit.clone()),
            Self::Place(place) => place.unit(|_| None),
            Self::None | Self::List(_) => None,
        }
    }

    fn of_unit(unit: Option<String>) -> Self {
        unit.map_or(Self::None, Self::Unit)
    }
}

/// Reports numbers of one unit where those of another are meant.
pub(crate) fn run(pass: &mut Pass<'_>) {
    let mut found = Vec::new();
    for step in &pass.plan.steps {
        let units = Units::of(pass, Some(step));
        for (_, template) in step.templates() {
            units.template(template, &mut found);
        }
        for (role, _, args) in step.calls() {
            if let Some(operation) = pass.called(step, role) {
                units.argument(args, Place::of(operation.input.value()), &mut found);
            }
        }
        for finding in &mut found {
            finding.step.get_or_insert_with(|| step.id.value.clone());
        }
        pass.diagnostics.append(&mut found);
    }
    let units = Units::of(pass, None);
    for proof in &pass.plan.success {
        units.template(&proof.check, &mut found);
    }
    for claim in &pass.plan.answer {
        let templates = claim.when.iter().chain([&claim.text]);
        templates.for_each(|template| units.template(template, &mut found));
    }
    pass.diagnostics.append(&mut found);
}

/// Where an expression stands.
#[derive(Clone, Copy)]
struct Units<'p, 'a> {
    pass: &'p Pass<'a>,
    step: Option<&'p Step>,
}

/// The variables of comprehensions, by their numbers.
type Variables<'s> = BTreeMap<u32, Meaning<'s>>;

impl<'p, 'a> Units<'p, 'a> {
    fn of(pass: &'p Pass<'a>, step: Option<&'p Step>) -> Self {
        Self { pass, step }
    }

    /// Looks at the operators of a template.
    fn template(&self, template: &Template, found: &mut Vec<Diagnostic>) {
        for expression in template.expressions() {
            self.meaning(expression.ast(), &mut Variables::new(), found);
        }
    }

    /// Compares what is given with what is meant, place by place.
    fn argument(&self, tree: &ArgTree, place: Place<'_>, found: &mut Vec<Diagnostic>) {
        match tree {
            ArgTree::Value(..) | ArgTree::Template(_) => {}
            ArgTree::List(items, _) => {
                let Some(inner) = place.item() else {
                    return;
                };
                for item in items {
                    self.given(item, inner, tree, found);
                }
            }
            ArgTree::Map(entries, _) => {
                for (name, given) in entries {
                    if let Some(inner) = place.field(name) {
                        self.given(given, inner, tree, found);
                    }
                }
            }
        }
    }

    /// Compares what is given at a place of `all` with what is meant there.
    fn given(&self, tree: &ArgTree, place: Place<'_>, all: &ArgTree, found: &mut Vec<Diagnostic>) {
        let ArgTree::Template(template) = tree else {
            return self.argument(tree, place, found);
        };
        let Some(whole) = template.whole() else {
            return;
        };
        let beside = |field: &str| match self.pass.fixed_tree(&all.get(field)?.1)? {
            Value::String(unit) => Some(unit),
            _ => None,
        };
        let Some(wanted) = place.unit(beside) else {
            return;
        };
        // Why not kept: what is wrong inside was found where the template was looked at.
        let given = self.meaning(whole.ast(), &mut Variables::new(), &mut Vec::new());
        if let Some(given) = given.unit().filter(|given| *given != wanted) {
            let message = format!("a number in {given} where one in {wanted} is meant");
            found.push(unit_finding(template.span(), message, &given, &wanted));
        }
    }

    /// What a name means.
    fn root(&self, root: &Root, accesses: &[Access]) -> Meaning<'p> {
        let pass = self.pass;
        let one = |step: &Step| pass.outputs.schema(step);
        let schema = |schema: Option<&'p Schema>| {
            let place = |schema: &'p Schema| Meaning::Place(Place::of(schema.value()));
            schema.map_or(Meaning::None, place)
        };
        match root {
            Root::Step(id) => {
                let Some(Access::Field(first)) = accesses.first() else {
                    return Meaning::None;
                };
                let step = pass.plan.step(id).filter(|_| first == "output");
                let Some(step) = step else {
                    return Meaning::None;
                };
                let output = schema(one(step));
                let output = match step.for_each {
                    Some(_) => Meaning::List(Box::new(output)),
                    None => output,
                };
                within(output, accesses.get(1..).unwrap_or_default())
            }
            Root::Item => {
                let list = self.step.and_then(|step| step.for_each.as_ref());
                let list = list.and_then(|each| each.list.whole());
                // Why without the step: a list that reads `item` is an error of its own.
                let before = Self { step: None, pass };
                let list = list
                    .map(|list| before.meaning(list.ast(), &mut Variables::new(), &mut Vec::new()));
                within(list.map_or(Meaning::None, item_of), accesses)
            }
            Root::Output => within(schema(self.step.and_then(one)), accesses),
            Root::Read => {
                let called = |step| pass.called(step, CallRole::Confirm);
                let output = self.step.and_then(called).and_then(|op| op.output.as_ref());
                within(schema(output), accesses)
            }
            _ => Meaning::None,
        }
    }

    fn meaning(
        &self,
        expr: &Expr,
        variables: &mut Variables<'p>,
        found: &mut Vec<Diagnostic>,
    ) -> Meaning<'p> {
        match &expr.kind {
            ExprKind::Root(root) => self.root(root, &[]),
            ExprKind::Var(variable) => {
                let known = variables.get(&variable.id);
                known.cloned().unwrap_or(Meaning::None)
            }
            ExprKind::Path(base, accesses) => {
                for access in accesses {
                    if let Access::Index(index) = access {
                        self.meaning(index, variables, found);
                    }
                }
                match &base.kind {
                    ExprKind::Root(root) => self.root(root, accesses),
                    _ => within(self.meaning(base, variables, found), accesses),
                }
            }
            ExprKind::Negate(inner) => {
                Meaning::of_unit(self.meaning(inner, variables, found).unit())
            }
            ExprKind::Chain(first, rest) => self.chain(first, rest, variables, found),
            ExprKind::Compare(operator, left, right) => {
                let one = self.meaning(left, variables, found).unit();
                let two = self.meaning(right, variables, found).unit();
                if *operator != Compare::In {
                    joined(operator.symbol(), one, two, expr.span, found);
                }
                Meaning::None
            }
            ExprKind::Choice(test, yes, no) => {
                self.meaning(test, variables, found);
                // Why: null is no number, and what stands for it leaves an argument out at most.
                match (&yes.kind, &no.kind) {
                    (ExprKind::Null, _) => return self.meaning(no, variables, found),
                    (_, ExprKind::Null) => return self.meaning(yes, variables, found),
                    _ => {}
                }
                let yes = self.meaning(yes, variables, found);
                let no = self.meaning(no, variables, found);
                match yes == no || (yes.unit().is_some() && yes.unit() == no.unit()) {
                    true => yes,
                    false => Meaning::None,
                }
            }
            ExprKind::Call(function, arguments) => {
                let all = arguments.iter();
                let all: Vec<Meaning<'p>> =
                    all.map(|one| self.meaning(one, variables, found)).collect();
                called(*function, all, expr.span, found)
            }
            ExprKind::Walk(walk) => self.walk(walk, variables, found),
            _ => {
                for part in expr.children() {
                    self.meaning(part, variables, found);
                }
                Meaning::None
            }
        }
    }

    /// `a + b - c`, `a * 2`: a sum keeps its unit, and a product with a plain number too.
    fn chain(
        &self,
        first: &Expr,
        rest: &[(Arith, Expr)],
        variables: &mut Variables<'p>,
        found: &mut Vec<Diagnostic>,
    ) -> Meaning<'p> {
        let mut unit = self.meaning(first, variables, found).unit();
        let mut is_plain = is_number(first);
        for (operator, operand) in rest {
            let other = self.meaning(operand, variables, found).unit();
            let span = Span::new(first.span.start, operand.span.end);
            unit = match operator {
                Arith::Add | Arith::Subtract => joined(operator.symbol(), unit, other, span, found),
                Arith::Multiply if is_number(operand) => unit,
                Arith::Multiply if is_plain => other,
                Arith::Divide if is_number(operand) => unit,
                Arith::Remainder if is_number(operand) => unit,
                // Why none: what a product of two is in, nobody says.
                Arith::Multiply | Arith::Divide | Arith::Remainder => None,
            };
            is_plain = is_plain && is_number(operand);
        }
        Meaning::of_unit(unit)
    }

    fn walk(
        &self,
        walk: &Walk,
        variables: &mut Variables<'p>,
        found: &mut Vec<Diagnostic>,
    ) -> Meaning<'p> {
        let list = self.meaning(&walk.list, variables, found);
        variables.insert(walk.variable.id, item_of(list.clone()));
        if let Some(filter) = &walk.filter {
            self.meaning(filter, variables, found);
        }
        let body = self.meaning(&walk.body, variables, found);
        match walk.kind {
            WalkKind::Map => Meaning::List(Box::new(body)),
            WalkKind::Filter => list,
            WalkKind::All | WalkKind::Exists | WalkKind::ExistsOne => Meaning::None,
        }
    }
}

fn is_number(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Double(_) => true,
        ExprKind::Negate(inner) => is_number(inner),
        _ => false,
    }
}

/// What a function gives: those that choose among numbers, or add them up, keep their unit.
fn called<'s>(
    function: Function,
    arguments: Vec<Meaning<'s>>,
    span: Span,
    found: &mut Vec<Diagnostic>,
) -> Meaning<'s> {
    let mut all = arguments.into_iter();
    let Some(first) = all.next() else {
        return Meaning::None;
    };
    match function {
        Function::Sum | Function::First => item_of(first),
        Function::Min | Function::Max | Function::Least | Function::Greatest => {
            let is_list = |meaning: &Meaning<'_>| match meaning {
                Meaning::List(_) => true,
                Meaning::Place(place) => place.item().is_some(),
                Meaning::None | Meaning::Unit(_) => false,
            };
            if is_list(&first) {
                return item_of(first);
            }
            let name = function.name();
            let unit = all.fold(first.unit(), |unit, next| {
                joined(name, unit, next.unit(), span, found)
            });
            Meaning::of_unit(unit)
        }
        Function::Abs | Function::Round | Function::MathRound | Function::Ceil => {
            Meaning::of_unit(first.unit())
        }
        Function::Floor | Function::Trunc | Function::Int | Function::Double => {
            Meaning::of_unit(first.unit())
        }
        Function::Distinct | Function::Slice | Function::Sort | Function::Reverse => first,
        _ => Meaning::None,
    }
}

/// What the items of a list mean.
fn item_of(list: Meaning<'_>) -> Meaning<'_> {
    match list {
        Meaning::List(item) => *item,
        Meaning::Place(place) => place.item().map_or(Meaning::None, Meaning::Place),
        Meaning::None | Meaning::Unit(_) => Meaning::None,
    }
}

/// What stands at a path of something.
fn within<'s>(meaning: Meaning<'s>, accesses: &[Access]) -> Meaning<'s> {
    accesses
        .iter()
        .fold(meaning, |meaning, access| match access {
            Access::Field(name) => field_of(&meaning, name),
            Access::Index(index) => match &index.kind {
                ExprKind::Text(name) => field_of(&meaning, name),
                _ => item_of(meaning),
            },
        })
}

fn field_of<'s>(meaning: &Meaning<'s>, name: &str) -> Meaning<'s> {
    match meaning {
        Meaning::Place(place) => place.field(name).map_or(Meaning::None, Meaning::Place),
        _ => Meaning::None,
    }
}

/// The unit of two numbers that an operator joins; a finding if they have two.
fn joined(
    operator: &str,
    one: Option<String>,
    two: Option<String>,
    span: Span,
    found: &mut Vec<Diagnostic>,
) -> Option<String> {
    if let (Some(left), Some(right)) = (&one, &two)
        && left != right
    {
        let message = format!("`{operator}` joins a number in {left} and one in {right}");
        found.push(unit_finding(span, message, left, right));
        return None;
    }
    one.or(two)
}

fn unit_finding(span: Span, message: String, one: &str, two: &str) -> Diagnostic {
    Diagnostic::new(Code::OtherUnit, span, message).hint(format!(
        "nothing is converted: compute from {one} to {two} with a tool that does, or take the \
         number that is meant"
    ))
}
