//! Which lines follow from others: `a → c` beside `a → b → c` says nothing new.
//!
//! INVARIANT: what could be reached can still be reached, and without any line that is left it
//! could not.

/// The edges that do not follow from others, sorted. Edges that lead back, or outside, are dropped:
/// a checked plan has none.
#[must_use]
pub fn reduced(count: usize, edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let Some(sorted) = topological(count, edges) else {
        return Vec::new();
    };
    let words = count.div_ceil(64);
    let mut place = vec![0; count];
    for (at, node) in sorted.iter().enumerate() {
        if let Some(place) = place.get_mut(*node) {
            *place = at;
        }
    }
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in edges {
        if let Some(before) = before.get_mut(*to) {
            before.push(*from);
        }
    }
    let mut reach: Vec<Vec<u64>> = vec![Vec::new(); count];
    let mut left = Vec::new();
    for node in sorted {
        let mut from = before.get(node).cloned().unwrap_or_default();
        // Why the latest first: what it waits for is reached by way of it.
        from.sort_by_key(|from| std::cmp::Reverse(place.get(*from).copied()));
        from.dedup();
        let mut mine = vec![0u64; words];
        for from in from {
            if has(&mine, from) {
                continue;
            }
            left.push((from, node));
            if let Some(word) = mine.get_mut(from / 64) {
                *word |= 1 << (from % 64);
            }
            for (word, theirs) in mine.iter_mut().zip(reach.get(from).into_iter().flatten()) {
                *word |= theirs;
            }
        }
        if let Some(reach) = reach.get_mut(node) {
            *reach = mine;
        }
    }
    left.sort_unstable();
    left
}

fn has(bits: &[u64], at: usize) -> bool {
    bits.get(at / 64)
        .is_some_and(|word| word & (1 << (at % 64)) != 0)
}

/// The nodes, each after all that it waits for and else by place; none if there is a circle.
pub(super) fn topological(count: usize, edges: &[(usize, usize)]) -> Option<Vec<usize>> {
    let mut waits = vec![0usize; count];
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in edges {
        *waits.get_mut(*to)? += 1;
        after.get_mut(*from)?.push(*to);
    }
    let ready = |waits: &[usize], node: usize| waits.get(node) == Some(&0);
    let mut sorted: Vec<usize> = (0..count).filter(|node| ready(&waits, *node)).collect();
    let mut next = 0;
    while let Some(node) = sorted.get(next).copied() {
        next += 1;
        for to in after.get(node).into_iter().flatten() {
            *waits.get_mut(*to)? -= 1;
            if ready(&waits, *to) {
                sorted.push(*to);
            }
        }
    }
    (sorted.len() == count).then_some(sorted)
}
