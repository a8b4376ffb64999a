//! What is analysed, as plain data: flows with their paths, and the ports that are congested.

use backwater_engine::Rate;
use backwater_fabric::ids::{Class, FlowId, NodeId, PortId};
use backwater_fabric::network::spec::NodeKind;
use std::collections::{BTreeMap, BTreeSet};

/// A scenario in the sense of the Pyrrha paper, section VI-A: flows, their routes, and the congested ports at one instant.
#[derive(Clone, Debug)]
pub struct Case {
    ports: BTreeMap<PortId, Port>,
    flows: Vec<Flow>,
    congested: BTreeSet<PortId>,
    /// Per port, the flows that pass it.
    through: BTreeMap<PortId, Vec<FlowId>>,
    /// Per node, its ports.
    of_node: BTreeMap<NodeId, Vec<PortId>>,
}

/// An egress port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// How results call it: `leaf3:5`.
    pub name: String,
    /// The node that it belongs to.
    pub node: NodeId,
    /// What that node does.
    pub kind: NodeKind,
    /// How fast it sends.
    pub rate: Rate,
    /// The port at the other end of its link.
    pub peer: PortId,
}

/// A flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// How results call it: `flow 12 (h3 -> h7)`.
    pub name: String,
    /// Its traffic class.
    pub class: Class,
    /// The host that it goes to.
    pub destination: NodeId,
    /// The egress ports that it passes.
    pub path: Path,
}

/// The egress ports that a flow passes in order, the network card of its host first.
///
/// A path that comes to a port for the second time is a loop. Only its first round is kept, and the port where it closes; whatever would
/// follow is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    ports: Vec<PortId>,
    closes_at: Option<usize>,
}

impl Path {
    /// The path through `ports`, cut where it comes to one of them for the second time.
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

    /// Its ports, each once.
    pub fn ports(&self) -> &[PortId] {
        &self.ports
    }

    /// If the path is a loop, the hop to which the last one leads back.
    pub fn closes_at(&self) -> Option<usize> {
        self.closes_at
    }

    /// The hop at `port`, counted from 0: `R_i(f, p)` of the paper's table I.
    pub fn position(&self, port: PortId) -> Option<usize> {
        self.ports.iter().position(|passed| *passed == port)
    }

    /// The hop that follows `hop`.
    pub fn next(&self, hop: usize) -> Option<usize> {
        if hop + 1 < self.ports.len() { Some(hop + 1) } else { self.closes_at }
    }

    /// The ports that a packet has yet to pass when it leaves `hop`, near ones first. On a loop, `hop` is among them.
    pub fn ahead(&self, hop: usize) -> impl Iterator<Item = PortId> {
        let again = self.closes_at.filter(|closes_at| hop >= *closes_at).map(|closes_at| closes_at..hop + 1);
        (hop + 1..self.ports.len()).chain(again.into_iter().flatten()).map(|hop| self.ports[hop])
    }

    /// The hops that have `port` ahead of them: its `P_pp` of the paper's definition 4.
    pub fn hops_before(&self, port: PortId) -> std::ops::Range<usize> {
        match (self.position(port), self.closes_at) {
            (None, _) => 0..0,
            (Some(hop), Some(closes_at)) if hop >= closes_at => 0..self.ports.len(),
            (Some(hop), _) => 0..hop,
        }
    }
}

/// A path or the list of congested ports names a port that the case does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("port {} is not among the ports of the case", .0.0)]
pub struct UnknownPort(pub PortId);

impl Case {
    /// A case with `flows` through `ports`, of which some are congested.
    ///
    /// # Errors
    /// If a flow passes a port that is not among `ports`, or a congested one is not.
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
            None => Ok(Case { ports, flows, congested, through, of_node }),
        }
    }

    /// The flows, in the order of their ids.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// The flow called `id`.
    pub fn flow(&self, id: FlowId) -> &Flow {
        &self.flows[id.0 as usize]
    }

    /// The flows that pass `port`: `N(Q(p))` of the paper.
    pub fn through(&self, port: PortId) -> &[FlowId] {
        self.through.get(&port).map_or(&[], Vec::as_slice)
    }

    /// The congested ports.
    pub fn congested(&self) -> &BTreeSet<PortId> {
        &self.congested
    }

    /// What `port` is.
    pub fn port(&self, port: PortId) -> &Port {
        &self.ports[&port]
    }

    /// The ports of `node` that the case has.
    pub fn of_node(&self, node: NodeId) -> &[PortId] {
        self.of_node.get(&node).map_or(&[], Vec::as_slice)
    }

    /// The ports of the node at the other end of the link of `port`, except the one of that link.
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
    fn a_path_knows_what_lies_ahead() {
        let path = Path::new([4, 7, 2].map(PortId));
        assert_eq!((ports(&path, 0), ports(&path, 2)), (vec![7, 2], vec![]));
        assert_eq!((path.next(0), path.next(2)), (Some(1), None));
        assert_eq!((path.hops_before(PortId(2)), path.hops_before(PortId(4))), (0..2, 0..0));
        assert_eq!(path.hops_before(PortId(9)), 0..0);
    }

    #[test]
    fn a_loop_is_cut_and_closed() {
        // In at 1, then round through 2, 3 and 4.
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
        assert_eq!(unknown.to_string(), "port 1 is not among the ports of the case");
    }
}
