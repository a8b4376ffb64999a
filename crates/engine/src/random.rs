//! Named random streams.
//!
//! Each consumer of random numbers owns a stream with a name (`"ecmp"`, switch 7). The draws depend
//! only on the run's seed and the name, so a new consumer never shifts the draws of another
//! consumer. The generator is PCG-64 (XSL-RR 128/64) and must never change. Logarithms use `libm`,
//! so that draws are equal on every machine.

use crate::time::Duration;
use get_size2::GetSize;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// Seed of a run. All streams derive from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, GetSize)]
pub struct Seed(pub u64);

impl Seed {
    /// Returns the stream `name` of the entity `id`.
    pub fn stream(self, name: &str, id: u64) -> Stream {
        let mut seed = [0; 32];
        let mut state = self.hash(name, id);
        for chunk in seed.chunks_exact_mut(8) {
            state = mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
            chunk.copy_from_slice(&state.to_le_bytes());
        }
        Stream(Pcg64::from_seed(seed))
    }

    /// Returns a 64-bit hash of the seed, `name` and `id`.
    pub fn hash(self, name: &str, id: u64) -> u64 {
        let name = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        mix(mix(self.0 ^ mix(name)).wrapping_add(mix(id ^ 0xd6e8_feb8_6659_fd93)))
    }
}

/// Mixes 64 bits bijectively (finaliser of SplitMix64): each input bit affects each output bit.
#[inline]
pub const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Stream of random draws.
#[derive(Clone, Debug, GetSize)]
pub struct Stream(#[get_size(ignore)] Pcg64);

impl Stream {
    /// Draws a uniform real in `[0, 1)` with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Draws a uniform integer in `0..n`. `n` must not be zero.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        // Lemire's multiply-and-reject method, which is unbiased.
        let threshold = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(n);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }

    /// Returns true with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Draws an exponential span with the given mean, at least one picosecond.
    pub fn exponential(&mut self, mean_ps: f64) -> Duration {
        Duration::from_ps((-libm::log(1.0 - self.unit()) * mean_ps).max(1.0) as u64)
    }

    /// Shuffles `items` uniformly (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Golden draws. A change invalidates all published results.
    #[test]
    fn draws_never_change() {
        let mut stream = Seed(1).stream("ecmp", 7);
        let draws: Vec<u64> = (0..4).map(|_| stream.below(1_000_000)).collect();
        assert_eq!(draws, GOLDEN);
    }
    const GOLDEN: [u64; 4] = [71_520, 141_603, 997_397, 413_244];

    #[test]
    fn streams_are_independent_of_each_other() {
        let mut one = Seed(1).stream("ecmp", 7);
        let mut other = Seed(1).stream("ecmp", 8);
        assert_ne!(one.below(u64::MAX), other.below(u64::MAX));
        assert_ne!(Seed(1).hash("a", 0), Seed(1).hash("b", 0));
    }

    #[test]
    fn moments_are_right() {
        let mut stream = Seed(3).stream("test", 0);
        let n = 200_000;
        let mean = (0..n).map(|_| stream.exponential(1e6).ps() as f64).sum::<f64>() / f64::from(n);
        assert!((mean / 1e6 - 1.0).abs() < 0.01, "{mean}");
        let mean = (0..n).map(|_| stream.below(10) as f64).sum::<f64>() / f64::from(n);
        assert!((mean - 4.5).abs() < 0.03, "{mean}");
    }

    /// Each order occurs 10,000 times, within five standard deviations.
    #[test]
    fn all_orders_are_equally_likely() {
        let mut stream = Seed(4).stream("test", 0);
        let mut counts = BTreeMap::new();
        for _ in 0..60_000 {
            let mut items = [1, 2, 3];
            stream.shuffle(&mut items);
            *counts.entry(items).or_insert(0u32) += 1;
        }
        assert!(counts.len() == 6 && counts.values().all(|count| count.abs_diff(10_000) < 457), "{counts:?}");
    }
}
