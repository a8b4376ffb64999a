//! Equal-cost multi-path: the port is a hash of the flow and of a seed of the switch.

use crate::contract::{FlowKey, LoadBalance, LoadBalanceOptions, Site, View};
use crate::ids::{NodeId, PortIx};
use backwater_engine::random::{Seed, mix};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EcmpConfig {}

/// ECMP at one node.
#[derive(Clone, Copy, Debug)]
pub struct Ecmp {
    /// Differs from switch to switch, so that consecutive tiers do not make the same choices (polarisation).
    seed: u64,
}

impl Ecmp {
    /// ECMP at `node`.
    pub fn new(seed: Seed, node: NodeId) -> Ecmp {
        Ecmp { seed: seed.hash("ecmp", u64::from(node.0)) }
    }

    /// Index of the port among `count` that packets of `key` take.
    pub fn index(self, key: FlowKey, count: usize) -> usize {
        (mix(key.0 ^ self.seed) % count as u64) as usize
    }
}

impl LoadBalanceOptions for EcmpConfig {
    type Instance = Ecmp;

    fn is_static(&self) -> bool {
        true
    }

    fn build(&self, site: &Site<'_>) -> Ecmp {
        Ecmp::new(site.seed, site.node)
    }
}

impl LoadBalance for Ecmp {
    fn choose(&mut self, key: FlowKey, candidates: &[PortIx], _view: &View<'_>) -> usize {
        self.index(key, candidates.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(count: u64) -> impl Iterator<Item = FlowKey> {
        (0..count).map(|flow| FlowKey(mix(flow << 1)))
    }

    fn counts(keys: impl Iterator<Item = FlowKey>, ecmp: Ecmp, ports: usize) -> Vec<u64> {
        let mut counts = vec![0; ports];
        keys.for_each(|key| counts[ecmp.index(key, ports)] += 1);
        counts
    }

    /// Every count within five standard deviations of an even share.
    fn assert_even(counts: &[u64]) {
        let (total, ports) = (counts.iter().sum::<u64>() as f64, counts.len() as f64);
        let deviation = (total / ports * (1.0 - 1.0 / ports)).sqrt();
        assert!(counts.iter().all(|count| (*count as f64 - total / ports).abs() < 5.0 * deviation), "{counts:?}");
    }

    #[test]
    fn flows_spread_evenly_over_the_ports() {
        for ports in [2, 3, 4, 7, 16] {
            assert_even(&counts(keys(40_000), Ecmp::new(Seed(1), NodeId(9)), ports));
        }
    }

    /// The flows that one switch sends the same way are spread again by the next: seeds differ.
    #[test]
    fn choices_of_consecutive_tiers_are_independent() {
        for ports in [2, 4, 8] {
            let (lower, upper) = (Ecmp::new(Seed(1), NodeId(9)), Ecmp::new(Seed(1), NodeId(10)));
            for first in 0..ports {
                let same_way = keys(80_000).filter(|key| lower.index(*key, ports) == first);
                assert_even(&counts(same_way, upper, ports));
            }
        }
    }

    #[test]
    fn the_choice_depends_on_the_seed_and_on_nothing_else() {
        let chosen = |seed| -> Vec<_> { keys(100).map(|key| Ecmp::new(Seed(seed), NodeId(1)).index(key, 8)).collect() };
        assert_eq!(chosen(1), chosen(1));
        assert_ne!(chosen(1), chosen(2));
    }
}
