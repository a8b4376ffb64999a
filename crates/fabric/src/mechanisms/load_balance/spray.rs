//! Packet spraying: every packet takes a uniformly random equal-cost port. Needs receivers that tolerate reordering.

use crate::contract::{FlowKey, LoadBalance, LoadBalanceOptions, Site, View};
use crate::ids::{NodeId, PortIx};
use backwater_engine::random::{Seed, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SprayConfig {}

/// Spraying at one node.
#[derive(Debug)]
pub struct Spray {
    draws: Stream,
}

impl Spray {
    /// Spraying at `node`.
    pub fn new(seed: Seed, node: NodeId) -> Spray {
        Spray { draws: seed.stream("spray", u64::from(node.0)) }
    }
}

impl LoadBalanceOptions for SprayConfig {
    type Instance = Spray;

    fn build(&self, site: &Site<'_>) -> Spray {
        Spray::new(site.seed, site.node)
    }
}

impl LoadBalance for Spray {
    fn choose(&mut self, _key: FlowKey, candidates: &[PortIx], _view: &View<'_>) -> usize {
        self.draws.below(candidates.len() as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::interfaces;
    use backwater_engine::Time;

    #[test]
    fn packets_of_one_flow_take_every_port_about_equally() {
        let mut spray = Spray::new(Seed(1), NodeId(3));
        let mut node = interfaces(Vec::new());
        let view = View::new(Time::ZERO, &mut node);
        let mut counts = [0u32; 4];
        for _ in 0..40_000 {
            counts[spray.choose(FlowKey(7), &[4, 5, 6, 9], &view)] += 1;
        }
        // 10,000 each, within five standard deviations.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 433), "{counts:?}");
    }
}
