//! Tournament: the smallest of several keys, of which one changes at a time.

/// Complete binary tree of keys in which every node holds the smaller of its children. The leaves
/// are the contenders' keys. A change takes one comparison per level.
#[derive(Debug, Default)]
pub struct Tournament {
    /// Pairs of siblings. Pair `n` holds the children of node `n`, which are the nodes `2 n` and
    /// `2 n + 1`. Pair 0 holds the root, node 1.
    pairs: Vec<[u64; 2]>,
    /// Number of the first leaf.
    leaves: usize,
}

impl Tournament {
    /// Key of a contender that is out.
    pub const OUT: u64 = u64::MAX;

    /// Begins a tournament of contenders with these keys.
    #[inline]
    pub fn begin(&mut self, keys: impl ExactSizeIterator<Item = u64>) {
        self.leaves = keys.len().next_power_of_two();
        self.pairs.clear();
        self.pairs.resize(self.leaves, [Self::OUT; 2]);
        for (leaf, key) in (self.leaves..).zip(keys) {
            self.pairs[leaf / 2][leaf % 2] = key;
        }
        for node in (1..self.leaves).rev() {
            let [left, right] = self.pairs[node];
            self.pairs[node / 2][node % 2] = left.min(right);
        }
    }

    /// Returns the smallest key.
    #[inline(always)]
    pub fn smallest(&self) -> u64 {
        self.pairs.first().map_or(Self::OUT, |pair| pair[1])
    }

    /// Changes the key of a contender.
    #[inline(always)]
    pub fn change(&mut self, contender: usize, mut key: u64) {
        let mut node = self.leaves + contender;
        loop {
            let pair = &mut self.pairs[node / 2];
            pair[node % 2] = key;
            if node <= 1 {
                break;
            }
            key = key.min(pair[(node % 2) ^ 1]);
            node /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_smallest_key_wins(
            keys in prop::collection::vec(any::<u64>(), 0..40),
            changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![0u64..9, Just(Tournament::OUT)]), 0..40),
        ) {
            let mut tournament = Tournament::default();
            prop_assert_eq!(tournament.smallest(), Tournament::OUT);
            // A second tournament does not depend on the first.
            for start in [0, keys.len() / 2] {
                let mut keys = keys[start..].to_vec();
                tournament.begin(keys.iter().copied());
                for (contender, key) in &changes {
                    prop_assert_eq!(tournament.smallest(), keys.iter().copied().min().unwrap_or(Tournament::OUT));
                    if !keys.is_empty() {
                        let contender = contender.index(keys.len());
                        keys[contender] = *key;
                        tournament.change(contender, *key);
                    }
                }
                prop_assert_eq!(tournament.smallest(), keys.iter().copied().min().unwrap_or(Tournament::OUT));
            }
        }
    }
}
