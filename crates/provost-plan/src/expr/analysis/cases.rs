//! The ways in which an expression can come to a value: what each asks of single references.
//!
//! Owns the reading of conditions as a choice of cases, each a list of demands that hold together.
//! Knows no schema: whether a demand can be met is the check's question. INVARIANT: whenever the
//! expression comes to the value, every demand of some case holds; what is computed is a subject
//! of its own, by its text, of which nothing is known but that it is equal to itself.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

use super::facts::is_variable;
use super::guards::place;
use crate::expr::eval::Evaluator;
use crate::expr::tree::{Access, Compare, Expr, ExprKind, Function, Walk, WalkKind};
use crate::expr::{Expression, Reference, Root, Scope, Segment};
use crate::source::Span;

/// How the root of an item begins of which a comprehension says that it is there.
const WITNESS: &str = "an item of ";
/// How the root begins that stands for every item of a list.
const EACH: &str = "each item of ";

/// Most cases that are told apart; of an expression with more nothing is proven.
const CASES_MAX: usize = 64;

/// What a demand is about: a fixed place, or what is computed, whose text is an unknown root.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DemandSubject {
    /// Where its path begins.
    pub root: Root,
    /// The rest.
    pub path: Vec<Segment>,
    /// Whether it is the size of what is there.
    pub is_size: bool,
}

/// Something that must hold of a subject.
#[derive(Clone, Debug, PartialEq)]
pub enum Demand {
    /// It compares so with a value.
    Compares(Compare, Value),
    /// It is one of these values, or none of them.
    Among(Vec<Value>, bool),
    /// It differs from itself.
    Nothing,
    /// It is how two subjects compare, which holds.
    Relates(Box<ComparedPair>),
    /// It is an item of the list for each of whose items this root stands.
    ItemOf(Root),
    /// It is every item of a list, of each of which a condition holds.
    Holds(Box<HeldOfEach>),
}

/// What holds of every item of a list, in one of several ways.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOfEach {
    condition: Expr,
    variable: u32,
    truth: bool,
}

impl HeldOfEach {
    /// The cases in which it holds of one item.
    pub(crate) fn of(&self, item: &Root) -> Option<Vec<Case>> {
        cases(&self.condition.about(self.variable, item), self.truth)
    }
}

/// Two subjects, and how the first compares with the second.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedPair {
    /// The left side.
    pub left: DemandSubject,
    /// How it compares.
    pub operator: Compare,
    /// The right side.
    pub right: DemandSubject,
}

/// Demands that hold together.
pub type Case = Vec<(DemandSubject, Demand)>;

impl DemandSubject {
    /// Whether it is an item, or in one, of which a comprehension says that it is there.
    #[must_use]
    pub fn is_of_witness(&self) -> bool {
        matches!(&self.root, Root::Unknown(text) if text.starts_with(WITNESS))
    }

    /// Whether it is every item of a list, or in every item: the list may have none.
    #[must_use]
    pub fn is_of_each(&self) -> bool {
        matches!(&self.root, Root::Unknown(text) if text.starts_with(EACH))
    }
}

impl Expression {
    /// The cases in which it comes to `truth`: none if it never does; nothing if there are too
    /// many of them.
    #[must_use]
    pub fn cases(&self, truth: bool) -> Option<Vec<Case>> {
        cases(&self.tree, truth)
    }

    /// The conditions that it joins with `&&`; itself, if it joins none.
    pub(crate) fn conjuncts(&self) -> &[Expr] {
        match &self.tree.kind {
            ExprKind::And(terms) => terms,
            _ => std::slice::from_ref(&self.tree),
        }
    }
}

/// The cases of both.
#[must_use]
pub fn both(a: &[Case], b: &[Case]) -> Option<Vec<Case>> {
    if a.len().saturating_mul(b.len()) > CASES_MAX {
        return None;
    }
    let joined = a
        .iter()
        .flat_map(|a| b.iter().map(move |b| a.iter().chain(b).cloned().collect()));
    Some(joined.collect())
}

fn either(mut a: Vec<Case>, b: Vec<Case>) -> Option<Vec<Case>> {
    a.extend(b);
    (a.len() <= CASES_MAX).then_some(a)
}

/// The cases in which a part of an expression comes to `truth`, see [`Expression::cases`].
pub(crate) fn cases(expr: &Expr, truth: bool) -> Option<Vec<Case>> {
    if let Some(value) = constant(expr) {
        return Some(if value == Value::Bool(truth) {
            anything()
        } else {
            Vec::new()
        });
    }
    match &expr.kind {
        ExprKind::Not(inner) => cases(inner, !truth),
        ExprKind::And(terms) => terms_of(terms, truth, true),
        ExprKind::Or(terms) => terms_of(terms, truth, false),
        ExprKind::Choice(test, yes, no) => {
            let yes = both(&cases(test, true)?, &cases(yes, truth)?)?;
            let no = both(&cases(test, false)?, &cases(no, truth)?)?;
            either(yes, no)
        }
        ExprKind::Compare(operator, left, right) => compared(*operator, left, right, truth),
        kind => {
            let mut whole = match subject(expr) {
                Some(subject) => demand(subject, Compare::Equal, Value::Bool(truth)),
                None => anything(),
            };
            if let (ExprKind::Walk(walk), [case]) = (kind, whole.as_mut_slice()) {
                case.extend(of_witness(walk, truth));
                case.extend(of_each(walk, truth));
            }
            Some(whole)
        }
    }
}

/// The root of an item that a comprehension with this text looks at.
pub(crate) fn witness(text: &str) -> Root {
    Root::Unknown(format!("{WITNESS}{text}"))
}

/// What holds of one item, and of the list that it is in, where `exists` is true or `all` is
/// false. Why only one case of it: more of them would soon be too many to tell apart.
fn of_witness(walk: &Walk, truth: bool) -> Case {
    let wanted = match walk.kind {
        WalkKind::Exists | WalkKind::ExistsOne => truth.then_some(true),
        WalkKind::All => (!truth).then_some(false),
        WalkKind::Map | WalkKind::Filter => None,
    };
    let parts: [&Expr; 1] = [&walk.body];
    let named = || text_of_walk(walk.kind, &walk.list, walk.variable.id, &parts);
    let (Some(wanted), Some(text)) = (wanted, named()) else {
        return Case::new();
    };
    // Why its text: what two conditions of one list ask for may hold of two items.
    let root = witness(&text);
    let all = cases(&walk.body.about(walk.variable.id, &root), wanted);
    let mut holds = match all.as_deref() {
        Some([only]) => only.clone(),
        // Why: no item can be so, which one demand says that nothing meets.
        Some([]) => vec![(computed(text, false), Demand::Nothing)],
        _ => Case::new(),
    };
    if let Some(each) = each(&walk.list) {
        let item = DemandSubject {
            root,
            path: Vec::new(),
            is_size: false,
        };
        holds.push((item, Demand::ItemOf(each)));
    }
    if let Some(list) = subject(&walk.list).filter(|list| !list.is_size) {
        let list = DemandSubject {
            is_size: true,
            ..list
        };
        holds.push((list, Demand::Compares(Compare::Greater, Value::from(0))));
    }
    holds
}

/// The root that stands for every item of a list.
pub(crate) fn each(list: &Expr) -> Option<Root> {
    Some(Root::Unknown(format!("{EACH}{}", text(list)?)))
}

/// What holds of every item where `all` is true or `exists` is false.
fn of_each(walk: &Walk, truth: bool) -> Case {
    let wanted = match walk.kind {
        WalkKind::All => truth.then_some(true),
        WalkKind::Exists => (!truth).then_some(false),
        WalkKind::ExistsOne | WalkKind::Map | WalkKind::Filter => None,
    };
    let (Some(wanted), Some(root)) = (wanted, each(&walk.list)) else {
        return Case::new();
    };
    let all = cases(&walk.body.about(walk.variable.id, &root), wanted);
    let Some([only]) = all.as_deref() else {
        let held = HeldOfEach {
            condition: walk.body.clone(),
            variable: walk.variable.id,
            truth: wanted,
        };
        let every = DemandSubject {
            root,
            path: Vec::new(),
            is_size: false,
        };
        return vec![(every, Demand::Holds(Box::new(held)))];
    };
    // Why not what is computed of an item: it is of none, if the list has none.
    let own = only.iter().filter(|(subject, _)| subject.root == root);
    own.cloned().collect()
}

fn anything() -> Vec<Case> {
    vec![Vec::new()]
}

fn demand(subject: DemandSubject, operator: Compare, value: Value) -> Vec<Case> {
    vec![vec![(subject, Demand::Compares(operator, value))]]
}

/// `&&` and `||`: every operand has the value that does not decide, or one decides.
fn terms_of(terms: &[Expr], truth: bool, and: bool) -> Option<Vec<Case>> {
    let all = truth == and;
    let start = if all { anything() } else { Vec::new() };
    terms.iter().try_fold(start, |so_far, term| {
        let more = cases(term, truth)?;
        if all {
            both(&so_far, &more)
        } else {
            either(so_far, more)
        }
    })
}

/// The cases in which a comparison comes to `truth`.
pub(crate) fn compared(
    operator: Compare,
    left: &Expr,
    right: &Expr,
    truth: bool,
) -> Option<Vec<Case>> {
    let is_equality = matches!(operator, Compare::Equal | Compare::NotEqual);
    if is_equality && (left.is_condition() || right.is_condition()) {
        let same = (operator == Compare::Equal) == truth;
        let yes = both(&cases(left, true)?, &cases(right, same)?)?;
        let no = both(&cases(left, false)?, &cases(right, !same)?)?;
        return either(either(yes, no)?, neither(left, right, same));
    }
    let (one, other) = (subject(left), subject(right));
    if let (Some(one), Some(other)) = (&one, &other) {
        let never = match operator {
            Compare::Equal | Compare::LessEqual | Compare::GreaterEqual => !truth,
            Compare::NotEqual | Compare::Less | Compare::Greater => truth,
            Compare::In => false,
        };
        if one == other && never {
            return Some(vec![vec![(one.clone(), Demand::Nothing)]]);
        }
        let mut compared = match relation(operator, left, right) {
            Some((subject, holds)) => demand(subject, Compare::Equal, Value::Bool(holds == truth)),
            None => anything(),
        };
        let related = relation(operator, left, right).filter(|_| operator != Compare::In);
        for case in &mut compared {
            case.extend([one, other].into_iter().flat_map(holders));
            case.extend(related.clone().map(|(subject, _)| {
                let related = ComparedPair {
                    left: one.clone(),
                    operator: asked(operator, truth),
                    right: other.clone(),
                };
                (subject, Demand::Relates(Box::new(related)))
            }));
        }
        return Some(compared);
    }
    Some(match (one, constant(left), other, constant(right)) {
        (Some(subject), _, _, Some(Value::Array(values))) if operator == Compare::In => {
            vec![vec![(subject, Demand::Among(values, truth))]]
        }
        _ if operator == Compare::In => anything(),
        (Some(subject), _, _, Some(value)) => demand(subject, asked(operator, truth), value),
        (_, Some(value), Some(subject), _) => {
            demand(subject, asked(mirrored(operator), truth), value)
        }
        _ => anything(),
    })
}

/// What a place lies in: none of it is null where the place is read.
fn holders(of: &DemandSubject) -> impl Iterator<Item = (DemandSubject, Demand)> {
    // Why not the first of a step: its output is no value that a plan could ask to be null.
    let first = if matches!(of.root, Root::Step(_)) {
        2
    } else {
        1
    };
    let before = (first..of.path.len()).filter_map(|length| of.path.get(..length));
    before.map(|path| not_null(&of.root, path))
}

/// That a place is not null.
pub(crate) fn not_null(root: &Root, path: &[Segment]) -> (DemandSubject, Demand) {
    let subject = DemandSubject {
        root: root.clone(),
        path: path.to_vec(),
        is_size: false,
    };
    (subject, Demand::Compares(Compare::NotEqual, Value::Null))
}

/// Where two sides differ although neither is the other's opposite: one of them is no boolean.
fn neither(left: &Expr, right: &Expr, same: bool) -> Vec<Case> {
    let other = match (left.is_condition(), right.is_condition()) {
        (true, false) => subject(right),
        (false, true) => subject(left),
        _ => None,
    };
    let neither = |subject: DemandSubject| {
        let is_not = |value| Demand::Compares(Compare::NotEqual, Value::Bool(value));
        vec![(subject.clone(), is_not(true)), (subject, is_not(false))]
    };
    // Why: what is no boolean is equal to no condition.
    other.filter(|_| !same).map(neither).into_iter().collect()
}

/// A comparison of two computed values as a subject, and whether that is true where this is.
fn relation(operator: Compare, left: &Expr, right: &Expr) -> Option<(DemandSubject, bool)> {
    let (left, right) = (text(left)?, text(right)?);
    let equal = |a: &str, b: &str| format!("({} == {})", a.min(b), a.max(b));
    let (text, holds) = match operator {
        Compare::Equal => (equal(&left, &right), true),
        Compare::NotEqual => (equal(&left, &right), false),
        Compare::Less => (format!("({left} < {right})"), true),
        Compare::GreaterEqual => (format!("({left} < {right})"), false),
        Compare::Greater => (format!("({right} < {left})"), true),
        Compare::LessEqual => (format!("({right} < {left})"), false),
        Compare::In => (format!("({left} in {right})"), true),
    };
    Some((computed(text, false), holds))
}

/// The comparison that holds if this one came to `truth`.
pub(crate) fn asked(operator: Compare, truth: bool) -> Compare {
    if truth {
        return operator;
    }
    match operator {
        Compare::Equal => Compare::NotEqual,
        Compare::NotEqual => Compare::Equal,
        Compare::Less => Compare::GreaterEqual,
        Compare::LessEqual => Compare::Greater,
        Compare::Greater => Compare::LessEqual,
        Compare::GreaterEqual => Compare::Less,
        Compare::In => Compare::In,
    }
}

/// The comparison of the right side with the left.
pub(crate) fn mirrored(operator: Compare) -> Compare {
    match operator {
        Compare::Less => Compare::Greater,
        Compare::LessEqual => Compare::GreaterEqual,
        Compare::Greater => Compare::Less,
        Compare::GreaterEqual => Compare::LessEqual,
        other => other,
    }
}

/// What a demand on `expr` is about: nothing if it is a constant, or of a variable.
pub(crate) fn subject(expr: &Expr) -> Option<DemandSubject> {
    if constant(expr).is_some() {
        return None;
    }
    let (inner, is_size) = match &expr.kind {
        ExprKind::Call(Function::Size, arguments) => (arguments.first()?, true),
        _ => (expr, false),
    };
    if let ExprKind::Has(path) = &inner.kind
        && let Some((root, path)) = place(path).filter(|(root, _)| !is_variable(root))
    {
        return Some(presence(&root, &path));
    }
    match place(inner) {
        Some((root, path)) if !is_variable(&root) && !path.contains(&Segment::Any) => {
            Some(DemandSubject {
                root,
                path,
                is_size,
            })
        }
        _ => Some(computed(text(inner)?, is_size)),
    }
}

/// Whether a path is there, as a subject: true wherever anything behind it is read.
#[must_use]
pub fn presence(root: &Root, path: &[Segment]) -> DemandSubject {
    let reference = Reference {
        root: root.clone(),
        path: path.to_vec(),
        tested: true,
        span: Span::default(),
    };
    computed(format!("has({reference})"), false)
}

fn computed(text: String, is_size: bool) -> DemandSubject {
    DemandSubject {
        root: Root::Unknown(text),
        path: Vec::new(),
        is_size,
    }
}

/// An expression as a text that is the same for the same expression, wherever it stands; none if
/// it hangs on a variable from outside.
pub(super) fn text(expr: &Expr) -> Option<String> {
    let mut text = String::new();
    write(expr, &mut Vec::new(), &mut text)?;
    Some(text)
}

/// The text of a comprehension, whatever it is called and whatever its parts are.
pub(super) fn text_of_walk(
    kind: WalkKind,
    list: &Expr,
    variable: u32,
    parts: &[&Expr],
) -> Option<String> {
    let mut text = String::new();
    write_walk((kind, list, variable), parts, &mut Vec::new(), &mut text)?;
    Some(text)
}

fn write_walk(
    (kind, list, variable): (WalkKind, &Expr, u32),
    parts: &[&Expr],
    bound: &mut Vec<u32>,
    out: &mut String,
) -> Option<()> {
    let _ = write!(out, "{kind:?}");
    write(list, bound, out)?;
    bound.push(variable);
    let whole = write_all(parts, bound, out);
    bound.pop();
    whole
}

fn write_all(parts: &[&Expr], bound: &mut Vec<u32>, out: &mut String) -> Option<()> {
    parts.iter().try_for_each(|part| {
        out.push(' ');
        write(part, bound, out)
    })
}

fn write(expr: &Expr, bound: &mut Vec<u32>, out: &mut String) -> Option<()> {
    let all = write_all;
    out.push('(');
    match &expr.kind {
        ExprKind::Root(root) => out.push_str(&root.to_string()),
        ExprKind::Var(variable) => {
            let depth = bound.iter().rposition(|id| *id == variable.id)?;
            let _ = write!(out, "${depth}");
        }
        ExprKind::Path(base, accesses) => {
            write(base, bound, out)?;
            for access in accesses {
                match access {
                    Access::Field(name) => {
                        let _ = write!(out, ".{name:?}");
                    }
                    Access::Index(index) => all(&[index], bound, out)?,
                }
            }
        }
        ExprKind::Chain(first, rest) => {
            write(first, bound, out)?;
            for (operator, operand) in rest {
                let _ = write!(out, " {}", operator.symbol());
                write(operand, bound, out)?;
            }
        }
        ExprKind::Compare(operator, left, right) => {
            out.push_str(operator.symbol());
            all(&[left, right], bound, out)?;
        }
        ExprKind::Call(function, arguments) => {
            out.push_str(function.name());
            all(&arguments.iter().collect::<Vec<_>>(), bound, out)?;
        }
        ExprKind::Walk(walk) => {
            let parts: Vec<&Expr> = walk.filter.iter().chain([&walk.body]).collect();
            let head = (walk.kind, &walk.list, walk.variable.id);
            write_walk(head, &parts, bound, out)?;
        }
        kind => {
            out.push_str(&word(kind));
            all(&expr.children(), bound, out)?;
        }
    }
    out.push(')');
    Some(())
}

/// What tells the other kinds of expression apart.
fn word(kind: &ExprKind) -> Cow<'_, str> {
    match kind {
        ExprKind::Null => "null".into(),
        ExprKind::Bool(value) => value.to_string().into(),
        ExprKind::Int(value) => value.to_string().into(),
        ExprKind::Double(value) => format!("{value:?}").into(),
        ExprKind::Text(value) => format!("{value:?}").into(),
        ExprKind::Type(name) => (*name).into(),
        ExprKind::List(_) => "list".into(),
        ExprKind::Map(_) => "map".into(),
        ExprKind::Has(_) => "has".into(),
        ExprKind::Not(_) => "!".into(),
        ExprKind::Negate(_) => "-".into(),
        ExprKind::And(_) => "&&".into(),
        ExprKind::Or(_) => "||".into(),
        _ => "?".into(),
    }
}

/// The value of what reads nothing and is cheap to compute.
pub(crate) fn constant(expr: &Expr) -> Option<Value> {
    let scope = Scope::new();
    let mut evaluator = Evaluator::new(&scope);
    let item = is_cheap(expr).then(|| evaluator.eval(expr))?.ok()?;
    item.into_json(&mut evaluator.fuel).ok()
}

fn is_cheap(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Null
        | ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Double(_)
        | ExprKind::Text(_) => true,
        ExprKind::List(_)
        | ExprKind::Negate(_)
        | ExprKind::Not(_)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Choice(..)
        | ExprKind::Chain(..)
        | ExprKind::Compare(..)
        | ExprKind::Call(
            Function::Contains
            | Function::StartsWith
            | Function::EndsWith
            | Function::Size
            | Function::String,
            _,
        ) => expr.children().into_iter().all(is_cheap),
        _ => false,
    }
}
