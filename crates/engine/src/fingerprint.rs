//! Hash of a trajectory, independent of the order in which shards report events.

use std::fmt;

/// Commutative hash of a set of facts. Runs with equal facts, in any order, have equal
/// fingerprints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Adds one fact, given as three words.
    #[inline]
    pub fn add(&mut self, a: u64, b: u64, c: u64) {
        // The halves of a 128-bit product together depend on all bits of both factors (as in
        // wyhash).
        let left = a.wrapping_add(b.wrapping_mul(0x9e37_79b9_7f4a_7c15)) ^ 0xbf58_476d_1ce4_e5b9;
        let product = u128::from(left) * u128::from(c ^ 0x94d0_49bb_1331_11eb);
        self.0 = self.0.wrapping_add((product >> 64) as u64 ^ product as u64);
    }

    /// Adds all facts of `other`.
    pub fn merge(&mut self, other: Fingerprint) {
        self.0 = self.0.wrapping_add(other.0);
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_matter_but_content_does() {
        let (mut ab, mut ba, mut aa) = (Fingerprint::default(), Fingerprint::default(), Fingerprint::default());
        ab.add(1, 2, 3);
        ab.add(4, 5, 6);
        ba.add(4, 5, 6);
        ba.add(1, 2, 3);
        aa.add(1, 2, 3);
        aa.add(1, 2, 3);
        assert_eq!(ab, ba);
        assert_ne!(ab, aa);
    }
}
