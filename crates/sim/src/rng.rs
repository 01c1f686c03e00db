//! A small seeded generator of pseudo-random numbers (splitmix64).
//!
//! Owns the only randomness of generated data. Never reads a clock or the system's entropy.
//! INVARIANT: a seed and a stream name give the same numbers on every machine, and drawing from
//! one stream moves no other.

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The stream called `stream` of the seed.
    pub fn new(seed: u64, stream: &str) -> Self {
        // FNV-1a, so that streams of one seed are far apart.
        let name = stream
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ name)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = u64::try_from(high.saturating_sub(low))
            .unwrap_or(0)
            .saturating_add(1);
        low.saturating_add_unsigned(self.draw() % span)
    }

    /// Whether an event of that chance happens.
    pub fn permille(&mut self, chance: i64) -> bool {
        self.between(0, 999) < chance
    }

    /// One of the items, the default where there is none.
    pub fn pick<T: Copy + Default>(&mut self, items: &[T]) -> T {
        let count = i64::try_from(items.len()).unwrap_or(0);
        let index = usize::try_from(self.between(0, count - 1)).unwrap_or(0);
        items.get(index).copied().unwrap_or_default()
    }

    /// Puts the items in another order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.between(0, i64::try_from(last).unwrap_or(0));
            items.swap(last, usize::try_from(other).unwrap_or(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_fixed_for_ever() {
        let mut rng = Rng::new(1, "a");
        assert_eq!([rng.draw(), rng.draw()], Rng::new(1, "a").two());
        assert_ne!(Rng::new(1, "a").draw(), Rng::new(1, "b").draw());
        assert_ne!(Rng::new(1, "a").draw(), Rng::new(2, "a").draw());
        assert_eq!(Rng::new(7, "logs").between(0, 999_999), 698_684);
    }

    impl Rng {
        fn two(&mut self) -> [u64; 2] {
            [self.draw(), self.draw()]
        }
    }
}
