//! Hash keys of flows, and hash functions of switches.

use crate::frame::Direction;
use crate::ids::NodeId;
use backwater_engine::random::{Seed, mix};
use get_size2::GetSize;

/// Path as chosen by a host: the number that a NIC writes into the UDP source port, and that
/// switches hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, GetSize)]
pub struct Entropy(pub u16);

/// Key for a hash over a packet's addresses. All packets of a flow in one direction have the same
/// key, unless their host chooses paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowKey(pub u64);

impl FlowKey {
    /// Returns the key of packets in `direction` of the flow with this identity.
    #[inline]
    pub fn of(identity: u64, direction: Direction) -> FlowKey {
        FlowKey(mix(identity << 1 | u64::from(direction == Direction::Ack)))
    }

    /// Returns the key of a packet on `path`; the unchanged key if no host chose a path.
    pub fn with(self, path: Option<Entropy>) -> FlowKey {
        path.map_or(self, |Entropy(path)| FlowKey(mix(self.0 ^ (u64::from(path) + 1) << 40)))
    }
}

/// Hash by which a switch spreads flows over equal-cost ports. The seed alone determines the path
/// of every flow.
#[derive(Clone, Copy, Debug, GetSize)]
pub struct FlowHash {
    /// Seed of the hash. It differs between switches, so that consecutive tiers do not make equal
    /// choices (polarisation).
    seed: u64,
}

impl FlowHash {
    /// Returns the hash of `node`.
    pub fn new(seed: Seed, node: NodeId) -> FlowHash {
        FlowHash { seed: seed.hash("ecmp", u64::from(node.0)) }
    }

    /// Returns the index of the port for packets of `key` among `count` ports.
    pub fn index(self, key: FlowKey, count: usize) -> usize {
        (mix(key.0 ^ self.seed) % count as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn keys(count: u64) -> impl Iterator<Item = FlowKey> {
        (0..count).map(|flow| FlowKey(mix(flow << 1)))
    }

    fn counts(keys: impl Iterator<Item = FlowKey>, hash: FlowHash, ports: usize) -> Vec<u64> {
        let mut counts = vec![0; ports];
        for key in keys {
            counts[hash.index(key, ports)] += 1;
        }
        counts
    }

    /// Asserts that every count is within five standard deviations of an even share.
    fn assert_even(counts: &[u64]) {
        let (total, ports) = (counts.iter().sum::<u64>() as f64, counts.len() as f64);
        let deviation = (total / ports * (1.0 - 1.0 / ports)).sqrt();
        assert!(counts.iter().all(|count| (*count as f64 - total / ports).abs() < 5.0 * deviation), "{counts:?}");
    }

    #[test]
    fn keys_of_flows_differ_on_each_path() {
        for path in 0..4 {
            let keys: BTreeSet<_> = (0..64).map(|bit| FlowKey(1 << bit).with(Some(Entropy(path))).0).collect();
            assert_eq!(keys.len(), 64);
        }
        assert_eq!(FlowKey(7).with(None), FlowKey(7));
    }

    #[test]
    fn flows_spread_evenly_over_the_ports() {
        for ports in [2, 3, 4, 7, 16] {
            assert_even(&counts(keys(40_000), FlowHash::new(Seed(1), NodeId(9)), ports));
        }
    }

    /// The flows that one switch sends through one port are spread again by the next switch,
    /// because seeds differ.
    #[test]
    fn choices_of_consecutive_tiers_are_independent() {
        for ports in [2, 4, 8] {
            let (lower, upper) = (FlowHash::new(Seed(1), NodeId(9)), FlowHash::new(Seed(1), NodeId(10)));
            for first in 0..ports {
                let same_way = keys(80_000).filter(|key| lower.index(*key, ports) == first);
                assert_even(&counts(same_way, upper, ports));
            }
        }
    }

    #[test]
    fn the_choice_depends_on_the_seed_alone() {
        let chosen =
            |seed| -> Vec<_> { keys(100).map(|key| FlowHash::new(Seed(seed), NodeId(1)).index(key, 8)).collect() };
        assert_eq!(chosen(1), chosen(1));
        assert_ne!(chosen(1), chosen(2));
    }
}
