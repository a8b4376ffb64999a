//! Tournament: the smallest of several keys, of which one changes at a time.

/// Complete binary tree of keys in which every node holds the smaller of its children. The leaves
/// are the contenders' keys. A change takes one comparison per level.
#[derive(Debug, Default)]
pub struct Tournament {
    /// Node 1 is the root. The children of node `n` are the nodes `2 n` and `2 n + 1`.
    nodes: Vec<u64>,
}

impl Tournament {
    /// Key of a contender that is out.
    pub const OUT: u64 = u64::MAX;

    /// Begins a tournament of contenders with these keys.
    #[inline]
    pub fn begin(&mut self, keys: impl ExactSizeIterator<Item = u64>) {
        let leaves = keys.len().next_power_of_two();
        self.nodes.clear();
        self.nodes.resize(leaves, Self::OUT);
        self.nodes.extend(keys);
        self.nodes.resize(2 * leaves, Self::OUT);
        for node in (1..leaves).rev() {
            self.nodes[node] = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
        }
    }

    /// Returns the smallest key.
    #[inline(always)]
    pub fn smallest(&self) -> u64 {
        self.nodes.get(1).copied().unwrap_or(Self::OUT)
    }

    /// Changes the key of a contender.
    #[inline(always)]
    pub fn change(&mut self, contender: usize, mut key: u64) {
        let mut node = self.nodes.len() / 2 + contender;
        self.nodes[node] = key;
        while node > 1 {
            key = key.min(self.nodes[node ^ 1]);
            node /= 2;
            self.nodes[node] = key;
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
