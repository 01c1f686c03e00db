//! Part of the pass `shape`: what two subjects that compare say of each other.
//!
//! Owns the carrying of demands over comparisons that hold: `a == b` and `b < 1` ask for `a < 1`,
//! and so does `a < b` with a `b` that is known to be 1. Judges nothing: [`super::solve`] does.
//! INVARIANT: each demand that is carried follows from those of the case and from known values.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::expr::cases::{Case, ComparedPair, Demand, DemandSubject, mirrored};
use crate::expr::tree::Compare;

/// How often demands are carried on: so many comparisons may stand in one chain.
const ROUNDS_MAX: usize = 4;
/// Most comparisons of one case that are looked at.
const RELATIONS_MAX: usize = 24;
/// Most demands of one subject that are carried on.
const DEMANDS_MAX: usize = 16;

/// What follows for the subjects that a case compares; `known` gives the one value that a subject
/// can have, where that is so.
pub(super) fn carried(
    case: &Case,
    known: impl Fn(&DemandSubject) -> Option<Value>,
) -> Vec<(DemandSubject, Demand)> {
    let related = case.iter().filter_map(|(_, demand)| match demand {
        Demand::Relates(related) => Some(&**related),
        _ => None,
    });
    let related: Vec<&ComparedPair> = related.take(RELATIONS_MAX).collect();
    if related.is_empty() {
        return Vec::new();
    }
    let mut all: BTreeMap<&DemandSubject, Vec<Demand>> = BTreeMap::new();
    for subject in related.iter().flat_map(|one| [&one.left, &one.right]) {
        all.entry(subject).or_insert_with(|| {
            let own = case.iter().filter(|(of, _)| of == subject);
            let own = own.map(|(_, demand)| demand.clone());
            let value = known(subject).map(|value| Demand::Compares(Compare::Equal, value));
            own.chain(value).take(DEMANDS_MAX).collect()
        });
    }
    let both_ways = |one: &&ComparedPair| {
        let there = (one.left.clone(), one.operator, one.right.clone());
        let back = (one.right.clone(), mirrored(one.operator), one.left.clone());
        [there, back]
    };
    let ways: Vec<(DemandSubject, Compare, DemandSubject)> =
        related.iter().flat_map(both_ways).collect();
    let mut found = Vec::new();
    for _ in 0..ROUNDS_MAX {
        let before = found.len();
        for (to, operator, from) in &ways {
            let given = all.get(from).cloned().unwrap_or_default();
            let Some(own) = all.get_mut(to) else {
                continue;
            };
            for demand in given.iter().filter_map(|demand| over(*operator, demand)) {
                if own.len() < DEMANDS_MAX && !own.contains(&demand) {
                    own.push(demand.clone());
                    found.push((to.clone(), demand));
                }
            }
        }
        if found.len() == before {
            break;
        }
    }
    found
}

/// Two subjects that are to compare in ways of which no two values do both.
pub(super) fn apart(case: &Case) -> Option<(&DemandSubject, &DemandSubject)> {
    let related = case.iter().filter_map(|(_, demand)| match demand {
        Demand::Relates(related) => Some(&**related),
        _ => None,
    });
    let mut left: BTreeMap<(&DemandSubject, &DemandSubject), [bool; 3]> = BTreeMap::new();
    for one in related.take(RELATIONS_MAX) {
        let is_first = one.left <= one.right;
        let (pair, operator) = match is_first {
            true => ((&one.left, &one.right), one.operator),
            false => ((&one.right, &one.left), mirrored(one.operator)),
        };
        let ways = left.entry(pair).or_insert([true; 3]);
        for (way, holds) in ways.iter_mut().zip(orders(operator)) {
            *way &= holds;
        }
        if !ways.contains(&true) {
            return Some(pair);
        }
    }
    None
}

/// Whether a comparison lets the first be less, the same, or more.
fn orders(operator: Compare) -> [bool; 3] {
    match operator {
        Compare::Equal => [false, true, false],
        Compare::NotEqual => [true, false, true],
        Compare::Less => [true, false, false],
        Compare::LessEqual => [true, true, false],
        Compare::Greater => [false, false, true],
        Compare::GreaterEqual => [false, true, true],
        Compare::In => [true; 3],
    }
}

/// What a demand on the right side of a comparison asks of the left side.
fn over(operator: Compare, demand: &Demand) -> Option<Demand> {
    let bound = |value: &Value, strict: bool, less: bool| {
        let operator = match (less, strict) {
            (true, true) => Compare::Less,
            (true, false) => Compare::LessEqual,
            (false, true) => Compare::Greater,
            (false, false) => Compare::GreaterEqual,
        };
        value
            .is_number()
            .then(|| Demand::Compares(operator, value.clone()))
    };
    match (operator, demand) {
        (Compare::Equal, Demand::Compares(..) | Demand::Among(..)) => Some(demand.clone()),
        (Compare::NotEqual, Demand::Compares(Compare::Equal, value)) => {
            Some(Demand::Compares(Compare::NotEqual, value.clone()))
        }
        (Compare::Less | Compare::LessEqual, Demand::Compares(own, value)) => match own {
            Compare::Less => bound(value, true, true),
            Compare::LessEqual | Compare::Equal => bound(value, operator == Compare::Less, true),
            _ => None,
        },
        (Compare::Greater | Compare::GreaterEqual, Demand::Compares(own, value)) => match own {
            Compare::Greater => bound(value, true, false),
            Compare::GreaterEqual | Compare::Equal => {
                bound(value, operator == Compare::Greater, false)
            }
            _ => None,
        },
        _ => None,
    }
}
