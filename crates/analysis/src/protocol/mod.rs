//! Hop-by-hop flow control as an assignment of queues (section VI-A of the Pyrrha paper).

mod bfc;
mod per_destination;
mod per_flow;
mod pfc;
pub mod port_fc;
mod pyrrha;

pub use bfc::Bfc;
pub use per_destination::PerDestination;
pub use per_flow::PerFlow;
pub use pfc::{Pfc, PfcForward, PfcStar};
pub use port_fc::PortFc;
pub use pyrrha::Pyrrha;

use crate::case::{Case, Path};
use backwater_fabric::ids::{Class, FlowId, NodeId, PortId};
use backwater_fabric::network::fabric::Fabric;
use std::num::NonZeroU32;

/// A queue of an egress port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Queue {
    /// Port of the queue.
    pub port: PortId,
    /// Identity within the port.
    pub id: QueueId,
}

/// Identity of a queue within its port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueId {
    /// By traffic class.
    Class(Class),
    /// By number.
    Number(u32),
    /// By destination host (a virtual output queue of the whole network).
    Destination(NodeId),
    /// By flow.
    Flow(FlowId),
    /// By the congested ports ahead, in ascending order. The empty set is the output queue (OQ),
    /// all others are isolation queues (IQ).
    Roots(Vec<PortId>),
    /// By traffic class, and by the number of classes by which the packet was raised.
    Raised {
        /// The class.
        class: Class,
        /// Number of classes by which the packet was raised.
        times: usize,
    },
    /// At a switch, packets that the server at the port relays to this port of another switch
    /// (class A of PortFC).
    RelayedTo(PortId),
    /// At a switch, packets for the server at the port (class B of PortFC).
    Arriving,
    /// At a server, its own packets.
    Own {
        /// Number of switches ahead.
        switches: usize,
        /// Egress port of the next switch.
        port: PortId,
    },
    /// At a server, relayed packets.
    Relay,
}

impl QueueId {
    /// Returns the congested ports of the queue, if queues are identified by them.
    pub fn roots(&self) -> &[PortId] {
        match self {
            QueueId::Roots(roots) => roots,
            _ => &[],
        }
    }
}

impl Queue {
    /// Describes the queue, without its port.
    pub fn describe(&self, case: &Case) -> String {
        match &self.id {
            QueueId::Class(class) => format!("the queue of class {}", class.0),
            QueueId::Number(number) => format!("queue {number}"),
            QueueId::Destination(_) => "the per-destination queue".into(),
            QueueId::Flow(flow) => format!("the queue of {}", case.flow(*flow).name),
            QueueId::Roots(roots) if roots.is_empty() => "the output queue".into(),
            QueueId::Roots(roots) => {
                let names: Vec<&str> = roots.iter().map(|root| case.port(*root).name.as_str()).collect();
                format!("the isolation queue of {}", names.join(" and "))
            }
            QueueId::Raised { class, times: 0 } => format!("the queue of class {}", class.0),
            QueueId::Raised { class, times } => {
                let plural = if *times == 1 { "" } else { "es" };
                format!("the queue of packets raised from class {} by {times} class{plural}", class.0)
            }
            QueueId::RelayedTo(port) => format!("the queue of packets relayed to {}", case.port(*port).name),
            QueueId::Arriving => "the queue of packets destined for the server".into(),
            QueueId::Own { switches, port } => {
                let plural = if *switches == 1 { "" } else { "es" };
                format!(
                    "the queue of the server's own packets towards {}, {switches} switch{plural} ahead",
                    case.port(*port).name
                )
            }
            QueueId::Relay => "the relay queue".into(),
        }
    }
}

/// A hop-by-hop flow control: assigns flows to queues, and pauses queues that feed a full queue.
pub trait Protocol {
    /// Returns the name, which [`parse`] reads.
    fn name(&self) -> String;

    /// Returns the reason why the protocol does not suit `fabric`, or `None` if it does.
    fn unfit(&self, fabric: &Fabric) -> Option<&'static str> {
        let _ = fabric;
        None
    }

    /// Returns the queue of `flow` at `hop` of its path.
    fn queue(&self, case: &Case, flow: FlowId, hop: usize) -> QueueId;

    /// True if the congested port `cause` can pause `queue`, which feeds this port (definition 5,
    /// equation 13).
    fn pauses(&self, queue: &Queue, cause: PortId) -> bool {
        let _ = (queue, cause);
        true
    }

    /// Returns the ports whose signals `queue` obeys even if no flow of the queue passes these
    /// ports.
    fn signalled_by(&self, case: &Case, queue: &Queue) -> Vec<PortId> {
        let _ = (case, queue);
        Vec::new()
    }

    /// True if `holder`, when full, can hold back `queue`. The queue is directly upstream of
    /// `holder` (section VII), or obeys the signals of the port of `holder`.
    fn holds_back(&self, queue: &Queue, holder: &Queue) -> bool {
        let _ = (queue, holder);
        true
    }

    /// True if the node of `port` detects full queues of the port, and pauses its upstreams.
    fn detects(&self, case: &Case, port: PortId) -> bool {
        let _ = (case, port);
        true
    }
}

/// Names of protocols. The number 32 in a name stands for any number of queues.
pub const NAMES: [&str; 9] =
    ["pfc", "bfc-32", "bfc-worst-case", "per-destination", "per-flow", "pyrrha", "pfc-star", "pfc-forward", "port-fc"];

/// Returns the protocol called `name`. Only [`Pyrrha`] uses `own_root_rule`.
pub fn parse(name: &str, own_root_rule: bool) -> Option<Box<dyn Protocol>> {
    Some(match name {
        "pfc" => Box::new(Pfc),
        "pfc-forward" => Box::new(PfcForward),
        "pfc-star" => Box::new(PfcStar),
        "port-fc" => Box::new(PortFc),
        "bfc-worst-case" => Box::new(Bfc::WorstCase),
        "per-destination" => Box::new(PerDestination),
        "per-flow" => Box::new(PerFlow),
        "pyrrha" => Box::new(Pyrrha { own_root_rule }),
        other => {
            let queues = other.strip_prefix("bfc-").filter(|number| number.bytes().all(|digit| digit.is_ascii_digit()));
            Box::new(Bfc::Queues(queues?.parse::<NonZeroU32>().ok()?))
        }
    })
}

/// Returns the congested ports ahead of `hop` on `path`.
fn congested_ahead(case: &Case, path: &Path, hop: usize) -> impl Iterator<Item = PortId> {
    path.ahead(hop).filter(|port| case.congested().contains(port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed() {
        for name in NAMES.into_iter().chain(["bfc-1", "bfc-128"]) {
            assert_eq!(parse(name, true).map(|protocol| protocol.name()).as_deref(), Some(name));
        }
        for name in ["", "PFC", "bfc", "bfc-", "bfc-0", "bfc-+4", "bfc-4294967296"] {
            assert!(parse(name, true).is_none(), "{name}");
        }
    }
}
