//! Numbers drawn from a seed: the same seed draws the same numbers on every machine.
//!
//! Owns the generator (SplitMix64). Never seeds itself: the seed stands in the report.

/// A sequence of numbers that a seed decides.
#[derive(Clone, Debug)]
pub struct Draws(u64);

impl Draws {
    /// The sequence of this seed.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 if that is 0. The bias is below one in 2^32 for any number of
    /// cases that fits in memory.
    pub fn below(&mut self, bound: usize) -> usize {
        let wide = u128::from(self.next_u64()) * (bound as u128);
        usize::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number from 0 up to 1.
    pub fn share(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
