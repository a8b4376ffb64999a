//! Input of the analysis as plain data: flows with their paths, and congested ports.

use backwater_engine::Rate;
use backwater_engine::index::IndexVec;
use backwater_fabric::ids::{Class, FlowId, NodeId, PortId};
use backwater_fabric::network::spec::NodeKind;
use std::collections::{BTreeMap, BTreeSet};

/// A scenario in the sense of the Pyrrha paper, section VI-A: flows, their routes, and the ports
/// that are congested at one instant.
#[derive(Clone, Debug)]
pub struct Case {
    ports: BTreeMap<PortId, Port>,
    flows: IndexVec<FlowId, Flow>,
    congested: BTreeSet<PortId>,
    /// Flows through each port.
    through: BTreeMap<PortId, Vec<FlowId>>,
    /// Ports of each node.
    of_node: BTreeMap<NodeId, Vec<PortId>>,
}

/// An egress port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Name in results: `leaf3:5`.
    pub name: String,
    /// Node of the port.
    pub node: NodeId,
    /// Kind of the node.
    pub kind: NodeKind,
    /// Bit rate.
    pub rate: Rate,
    /// Port at the other end of the link.
    pub peer: PortId,
}

/// A flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Name in results: `flow 12 (h3 -> h7)`.
    pub name: String,
    /// Traffic class.
    pub class: Class,
    /// Destination host.
    pub destination: NodeId,
    /// Egress ports along the flow's path.
    pub path: Path,
}

/// The egress ports along a flow's path, the NIC of its source host first.
///
/// A path that reaches a port twice is a loop. Only the first round is kept, with the port at which
/// the loop closes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    ports: Vec<PortId>,
    closes_at: Option<usize>,
}

impl Path {
    /// Returns the path through `ports`, cut at the first port that repeats.
    pub fn new(ports: impl IntoIterator<Item = PortId>) -> Path {
        let mut path = Path::default();
        for port in ports {
            path.closes_at = path.position(port);
            if path.closes_at.is_some() {
                break;
            }
            path.ports.push(port);
        }
        path
    }

    /// Returns the ports, each once.
    pub fn ports(&self) -> &[PortId] {
        &self.ports
    }

    /// Returns the hop that follows the last hop of a loop.
    pub fn closes_at(&self) -> Option<usize> {
        self.closes_at
    }

    /// Returns the hop at `port`, counted from 0: `R_i(f, p)` in Table I of the Pyrrha paper.
    pub fn position(&self, port: PortId) -> Option<usize> {
        self.ports.iter().position(|passed| *passed == port)
    }

    /// Returns the hop after `hop`.
    pub fn next(&self, hop: usize) -> Option<usize> {
        if hop + 1 < self.ports.len() { Some(hop + 1) } else { self.closes_at }
    }

    /// Returns the ports after `hop`, nearest first. If `hop` is on a loop, they include its own
    /// port.
    pub fn ahead(&self, hop: usize) -> impl Iterator<Item = PortId> {
        let again = self.closes_at.filter(|closes_at| hop >= *closes_at).map(|closes_at| closes_at..hop + 1);
        (hop + 1..self.ports.len()).chain(again.into_iter().flatten()).map(|hop| self.ports[hop])
    }

    /// Returns the hops before `port`: `P_pp` of the port in definition 4 of the Pyrrha paper.
    pub fn hops_before(&self, port: PortId) -> std::ops::Range<usize> {
        match (self.position(port), self.closes_at) {
            (None, _) => 0..0,
            (Some(hop), Some(closes_at)) if hop >= closes_at => 0..self.ports.len(),
            (Some(hop), _) => 0..hop,
        }
    }
}

/// An error: a path, or the list of congested ports, names an unknown port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("port {} does not exist in the analysed network", .0.0)]
pub struct UnknownPort(pub PortId);

impl Case {
    /// Creates a case.
    ///
    /// # Errors
    /// If `ports` lacks a port of a flow or a congested port.
    pub fn new(
        ports: BTreeMap<PortId, Port>,
        flows: Vec<Flow>,
        congested: impl IntoIterator<Item = PortId>,
    ) -> Result<Case, UnknownPort> {
        let mut through: BTreeMap<PortId, Vec<FlowId>> = BTreeMap::new();
        for (id, flow) in (0..).map(FlowId).zip(&flows) {
            for port in flow.path.ports() {
                through.entry(*port).or_default().push(id);
            }
        }
        let congested = BTreeSet::from_iter(congested);
        let mut of_node: BTreeMap<NodeId, Vec<PortId>> = BTreeMap::new();
        for (id, port) in &ports {
            of_node.entry(port.node).or_default().push(*id);
        }
        match through.keys().chain(&congested).find(|port| !ports.contains_key(port)) {
            Some(unknown) => Err(UnknownPort(*unknown)),
            None => Ok(Case { ports, flows: flows.into(), congested, through, of_node }),
        }
    }

    /// Returns the flows in order of id.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Returns a flow.
    pub fn flow(&self, id: FlowId) -> &Flow {
        &self.flows[id]
    }

    /// Returns the flows through `port`: `N(Q(p))` of the Pyrrha paper.
    pub fn through(&self, port: PortId) -> &[FlowId] {
        self.through.get(&port).map_or(&[], Vec::as_slice)
    }

    /// Returns the congested ports.
    pub fn congested(&self) -> &BTreeSet<PortId> {
        &self.congested
    }

    /// Returns the properties of `port`.
    pub fn port(&self, port: PortId) -> &Port {
        &self.ports[&port]
    }

    /// Returns the ports of `node` that the case contains.
    pub fn of_node(&self, node: NodeId) -> &[PortId] {
        self.of_node.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Returns the ports of the node at the other end of `port`'s link, except the peer port.
    pub fn beyond(&self, port: PortId) -> impl Iterator<Item = PortId> {
        let peer = self.port(port).peer;
        let node = self.ports.get(&peer).map_or(&[][..], |peer| self.of_node(peer.node));
        node.iter().copied().filter(move |other| *other != peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(path: &Path, hop: usize) -> Vec<u32> {
        path.ahead(hop).map(|port| port.0).collect()
    }

    #[test]
    fn paths_have_ports_ahead_and_hops_before() {
        let path = Path::new([4, 7, 2].map(PortId));
        assert_eq!((ports(&path, 0), ports(&path, 2)), (vec![7, 2], vec![]));
        assert_eq!((path.next(0), path.next(2)), (Some(1), None));
        assert_eq!((path.hops_before(PortId(2)), path.hops_before(PortId(4))), (0..2, 0..0));
        assert_eq!(path.hops_before(PortId(9)), 0..0);
    }

    #[test]
    fn loops_are_cut_and_closed() {
        // The path enters the loop from port 1. The loop consists of ports 2, 3 and 4.
        let path = Path::new([1, 2, 3, 4, 2, 9].map(PortId));
        assert_eq!((path.ports().len(), path.closes_at()), (4, Some(1)));
        assert_eq!((ports(&path, 0), ports(&path, 2)), (vec![2, 3, 4], vec![4, 2, 3]));
        assert_eq!((path.next(2), path.next(3)), (Some(3), Some(1)));
        assert_eq!((path.hops_before(PortId(1)), path.hops_before(PortId(2))), (0..0, 0..4));
    }

    #[test]
    fn ports_must_be_known() {
        let (kind, rate) = (NodeKind::Switch, Rate::from_gbps(100));
        let port = Port { name: "s0:0".into(), node: NodeId(0), kind, rate, peer: PortId(0) };
        let unknown = Case::new(BTreeMap::from([(PortId(0), port)]), Vec::new(), [PortId(1)]).unwrap_err();
        assert_eq!(unknown.to_string(), "port 1 does not exist in the analysed network");
    }
}
