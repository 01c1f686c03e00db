//! Steps alike as one box: in a large plan, those of one layer that call the same, with one status.
//!
//! INVARIANT: every step stands in exactly one box, and a box that waits for somebody or failed is
//! never folded.

use std::collections::BTreeMap;

use super::{GraphShape, StepBox, layer, reduce};

/// Most boxes that are drawn each by itself.
pub const BOXES_MAX: usize = 300;

/// Fewest steps that are worth one box for all of them.
const ALIKE_MIN: usize = 4;

/// The shape, with boxes alike folded if there are too many; `open` are ids that stand by
/// themselves whatever they are like.
#[must_use]
pub fn folded(shape: GraphShape, open: &[&str]) -> GraphShape {
    if shape.boxes.len() <= BOXES_MAX {
        return shape;
    }
    let edges = reduce::reduced(shape.boxes.len(), &shape.edges);
    let layers = layer::longest_path(shape.boxes.len(), &edges);
    let mut alike: BTreeMap<(usize, &str, &str), Vec<usize>> = BTreeMap::new();
    for (at, (one, layer)) in shape.boxes.iter().zip(&layers).enumerate() {
        if !is_told(one.look) && !open.contains(&one.id.as_str()) {
            let key = (*layer, one.does.as_str(), one.look);
            alike.entry(key).or_default().push(at);
        }
    }
    let mut stands_in: Vec<usize> = (0..shape.boxes.len()).collect();
    for steps in alike.values().filter(|steps| steps.len() >= ALIKE_MIN) {
        for at in steps {
            if let (Some(place), Some(first)) = (stands_in.get_mut(*at), steps.first()) {
                *place = *first;
            }
        }
    }
    contracted(&shape, &edges, &stands_in)
}

/// Whether a box is looked for, and so never folded.
fn is_told(look: &str) -> bool {
    matches!(
        look,
        "waiting_approval" | "waiting_answer" | "in_doubt" | "failed" | "running"
    )
}

fn contracted(shape: &GraphShape, edges: &[(usize, usize)], stands_in: &[usize]) -> GraphShape {
    let mut count: BTreeMap<usize, usize> = BTreeMap::new();
    for first in stands_in {
        *count.entry(*first).or_default() += 1;
    }
    let place: BTreeMap<usize, usize> = count.keys().copied().zip(0..).collect();
    let boxes = count.iter().filter_map(|(first, count)| {
        let one = shape.boxes.get(*first)?;
        let name = match count {
            1 => one.name.clone(),
            _ => format!("{count} like {}", one.name),
        };
        Some(StepBox {
            name,
            stands_for: *count,
            ..one.clone()
        })
    });
    let of = |at: &usize| place.get(stands_in.get(*at)?).copied();
    let mut left: Vec<(usize, usize)> = edges
        .iter()
        .filter_map(|(from, to)| Some((of(from)?, of(to)?)))
        .filter(|(from, to)| from != to)
        .collect();
    left.sort_unstable();
    left.dedup();
    GraphShape {
        boxes: boxes.collect(),
        edges: left,
    }
}
