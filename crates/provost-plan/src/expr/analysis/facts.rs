//! The algebra of facts: what an expression proves by being true or false.
//!
//! Owns the rules, one an operator. A result of `None` means that the value cannot be. INVARIANT:
//! every rule only weakens: a fact that is not certain is left out.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::guards::{Fact, place};
use super::items;
use super::refs::Place;
use crate::expr::status::StepStatus;
use crate::expr::tree::{Access, Compare, Expr, ExprKind, Function, Walk, WalkKind};
use crate::expr::{Root, Segment};

/// A set of facts that hold together.
// Why shared: a long `&&` hands the same facts to each of its operands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::expr) struct Facts(Rc<BTreeSet<Fact>>);

impl From<&BTreeSet<Fact>> for Facts {
    fn from(facts: &BTreeSet<Fact>) -> Self {
        Self::of(facts.clone())
    }
}

/// The root of the paths that begin with a variable; no expression can write it.
pub(in crate::expr) fn variable_root(id: u32) -> Root {
    Root::Unknown(format!("#{id}"))
}

pub(in crate::expr) fn is_variable(root: &Root) -> bool {
    matches!(root, Root::Unknown(name) if name.starts_with('#'))
}

impl Facts {
    fn of(facts: BTreeSet<Fact>) -> Self {
        Self(Rc::new(facts))
    }

    fn one(fact: Fact) -> Self {
        Self::of(BTreeSet::from([fact]))
    }

    fn present((root, path): Place) -> Self {
        // Why: behind a computed position it is one item of which something is known, not each.
        let fixed: Vec<Segment> = path
            .into_iter()
            .take_while(|segment| *segment != Segment::Any)
            .collect();
        if fixed.is_empty() {
            return Self::default();
        }
        Self::one(Fact::Present { root, path: fixed })
    }

    fn not_null((root, path): Place) -> Self {
        if path.contains(&Segment::Any) {
            return Self::default();
        }
        Self::one(Fact::NotNull { root, path })
    }

    /// What holds if both hold.
    pub(in crate::expr) fn and(&self, other: &Self) -> Self {
        if other.0.is_subset(&self.0) {
            return self.clone();
        }
        if self.0.is_empty() {
            return other.clone();
        }
        let mut both = self.clone();
        Rc::make_mut(&mut both.0).extend(other.0.iter().cloned());
        both
    }

    /// What holds if either holds.
    fn or(&self, other: &Self) -> Self {
        let mut both = BTreeSet::new();
        for fact in self.0.iter() {
            match fact {
                Fact::Status { step, .. } => {
                    if let (Some(mine), Some(theirs)) = (self.status(step), other.status(step)) {
                        both.insert(Fact::Status {
                            step: step.clone(),
                            words: mine.union(&theirs).cloned().collect(),
                        });
                    }
                }
                Fact::Present { root, path } | Fact::NotNull { root, path } => {
                    let (present, not_null) = other.proven(root, path);
                    if let Some(common) = path.get(..present).filter(|path| !path.is_empty()) {
                        both.insert(Fact::Present {
                            root: root.clone(),
                            path: common.to_vec(),
                        });
                    }
                    if matches!(fact, Fact::NotNull { .. }) && not_null == path.len() {
                        both.insert(fact.clone());
                    }
                }
            }
        }
        Self::of(both)
    }

    /// The words that the status of a step can still be, if anything is known of it.
    fn status(&self, step: &str) -> Option<Cow<'_, BTreeSet<String>>> {
        self.0
            .iter()
            .filter_map(|fact| match fact {
                Fact::Status { step: known, words } if known == step => Some(Cow::Borrowed(words)),
                _ => None,
            })
            .reduce(|a, b| Cow::Owned(a.intersection(&b).cloned().collect()))
    }

    /// Whether a step has succeeded, for certain.
    pub(in crate::expr) fn has_succeeded(&self, root: &Root) -> bool {
        let Root::Step(step) = root else {
            return false;
        };
        let status = self.status(step);
        status.is_some_and(|words| words.iter().all(|word| word == "succeeded"))
    }

    /// How many segments of a path are proven to be there, and how many not to be null.
    pub(in crate::expr) fn proven(&self, root: &Root, path: &[Segment]) -> (usize, usize) {
        let (mut present, mut not_null) = (0, 0);
        if let Root::Step(step) = root {
            let status = self.status(step);
            let always = |word: &str| {
                status
                    .as_ref()
                    .is_some_and(|words| words.iter().all(|known| known == word))
            };
            let there = match path.first() {
                Some(Segment::Field(field)) => match field.as_str() {
                    "status" => true,
                    "output" => always("succeeded"),
                    "error" => always("failed"),
                    _ => false,
                },
                _ => false,
            };
            present = usize::from(there);
        }
        for fact in self.0.iter() {
            let (known_root, known, sure) = match fact {
                Fact::Status { .. } => continue,
                Fact::Present { root, path } => (root, path, 0),
                Fact::NotNull { root, path } => (root, path, 1),
            };
            if known_root != root {
                continue;
            }
            let common = common(known, path);
            present = present.max(common);
            // Why: what something was found in is not null.
            not_null = not_null.max(common.min((known.len() + sure).saturating_sub(1)));
        }
        (present, not_null)
    }

    /// Whether what a path leads to is proven not to be null: it is said, or something was found
    /// in it.
    pub(in crate::expr) fn excludes_null(&self, root: &Root, path: &[Segment]) -> bool {
        self.0.iter().any(|fact| match fact {
            Fact::Status { .. } => false,
            Fact::NotNull { root: of, path: at } => of == root && at.starts_with(path),
            Fact::Present { root: of, path: at } => {
                of == root && at.len() > path.len() && at.starts_with(path)
            }
        })
    }

    /// Facts about a variable as facts about what it stands for.
    pub(in crate::expr) fn of_variable(&self, from: u32, to: &Root) -> Self {
        let from = variable_root(from);
        let moved = self.0.iter().cloned().map(|fact| match fact {
            Fact::Present { root, path } if root == from => Fact::Present {
                root: to.clone(),
                path,
            },
            Fact::NotNull { root, path } if root == from => Fact::NotNull {
                root: to.clone(),
                path,
            },
            other => other,
        });
        Self::of(moved.collect())
    }

    /// What is known of what a path of `root` leads to, as facts about `root` itself.
    fn within(&self, of: &Root, taken: &[Segment]) -> Self {
        let rest = |path: Vec<Segment>| path.strip_prefix(taken).map(<[Segment]>::to_vec);
        let moved = self.0.iter().cloned().filter_map(|fact| match fact {
            Fact::Present { root, path } if root == *of => {
                let path = rest(path).filter(|path| !path.is_empty())?;
                Some(Fact::Present { root, path })
            }
            Fact::NotNull { root, path } if root == *of => {
                rest(path).map(|path| Fact::NotNull { root, path })
            }
            other => Some(other),
        });
        Self::of(moved.collect())
    }

    /// What is known of `root` as facts about the field of it that holds it.
    fn behind(&self, of: &Root, name: &str) -> Self {
        let below = |mut path: Vec<Segment>| {
            path.insert(0, Segment::Field(name.to_owned()));
            path
        };
        let moved = self.0.iter().cloned().filter_map(|fact| match fact {
            Fact::Present { root, path } if root == *of => {
                let path = below(path);
                Some(Fact::Present { root, path })
            }
            Fact::NotNull { root, path } if root == *of => {
                let path = below(path);
                Some(Fact::NotNull { root, path })
            }
            _ => None,
        });
        Self::of(moved.collect())
    }

    /// The facts that have a meaning outside the expression.
    pub(in crate::expr) fn exported(self) -> BTreeSet<Fact> {
        let mut facts = Rc::unwrap_or_clone(self.0);
        facts.retain(|fact| match fact {
            Fact::Status { .. } => true,
            Fact::Present { root, .. } | Fact::NotNull { root, .. } => !is_variable(root),
        });
        facts
    }
}

/// How long a beginning of `path` is proven by `known`.
fn common(known: &[Segment], path: &[Segment]) -> usize {
    let mut length = 0;
    for (a, b) in known.iter().zip(path) {
        match (a, b) {
            (Segment::Index(a), Segment::Index(b)) if b < a => return length + 1,
            _ if a == b && *a != Segment::Any => length += 1,
            _ => break,
        }
    }
    length
}

/// What is known of the items of a list that conditions chose, under the variables of its
/// comprehensions: also where the list was put in order, or one field was taken of each item.
pub(in crate::expr) fn filtered(list: &Expr) -> Vec<(u32, Facts)> {
    let walk = match &list.kind {
        ExprKind::Call(
            Function::Distinct | Function::Sort | Function::Reverse | Function::Slice,
            arguments,
        ) => return arguments.first().map(filtered).unwrap_or_default(),
        ExprKind::Walk(walk) if matches!(walk.kind, WalkKind::Filter | WalkKind::Map) => walk,
        _ => return Vec::new(),
    };
    let mut known = filtered(&walk.list);
    let facts = walk
        .filter
        .as_ref()
        .and_then(|filter| facts_of(filter, true));
    known.extend(facts.map(|facts| (walk.variable.id, facts)));
    if walk.kind == WalkKind::Filter {
        return known;
    }
    let own = variable_root(walk.variable.id);
    let here = known.into_iter().map(|(id, facts)| {
        let facts = rename(&facts, id, walk.variable.id);
        (walk.variable.id, built(&walk.body, &own, &facts))
    });
    here.collect()
}

/// What is known of what an expression makes of a variable, as facts about that: of a part that it
/// takes, or of the fields of a map that it writes out.
fn built(body: &Expr, own: &Root, known: &Facts) -> Facts {
    match (&body.kind, place(body)) {
        (_, Some((root, taken))) if root == *own => known.within(own, &taken),
        (ExprKind::Map(fields), _) => fields.iter().fold(Facts::default(), |facts, field| {
            let ExprKind::Text(name) = &field.0.kind else {
                return facts;
            };
            facts.and(&built(&field.1, own, known).behind(own, name))
        }),
        _ => Facts::default(),
    }
}

/// Facts about one variable as facts about another.
pub(in crate::expr) fn rename(facts: &Facts, from: u32, to: u32) -> Facts {
    facts.of_variable(from, &variable_root(to))
}

/// What holds if `expr` came to `truth`; none if it cannot.
pub(in crate::expr) fn facts_of(expr: &Expr, truth: bool) -> Option<Facts> {
    match &expr.kind {
        ExprKind::Bool(value) => (*value == truth).then(Facts::default),
        ExprKind::Not(operand) => facts_of(operand, !truth),
        ExprKind::And(terms) => terms_of(terms, truth, true),
        ExprKind::Or(terms) => terms_of(terms, truth, false),
        ExprKind::Choice(test, yes, no) => {
            let branch = |decision: bool, branch: &Expr| {
                let facts = facts_of(test, decision)?;
                Some(facts.and(&facts_of(branch, truth)?))
            };
            either(branch(true, yes), branch(false, no))
        }
        ExprKind::Has(path) => {
            let before = evaluated(expr);
            let found = place(path).filter(|_| truth).map(Facts::present);
            Some(before.and(&found.unwrap_or_default()))
        }
        ExprKind::Compare(operator, left, right) => {
            let sides = evaluated(left).and(&evaluated(right));
            Some(sides.and(&compared(*operator, left, right, truth)))
        }
        ExprKind::Walk(walk) if walk.kind == WalkKind::Exists && truth => {
            let met = items::filtered(&walk.list, walk.variable.id, &walk.body);
            let met = met.map(|(root, _)| Facts::present((root, vec![Segment::Index(0)])));
            let some = not_empty(&walk.list, 1).and(&met.unwrap_or_default());
            Some(evaluated(expr).and(&some))
        }
        // Why: a value that is true or false is not null.
        _ => Some(evaluated(expr).and(&place(expr).map(Facts::not_null).unwrap_or_default())),
    }
}

/// `&&` and `||`: all operands have the value that does not decide, or some one decides.
fn terms_of(terms: &[Expr], truth: bool, and: bool) -> Option<Facts> {
    let facts = terms.iter().map(|term| facts_of(term, truth));
    if truth == and {
        facts.reduce(|a, b| Some(a?.and(&b?))).flatten()
    } else {
        facts.reduce(either).flatten()
    }
}

fn either(a: Option<Facts>, b: Option<Facts>) -> Option<Facts> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.or(&b)),
        (a, b) => a.or(b),
    }
}

/// What holds if `expr` has any value at all.
fn evaluated(expr: &Expr) -> Facts {
    match &expr.kind {
        ExprKind::And(_) | ExprKind::Or(_) => {
            either(facts_of(expr, true), facts_of(expr, false)).unwrap_or_default()
        }
        ExprKind::Choice(test, ..) => evaluated(test),
        ExprKind::Walk(walk) => evaluated(&walk.list),
        ExprKind::Has(path) => match place(path) {
            Some((root, mut fields)) => {
                fields.pop();
                Facts::present((root, fields)).and(&positions(path))
            }
            None => positions(path),
        },
        ExprKind::Call(Function::Min | Function::Max, arguments) if arguments.len() == 1 => {
            let list = arguments.first();
            list.map(|list| evaluated(list).and(&not_empty(list, 1)))
                .unwrap_or_default()
        }
        _ => {
            let own = place(expr).map(Facts::present).unwrap_or_default();
            let children = expr.children();
            children
                .iter()
                .fold(own, |facts, child| facts.and(&evaluated(child)))
        }
    }
}

/// The computed positions of a path.
fn positions(path: &Expr) -> Facts {
    let ExprKind::Path(_, accesses) = &path.kind else {
        return Facts::default();
    };
    accesses
        .iter()
        .fold(Facts::default(), |facts, access| match access {
            Access::Index(index) => facts.and(&evaluated(index)),
            Access::Field(_) => facts,
        })
}

/// That a list has `least` items or more.
pub(super) fn not_empty(list: &Expr, least: i64) -> Facts {
    let last = usize::try_from(least - 1);
    match last.ok().and_then(|last| items::item(list, last)) {
        Some((root, path)) if !path.contains(&Segment::Any) => Facts::present((root, path)),
        _ => Facts::default(),
    }
}

/// Most first terms of a condition that are taken together: each is written out once more.
const FIRST_TERMS_MAX: usize = 32;

/// That the item which a comprehension looks at meets the first terms of its condition, where the
/// later ones are asked: so the list of those that meet them has one.
pub(super) fn chosen(walk: &Walk) -> Facts {
    let condition = walk.filter.as_ref().unwrap_or(&walk.body);
    let ExprKind::And(terms) = &condition.kind else {
        return Facts::default();
    };
    let mut chosen = Facts::default();
    for count in 1..terms.len().min(FIRST_TERMS_MAX) {
        let first = terms.get(..count).unwrap_or_default().to_vec();
        let met = match first.as_slice() {
            [only] => only.clone(),
            _ => Expr {
                kind: ExprKind::And(first),
                ..condition.clone()
            },
        };
        if let Some((root, mut path)) = items::filtered(&walk.list, walk.variable.id, &met) {
            path.push(Segment::Index(0));
            chosen = chosen.and(&Facts::present((root, path)));
        }
    }
    chosen
}

fn compared(operator: Compare, left: &Expr, right: &Expr, truth: bool) -> Facts {
    // Why: `a != b` being true and `a == b` being false are one fact.
    let (operator, truth) = match operator {
        Compare::NotEqual => (Compare::Equal, !truth),
        other => (other, truth),
    };
    match operator {
        Compare::Equal => {
            let facts = equal(left, right, truth).and(&equal(right, left, truth));
            facts.and(&sized(operator, left, right, truth))
        }
        Compare::In => among(left, right, truth),
        _ => [left, right]
            .iter()
            .filter_map(|side| place(side))
            .fold(sized(operator, left, right, truth), |facts, side| {
                facts.and(&Facts::not_null(side))
            }),
    }
}

fn equal(side: &Expr, literal: &Expr, truth: bool) -> Facts {
    match (&literal.kind, place(side)) {
        (ExprKind::Text(word), Some(place)) => match status_of(&place) {
            Some(step) => status(step, std::slice::from_ref(&word.as_str()), truth),
            None if truth => Facts::not_null(place),
            None => Facts::default(),
        },
        (ExprKind::Null, Some(place)) if !truth => Facts::not_null(place),
        (ExprKind::List(items), _) if items.is_empty() && !truth => not_empty(side, 1),
        (ExprKind::Null, _) => Facts::default(),
        (_, Some(place)) if truth && literal.is_literal() => Facts::not_null(place),
        _ => Facts::default(),
    }
}

fn among(item: &Expr, holder: &Expr, truth: bool) -> Facts {
    if let (ExprKind::Text(key), Some((root, mut path))) = (&item.kind, place(holder)) {
        // Why: in a list of texts it proves nothing, and then no path goes through it either.
        path.push(Segment::Field(key.clone()));
        return if truth {
            Facts::present((root, path))
        } else {
            Facts::default()
        };
    }
    let ExprKind::List(items) = &holder.kind else {
        return Facts::default();
    };
    let words: Option<Vec<&str>> = items
        .iter()
        .map(|item| match &item.kind {
            ExprKind::Text(word) => Some(word.as_str()),
            _ => None,
        })
        .collect();
    match (place(item), words) {
        (Some(place), Some(words)) => match status_of(&place) {
            Some(step) => status(step, &words, truth),
            None if truth => Facts::not_null(place),
            None => Facts::default(),
        },
        _ => Facts::default(),
    }
}

fn status_of((root, path): &Place) -> Option<&str> {
    match (root, path.as_slice()) {
        (Root::Step(step), [Segment::Field(field)]) if field == "status" => Some(step),
        _ => None,
    }
}

fn status(step: &str, words: &[&str], truth: bool) -> Facts {
    let words = StepStatus::words()
        .iter()
        .filter(|word| words.contains(word) == truth)
        .map(|word| (*word).to_owned())
        .collect();
    Facts::one(Fact::Status {
        step: step.to_owned(),
        words,
    })
}

/// `size(list) > 0` and its like, either way round.
fn sized(operator: Compare, left: &Expr, right: &Expr, truth: bool) -> Facts {
    let (list, operator, count) = match (&left.kind, &right.kind) {
        (ExprKind::Call(Function::Size, list), ExprKind::Int(count)) => (list, operator, *count),
        (ExprKind::Int(count), ExprKind::Call(Function::Size, list)) => {
            (list, mirrored(operator), *count)
        }
        _ => return Facts::default(),
    };
    let least = match (operator, truth) {
        (Compare::Greater, true) | (Compare::LessEqual, false) => count.saturating_add(1),
        (Compare::GreaterEqual | Compare::Equal, true) | (Compare::Less, false) => count,
        (Compare::Equal, false) if count == 0 => 1,
        _ => 0,
    };
    list.first()
        .map(|list| not_empty(list, least))
        .unwrap_or_default()
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
