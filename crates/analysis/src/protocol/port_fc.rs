//! PortFC: queues by the egress port of the next switch, and PAUSE frames with that port ("PortFC",
//! sections 3.2 and 3.3).

use super::{Protocol, Queue, QueueId};
use crate::case::Case;
use backwater_fabric::ids::{FlowId, NodeId, PortId};
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::routes::Wiring;
use backwater_fabric::network::spec::{LinkSpec, NodeKind};

/// PortFC, for networks with relaying servers and links only between switches and servers, as in
/// BCube. Switches detect congestion at their egress ports, servers do not. At a server, relayed
/// packets are never paused and precede the server's own packets.
#[derive(Clone, Copy, Debug)]
pub struct PortFc;

impl Protocol for PortFc {
    fn name(&self) -> String {
        "port-fc".into()
    }

    fn unfit(&self, fabric: &Fabric) -> Option<&'static str> {
        let is_switch = |node: NodeId| fabric.spec.nodes[node].kind == NodeKind::Switch;
        let joins = |link: &LinkSpec| is_switch(link.a) != is_switch(link.b);
        let nodes = || fabric.spec.nodes.iter();
        let relays = nodes().any(|node| node.kind == NodeKind::Relay);
        let is_fit = fabric.spec.links.iter().all(joins)
            && (relays || nodes().filter(|node| node.kind == NodeKind::Switch).count() == 1);
        (!is_fit).then_some("requires relaying hosts, and links only between switches and hosts, as in BCube")
    }

    fn queue(&self, case: &Case, flow: FlowId, hop: usize) -> QueueId {
        let path = &case.flow(flow).path;
        let is_switch = |port: &PortId| case.port(*port).kind == NodeKind::Switch;
        let mut switches = path.ahead(hop).filter(is_switch);
        match (is_switch(&path.ports()[hop]), switches.next()) {
            (true, Some(port)) => QueueId::RelayedTo(port),
            (true, None) => QueueId::Arriving,
            (false, Some(port)) if hop == 0 => QueueId::Own { switches: 1 + switches.count(), port },
            (false, _) => QueueId::Relay,
        }
    }

    fn pauses(&self, _queue: &Queue, _cause: PortId) -> bool {
        false
    }

    fn signalled_by(&self, _case: &Case, queue: &Queue) -> Vec<PortId> {
        match queue.id {
            QueueId::Own { port, .. } | QueueId::RelayedTo(port) => vec![port],
            _ => Vec::new(),
        }
    }

    /// Class B of a port pauses two kinds of traffic for the port. These are a server's own traffic
    /// that ends at the next server, and class A of the previous switch. Class A of a port pauses
    /// servers' own traffic that the next server relays. The class A queues of a port count as one
    /// queue.
    fn holds_back(&self, queue: &Queue, holder: &Queue) -> bool {
        match (&queue.id, &holder.id) {
            (QueueId::Own { switches: 1, port } | QueueId::RelayedTo(port), QueueId::Arriving) => *port == holder.port,
            (QueueId::Own { switches: 2.., port }, QueueId::RelayedTo(_)) => *port == holder.port,
            _ => false,
        }
    }

    fn detects(&self, case: &Case, port: PortId) -> bool {
        case.port(port).kind == NodeKind::Switch
    }
}

/// Returns all queues that `port` needs for any flows, in the order of the paper, without the queue
/// of ACKs and control frames. Including that queue, BCube(n, k) needs k(n-1)+2 queues at a port of
/// a switch, and (k+1)(n-1)+2 queues at a port of a server.
pub fn queues(fabric: &Fabric, port: PortId) -> Vec<QueueId> {
    let Fabric { wiring, spec, .. } = fabric;
    let facts = &wiring.ports[port];
    if spec.nodes[facts.node].kind == NodeKind::Switch {
        let onward = others(wiring, port).flat_map(|relay| others(wiring, relay));
        onward.map(QueueId::RelayedTo).chain([QueueId::Arriving]).collect()
    } else {
        let hops = (1..=wiring.ports_of(facts.node).len()).rev();
        let own = hops.flat_map(|switches| others(wiring, port).map(move |port| QueueId::Own { switches, port }));
        own.chain([QueueId::Relay]).collect()
    }
}

/// Returns the ports of the node at the other end of `port`'s link, except the peer port.
fn others(wiring: &Wiring, port: PortId) -> impl Iterator<Item = PortId> {
    let peer = wiring.ports[port].peer;
    let node = wiring.ports[peer].node;
    wiring.ports_of(node).iter().map(|port| port.id).filter(move |other| *other != peer)
}
