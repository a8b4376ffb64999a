//! Slot *load balancing*: which of several equal-cost ports a packet takes.

use crate::contract::facts::{SenderFacts, Site};
use crate::contract::hooks::PipelineHooks;
use crate::contract::options::{Findings, Options};
use crate::contract::packet::PacketContext;
use crate::contract::view::View;
use crate::frame::{Psn, Route};
use crate::ids::{NodeId, PortIx};
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use backwater_engine::random::{Seed, mix};
use backwater_engine::{Duration, Time};
use get_size2::GetSize;

/// The options of a load balancer, from which it is built at every switch.
pub trait LoadBalanceOptions: Options {
    /// What runs at a switch.
    type Instance: LoadBalance + 'static
    where
        Self: Sized;

    /// Whether a flow's path is a pure function of the flow, so that it can be fixed when the flow starts.
    fn is_static(&self) -> bool {
        false
    }

    /// Whether packets of a flow overtake each other although nothing is lost and no queue is paused.
    fn reorders(&self) -> bool {
        false
    }

    /// The instance that runs at `site`.
    fn build(&self, site: &Site<'_>) -> Self::Instance
    where
        Self: Sized;

    /// Checks what only the network can tell: the options against what is known at a switch. What it says of several switches alike is said once.
    fn check_at_switch(&self, _site: &Site<'_>, _findings: &mut Findings) {}

    /// Whether switches send notices back along the way that packets have come, which these must then keep.
    fn needs_trails(&self) -> bool {
        false
    }

    /// Whether hosts choose paths: [`LoadBalanceOptions::path_choice`] gives one then.
    fn chooses_paths(&self) -> bool {
        false
    }

    /// What runs at a flow's sender.
    fn path_choice(&self, _sender: &SenderFacts) -> Option<Box<dyn PathChoice>> {
        None
    }
}

/// The same for what another crate plugs in, whatever its instances are.
pub trait LoadBalanceFactory: LoadBalanceOptions {
    /// See [`LoadBalanceOptions::build`].
    fn boxed(&self, site: &Site<'_>) -> Box<dyn LoadBalance>;
}

impl<T: LoadBalanceOptions> LoadBalanceFactory for T {
    fn boxed(&self, site: &Site<'_>) -> Box<dyn LoadBalance> {
        Box::new(self.build(site))
    }
}

/// Load balancing: which of several equal-cost ports a packet takes, or which whole route.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait LoadBalance: PipelineHooks {
    /// The way of a packet from here; there are at least two candidates.
    fn choose(&mut self, arrival: &mut RouteRequest<'_>, view: &mut View<'_>) -> Choice;

    /// Tells `observer` what it holds at `now`; nothing of it changes a result.
    fn observe(&self, _now: Time, _observer: &mut dyn FnMut(LbStat)) {}
}

/// Something that a load balancer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LbStat {
    /// So many of something: `flow_entries`.
    Count(&'static str, u64),
    /// What it knows of a path.
    Path(PathState),
}

/// What an edge switch knows of a path to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathState {
    /// The edge to which it leads.
    pub to: NodeId,
    /// Its number among those that lead there.
    pub path: u32,
    /// The port through which it begins.
    pub egress: PortIx,
    /// Its delay over that of the idle path, as far as is known.
    pub delay: Duration,
    /// Whether it is left to congested flows.
    pub is_isolated: bool,
}

/// A path, as far as hosts can name one: what a network card writes into the UDP source port, and switches hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, GetSize)]
pub struct Entropy(pub u16);

/// The host's half of load balancing: which path each packet of a flow takes.
pub trait PathChoice: Send {
    /// The path of packet `psn`, which is sent now.
    fn next(&mut self, psn: Psn, now: Time) -> Entropy;

    /// An ACK or NACK answers a packet that took `path`; `marked` is its ECN echo.
    fn on_answer(&mut self, _path: Entropy, _marked: bool, _now: Time) {}
}

/// A packet for which there are several ways.
pub struct RouteRequest<'a> {
    /// The packet; it may be written on.
    pub packet: PacketContext<'a>,
    /// Where it goes in the end.
    pub destination: NodeId,
    /// What a hash over its addresses sees.
    pub key: FlowKey,
    /// The equal-cost ports.
    pub candidates: &'a [PortIx],
}

/// The way of a packet from a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Out of this one of the candidates; the next switch chooses again.
    Candidate(usize),
    /// Along a whole route ([`Route::fixed`]), whose first hop is a port of this switch.
    Route(Route),
}

/// What a hash over a packet's addresses sees: the same for all packets of a flow in one direction, unless its host chooses paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowKey(pub u64);

impl FlowKey {
    /// What it sees of a packet that takes this path, if its host has chosen one.
    pub fn with(self, path: Option<Entropy>) -> FlowKey {
        path.map_or(self, |Entropy(path)| FlowKey(mix(self.0 ^ (u64::from(path) + 1) << 40)))
    }
}

/// The hash by which a switch spreads flows over equal-cost ports: everybody who knows the seed knows the way of a flow.
#[derive(Clone, Copy, Debug, GetSize)]
pub struct FlowHash {
    /// Differs from switch to switch, so that consecutive tiers do not make the same choices (polarisation).
    seed: u64,
}

impl FlowHash {
    /// The hash of `node`.
    pub fn new(seed: Seed, node: NodeId) -> FlowHash {
        FlowHash { seed: seed.hash("ecmp", u64::from(node.0)) }
    }

    /// Index of the port among `count` that packets of `key` take.
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
        keys.for_each(|key| counts[hash.index(key, ports)] += 1);
        counts
    }

    /// Every count within five standard deviations of an even share.
    fn assert_even(counts: &[u64]) {
        let (total, ports) = (counts.iter().sum::<u64>() as f64, counts.len() as f64);
        let deviation = (total / ports * (1.0 - 1.0 / ports)).sqrt();
        assert!(counts.iter().all(|count| (*count as f64 - total / ports).abs() < 5.0 * deviation), "{counts:?}");
    }

    #[test]
    fn flows_have_keys_of_their_own_on_each_path() {
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

    /// The flows that one switch sends the same way are spread again by the next: seeds differ.
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
    fn the_choice_depends_on_the_seed_and_on_nothing_else() {
        let chosen =
            |seed| -> Vec<_> { keys(100).map(|key| FlowHash::new(Seed(seed), NodeId(1)).index(key, 8)).collect() };
        assert_eq!(chosen(1), chosen(1));
        assert_ne!(chosen(1), chosen(2));
    }
}
