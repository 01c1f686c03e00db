//! What a policy looks at: which parts of the context, and whether somebody attends.
//!
//! Owns the reading of Cedar's trees for that. INVARIANT: a part of the context that a policy can
//! reach is never missing here; what is not understood counts as the whole of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::pst::{Clause, Expr, Template, Var};

use super::vocabulary::{REPEATS, TOTAL};

/// Something a policy looks at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mention {
    /// `context.args.NAME`, or whether it is there.
    Arg(String),
    /// `context.sinks`
    Sinks,
    /// `context.hosts`
    Hosts,
    /// `context.opaque`
    Opaque,
    /// `context.total`, or whether a sum is there.
    Totals,
    /// The arguments or the context as a whole.
    Whole,
    /// `resource.attended`
    Attended,
    /// `resource.repeats`
    Repeats,
}

/// What stands in the conditions of a policy.
pub(super) fn mentions(tree: &Template) -> BTreeSet<Mention> {
    tree.clauses()
        .iter()
        .map(expression)
        .flat_map(|expr| mentions_of(expr))
        .collect()
}

/// The expression of a clause.
pub(super) fn expression(clause: &Clause) -> &Arc<Expr> {
    match clause {
        Clause::When(expr) | Clause::Unless(expr) => expr,
    }
}

/// What stands in an expression.
pub(super) fn mentions_of(expr: &Expr) -> BTreeSet<Mention> {
    let join = |mut left: BTreeSet<Mention>, right: BTreeSet<Mention>| {
        left.extend(right);
        left
    };
    expr.reduce(&mention, &join, BTreeSet::new())
}

fn mention(expr: &Expr) -> Option<BTreeSet<Mention>> {
    let one = |mention| Some(BTreeSet::from([mention]));
    match expr {
        Expr::GetAttr { expr, attr } => match (&**expr, attr.as_str()) {
            (Expr::Var(Var::Context), "sinks") => one(Mention::Sinks),
            (Expr::Var(Var::Context), "hosts") => one(Mention::Hosts),
            (Expr::Var(Var::Context), "opaque") => one(Mention::Opaque),
            (Expr::Var(Var::Context), TOTAL) => one(Mention::Totals),
            (Expr::Var(Var::Context), _) => one(Mention::Whole),
            (Expr::Var(Var::Resource), "attended") => one(Mention::Attended),
            (Expr::Var(Var::Resource), REPEATS) => one(Mention::Repeats),
            (inner, name) if is_args(inner) => one(Mention::Arg(name.to_owned())),
            // Why: `(if … then resource else resource).attended` looks at it as well.
            (inner, "attended") => {
                let mut all = mentions_of(inner);
                all.insert(Mention::Attended);
                Some(all)
            }
            (inner, REPEATS) if !is_of_args(inner) => {
                let mut all = mentions_of(inner);
                all.insert(Mention::Repeats);
                Some(all)
            }
            _ => None,
        },
        Expr::HasAttr { expr, attrs } => {
            let mut path = attrs.iter();
            let (first, second) = (path.next().map(|a| a.as_str()), path.next());
            match (&**expr, first, second) {
                (Expr::Var(Var::Context), Some("args"), Some(name)) => {
                    one(Mention::Arg(name.to_string()))
                }
                (Expr::Var(Var::Context), Some(TOTAL), Some(_)) => one(Mention::Totals),
                (Expr::Var(Var::Context), Some(_), None) => Some(BTreeSet::new()),
                (Expr::Var(Var::Context), _, _) => one(Mention::Whole),
                (inner, Some(name), _) if is_args(inner) => one(Mention::Arg(name.to_owned())),
                _ => None,
            }
        }
        Expr::Var(Var::Context) | Expr::Unknown { .. } => one(Mention::Whole),
        _ => None,
    }
}

/// Whether an expression is `context.args`, or a part of it.
pub(super) fn is_of_args(expr: &Expr) -> bool {
    is_args(expr) || matches!(expr, Expr::GetAttr { expr, .. } if is_of_args(expr))
}

/// Whether an expression is `context.total`.
pub(super) fn is_total(expr: &Expr) -> bool {
    matches!(expr, Expr::GetAttr { expr, attr }
        if attr == TOTAL && matches!(&**expr, Expr::Var(Var::Context)))
}

/// Whether an expression is `context.args`.
pub(super) fn is_args(expr: &Expr) -> bool {
    matches!(expr, Expr::GetAttr { expr, attr }
        if attr == "args" && matches!(&**expr, Expr::Var(Var::Context)))
}
