//! Known arguments written into a policy in place of what it asks for.
//!
//! Owns the rewriting of Cedar's trees. Whatever it does not understand it leaves as it was, so
//! that it stays open. INVARIANT: a rewritten policy says of a call what the policy said, as far
//! as the known arguments go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr, Literal, UnaryOp, Var};

use super::mentions::{Mention, is_args, is_total};
use super::values::{CedarValue, DecisionInput};
use super::vocabulary::{REPEATS, TOTAL};

/// What is known of the context of a call.
#[derive(Clone, Copy)]
pub(super) struct KnownArguments<'a> {
    /// The known arguments.
    pub seen: &'a DecisionInput,
    /// The parts of the context that are not, or not wholly, known.
    pub open: &'a BTreeSet<Mention>,
}

/// A set of the context: its known items, and whether there may be more.
struct KnownSet {
    items: Vec<CedarValue>,
    grows: bool,
}

impl KnownArguments<'_> {
    /// Rewrites a clause.
    pub fn clause(&self, clause: &Clause) -> Clause {
        match clause {
            Clause::When(expr) => Clause::When(self.expr(expr)),
            Clause::Unless(expr) => Clause::Unless(self.expr(expr)),
        }
    }

    fn expr(&self, expr: &Arc<Expr>) -> Arc<Expr> {
        match self.value_of(expr) {
            Some(known) => Arc::new(known),
            None => Arc::new(self.inside(expr)),
        }
    }

    /// The literal that an expression stands for, if that is known.
    fn value_of(&self, expr: &Expr) -> Option<Expr> {
        match expr {
            Expr::GetAttr { expr: inner, attr }
                if attr == REPEATS && matches!(&**inner, Expr::Var(Var::Resource)) =>
            {
                let open = self.open.contains(&Mention::Repeats);
                open.then(|| Expr::GetAttr {
                    expr: Arc::new(Expr::Var(Var::Context)),
                    attr: attr.clone(),
                })
            }
            Expr::GetAttr { expr: inner, attr } if is_args(inner) => self
                .is_known_arg(attr)
                .then(|| self.seen.args.get(attr.as_str()))?
                .and_then(literal),
            Expr::GetAttr { expr: inner, attr } if is_total(inner) => {
                let known = !self.open.contains(&Mention::Totals);
                known
                    .then(|| self.seen.total.get(attr.as_str()))?
                    .and_then(literal)
            }
            Expr::GetAttr { .. } => {
                let set = self.set(expr)?;
                if set.grows {
                    None
                } else {
                    literal(&CedarValue::List(set.items))
                }
            }
            Expr::HasAttr { expr, attrs } => {
                let mut path: Vec<&str> = attrs.iter().map(|attr| attr.as_str()).collect();
                let of_context = matches!(&**expr, Expr::Var(Var::Context));
                if is_total(expr) || (of_context && path.first() == Some(&TOTAL)) {
                    path.drain(..usize::from(of_context));
                    let known = !self.open.contains(&Mention::Totals);
                    return known.then(|| flag(has(&self.seen.total, &path)));
                }
                if of_context && path.first() == Some(&"args") {
                    path.remove(0);
                } else if !is_args(expr) {
                    return None;
                }
                let first = path.first()?;
                self.is_known_arg(first)
                    .then(|| flag(has(&self.seen.args, &path)))
            }
            Expr::BinaryOp { op, left, right } => self.of_sets(*op, left, right),
            Expr::UnaryOp {
                op: UnaryOp::IsEmpty,
                expr,
            } => {
                let set = self.set(expr)?;
                match (set.items.is_empty(), set.grows) {
                    (false, _) => Some(flag(false)),
                    (true, false) => Some(flag(true)),
                    (true, true) => None,
                }
            }
            _ => None,
        }
    }

    fn is_known_arg(&self, name: &str) -> bool {
        !self.open.contains(&Mention::Arg(name.to_owned()))
    }

    /// Operators over sets that the context holds. Cedar's validator refuses an empty literal, so
    /// these are answered here; a set that may still grow is only ever known to hold something.
    fn of_sets(&self, op: BinaryOp, left: &Expr, right: &Expr) -> Option<Expr> {
        let is_empty = |set: &KnownSet| set.items.is_empty() && !set.grows;
        match op {
            BinaryOp::Contains => {
                let set = self.set(left)?;
                let Expr::Literal(Literal::String(text)) = right else {
                    return is_empty(&set).then(|| flag(false));
                };
                let holds = set.items.contains(&CedarValue::Text(text.to_string()));
                (holds || !set.grows).then(|| flag(holds))
            }
            BinaryOp::ContainsAny => {
                let empty = [left, right].into_iter().filter_map(|side| self.set(side));
                empty
                    .into_iter()
                    .any(|set| is_empty(&set))
                    .then(|| flag(false))
            }
            BinaryOp::ContainsAll => self.set(right).filter(is_empty).map(|_| flag(true)),
            _ => None,
        }
    }

    /// A set of the context, as far as it is known.
    fn set(&self, expr: &Expr) -> Option<KnownSet> {
        let Expr::GetAttr { expr: inner, attr } = expr else {
            return None;
        };
        if is_args(inner) {
            return match self.seen.args.get(attr.as_str()) {
                Some(CedarValue::List(items)) if self.is_known_arg(attr) => Some(KnownSet {
                    items: items.clone(),
                    grows: false,
                }),
                _ => None,
            };
        }
        if !matches!(&**inner, Expr::Var(Var::Context)) {
            return None;
        }
        let (items, mention) = match attr.as_str() {
            "sinks" => (&self.seen.sinks, Mention::Sinks),
            "hosts" => (&self.seen.hosts, Mention::Hosts),
            "opaque" => (&self.seen.opaque, Mention::Opaque),
            _ => return None,
        };
        let items = items.iter().cloned().map(CedarValue::Text).collect();
        Some(KnownSet {
            items,
            grows: self.open.contains(&mention),
        })
    }

    /// The same expression with its parts rewritten.
    fn inside(&self, expr: &Expr) -> Expr {
        let map = |expr: &Arc<Expr>| self.expr(expr);
        match expr.clone() {
            Expr::UnaryOp { op, expr } => Expr::UnaryOp {
                op,
                expr: map(&expr),
            },
            Expr::BinaryOp { op, left, right } => Expr::BinaryOp {
                op,
                left: map(&left),
                right: map(&right),
            },
            Expr::GetAttr { expr, attr } => Expr::GetAttr {
                expr: map(&expr),
                attr,
            },
            Expr::HasAttr { expr, attrs } => Expr::HasAttr {
                expr: map(&expr),
                attrs,
            },
            Expr::Like { expr, pattern } => Expr::Like {
                expr: map(&expr),
                pattern,
            },
            Expr::Is {
                expr,
                entity_type,
                in_expr,
            } => Expr::Is {
                expr: map(&expr),
                entity_type,
                in_expr: in_expr.as_ref().map(map),
            },
            Expr::IfThenElse {
                cond,
                then_expr,
                else_expr,
            } => Expr::IfThenElse {
                cond: map(&cond),
                then_expr: map(&then_expr),
                else_expr: map(&else_expr),
            },
            Expr::Set(items) => Expr::Set(items.iter().map(map).collect()),
            Expr::Record(fields) => {
                Expr::Record(fields.iter().map(|(k, v)| (k.clone(), map(v))).collect())
            }
            other => other,
        }
    }
}

fn flag(value: bool) -> Expr {
    Expr::Literal(Literal::Bool(value))
}

/// Whether a path leads anywhere.
fn has(fields: &BTreeMap<String, CedarValue>, path: &[&str]) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return true;
    };
    match fields.get(*first) {
        Some(CedarValue::Record(inner)) => has(inner, rest),
        Some(_) => rest.is_empty(),
        None => false,
    }
}

/// A value as a literal; none if an empty set is in it, which Cedar cannot type.
fn literal(value: &CedarValue) -> Option<Expr> {
    Some(match value {
        CedarValue::Text(text) => Expr::Literal(Literal::String(text.as_str().into())),
        CedarValue::Whole(number) => Expr::Literal(Literal::Long(*number)),
        CedarValue::Flag(value) => flag(*value),
        CedarValue::Number(text) => {
            let text = Expr::Literal(Literal::String(text.as_str().into()));
            Expr::UnaryOp {
                op: UnaryOp::Decimal,
                expr: Arc::new(text),
            }
        }
        CedarValue::List(items) if items.is_empty() => return None,
        CedarValue::List(items) => Expr::Set(
            items
                .iter()
                .map(|item| literal(item).map(Arc::new))
                .collect::<Option<Vec<_>>>()?,
        ),
        CedarValue::Record(fields) => Expr::Record(
            fields
                .iter()
                .map(|(name, value)| Some((name.clone(), Arc::new(literal(value)?))))
                .collect::<Option<BTreeMap<_, _>>>()?,
        ),
    })
}
