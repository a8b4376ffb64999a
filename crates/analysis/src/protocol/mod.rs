//! Flow control as an assignment of queues: what the Pyrrha paper's section VI-A reduces a hop-by-hop flow control to.

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
    /// The port.
    pub port: PortId,
    /// Which of the port's queues.
    pub id: QueueId,
}

/// What tells the queues of a port apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueId {
    /// By traffic class.
    Class(Class),
    /// By number.
    Number(u32),
    /// By the host that packets go to (a virtual output queue of the whole network).
    Destination(NodeId),
    /// By flow.
    Flow(FlowId),
    /// By the congested ports ahead, in ascending order. The empty set is the output queue (OQ), all others are isolation queues (IQ).
    Roots(Vec<PortId>),
    /// By traffic class and how many classes the packet has gone up.
    Raised {
        /// The class.
        class: Class,
        /// How many have.
        times: usize,
    },
    /// At a switch, packets that the server behind its port relays to this port of another switch (class A of PortFC).
    RelayedTo(PortId),
    /// At a switch, packets for the server behind its port (class B of PortFC).
    Arriving,
    /// At a server, its own packets.
    Own {
        /// How many switches they pass.
        switches: usize,
        /// The port through which they leave the next one.
        port: PortId,
    },
    /// At a server, packets that it relays.
    Relay,
}

impl QueueId {
    /// The congested ports that the queue is for; none unless queues are distinguished by them.
    pub fn roots(&self) -> &[PortId] {
        match self {
            QueueId::Roots(roots) => roots,
            _ => &[],
        }
    }
}

impl Queue {
    /// The queue in words, without its port.
    pub fn describe(&self, case: &Case) -> String {
        match &self.id {
            QueueId::Class(class) => format!("the queue of class {}", class.0),
            QueueId::Number(number) => format!("queue {number}"),
            QueueId::Destination(_) => "the queue of their destination".into(),
            QueueId::Flow(flow) => format!("the queue of {}", case.flow(*flow).name),
            QueueId::Roots(roots) if roots.is_empty() => "the OQ".into(),
            QueueId::Roots(roots) => {
                let names: Vec<&str> = roots.iter().map(|root| case.port(*root).name.as_str()).collect();
                format!("the IQ of {}", names.join(" and "))
            }
            QueueId::Raised { class, times } => format!("the queue of class {}, raised {times} times", class.0),
            QueueId::RelayedTo(port) => format!("the queue of relays to {}", case.port(*port).name),
            QueueId::Arriving => "the queue of arrivals".into(),
            QueueId::Own { switches, port } => {
                let plural = if *switches == 1 { "" } else { "es" };
                format!("the own queue to {}, {switches} switch{plural} to go", case.port(*port).name)
            }
            QueueId::Relay => "the relay queue".into(),
        }
    }
}

/// A hop-by-hop flow control: who shares a queue, and what a full queue stops.
pub trait Protocol {
    /// Its name, which [`parse`] understands.
    fn name(&self) -> String;

    /// Why it makes no sense in `fabric`; `None` if it does.
    fn unfit(&self, fabric: &Fabric) -> Option<&'static str> {
        let _ = fabric;
        None
    }

    /// Which queue `flow` joins at `hop` of its path.
    fn queue(&self, case: &Case, flow: FlowId, hop: usize) -> QueueId;

    /// Whether the congested port `cause` can pause `queue`, through which some flow comes to it (definition 5, equation 13).
    fn pauses(&self, queue: &Queue, cause: PortId) -> bool {
        let _ = (queue, cause);
        true
    }

    /// The ports whose signals `queue` obeys although no flow need go from it to them directly.
    fn signalled_by(&self, case: &Case, queue: &Queue) -> Vec<PortId> {
        let _ = (case, queue);
        Vec::new()
    }

    /// Whether `holder`, when full, can hold back `queue`, from which some flow comes to it directly (section VII), or which obeys the
    /// signals of its port.
    fn holds_back(&self, queue: &Queue, holder: &Queue) -> bool {
        let _ = (queue, holder);
        true
    }

    /// Whether the node of `port` notices when a queue of the port gets full; if not, it stops nobody on its own account.
    fn detects(&self, case: &Case, port: PortId) -> bool {
        let _ = (case, port);
        true
    }
}

/// Names of protocols; a number of queues may replace the 32.
pub const NAMES: [&str; 9] =
    ["pfc", "bfc-32", "bfc-worst-case", "per-destination", "per-flow", "pyrrha", "pfc-star", "pfc-forward", "port-fc"];

/// The protocol called `name`; `own_root_rule` is for [`Pyrrha`]. `None` if there is none of that name.
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

/// The congested ports ahead of `hop` on `path`.
fn congested_ahead(case: &Case, path: &Path, hop: usize) -> impl Iterator<Item = PortId> {
    path.ahead(hop).filter(|port| case.congested().contains(port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_understood() {
        for name in NAMES.into_iter().chain(["bfc-1", "bfc-128"]) {
            assert_eq!(parse(name, true).map(|protocol| protocol.name()).as_deref(), Some(name));
        }
        for name in ["", "PFC", "bfc", "bfc-", "bfc-0", "bfc-+4", "bfc-4294967296"] {
            assert!(parse(name, true).is_none(), "{name}");
        }
    }
}
