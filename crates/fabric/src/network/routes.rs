//! Wiring and shortest-path routes. Equal-cost ports are in port order.

use crate::contract::{Links, PortFacts};
use crate::frame::TIME_TO_LIVE;
use crate::ids::{NodeId, PortId, PortIx};
use crate::network::spec::{LinkSpec, NodeKind, Nodes};
use arrayvec::ArrayVec;
use backwater_engine::Duration;
use backwater_engine::index::IndexVec;
use backwater_engine::memory::HeapBytes;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// Ports and links of a network.
#[derive(Debug)]
pub struct Wiring {
    /// All ports, node by node.
    pub ports: IndexVec<PortId, PortFacts>,
    /// Ports of each link.
    pub links: Vec<[PortId; 2]>,
    /// First port of each node in `ports`, then the number of ports.
    first: IndexVec<NodeId, u32>,
    /// First port of the node at the other end of each port's link. Following a packet from node to
    /// node needs nothing else.
    peer_first: IndexVec<PortId, u32>,
    /// Distance of each node from the nearest host, in links.
    layers: IndexVec<NodeId, u32>,
}

impl Wiring {
    /// Numbers the ports of `nodes` in the order of `links`.
    pub fn new(nodes: &Nodes, links: &[LinkSpec]) -> Wiring {
        let mut degree = IndexVec::<NodeId, u32>::from(vec![0; nodes.len()]);
        for end in links.iter().flat_map(|link| [link.a, link.b]) {
            degree[end] += 1;
        }
        let first: IndexVec<NodeId, u32> = std::iter::once(0)
            .chain(degree.iter().scan(0, |sum, ports| {
                *sum += ports;
                Some(*sum)
            }))
            .collect();
        let mut next = first.clone();
        let mut ports = vec![None; links.len() * 2];
        let mut link_ports = Vec::with_capacity(links.len());
        for link in links {
            let (a, b) = (next[link.a], next[link.b]);
            next[link.a] += 1;
            next[link.b] += 1;
            let facts = |node: NodeId, id: u32, peer: u32| PortFacts {
                id: PortId(id),
                node,
                ix: PortIx((id - first[node]) as u16),
                peer: PortId(peer),
                rate: link.rate,
                delay: link.delay,
                error_rate: link.error_rate,
            };
            link_ports.push([PortId(a), PortId(b)]);
            ports[a as usize] = Some(facts(link.a, a, b));
            ports[b as usize] = Some(facts(link.b, b, a));
        }
        let ports: IndexVec<PortId, PortFacts> = ports.into_iter().flatten().collect();
        let peer_first = ports.iter().map(|port| first[ports[port.peer].node]).collect();
        let mut wiring = Wiring { ports, links: link_ports, first, peer_first, layers: vec![0; nodes.len()].into() };
        let is_host = |node: &NodeId| nodes[*node].kind.has_endpoint();
        let (hosts, mut rest): (BTreeSet<_>, BTreeSet<_>) = nodes.ids().partition(is_host);
        let mut front = hosts;
        for layer in 1.. {
            let peers = front.iter().flat_map(|node| wiring.ports_of(*node)).map(|port| wiring.peer(port));
            front = peers.filter(|peer| rest.remove(peer)).collect();
            if front.is_empty() {
                break;
            }
            for node in &front {
                wiring.layers[*node] = layer;
            }
        }
        wiring
    }

    /// Returns the heap size in bytes.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let of_nodes = self.first.heap_bytes() + self.layers.heap_bytes();
        self.ports.heap_bytes() + self.links.heap_bytes() + self.peer_first.heap_bytes() + of_nodes
    }

    /// Returns the ports of `node`.
    #[inline]
    pub fn ports_of(&self, node: NodeId) -> &[PortFacts] {
        let end = NodeId(node.0 + 1);
        &self.ports.as_slice()[self.first[node] as usize..self.first[end] as usize]
    }

    /// Returns the distance of `node` from the nearest host, in links: 0 for a host, 1 for a switch
    /// with hosts, 2 for the layer above. A switch that reaches no host is in layer 0.
    pub fn layer(&self, node: NodeId) -> u32 {
        self.layers[node]
    }

    /// Returns the neighbour of `port`.
    #[inline]
    pub fn peer(&self, port: &PortFacts) -> NodeId {
        self.ports[port.peer].node
    }

    /// Returns port `ix` of the neighbour of `port`.
    #[inline]
    pub(crate) fn port_of_peer(&self, port: PortId, ix: PortIx) -> PortId {
        PortId(self.peer_first[port] + u32::from(ix.0))
    }

    /// Returns the index, within its node, of the port at the other end of `port`'s link.
    pub(crate) fn peer_ix(&self, port: PortId) -> PortIx {
        self.ports[self.ports[port].peer].ix
    }

    /// Returns port `ix` of `node`.
    #[inline]
    pub fn port_at(&self, node: NodeId, ix: PortIx) -> &PortFacts {
        &self.ports[PortId(self.first[node] + u32::from(ix.0))]
    }

    /// Returns the neighbour at port `ix` of `node`.
    #[inline]
    pub fn neighbour(&self, node: NodeId, ix: PortIx) -> NodeId {
        self.peer(self.port_at(node, ix))
    }

    /// Returns true if the path from `start` through `hops` leaves through `port`.
    pub(crate) fn intersects(&self, start: NodeId, hops: impl Iterator<Item = PortIx>, port: &PortFacts) -> bool {
        let mut node = start;
        for ix in hops {
            if (node, ix) == (port.node, port.ix) {
                return true;
            }
            node = self.neighbour(node, ix);
        }
        false
    }
}

impl Links for Wiring {
    fn ports(&self, node: NodeId) -> &[PortFacts] {
        self.ports_of(node)
    }

    fn port(&self, port: PortId) -> &PortFacts {
        &self.ports[port]
    }
}

/// Path of a packet: its egress ports from its source on, at most as many as its time to live.
pub type PortPath = ArrayVec<PortIx, { TIME_TO_LIVE as usize }>;

/// Routes: the ports of every node on shortest paths to every target.
///
/// Targets are switches with hosts, hosts with several ports, and nodes added later. A host with
/// one port shares its switch's routes. Paths pass through a host only if the host relays.
#[derive(Clone, Debug)]
pub struct Routes {
    /// Route to each node that packets can be sent to.
    host_routes: IndexVec<NodeId, Option<HostRoute>>,
    /// Number of each node among the targets.
    target_of: IndexVec<NodeId, Option<u32>>,
    /// Lists of candidates, each stored once.
    lists: Vec<Vec<PortIx>>,
    /// Index of each list in `lists`.
    known: HashMap<Vec<PortIx>, u32>,
    /// Index into `lists`, per target and node.
    table: Vec<IndexVec<NodeId, u32>>,
    /// Routes set by hand.
    by_hand: BTreeMap<(NodeId, NodeId), Vec<PortIx>>,
    /// Ports of links that are down, as known to these routes.
    down: BTreeSet<PortId>,
}

/// Route to a node: a target, and the last hop from there, if the node is not the target itself.
#[derive(Clone, Copy, Debug)]
struct HostRoute {
    target: u32,
    node: NodeId,
    last_hop: Option<PortIx>,
}

impl Routes {
    /// Computes the routes to every host.
    pub fn new(nodes: &Nodes, wiring: &Wiring) -> Routes {
        let none = Vec::new();
        let mut routes = Routes {
            host_routes: vec![None; nodes.len()].into(),
            target_of: vec![None; nodes.len()].into(),
            lists: vec![none.clone()],
            known: HashMap::from([(none, 0)]),
            table: Vec::new(),
            by_hand: BTreeMap::new(),
            down: BTreeSet::new(),
        };
        routes.find_hosts(nodes, wiring);
        routes
    }

    /// Recomputes all routes without the links of `down`. Routes set by hand stay.
    pub(crate) fn renew(&mut self, nodes: &Nodes, wiring: &Wiring, down: BTreeSet<PortId>) {
        let known = nodes.ids().filter(|node| self.host_routes[*node].is_some());
        let known: Vec<NodeId> = known.collect();
        self.down = down;
        self.host_routes = vec![None; nodes.len()].into();
        self.target_of = vec![None; nodes.len()].into();
        self.table.clear();
        self.find_hosts(nodes, wiring);
        for node in known {
            self.add(nodes, wiring, node);
        }
    }

    /// Returns true if these routes know that the link of `port` is down.
    #[inline]
    pub(crate) fn avoid(&self, port: PortId) -> bool {
        self.down.contains(&port)
    }

    /// Computes the routes to every host.
    fn find_hosts(&mut self, nodes: &Nodes, wiring: &Wiring) {
        for (host, _) in nodes.enumerate().filter(|(_, spec)| spec.kind.has_endpoint()) {
            match wiring.ports_of(host) {
                [port] => {
                    let switch = wiring.ports[port.peer];
                    let target = self.target(nodes, wiring, switch.node);
                    self.host_routes[host] = Some(HostRoute { target, node: switch.node, last_hop: Some(switch.ix) });
                }
                _ => self.add(nodes, wiring, host),
            }
        }
    }

    /// Sets the port through which packets for `target` leave `node`, without a check.
    pub fn set(&mut self, node: NodeId, target: NodeId, port: PortIx) {
        self.by_hand.insert((node, target), vec![port]);
    }

    /// Returns the heap size in bytes.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let lists = |lists: &mut dyn Iterator<Item = &Vec<PortIx>>| lists.map(HeapBytes::heap_bytes).sum::<u64>();
        let known = self.known.capacity() * (size_of::<(Vec<PortIx>, u32)>() + 1);
        self.host_routes.heap_bytes()
            + self.target_of.heap_bytes()
            + self.lists.heap_bytes()
            + lists(&mut self.lists.iter())
            + known as u64
            + lists(&mut self.known.keys())
            + self.table.heap_bytes()
            + self.table.iter().map(|lists| lists.heap_bytes()).sum::<u64>()
    }

    /// Computes the routes to `node`, unless they exist.
    pub fn add(&mut self, nodes: &Nodes, wiring: &Wiring, node: NodeId) {
        let target = self.target(nodes, wiring, node);
        self.host_routes[node].get_or_insert(HostRoute { target, node, last_hop: None });
    }

    /// Returns the target number of `node`. Makes the node a target if it is none.
    fn target(&mut self, nodes: &Nodes, wiring: &Wiring, node: NodeId) -> u32 {
        if let Some(target) = self.target_of[node] {
            return target;
        }
        let distance = distances(nodes, wiring, &self.down, node);
        let candidates = (0..nodes.len() as u32).map(|from| closer(nodes, wiring, &self.down, &distance, NodeId(from)));
        let candidates: Vec<_> = candidates.collect();
        let lists = candidates.into_iter().map(|ports| self.list(ports)).collect();
        self.table.push(lists);
        let target = self.table.len() as u32 - 1;
        self.target_of[node] = Some(target);
        target
    }

    /// Returns the index of `candidates` in `lists`. Adds the list if it is new.
    fn list(&mut self, candidates: Vec<PortIx>) -> u32 {
        let Routes { lists, known, .. } = self;
        *known.entry(candidates).or_insert_with_key(|candidates| {
            lists.push(candidates.clone());
            lists.len() as u32 - 1
        })
    }

    /// Returns the ports of `node` on shortest paths to `target`; empty if there is no path.
    #[inline]
    pub fn candidates(&self, node: NodeId, target: NodeId) -> &[PortIx] {
        if !self.by_hand.is_empty()
            && let Some(ports) = self.by_hand.get(&(node, target))
        {
            return ports;
        }
        let Some(reach) = &self.host_routes[target] else { return &[] };
        match &reach.last_hop {
            Some(last_hop) if reach.node == node => std::slice::from_ref(last_hop),
            _ => &self.lists[self.table[reach.target as usize][node] as usize],
        }
    }

    /// Returns the path from `source` to `target` through `via`, in order; `choose` selects among
    /// several ports. `None` if there is no path. In a routing loop the path ends after
    /// [`TIME_TO_LIVE`] ports, like the packet.
    pub fn path(
        &self,
        wiring: &Wiring,
        source: NodeId,
        via: &[NodeId],
        target: NodeId,
        mut choose: impl FnMut(NodeId, &[PortIx]) -> PortIx,
    ) -> Option<PortPath> {
        let (mut node, mut ports) = (source, PortPath::new());
        for waypoint in via.iter().chain([&target]) {
            while node != *waypoint {
                let port = match self.candidates(node, *waypoint) {
                    [] => return None,
                    [only] => *only,
                    several => choose(node, several),
                };
                ports.push(port);
                node = wiring.neighbour(node, port);
                if ports.is_full() {
                    return Some(ports);
                }
            }
        }
        Some(ports)
    }

    /// Returns the egress ports of traffic from `sources` to `target`, each with its share. Traffic
    /// counts as a fluid: sources send at equal rates, and nodes spread arrivals evenly over
    /// equal-cost ports.
    pub fn shares(&self, wiring: &Wiring, sources: &[NodeId], target: NodeId) -> Vec<(PortId, f64)> {
        let mut order = Vec::new();
        let mut seen = IndexVec::from(vec![false; self.host_routes.len()]);
        let mut inflow: IndexVec<NodeId, f64> = vec![0.0; self.host_routes.len()].into();
        seen[target] = true;
        for source in sources {
            inflow[*source] += 1.0 / sources.len() as f64;
            self.follow(wiring, *source, target, &mut seen, &mut order);
        }
        let mut shares = Vec::new();
        for node in order.into_iter().rev() {
            let ports = self.candidates(node, target);
            let share = inflow[node] / ports.len() as f64;
            for port in ports {
                shares.push((wiring.port_at(node, *port).id, share));
                inflow[wiring.neighbour(node, *port)] += share;
            }
        }
        shares
    }

    /// Returns true if a packet for `target` may pass `port` after `node`.
    pub(crate) fn may_meet(&self, wiring: &Wiring, node: NodeId, target: NodeId, port: &PortFacts) -> bool {
        let is_on_the_way = self.candidates(port.node, target).contains(&port.ix);
        is_on_the_way && self.may_reach(wiring, node, target, port.node, TIME_TO_LIVE)
    }

    /// Returns true if a packet for `target` may pass `other` after `node`, within `hops` hops.
    fn may_reach(&self, wiring: &Wiring, node: NodeId, target: NodeId, other: NodeId, hops: u8) -> bool {
        let further = |port: &PortIx| self.may_reach(wiring, wiring.neighbour(node, *port), target, other, hops - 1);
        node == other || hops > 0 && node != target && self.candidates(node, target).iter().any(further)
    }

    /// Appends to `order` the nodes on shortest paths from `node` to `target` that are not in
    /// `seen`. A node comes after all nodes to which it leads.
    fn follow(
        &self,
        wiring: &Wiring,
        node: NodeId,
        target: NodeId,
        seen: &mut IndexVec<NodeId, bool>,
        order: &mut Vec<NodeId>,
    ) {
        if std::mem::replace(&mut seen[node], true) {
            return;
        }
        for port in self.candidates(node, target) {
            self.follow(wiring, wiring.neighbour(node, *port), target, seen, order);
        }
        order.push(node);
    }

    /// Returns the largest number of equal-cost ports of a node on a path between two hosts, the
    /// source host excluded ([`Shape::choices`](crate::contract::Shape::choices)).
    pub(crate) fn most_choices(&self, nodes: &Nodes, wiring: &Wiring) -> usize {
        let hosts = || nodes.enumerate().filter(|(_, spec)| spec.kind.has_endpoint()).map(|(id, _)| id);
        // Hosts with one link share their switch's routes, except those set by hand.
        let (mut switches, by_hand) = (BTreeSet::new(), !self.by_hand.is_empty());
        let is_new = |host: &NodeId| match wiring.ports_of(*host) {
            [link] => switches.insert(wiring.peer(link)) || by_hand,
            _ => true,
        };
        let most = |target: NodeId| {
            let candidates = |node: NodeId| self.candidates(node, target);
            let next = |node: NodeId| candidates(node).iter().map(move |port| wiring.neighbour(node, *port));
            let (mut seen, mut most) = (IndexVec::from(vec![false; nodes.len()]), 0);
            seen[target] = true;
            let mut front: Vec<NodeId> = hosts().flat_map(next).collect();
            while let Some(node) = front.pop() {
                if !std::mem::replace(&mut seen[node], true) {
                    most = most.max(candidates(node).len());
                    front.extend(next(node));
                }
            }
            most
        };
        hosts().filter(is_new).map(most).max().unwrap_or(0)
    }

    /// Returns the largest number of stages of a path between two hosts
    /// ([`Shape::stages`](crate::contract::Shape::stages)), whichever equal-cost ports packets
    /// take.
    pub fn most_stages(&self, nodes: &Nodes, wiring: &Wiring) -> usize {
        let hosts = || nodes.enumerate().filter(|(_, spec)| spec.kind.has_endpoint()).map(|(id, _)| id);
        // Hosts with one link share their switch's routes.
        let target = |host| match wiring.ports_of(host) {
            [] => None,
            [link] => Some(((wiring.peer(link), true), host)),
            _ => Some(((host, false), host)),
        };
        let targets: BTreeMap<(NodeId, bool), NodeId> = hosts().filter_map(target).collect();
        let farthest = |target: &NodeId| {
            let mut stages = vec![StageCount::Unknown; nodes.len()].into();
            hosts().map(|host| self.stages_after(nodes, wiring, host, *target, &mut stages)).max().unwrap_or(0)
        };
        1 + targets.values().map(farthest).max().unwrap_or(0)
    }

    /// Returns the largest number of stages that begin after `node` on a path to `target`. In a
    /// routing loop, this number is the time to live.
    fn stages_after(
        &self,
        nodes: &Nodes,
        wiring: &Wiring,
        node: NodeId,
        target: NodeId,
        stages: &mut IndexVec<NodeId, StageCount>,
    ) -> usize {
        let next = |node: NodeId| self.candidates(node, target).iter().map(move |port| wiring.neighbour(node, *port));
        let mut stack = vec![node];
        while let Some(node) = stack.last().copied() {
            let most = match stages[node] {
                StageCount::Stages(_) => {
                    stack.pop();
                    continue;
                }
                StageCount::Unknown => {
                    stages[node] = StageCount::Open;
                    stack.extend(next(node).filter(|next| *next != target));
                    continue;
                }
                StageCount::Open => next(node)
                    .filter(|next| *next != target)
                    .map(|next| stages[next].stages() + usize::from(begins_stage(nodes, node, next))),
            };
            stages[node] = StageCount::Stages(most.max().unwrap_or(0));
        }
        stages[node].stages()
    }

    /// Returns base round-trip times between hosts, for frames of `there` and `back` wire bytes
    /// that are stored and forwarded at every hop.
    pub fn round_trips(&self, nodes: &Nodes, wiring: &Wiring, there: u64, back: u64) -> RoundTrips {
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
        for (switch, (first_hop, _)) in &racks {
            for (_, host) in racks.values() {
                let path = self.path(wiring, *switch, &[], *host, |_, candidates| candidates[0]);
                let (mut node, mut sum) = (*switch, *first_hop);
                for port in path.iter().flatten() {
                    sum += hop(wiring.port_at(node, *port));
                    node = wiring.neighbour(node, *port);
                }
                let of_as_many =
                    longest.entry(path.map_or(1, |path| (path.len() + 1).min(u8::MAX.into()) as u8)).or_default();
                *of_as_many = (*of_as_many).max(sum);
            }
        }
        RoundTrips::of(&longest)
    }
}

/// Largest number of stages after a node, as far as it is known.
#[derive(Clone, Copy, Debug)]
enum StageCount {
    Unknown,
    /// The path that is being followed passes the node.
    Open,
    /// Known number of stages.
    Stages(usize),
}

impl StageCount {
    /// Returns the number of stages. A path that returns to an open node is a loop, which a packet
    /// follows for its time to live.
    fn stages(self) -> usize {
        match self {
            StageCount::Stages(stages) => stages,
            StageCount::Unknown | StageCount::Open => TIME_TO_LIVE.into(),
        }
    }
}

/// Base round-trip times between hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrips {
    /// Longest round-trip time of any pair.
    pub longest: Duration,
    /// Number of links between the two hosts of that pair.
    pub hops: u8,
    /// Increment per link: a pair with `n` links fewer has a round-trip time that is at least `n`
    /// times the increment shorter.
    pub per_hop: Duration,
}

impl RoundTrips {
    /// Derives the result from the longest round-trip times by number of links.
    fn of(longest: &BTreeMap<u8, Duration>) -> RoundTrips {
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

/// Returns the distance of every node from `target` in hops; `u32::MAX` if there is no path.
fn distances(nodes: &Nodes, wiring: &Wiring, down: &BTreeSet<PortId>, target: NodeId) -> IndexVec<NodeId, u32> {
    let mut distance = IndexVec::from(vec![u32::MAX; nodes.len()]);
    distance[target] = 0;
    let mut queue = VecDeque::from([target]);
    while let Some(node) = queue.pop_front() {
        if node != target && !nodes[node].kind.forwards() {
            continue;
        }
        for port in wiring.ports_of(node).iter().filter(|port| !down.contains(&port.id)) {
            let next = wiring.peer(port);
            if distance[next] == u32::MAX {
                distance[next] = distance[node] + 1;
                queue.push_back(next);
            }
        }
    }
    distance
}

/// Returns the ports of `node` that lead one hop closer to the target of `distance`.
fn closer(
    nodes: &Nodes,
    wiring: &Wiring,
    down: &BTreeSet<PortId>,
    distance: &IndexVec<NodeId, u32>,
    node: NodeId,
) -> Vec<PortIx> {
    let here = distance[node];
    if here == u32::MAX || here == 0 {
        return Vec::new();
    }
    let downhill = |port: &&PortFacts| {
        let next = wiring.peer(port);
        !down.contains(&port.id) && distance[next] == here - 1 && (here == 1 || nodes[next].kind.forwards())
    };
    wiring.ports_of(node).iter().filter(downhill).map(|port| port.ix).collect()
}

#[cfg(test)]
mod tests;
