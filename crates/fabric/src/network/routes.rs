//! Wiring and shortest-path routes. Equal-cost ports are in port order.

mod block;
mod extent;

use crate::contract::{Links, PortFacts};
use crate::frame::TIME_TO_LIVE;
use crate::ids::{NodeId, PortId, PortIx};
use crate::network::spec::{LinkSpec, Nodes};
use arrayvec::ArrayVec;
use backwater_engine::index::IndexVec;
use backwater_engine::memory::HeapBytes;
use block::{BLOCK, Block};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub(crate) use extent::{Extent, RoundTrips, begins_stage};

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
        let is_host = |node: NodeId| nodes[node].kind.has_endpoint();
        let mut queue: VecDeque<NodeId> = nodes.ids().filter(|node| is_host(*node)).collect();
        while let Some(node) = queue.pop_front() {
            for port in wiring.first[node]..wiring.first[NodeId(node.0 + 1)] {
                let peer = wiring.peer(&wiring.ports[PortId(port)]);
                if wiring.layers[peer] == 0 && !is_host(peer) {
                    wiring.layers[peer] = wiring.layers[node] + 1;
                    queue.push_back(peer);
                }
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
        self.of_ports(&self.ports, node)
    }

    /// Returns the elements of `all` for the ports of `node`.
    #[inline]
    fn of_ports<'a, T>(&self, all: &'a IndexVec<PortId, T>, node: NodeId) -> &'a [T] {
        let end = NodeId(node.0 + 1);
        &all.as_slice()[self.first[node] as usize..self.first[end] as usize]
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
    target_of: IndexVec<NodeId, Option<Target>>,
    /// Routes to all targets.
    blocks: Vec<Block>,
    /// Routes set by hand.
    by_hand: BTreeMap<(NodeId, NodeId), Vec<PortIx>>,
    /// Ports of links that are down, as known to these routes.
    down: BTreeSet<PortId>,
}

/// Number of a target. Targets are numbered block by block.
#[derive(Clone, Copy, Debug)]
struct Target(u32);

impl Target {
    /// Returns the number of the target's block.
    #[inline]
    fn block(self) -> usize {
        self.0 as usize / BLOCK
    }

    /// Returns the target's position within its block.
    #[inline]
    fn index(self) -> usize {
        self.0 as usize % BLOCK
    }
}

/// Route to a node: a target, and the last hop from there, if the node is not the target itself.
#[derive(Clone, Copy, Debug)]
struct HostRoute {
    target: Target,
    node: NodeId,
    last_hop: Option<PortIx>,
}

impl Routes {
    /// Computes the routes to every host.
    pub fn new(nodes: &Nodes, wiring: &Wiring) -> Routes {
        let mut routes = Routes {
            host_routes: vec![None; nodes.len()].into(),
            target_of: vec![None; nodes.len()].into(),
            blocks: Vec::new(),
            by_hand: BTreeMap::new(),
            down: BTreeSet::new(),
        };
        let hosts = || nodes.ids().filter(|node| nodes[*node].kind.has_endpoint());
        let end = |host: NodeId| match wiring.ports_of(host) {
            [port] => (wiring.peer(port), Some(wiring.ports[port.peer].ix)),
            _ => (host, None),
        };
        routes.add_targets(nodes, wiring, hosts().map(|host| end(host).0));
        for host in hosts() {
            let (node, last_hop) = end(host);
            let target = routes.target_of[node];
            routes.host_routes[host] = target.map(|target| HostRoute { target, node, last_hop });
        }
        routes
    }

    /// Recomputes all routes without the links of `down`. Routes set by hand stay.
    pub(crate) fn renew(&mut self, nodes: &Nodes, wiring: &Wiring, down: BTreeSet<PortId>) {
        for block in &mut self.blocks {
            *block = Block::new(nodes, wiring, &down, std::mem::take(&mut block.targets));
        }
        self.down = down;
    }

    /// Returns true if these routes know that the link of `port` is down.
    #[inline]
    pub(crate) fn avoid(&self, port: PortId) -> bool {
        self.down.contains(&port)
    }

    /// Sets the port through which packets for `target` leave `node`, without a check.
    pub fn set(&mut self, node: NodeId, target: NodeId, port: PortIx) {
        self.by_hand.insert((node, target), vec![port]);
    }

    /// Returns the heap size in bytes.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let of_blocks = self.blocks.heap_bytes() + self.blocks.iter().map(Block::heap_bytes).sum::<u64>();
        self.host_routes.heap_bytes() + self.target_of.heap_bytes() + of_blocks
    }

    /// Computes the routes to the nodes `added`, unless they exist.
    pub fn add(&mut self, nodes: &Nodes, wiring: &Wiring, added: impl Iterator<Item = NodeId> + Clone) {
        self.add_targets(nodes, wiring, added.clone());
        for node in added {
            let itself = self.target_of[node].map(|target| HostRoute { target, node, last_hop: None });
            self.host_routes[node] = self.host_routes[node].or(itself);
        }
    }

    /// Makes the nodes `added` targets, unless they are.
    fn add_targets(&mut self, nodes: &Nodes, wiring: &Wiring, added: impl Iterator<Item = NodeId>) {
        let (first, mut targets) = (self.blocks.len() * BLOCK, Vec::new());
        for node in added {
            self.target_of[node].get_or_insert_with(|| {
                targets.push(node);
                Target((first + targets.len() - 1) as u32)
            });
        }
        let block = |targets: &[NodeId]| Block::new(nodes, wiring, &self.down, targets.to_vec());
        self.blocks.extend(targets.chunks(BLOCK).map(block));
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
            _ => self.blocks[reach.target.block()].candidates(node, reach.target.index()),
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
}

#[cfg(test)]
mod tests;
