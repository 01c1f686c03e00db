//! How many items a list has, where an expression makes it: what that hangs on.
//!
//! Owns the rules that lead from a computed list to one that decides whether it has an item at a
//! position: a list that is read, or the computed one itself, by its text. Knows no schema.
//! INVARIANT: if what is found has an item at the position, the computed list has one.

use super::cases::{text, text_of_walk};
use super::guards::place;
use super::refs::Place;
use crate::expr::tree::{Access, Compare, Expr, ExprKind, Function, Walk, WalkKind};
use crate::expr::{Root, Segment};

/// The functions that pick one of a list.
const EXTREMES: [Function; 4] = [
    Function::Min,
    Function::Max,
    Function::Least,
    Function::Greatest,
];

/// The list that has an item at a position only if `list` has; none if that is not known.
pub(super) fn counted(list: &Expr, at: usize) -> Option<Place> {
    match &list.kind {
        ExprKind::Walk(walk) => match (walk.kind, &walk.filter) {
            (WalkKind::Map, None) => counted(&walk.list, at),
            (WalkKind::Map | WalkKind::Filter, Some(filter)) => {
                if at == 0 && is_extreme(walk, filter) {
                    return counted(&walk.list, 0);
                }
                // Why nothing is known: whether the least also meets the rest is arithmetic.
                if asks_for_extreme(filter) {
                    return None;
                }
                filtered(&walk.list, walk.variable.id, filter)
            }
            _ => None,
        },
        ExprKind::Call(function, arguments) => {
            let first = arguments.first()?;
            match function {
                Function::Sort | Function::Reverse => counted(first, at),
                Function::Distinct if at == 0 => counted(first, 0),
                Function::Distinct
                | Function::Slice
                | Function::Flatten
                | Function::Keys
                | Function::Values => Some(computed(text(list)?)),
                _ => place(list),
            }
        }
        _ => place(list),
    }
}

/// The list of the items that meet a condition.
pub(super) fn filtered(list: &Expr, variable: u32, condition: &Expr) -> Option<Place> {
    let text = text_of_walk(WalkKind::Filter, list, variable, &[condition])?;
    Some(computed(format!("({text})")))
}

/// A computed list, as the beginning of a path that no expression can write.
fn computed(text: String) -> Place {
    (Root::Unknown(text), Vec::new())
}

/// Whether a path begins in a computed list.
pub(super) fn is_computed(root: &Root) -> bool {
    matches!(root, Root::Unknown(text) if text.starts_with('('))
}

/// The list and the position of which `expr` needs an item, where an expression makes the list or
/// picks the least or the largest of it.
pub(super) fn item_of(expr: &Expr) -> Option<(&Expr, usize)> {
    match &expr.kind {
        ExprKind::Has(path) => item_of(path),
        ExprKind::Call(Function::First, arguments) => {
            let list = arguments.first()?;
            is_made(list).then_some((list, 0))
        }
        // Why of any list: an empty one has no least and no largest.
        ExprKind::Call(Function::Min | Function::Max, arguments) => match arguments.as_slice() {
            [list] => Some((list, 0)),
            _ => None,
        },
        ExprKind::Path(base, accesses) => {
            let Some(Access::Index(index)) = accesses.first() else {
                return None;
            };
            let ExprKind::Int(position) = index.kind else {
                return None;
            };
            let position = usize::try_from(position).ok()?;
            is_made(base).then_some((base, position))
        }
        _ => None,
    }
}

fn is_made(list: &Expr) -> bool {
    matches!(list.kind, ExprKind::Walk(_) | ExprKind::Call(..))
}

/// The path to the item of `list` at a position.
pub(super) fn item(list: &Expr, at: usize) -> Option<Place> {
    let (root, mut path) = counted(list, at)?;
    path.push(Segment::Index(at));
    Some((root, path))
}

/// Whether a condition asks, among other things, for the least or the largest of something.
fn asks_for_extreme(filter: &Expr) -> bool {
    let terms = match &filter.kind {
        ExprKind::And(terms) => terms.as_slice(),
        _ => std::slice::from_ref(filter),
    };
    terms.iter().any(|term| match &term.kind {
        ExprKind::Compare(Compare::Equal, left, right) => {
            [left, right].into_iter().any(|side| match &side.kind {
                ExprKind::Call(function, _) => EXTREMES.contains(function),
                _ => false,
            })
        }
        _ => false,
    })
}

/// Whether a filter keeps what is the least or the largest of its own list: then it keeps one.
fn is_extreme(walk: &Walk, filter: &Expr) -> bool {
    let ExprKind::Compare(Compare::Equal, left, right) = &filter.kind else {
        return false;
    };
    let of = |value: &Expr, extreme: &Expr| {
        let ExprKind::Call(function, arguments) = &extreme.kind else {
            return false;
        };
        let ([values], true) = (arguments.as_slice(), EXTREMES.contains(function)) else {
            return false;
        };
        let own = match &value.kind {
            ExprKind::Var(variable) if variable.id == walk.variable.id => text(&walk.list),
            _ => None,
        };
        let mapped = text_of_walk(WalkKind::Map, &walk.list, walk.variable.id, &[value]);
        let mapped = mapped.map(|text| format!("({text})"));
        let values = text(values);
        values.is_some() && (values == mapped || values == own)
    };
    of(left, right) || of(right, left)
}
