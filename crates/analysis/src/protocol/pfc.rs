//! Priority-based flow control: a queue per traffic class.

use super::{Protocol, Queue, QueueId};
use crate::case::Case;
use backwater_fabric::ids::{FlowId, PortId};
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::spec::NodeKind;

/// A queue per port and traffic class. A full queue pauses the class on every link that feeds the
/// queue.
#[derive(Clone, Copy, Debug)]
pub struct Pfc;

/// PFC with relaying servers that forward PAUSEs. A class that is paused at one port of a server is
/// paused on the links of all other ports, whatever the destination of its packets.
#[derive(Clone, Copy, Debug)]
pub struct PfcForward;

/// PFC with a class per switch on the path, as in Tagger. A packet moves up a class at each server
/// that relays it, and at each switch that follows a switch. A full queue pauses the ingress class
/// of its packets.
#[derive(Clone, Copy, Debug)]
pub struct PfcStar;

impl Protocol for Pfc {
    fn name(&self) -> String {
        "pfc".into()
    }

    fn queue(&self, case: &Case, flow: FlowId, _hop: usize) -> QueueId {
        QueueId::Class(case.flow(flow).class)
    }
}

impl Protocol for PfcForward {
    fn name(&self) -> String {
        "pfc-forward".into()
    }

    fn unfit(&self, fabric: &Fabric) -> Option<&'static str> {
        without_relays(fabric)
    }

    fn queue(&self, case: &Case, flow: FlowId, hop: usize) -> QueueId {
        Pfc.queue(case, flow, hop)
    }

    fn signalled_by(&self, case: &Case, queue: &Queue) -> Vec<PortId> {
        case.beyond(queue.port).filter(|port| !self.detects(case, *port)).collect()
    }

    fn holds_back(&self, queue: &Queue, holder: &Queue) -> bool {
        queue.id == holder.id
    }

    fn detects(&self, case: &Case, port: PortId) -> bool {
        case.port(port).kind != NodeKind::Relay
    }
}

impl Protocol for PfcStar {
    fn name(&self) -> String {
        "pfc-star".into()
    }

    fn queue(&self, case: &Case, flow: FlowId, hop: usize) -> QueueId {
        let flow = case.flow(flow);
        let is_switch = |port: &PortId| case.port(*port).kind == NodeKind::Switch;
        let raises = |pair: &&[PortId]| !is_switch(&pair[1]) || is_switch(&pair[0]);
        QueueId::Raised { class: flow.class, times: flow.path.ports()[..=hop].windows(2).filter(raises).count() }
    }
}

fn without_relays(fabric: &Fabric) -> Option<&'static str> {
    let any = fabric.spec.nodes.iter().any(|node| node.kind == NodeKind::Relay);
    (!any).then_some("requires relaying hosts, as in BCube; without relaying hosts, this flow control equals pfc")
}
