//! Tournament: the smallest of several keys, of which one changes at a time.

/// Number of children of a node: a cache line.
const CHILDREN: usize = 8;

/// Tree of keys in which every node has eight children and holds the smallest of them. The leaves
/// are the contenders' keys.
#[derive(Debug)]
pub struct Tournament {
    /// Children of each inner node. The children of node `n` are the nodes `8 n + 1` to `8 n + 8`,
    /// and node 0 is the root.
    children: Vec<[u64; CHILDREN]>,
    /// Number of the first leaf.
    first_leaf: usize,
    smallest: u64,
}

impl Default for Tournament {
    fn default() -> Tournament {
        Tournament { children: Vec::new(), first_leaf: 0, smallest: Tournament::OUT }
    }
}

impl Tournament {
    /// Key of a contender that is out.
    pub const OUT: u64 = u64::MAX;

    /// Begins a tournament of contenders with these keys.
    #[inline]
    pub fn begin(&mut self, keys: impl ExactSizeIterator<Item = u64>) {
        // A level has eight times as many nodes as the level above.
        let mut inner = 1;
        while (CHILDREN - 1) * inner + 1 < keys.len() {
            inner = CHILDREN * inner + 1;
        }
        self.first_leaf = inner;
        self.children.clear();
        self.children.resize(inner, [Self::OUT; CHILDREN]);
        for (leaf, key) in (inner..).zip(keys) {
            self.children[(leaf - 1) / CHILDREN][(leaf - 1) % CHILDREN] = key;
        }
        for node in (1..inner).rev() {
            self.children[(node - 1) / CHILDREN][(node - 1) % CHILDREN] = smallest(self.children[node]);
        }
        self.smallest = smallest(self.children[0]);
    }

    /// Returns the smallest key.
    #[inline(always)]
    pub fn smallest(&self) -> u64 {
        self.smallest
    }

    /// Changes the key of a contender.
    #[inline(always)]
    pub fn change(&mut self, contender: usize, mut key: u64) {
        let mut node = self.first_leaf + contender;
        while node > 0 {
            let parent = (node - 1) / CHILDREN;
            let children = &mut self.children[parent];
            children[(node - 1) % CHILDREN] = key;
            key = smallest(*children);
            node = parent;
        }
        self.smallest = key;
    }
}

#[inline(always)]
fn smallest([a, b, c, d, e, f, g, h]: [u64; CHILDREN]) -> u64 {
    (a.min(b).min(c.min(d))).min(e.min(f).min(g.min(h)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_smallest_key_wins(
            keys in prop::collection::vec(any::<u64>(), 0..80),
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
