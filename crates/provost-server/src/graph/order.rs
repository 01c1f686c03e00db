//! The order of boxes in a layer: near what they are joined to, else as the plan has them.
//!
//! Owns the sweeps and the bends of long lines. INVARIANT: boxes that were drawn before keep their
//! order among one another.

use std::collections::BTreeMap;

use super::{GraphShape, Picture, Place, draw};

/// Sweeps to and fro.
const SWEEPS: usize = 8;

/// Most layers that a line goes over; a longer one is a stub at both ends.
const SPAN_MAX: usize = 6;

/// Most layers that follow one another from left to right.
const ACROSS_MAX: usize = 12;

/// The rank of each box that was drawn before.
pub(super) fn ranks(shape: &GraphShape, before: &[String]) -> Vec<Option<usize>> {
    let ranks: BTreeMap<&str, usize> = before
        .iter()
        .enumerate()
        .map(|(rank, id)| (id.as_str(), rank))
        .collect();
    let of = |one: &super::StepBox| ranks.get(one.id.as_str()).copied();
    shape.boxes.iter().map(of).collect()
}

/// A box or a bend while it is arranged.
#[derive(Clone, Debug)]
struct Knot {
    what: Place,
    before: Vec<usize>,
    after: Vec<usize>,
    kept: Option<usize>,
}

/// Puts boxes into their layers, in order, with the bends of the lines between them.
pub(super) fn arranged(
    layers: &[usize],
    edges: &[(usize, usize)],
    kept: &[Option<usize>],
) -> Picture {
    let depth = layers.iter().max().map_or(0, |most| most + 1);
    let mut knots: Vec<Knot> = (0..layers.len())
        .map(|at| Knot {
            what: Place::Box(at),
            before: Vec::new(),
            after: Vec::new(),
            kept: kept.get(at).copied().flatten(),
        })
        .collect();
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); depth];
    for (at, layer) in layers.iter().enumerate() {
        if let Some(row) = rows.get_mut(*layer) {
            row.push(at);
        }
    }
    let mut ways: Vec<Vec<usize>> = Vec::new();
    let mut stubs = Vec::new();
    for (from, to) in edges {
        let (Some(first), Some(last)) = (layers.get(*from), layers.get(*to)) else {
            continue;
        };
        if last - first > SPAN_MAX {
            stubs.push((*from, *to));
            continue;
        }
        let mut way = vec![*from];
        for layer in first + 1..*last {
            let bend = knots.len();
            knots.push(Knot {
                what: Place::Bend(ways.len()),
                before: Vec::new(),
                after: Vec::new(),
                kept: None,
            });
            if let Some(row) = rows.get_mut(layer) {
                row.push(bend);
            }
            way.push(bend);
        }
        way.push(*to);
        for pair in way.windows(2) {
            if let [one, other] = pair {
                join(&mut knots, *one, *other);
            }
        }
        ways.push(way);
    }
    sweep(&mut rows, &knots);
    picture(&rows, &knots, &ways, stubs)
}

fn join(knots: &mut [Knot], from: usize, to: usize) {
    if let Some(knot) = knots.get_mut(from) {
        knot.after.push(to);
    }
    if let Some(knot) = knots.get_mut(to) {
        knot.before.push(from);
    }
}

/// Orders every layer by the middle of what its knots are joined to, to and fro.
fn sweep(rows: &mut [Vec<usize>], knots: &[Knot]) {
    let mut place = vec![0.0; knots.len()];
    for row in rows.iter_mut() {
        keep(row, knots);
        set_places(row, &mut place);
    }
    for number in 0..SWEEPS {
        let down = number % 2 == 0;
        let count = rows.len();
        for step in 0..count {
            let at = if down { step } else { count - 1 - step };
            let Some(row) = rows.get_mut(at) else {
                continue;
            };
            let mut middles: Vec<(f64, usize)> = row
                .iter()
                .map(|at| (middle(*at, down, knots, &place), *at))
                .collect();
            // Why a stable sort: what lies in the same middle stays as it stood.
            middles.sort_by(|(one, _), (other, _)| one.total_cmp(other));
            *row = middles.into_iter().map(|(_, at)| at).collect();
            keep(row, knots);
            set_places(row, &mut place);
        }
    }
}

/// The middle of what a knot is joined to on one side; where it stands, if that is nothing.
fn middle(at: usize, down: bool, knots: &[Knot], place: &[f64]) -> f64 {
    let knot = knots.get(at);
    let joined = knot.map(|knot| if down { &knot.before } else { &knot.after });
    let joined = joined.filter(|joined| !joined.is_empty());
    let Some(joined) = joined else {
        return place.get(at).copied().unwrap_or_default();
    };
    let sum: f64 = joined.iter().filter_map(|other| place.get(*other)).sum();
    sum / joined.len() as f64
}

/// Where each knot of a layer stands, from -0.5 to 0.5: layers of any length compare.
fn set_places(row: &[usize], place: &mut [f64]) {
    let count = row.len() as f64;
    for (number, at) in row.iter().enumerate() {
        if let Some(place) = place.get_mut(*at) {
            *place = number as f64 - (count - 1.0) / 2.0;
        }
    }
}

/// Gives the places of those that were drawn before to them in the order that they had.
fn keep(row: &mut [usize], knots: &[Knot]) {
    let rank = |at: usize| knots.get(at).and_then(|knot| knot.kept);
    let mut known: Vec<usize> = row
        .iter()
        .copied()
        .filter(|at| rank(*at).is_some())
        .collect();
    known.sort_by_key(|at| rank(*at));
    let mut known = known.into_iter();
    for at in row.iter_mut().filter(|at| rank(**at).is_some()) {
        if let Some(next) = known.next() {
            *at = next;
        }
    }
}

fn picture(
    rows: &[Vec<usize>],
    knots: &[Knot],
    ways: &[Vec<usize>],
    stubs: Vec<(usize, usize)>,
) -> Picture {
    let mut stands = vec![(0, 0); knots.len()];
    for (layer, row) in rows.iter().enumerate() {
        for (number, at) in row.iter().enumerate() {
            if let Some(stands) = stands.get_mut(*at) {
                *stands = (layer, number);
            }
        }
    }
    let layers: Vec<Vec<Place>> = rows
        .iter()
        .map(|row| {
            let what = row
                .iter()
                .filter_map(|at| knots.get(*at).map(|knot| knot.what));
            what.collect()
        })
        .collect();
    let place = |at: &usize| stands.get(*at).copied();
    let lines = ways
        .iter()
        .map(|way| way.iter().filter_map(place).collect());
    let across = layers.len() <= ACROSS_MAX;
    Picture {
        across,
        lines: lines.collect(),
        stubs,
        size: draw::size(&layers, across),
        layers,
    }
}
