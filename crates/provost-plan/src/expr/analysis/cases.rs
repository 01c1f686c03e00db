//! The ways in which an expression can come to a value: what each asks of single references.
//!
//! Owns the reading of conditions as a choice of cases, each a list of demands that hold together.
//! Knows no schema: whether a demand can be met is the check's question. INVARIANT: whenever the
//! expression comes to the value, every demand of some case holds; what is not understood asks
//! nothing.

use serde_json::Value;

use super::facts::is_variable;
use super::guards::place;
use crate::expr::eval::Evaluator;
use crate::expr::tree::{Compare, Expr, ExprKind, Function, WalkKind};
use crate::expr::{Expression, Root, Scope, Segment};

/// Most cases that are told apart; of an expression with more nothing is proven.
const CASES_MAX: usize = 64;

/// What a demand is about.
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
}

/// Demands that hold together.
pub type Case = Vec<(DemandSubject, Demand)>;

impl Expression {
    /// The cases in which it comes to `truth`: none if it never does; nothing if there are too
    /// many of them.
    #[must_use]
    pub fn cases(&self, truth: bool) -> Option<Vec<Case>> {
        cases(&self.tree, truth)
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

fn cases(expr: &Expr, truth: bool) -> Option<Vec<Case>> {
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
        _ => Some(match subject(expr) {
            Some(subject) => demand(subject, Compare::Equal, Value::Bool(truth)),
            None => anything(),
        }),
    }
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

fn compared(operator: Compare, left: &Expr, right: &Expr, truth: bool) -> Option<Vec<Case>> {
    let is_equality = matches!(operator, Compare::Equal | Compare::NotEqual);
    if is_equality && is_condition(left) && is_condition(right) {
        let same = (operator == Compare::Equal) == truth;
        let yes = both(&cases(left, true)?, &cases(right, same)?)?;
        let no = both(&cases(left, false)?, &cases(right, !same)?)?;
        return either(yes, no);
    }
    let (one, other) = (subject(left), subject(right));
    if let (Some(one), Some(other)) = (&one, &other) {
        let never = match operator {
            Compare::Equal | Compare::LessEqual | Compare::GreaterEqual => !truth,
            Compare::NotEqual | Compare::Less | Compare::Greater => truth,
            Compare::In => false,
        };
        return Some(if one == other && never {
            vec![vec![(one.clone(), Demand::Nothing)]]
        } else {
            anything()
        });
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

/// The comparison that holds if this one came to `truth`.
fn asked(operator: Compare, truth: bool) -> Compare {
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

fn mirrored(operator: Compare) -> Compare {
    match operator {
        Compare::Less => Compare::Greater,
        Compare::LessEqual => Compare::GreaterEqual,
        Compare::Greater => Compare::Less,
        Compare::GreaterEqual => Compare::LessEqual,
        other => other,
    }
}

/// Whether it is true or false by its form.
fn is_condition(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Not(_)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Compare(..)
        | ExprKind::Has(_) => true,
        ExprKind::Walk(walk) => matches!(
            walk.kind,
            WalkKind::All | WalkKind::Exists | WalkKind::ExistsOne
        ),
        ExprKind::Call(function, _) => matches!(
            function,
            Function::Contains | Function::StartsWith | Function::EndsWith | Function::Matches
        ),
        _ => false,
    }
}

/// What a demand on `expr` is about, if it is one fixed place.
fn subject(expr: &Expr) -> Option<DemandSubject> {
    let (expr, is_size) = match &expr.kind {
        ExprKind::Call(Function::Size, arguments) => (arguments.first()?, true),
        ExprKind::Has(_) => return None,
        _ => (expr, false),
    };
    let (root, path) = place(expr)?;
    (!is_variable(&root) && !path.contains(&Segment::Any)).then_some(DemandSubject {
        root,
        path,
        is_size,
    })
}

/// The value of what reads nothing and is cheap to compute.
fn constant(expr: &Expr) -> Option<Value> {
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
        | ExprKind::Chain(..)
        | ExprKind::Compare(..) => expr.children().into_iter().all(is_cheap),
        _ => false,
    }
}
