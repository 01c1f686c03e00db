//! Which layer a box stands in: one behind the last of what it waits for.
//!
//! INVARIANT: every edge leads to a later layer.

use super::reduce::topological;

/// The layer of each box; all in the first if the edges have a circle.
#[must_use]
pub fn longest_path(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut layers = vec![0; count];
    let sorted = topological(count, edges).unwrap_or_default();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in edges {
        if let Some(after) = after.get_mut(*from) {
            after.push(*to);
        }
    }
    for from in sorted {
        let next = layers.get(from).map_or(0, |layer| layer + 1);
        for to in after.get(from).into_iter().flatten() {
            if let Some(layer) = layers.get_mut(*to) {
                *layer = next.max(*layer);
            }
        }
    }
    layers
}
