//! Packet spraying: every packet takes a uniformly random equal-cost port. Needs receivers that tolerate reordering.

use crate::contract::{Arrival, Choice, Footprint, LoadBalance, LoadBalanceOptions, Options, Site, Station, View};
use crate::ids::NodeId;
use backwater_engine::random::{Seed, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packet spraying: every packet takes a random equal-cost port.
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

impl Options for SprayConfig {}

impl LoadBalanceOptions for SprayConfig {
    type Instance = Spray;

    fn reorders(&self) -> bool {
        true
    }

    fn build(&self, site: &Site<'_>) -> Spray {
        Spray::new(site.seed, site.node)
    }
}

impl Footprint for Spray {}
impl Station for Spray {}

impl LoadBalance for Spray {
    fn choose(&mut self, arrival: &mut Arrival<'_>, _view: &mut View<'_>) -> Choice {
        Choice::Candidate(self.draws.below(arrival.candidates.len() as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{choose, interfaces};

    #[test]
    fn packets_of_one_flow_take_every_port_about_equally() {
        let mut spray = Spray::new(Seed(1), NodeId(3));
        let mut node = interfaces(Vec::new());
        let mut counts = [0u32; 4];
        for _ in 0..40_000 {
            counts[choose(&mut spray, &[4, 5, 6, 9], &mut node)] += 1;
        }
        // 10,000 each, within five standard deviations.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 433), "{counts:?}");
    }
}
