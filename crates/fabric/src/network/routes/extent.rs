//! Extent of the paths between hosts: stages, choices and round-trip times.

use super::block::{BLOCK, TargetSet};
use super::{Routes, Wiring};
use crate::contract::PortFacts;
use crate::frame::TIME_TO_LIVE;
use crate::ids::{NodeId, PortId};
use crate::network::spec::{NodeKind, Nodes};
use backwater_engine::Duration;
use backwater_engine::index::IndexVec;
use backwater_engine::interrupt;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Maxima over all paths between two hosts, whichever equal-cost ports packets take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Number of stages ([`Shape::stages`](crate::contract::Shape::stages)). In a routing loop,
    /// this number exceeds the time to live by one.
    pub(crate) stages: usize,
    /// Number of equal-cost ports of a node, the source host excluded
    /// ([`Shape::choices`](crate::contract::Shape::choices)).
    pub(crate) choices: usize,
}

/// PathBlock to a block of destinations.
struct PathBlock {
    /// Destinations to which each port leads.
    onward: IndexVec<PortId, TargetSet>,
    /// Destinations that each node is.
    ends: IndexVec<NodeId, TargetSet>,
    /// Destinations that count.
    live: TargetSet,
}

impl Routes {
    /// Returns the extent of the paths between hosts.
    pub(crate) fn extent(&self, nodes: &Nodes, wiring: &Wiring) -> Extent {
        let hosts = || nodes.enumerate().filter(|(_, spec)| spec.kind.has_endpoint()).map(|(id, _)| id);
        // A switch has one port to a host with one link.
        let least = usize::from(hosts().any(|host| wiring.ports_of(host).len() == 1));
        let paths = self.target_paths(nodes, wiring).chain(self.paths_by_hand(nodes, wiring));
        let extents = paths.map(|paths| paths.extent(nodes, wiring));
        extents.fold(Extent { stages: 1, choices: least }, |one, other| Extent {
            stages: one.stages.max(other.stages),
            choices: one.choices.max(other.choices),
        })
    }

    /// Returns the paths to the targets. Hosts with one link share the paths to their switch. Hosts
    /// to which routes are set by hand do not count.
    fn target_paths(&self, nodes: &Nodes, wiring: &Wiring) -> impl Iterator<Item = PathBlock> {
        let by_hand: BTreeSet<NodeId> = self.by_hand.keys().map(|(_, host)| *host).collect();
        let mut live = vec![0; self.blocks.len()];
        let mut is_switch = IndexVec::from(vec![false; nodes.len()]);
        for host in nodes.ids().filter(|node| nodes[*node].kind.has_endpoint() && !by_hand.contains(node)) {
            if let Some(route) = &self.host_routes[host] {
                live[route.target.block()] |= 1 << route.target.index();
                is_switch[route.node] |= route.node != host;
            }
        }
        self.blocks.iter().zip(live).map(move |(block, live)| {
            let mut ends = IndexVec::from(vec![0; nodes.len()]);
            for (i, target) in block.targets.iter().enumerate().filter(|(_, target)| !is_switch[**target]) {
                ends[*target] = 1 << i;
            }
            PathBlock { onward: block.onward(wiring), ends, live }
        })
    }

    /// Returns the paths to the hosts to which routes are set by hand.
    fn paths_by_hand(&self, nodes: &Nodes, wiring: &Wiring) -> impl Iterator<Item = PathBlock> {
        let hosts: BTreeSet<NodeId> = self.by_hand.keys().map(|(_, host)| *host).collect();
        let hosts: Vec<NodeId> = hosts.into_iter().collect();
        let blocks: Vec<Vec<NodeId>> = hosts.chunks(BLOCK).map(<[NodeId]>::to_vec).collect();
        blocks.into_iter().map(|hosts| {
            let mut onward = IndexVec::from(vec![0; wiring.ports.len()]);
            let mut ends = IndexVec::from(vec![0; nodes.len()]);
            for (i, host) in hosts.iter().enumerate() {
                ends[*host] = 1 << i;
                for node in nodes.ids() {
                    self.candidates(node, *host).iter().for_each(|ix| onward[wiring.port_at(node, *ix).id] |= 1 << i);
                }
            }
            PathBlock { onward, ends, live: TargetSet::MAX }
        })
    }

    /// Returns base round-trip times between hosts, for frames of `there` and `back` wire bytes
    /// that are stored and forwarded at every hop. Routes set by hand must not exist yet.
    pub(crate) fn round_trips(&self, nodes: &Nodes, wiring: &Wiring, there: u64, back: u64) -> RoundTrips {
        let hop = |port: &PortFacts| port.delay * 2 + port.rate.time_for(there) + port.rate.time_for(back);
        // Hosts of one switch share the switch's routes: the host with the slowest first hop
        // represents all.
        let mut racks: BTreeMap<NodeId, (Duration, NodeId)> = BTreeMap::new();
        for port in wiring.ports.iter().filter(|port| nodes[port.node].kind.has_endpoint()) {
            let slowest = racks.entry(wiring.peer(port)).or_default();
            *slowest = (*slowest).max((hop(port), port.node));
        }
        // Longest round-trip time by number of links.
        let mut longest: BTreeMap<u8, Duration> = BTreeMap::new();
        // Number of links and round-trip time from each node to the host, where known.
        let mut known = IndexVec::<NodeId, Option<(usize, Duration)>>::from(vec![None; nodes.len()]);
        let (mut way, mut visited) = (Vec::new(), Vec::new());
        for (_, host) in racks.values() {
            interrupt::check();
            known[*host] = Some((0, Duration::ZERO));
            visited.push(*host);
            for (switch, (first_hop, _)) in &racks {
                let mut node = *switch;
                while known[node].is_none()
                    && let [first, ..] = self.candidates(node, *host)
                {
                    let port = wiring.port_at(node, *first);
                    way.push(port);
                    node = wiring.peer(port);
                }
                // Without a path, the time is that of the first hop.
                let (mut links, mut sum) = known[node].unwrap_or_default();
                while let Some(port) = way.pop() {
                    (links, sum) = (links + 1, sum + hop(port));
                    known[port.node] = Some((links, sum));
                    visited.push(port.node);
                }
                if links > usize::from(TIME_TO_LIVE) {
                    // A packet ends before the host.
                    (links, sum, node) = (TIME_TO_LIVE.into(), Duration::ZERO, *switch);
                    for _ in 0..TIME_TO_LIVE {
                        let port = wiring.port_at(node, self.candidates(node, *host)[0]);
                        sum += hop(port);
                        node = wiring.peer(port);
                    }
                }
                let of_as_many = longest.entry((links + 1).min(u8::MAX.into()) as u8).or_default();
                *of_as_many = (*of_as_many).max(*first_hop + sum);
            }
            visited.drain(..).for_each(|node| known[node] = None);
        }
        RoundTrips::of(&longest)
    }
}

impl PathBlock {
    /// Follows the paths from all hosts, stage by stage.
    fn extent(&self, nodes: &Nodes, wiring: &Wiring) -> Extent {
        interrupt::check();
        let is_host = |node: &NodeId| nodes[*node].kind.has_endpoint();
        let (hosts, switches): (Vec<NodeId>, Vec<NodeId>) = nodes.ids().partition(is_host);
        let none = IndexVec::<NodeId, TargetSet>::from(vec![0; nodes.len()]);
        // Destinations of packets that reach each node: in the present stage, in the next stage,
        // and in any stage.
        let (mut here, mut next, mut ever) = (none.clone(), none.clone(), none);
        hosts.iter().for_each(|host| here[*host] = self.live);
        let mut stages = 0;
        let mut is_moving = !hosts.is_empty();
        while is_moving && stages <= usize::from(TIME_TO_LIVE) {
            (stages, is_moving) = (stages + 1, false);
            // A switch after a host begins no stage, so hosts come first.
            for node in hosts.iter().chain(&switches) {
                let set = std::mem::take(&mut here[*node]);
                for port in wiring.ports_of(*node).iter().filter(|_| set != 0) {
                    let peer = wiring.peer(port);
                    let set = set & self.onward[port.id] & !self.ends[peer];
                    if begins_stage(nodes, *node, peer) {
                        next[peer] |= set;
                        is_moving |= set != 0;
                    } else {
                        here[peer] |= set;
                    }
                    ever[peer] |= set;
                }
            }
            std::mem::swap(&mut here, &mut next);
        }
        let choices = ever.enumerate().map(|(node, set)| deepest(wiring.of_ports(&self.onward, node), *set));
        Extent { stages, choices: choices.max().unwrap_or(0) }
    }
}

/// Returns the largest number of `sets` with a common member that is also in `within`.
fn deepest(sets: &[TargetSet], within: TargetSet) -> usize {
    // Digit `i` of each member's count, the lowest digit first.
    let mut counts = [0; u16::BITS as usize];
    for set in sets.iter().filter(|_| within != 0) {
        let mut carry = set & within;
        for digit in &mut counts {
            if carry == 0 {
                break;
            }
            (*digit, carry) = (*digit ^ carry, *digit & carry);
        }
    }
    let (most, _) = counts.iter().rev().fold((0, within), |(most, within), digit| match digit & within {
        0 => (2 * most, within),
        greater => (2 * most + 1, greater),
    });
    most
}

/// Base round-trip times between hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoundTrips {
    /// Longest round-trip time of any pair.
    pub(crate) longest: Duration,
    /// Number of links between the two hosts of that pair.
    pub(crate) hops: u8,
    /// Increment per link: a pair with `n` links fewer has a round-trip time that is at least `n`
    /// times the increment shorter.
    pub(crate) per_hop: Duration,
}

impl RoundTrips {
    /// Derives the result from the longest round-trip times by number of links.
    pub(super) fn of(longest: &BTreeMap<u8, Duration>) -> RoundTrips {
        let at_last = |(hops, rtt): (&u8, &Duration)| (*rtt, Reverse(*hops));
        let Some((rtt, Reverse(hops))) = longest.iter().map(at_last).max() else { return RoundTrips::default() };
        let shorter = longest.range(..hops).map(|(hops, rtt)| (*hops, *rtt)).chain([(0, Duration::ZERO)]);
        let per_hop = shorter.map(|(fewer, less)| (rtt - less).ps() / u64::from(hops - fewer)).min().unwrap_or(0);
        RoundTrips { longest: rtt, hops, per_hop: Duration::from_ps(per_hop) }
    }
}

/// Returns true if a packet from `node` begins a stage at `next`, which is not its destination.
pub(crate) fn begins_stage(nodes: &Nodes, node: NodeId, next: NodeId) -> bool {
    let is_switch = |node: NodeId| nodes[node].kind == NodeKind::Switch;
    !is_switch(next) || is_switch(node)
}
