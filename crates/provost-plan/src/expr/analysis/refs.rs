//! What an expression reads: dotted paths, through comprehensions too.
//!
//! Owns the resolution of a node to a path. INVARIANT: every value of the scope that an evaluation
//! can touch lies on or under a reference collected here.

use std::collections::BTreeMap;

use crate::expr::tree::{Access, Expr, ExprKind, Function, Walk, WalkKind};
use crate::expr::{Reference, Root, Segment};

/// A path without its place.
pub(in crate::expr) type Place = (Root, Vec<Segment>);

/// What the variables of the comprehensions around a node stand for, if that is a path.
pub(in crate::expr) type BoundName = BTreeMap<u32, Option<Place>>;

/// Every path that `tree` reads, in the order written.
pub(crate) fn collect(tree: &Expr) -> Vec<Reference> {
    let mut references = Vec::new();
    walk(tree, &mut BoundName::new(), &mut references);
    references
}

fn walk(expr: &Expr, bound: &mut BoundName, references: &mut Vec<Reference>) {
    if let Some(reference) = reference(expr, bound) {
        references.push(reference);
        indices(expr, bound, references);
        return;
    }
    if let ExprKind::Walk(inner) = &expr.kind {
        walk(&inner.list, bound, references);
        bind(inner, bound);
        if let Some(filter) = &inner.filter {
            walk(filter, bound, references);
        }
        // Why: the body of `filter` is the item, which the list already stands for.
        if inner.kind != WalkKind::Filter {
            walk(&inner.body, bound, references);
        }
        bound.remove(&inner.variable.id);
        return;
    }
    for child in expr.children() {
        walk(child, bound, references);
    }
}

/// Walks what stands inside the brackets of a path, and under its base.
fn indices(expr: &Expr, bound: &mut BoundName, references: &mut Vec<Reference>) {
    let path = match &expr.kind {
        ExprKind::Has(path) => path,
        _ => expr,
    };
    match &path.kind {
        ExprKind::Path(base, accesses) => {
            for access in accesses {
                if let Access::Index(index) = access {
                    walk(index, bound, references);
                }
            }
            if !matches!(base.kind, ExprKind::Root(_) | ExprKind::Var(_)) {
                walk(base, bound, references);
            }
        }
        ExprKind::Call(_, arguments) => {
            for argument in arguments {
                walk(argument, bound, references);
            }
        }
        _ => {}
    }
}

/// The reference that `expr` itself is, if it is a path of the scope.
pub(in crate::expr) fn reference(expr: &Expr, bound: &BoundName) -> Option<Reference> {
    let (path, tested) = match &expr.kind {
        ExprKind::Has(path) => (&**path, true),
        ExprKind::Walk(_) => return None,
        _ => (expr, false),
    };
    let (root, path) = resolve(path, bound)?;
    Some(Reference {
        root,
        path,
        tested,
        span: expr.span,
    })
}

/// The path that `expr` reads, if it is one. A filtered list keeps the path of its list.
pub(in crate::expr) fn resolve(expr: &Expr, bound: &BoundName) -> Option<Place> {
    match &expr.kind {
        ExprKind::Root(root) => Some((root.clone(), Vec::new())),
        ExprKind::Var(variable) => bound.get(&variable.id).cloned().flatten(),
        ExprKind::Path(base, accesses) => {
            let (root, mut path) = resolve(base, bound)?;
            let held = path.len();
            path.extend(accesses.iter().map(segment));
            // Why: a position in a filtered list is any position in its list.
            if matches!(base.kind, ExprKind::Walk(_))
                && let Some(first) = path.get_mut(held)
            {
                *first = Segment::Any;
            }
            Some((root, path))
        }
        ExprKind::Call(Function::First, arguments) => {
            let list = arguments.first()?;
            let (root, mut path) = resolve(list, bound)?;
            // Why: the first of what is left is any of what there was.
            path.push(match list.kind {
                ExprKind::Walk(_) => Segment::Any,
                _ => Segment::Index(0),
            });
            Some((root, path))
        }
        ExprKind::Walk(walk) if walk.kind == WalkKind::Filter => resolve(&walk.list, bound),
        _ => None,
    }
}

pub(in crate::expr) fn segment(access: &Access) -> Segment {
    match access {
        Access::Field(name) => Segment::Field(name.clone()),
        Access::Index(index) => match &index.kind {
            ExprKind::Int(position) => {
                usize::try_from(*position).map_or(Segment::Any, Segment::Index)
            }
            ExprKind::Text(name) => Segment::Field(name.clone()),
            _ => Segment::Any,
        },
    }
}

/// Binds the variable of `walk` to any item of its list.
pub(in crate::expr) fn bind(walk: &Walk, bound: &mut BoundName) {
    let item = resolve(&walk.list, bound).map(|(root, mut path)| {
        path.push(Segment::Any);
        (root, path)
    });
    bound.insert(walk.variable.id, item);
}
