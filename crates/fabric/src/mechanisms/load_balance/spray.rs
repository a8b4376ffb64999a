//! Packet spraying: every packet takes a uniformly random equal-cost port whose link is up.
//! Receivers must tolerate reordering.

use super::flowlets::any_usable;
use crate::contract::{Choice, LoadBalance, LoadBalanceOptions, Options, PipelineHooks, RouteRequest, Site, View};
use crate::ids::NodeId;
use backwater_engine::random::{Seed, Stream};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packet spraying: every packet takes a random equal-cost port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SprayConfig {}

/// Spraying at one node.
#[derive(Debug, GetSize)]
pub struct Spray {
    draws: Stream,
}

impl Spray {
    /// Returns spraying at `node`.
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

    fn chooses_per_packet(&self) -> bool {
        true
    }

    fn build(&self, site: &Site<'_>) -> Spray {
        Spray::new(site.seed, site.node)
    }
}

impl PipelineHooks for Spray {}

impl LoadBalance for Spray {
    fn choose(&mut self, arrival: &mut RouteRequest<'_>, view: &mut View<'_>) -> Choice {
        Choice::Candidate(any_usable(arrival.candidates, view, &mut self.draws))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::PortIx;
    use crate::testing::{choose, node_io, port};

    /// Returns how many of 40,000 packets of a flow take ports 4, 5, 6 and 9 while some are `down`.
    fn counts(down: &[u16]) -> [u32; 4] {
        let mut spray = Spray::new(Seed(1), NodeId(3));
        let mut node = node_io((0..10).map(|_| port(100)).collect());
        down.iter().for_each(|port| node.ports[PortIx(*port)].fail());
        let mut counts = [0; 4];
        (0..40_000).for_each(|_| counts[choose(&mut spray, &[4, 5, 6, 9], &mut node)] += 1);
        counts
    }

    #[test]
    fn packets_of_one_flow_take_every_port_about_equally() {
        // Each port is taken 10,000 times, within five standard deviations.
        let counts = counts(&[]);
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 433), "{counts:?}");
    }

    #[test]
    fn ports_whose_links_are_down_leave_their_share_to_the_others_equally() {
        // Each of the other two ports is taken 20,000 times, within five standard deviations.
        let [four, five, six, nine] = counts(&[5, 9]);
        assert!((five, nine) == (0, 0) && four.abs_diff(20_000) < 500, "{four} {six}");
        assert_eq!(counts(&[4, 5, 9]), [0, 0, 40_000, 0]);
        // If all ports are down, each is taken equally often.
        let counts = counts(&[4, 5, 6, 9]);
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 433), "{counts:?}");
    }
}
