//! Slot *load balancing*: chooses one of several equal-cost ports for a packet.

use crate::contract::diagnostic::Diagnostics;
use crate::contract::facts::{SenderFacts, Site};
use crate::contract::hooks::PipelineHooks;
use crate::contract::options::Options;
use crate::contract::packet::PacketContext;
use crate::contract::view::View;
use crate::frame::{Direction, Psn, Route};
use crate::ids::{NodeId, PortIx};
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use backwater_engine::random::{Seed, mix};
use backwater_engine::{Duration, Time};
use get_size2::GetSize;

/// Options of a load balancer. They build one instance per switch.
pub trait LoadBalanceOptions: Options {
    /// Load balancer of a switch.
    type Instance: LoadBalance + 'static
    where
        Self: Sized;

    /// Returns true if a flow's path is a pure function of the flow. The model then fixes the path
    /// when the flow starts.
    fn is_static(&self) -> bool {
        false
    }

    /// Returns true if packets of a flow may overtake each other even without losses and PAUSEs.
    fn reorders(&self) -> bool {
        false
    }

    /// Builds the load balancer of the switch at `site`.
    fn build(&self, site: &Site<'_>) -> Self::Instance
    where
        Self: Sized;

    /// Checks the options against the facts of one switch. The model calls this method for every
    /// kind of switch and reports identical diagnostics once.
    fn check_at_switch(&self, _site: &Site<'_>, _diagnostics: &mut Diagnostics) {}

    /// Returns true if switches send notices back along the packets' path. Packets then record
    /// their path.
    fn needs_trails(&self) -> bool {
        false
    }

    /// Returns true if hosts choose paths. [`LoadBalanceOptions::path_choice`] then returns an
    /// instance.
    fn chooses_paths(&self) -> bool {
        false
    }

    /// Builds the path choice of a flow's sender.
    fn path_choice(&self, _sender: &SenderFacts) -> Option<Box<dyn PathChoice>> {
        None
    }
}

/// Object-safe version of [`LoadBalanceOptions`], for mechanisms of other crates.
pub trait LoadBalanceFactory: LoadBalanceOptions {
    /// See [`LoadBalanceOptions::build`].
    fn boxed(&self, site: &Site<'_>) -> Box<dyn LoadBalance>;
}

impl<T: LoadBalanceOptions> LoadBalanceFactory for T {
    fn boxed(&self, site: &Site<'_>) -> Box<dyn LoadBalance> {
        Box::new(self.build(site))
    }
}

/// Load balancer of a switch: chooses one of several equal-cost ports for a packet, or a whole
/// route.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait LoadBalance: PipelineHooks {
    /// Chooses the egress port or the route of a packet at this switch. Called only if there are at
    /// least two candidates.
    fn choose(&mut self, arrival: &mut RouteRequest<'_>, view: &mut View<'_>) -> Choice;

    /// Passes the load balancer's statistics at `now` to `observer`. They do not affect results.
    fn observe(&self, _now: Time, _observer: &mut dyn FnMut(LbStat)) {}
}

/// Statistic of a load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LbStat {
    /// Number of entries or events, with a name such as `flow_entries`.
    Count(&'static str, u64),
    /// State of a path.
    Path(PathState),
}

/// State that an edge switch keeps of a path to another edge switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathState {
    /// Edge switch at the end of the path.
    pub to: NodeId,
    /// Number among the paths to that switch.
    pub path: u32,
    /// First port of the path.
    pub egress: PortIx,
    /// Estimated delay beyond that of the idle path.
    pub delay: Duration,
    /// True if the path is reserved for congested flows.
    pub is_isolated: bool,
}

/// Path as chosen by a host: the number that a NIC writes into the UDP source port, and that
/// switches hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, GetSize)]
pub struct Entropy(pub u16);

/// Load balancing at a host: chooses the path of each packet of a flow.
pub trait PathChoice: Send {
    /// Returns the path of packet `psn`, which is sent now.
    fn next(&mut self, psn: Psn, now: Time) -> Entropy;

    /// An ACK or NACK of a packet that took `path` arrived; `marked` is its ECN echo.
    fn on_answer(&mut self, _path: Entropy, _marked: bool, _now: Time) {}
}

/// Packet with several candidate ports.
pub struct RouteRequest<'a> {
    /// Packet, whose side record the load balancer may change.
    pub packet: PacketContext<'a>,
    /// Destination of the packet.
    pub destination: NodeId,
    /// Key for a hash over the packet's addresses.
    pub key: FlowKey,
    /// Equal-cost ports.
    pub candidates: &'a [PortIx],
}

/// Decision of a load balancer on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Port with this index among the candidates. The next switch chooses again.
    Candidate(usize),
    /// Whole route ([`Route::fixed`]). Its first hop is a port of this switch.
    Route(Route),
}

/// Key for a hash over a packet's addresses. All packets of a flow in one direction have the same
/// key, unless their host chooses paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowKey(pub u64);

impl FlowKey {
    /// Returns the key of packets in `direction` of the flow with this identity.
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
