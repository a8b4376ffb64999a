//! Comparison of routes and extent with a plain search for each pair of nodes.

use super::*;
use proptest::prelude::*;

/// Random network: nodes, links and links that are down.
#[derive(Debug)]
struct Network {
    nodes: Nodes,
    wiring: Wiring,
    down: BTreeSet<PortId>,
}

impl Network {
    /// Returns a network with a node for each number of `kinds`. A link lies between two nodes, has
    /// a rate and may be down.
    fn new(kinds: &[u8], links: &[(u16, u16, u64, bool)]) -> Network {
        let kind = |kind: u8| match kind {
            0 => NodeKind::Relay,
            1..4 => NodeKind::Switch,
            _ => NodeKind::Host,
        };
        let nodes: Nodes = kinds.iter().map(|it| NodeSpec { name: String::new(), kind: kind(*it) }).collect();
        let node = |number: u16| NodeId(u32::from(number) % kinds.len() as u32);
        let links = links.iter().filter(|(a, b, ..)| node(*a) != node(*b));
        let link = |(a, b, gbps, _): &(u16, u16, u64, bool)| {
            LinkSpec::new(node(*a), node(*b), Rate::from_gbps(*gbps), Duration::from_ns(100))
        };
        let wiring = Wiring::new(&nodes, &links.clone().map(link).collect::<Vec<_>>());
        let is_down = |(_, (.., is_down)): &(_, &(u16, u16, u64, bool))| *is_down;
        let down = wiring.links.iter().zip(links).filter(is_down).flat_map(|(ports, _)| *ports).collect();
        Network { nodes, wiring, down }
    }

    fn hosts(&self) -> impl Iterator<Item = NodeId> {
        self.nodes.ids().filter(|node| self.nodes[*node].kind.has_endpoint())
    }

    /// Returns the number of hops from each node to `target`, if there is a path.
    fn distances(&self, target: NodeId, down: &BTreeSet<PortId>) -> IndexVec<NodeId, Option<u32>> {
        let mut distances = IndexVec::from(vec![None; self.nodes.len()]);
        let mut queue = VecDeque::from([(target, 0)]);
        while let Some((node, distance)) = queue.pop_front() {
            if distances[node].is_some() {
                continue;
            }
            distances[node] = Some(distance);
            if node == target || self.nodes[node].kind.forwards() {
                let up = self.wiring.ports_of(node).iter().filter(|port| !down.contains(&port.id));
                queue.extend(up.map(|port| (self.wiring.peer(port), distance + 1)));
            }
        }
        distances
    }

    /// Returns the ports of each node on shortest paths to `target`.
    fn candidates(&self, target: NodeId, down: &BTreeSet<PortId>) -> IndexVec<NodeId, Vec<PortIx>> {
        let distances = self.distances(target, down);
        let leads = |port: &&PortFacts| {
            let next = self.wiring.peer(port);
            let is_open = !down.contains(&port.id) && (next == target || self.nodes[next].kind.forwards());
            is_open && distances[next].is_some_and(|next| distances[port.node] == Some(next + 1))
        };
        let of = |node| self.wiring.ports_of(node).iter().filter(leads).map(|port| port.ix).collect();
        self.nodes.ids().map(of).collect()
    }

    /// Returns the candidates for a host. A host with one link shares its switch's routes, so the
    /// last hop stays if its link is down.
    fn candidates_for_host(&self, host: NodeId, down: &BTreeSet<PortId>) -> IndexVec<NodeId, Vec<PortIx>> {
        let [link] = self.wiring.ports_of(host) else { return self.candidates(host, down) };
        let mut candidates = self.candidates(self.wiring.peer(link), down);
        candidates[self.wiring.peer(link)] = vec![self.wiring.peer_ix(link.id)];
        candidates
    }

    /// Follows all paths of `routes` between hosts.
    fn extent(&self, routes: &Routes) -> Extent {
        let mut extent = Extent { stages: 1, choices: 0 };
        for target in self.hosts() {
            let mut seen = BTreeSet::new();
            let mut front: Vec<_> = self.hosts().map(|host| (host, 1, true)).collect();
            while let Some((node, stage, is_source)) = front.pop() {
                if (node == target && !is_source) || stage > 65 || !seen.insert((node, stage, is_source)) {
                    continue;
                }
                let ports = routes.candidates(node, target);
                extent.stages = extent.stages.max(stage);
                extent.choices = extent.choices.max(if is_source { 0 } else { ports.len() });
                front.extend(ports.iter().map(|ix| {
                    let next = self.wiring.neighbour(node, *ix);
                    (next, stage + usize::from(begins_stage(&self.nodes, node, next)), false)
                }));
            }
        }
        extent
    }

    /// Returns round-trip times along the first of equal-cost ports, path by path.
    fn round_trips(&self, routes: &Routes) -> RoundTrips {
        let hop = |port: &PortFacts| port.delay * 2 + port.rate.time_for(1000) + port.rate.time_for(60);
        let mut racks: BTreeMap<NodeId, (Duration, NodeId)> = BTreeMap::new();
        for port in self.hosts().flat_map(|host| self.wiring.ports_of(host)) {
            let slowest = racks.entry(self.wiring.peer(port)).or_default();
            *slowest = (*slowest).max((hop(port), port.node));
        }
        let mut longest: BTreeMap<u8, Duration> = BTreeMap::new();
        for (switch, (first_hop, _)) in &racks {
            for (_, host) in racks.values() {
                let path = routes.path(&self.wiring, *switch, &[], *host, |_, ports| ports[0]).unwrap_or_default();
                let (mut node, mut sum) = (*switch, *first_hop);
                for ix in &path {
                    sum += hop(self.wiring.port_at(node, *ix));
                    node = self.wiring.neighbour(node, *ix);
                }
                let of_as_many = longest.entry(path.len() as u8 + 1).or_default();
                *of_as_many = (*of_as_many).max(sum);
            }
        }
        RoundTrips::of(&longest)
    }
}

prop_compose! {
    /// Returns networks with up to two blocks of targets.
    fn networks()(
        kinds in prop::collection::vec(0u8..8, 2..90),
        links in prop::collection::vec((any::<u16>(), any::<u16>(), 1u64..4, prop::bool::weighted(0.1)), 0..250),
    ) -> Network {
        Network::new(&kinds, &links)
    }
}

proptest! {
    /// Routes lead along all shortest paths, and only along these: before and after links fail, to
    /// hosts and to nodes added later.
    #[test]
    fn routes_agree_with_a_search_for_each_target(network in networks(), added in prop::collection::vec(0u16..90, 0..9)) {
        let Network { nodes, wiring, down } = &network;
        let mut routes = Routes::new(nodes, wiring);
        let added: Vec<NodeId> = added.iter().map(|node| NodeId(u32::from(*node) % nodes.len() as u32)).collect();
        for added in added.chunks(4) {
            routes.add(nodes, wiring, added.iter().copied());
        }
        for down in [&BTreeSet::new(), down] {
            routes.renew(nodes, wiring, down.clone());
            for target in nodes.ids() {
                let expected = match nodes[target].kind {
                    NodeKind::Switch if !added.contains(&target) => vec![Vec::new(); nodes.len()].into(),
                    NodeKind::Switch => network.candidates(target, down),
                    _ => network.candidates_for_host(target, down),
                };
                for node in nodes.ids() {
                    prop_assert_eq!(routes.candidates(node, target), &expected[node], "{:?} {:?}", node, target);
                }
            }
        }
    }

    /// Stages and choices agree with following every path, with and without routes set by hand.
    /// Round-trip times agree with a walk for each pair.
    #[test]
    fn the_extent_agrees_with_following_each_path(
        network in networks(),
        by_hand in prop::collection::vec((any::<u16>(), any::<u16>(), any::<u16>()), 0..20),
    ) {
        let Network { nodes, wiring, .. } = &network;
        let mut routes = Routes::new(nodes, wiring);
        prop_assert_eq!(routes.extent(nodes, wiring), network.extent(&routes));
        prop_assert_eq!(routes.round_trips(nodes, wiring, 1000, 60), network.round_trips(&routes));
        let hosts: Vec<NodeId> = network.hosts().collect();
        for (node, host, port) in by_hand {
            let node = NodeId(u32::from(node) % nodes.len() as u32);
            let ports = wiring.ports_of(node).iter().filter(|port| nodes[wiring.peer(port)].kind.forwards());
            let ports: Vec<PortIx> = ports.map(|port| port.ix).collect();
            if nodes[node].kind.forwards() && !ports.is_empty() && !hosts.is_empty() {
                let host = hosts[usize::from(host) % hosts.len()];
                routes.set(node, host, ports[usize::from(port) % ports.len()]);
            }
        }
        prop_assert_eq!(routes.extent(nodes, wiring), network.extent(&routes));
    }
}

/// A packet to the other end of a chain of 70 switches ends after 64 of them.
#[test]
fn round_trips_end_with_the_time_to_live() {
    let kinds = [&[4][..], &[1; 70], &[4]].concat();
    let links: Vec<_> = (0..71).map(|node| (node, node + 1, 1 + u64::from(node % 3), false)).collect();
    let network = Network::new(&kinds, &links);
    let Network { nodes, wiring, .. } = &network;
    let routes = Routes::new(nodes, wiring);
    let found = routes.round_trips(nodes, wiring, 1000, 60);
    assert_eq!((found, found.hops), (network.round_trips(&routes), TIME_TO_LIVE + 1));
}
