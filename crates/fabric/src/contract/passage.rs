//! Where packets are on their way, and what a PAUSE stops of them.

use crate::frame::Direction;
use crate::ids::{Class, FlowId, PortId, PortIx, QueueIx};

/// Stands for the ingress port of what a node has made itself: notices, the answers of a host.
pub const OWN: PortIx = PortIx::MAX;

/// Where a charged packet is on its way through a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The port through which it came in; [`OWN`] of what the node has made itself.
    pub ingress: PortIx,
    /// The port through which it leaves.
    pub egress: PortIx,
    /// The queue of the egress port in which it is (on enqueue) or was (on dequeue).
    pub queue: QueueIx,
    /// The traffic class in which it came: what its ingress queue is charged for, and what a PAUSE to the upstream names.
    pub came: Class,
    /// The traffic class in which it leaves.
    pub class: Class,
    /// Its charged bytes.
    pub bytes: u16,
    /// What the flow control wrote down about it when it chose the queue.
    pub note: u32,
}

impl Passage {
    /// Whether the packet is charged to a pool, and thereby subject to flow control: not in the control class, and not where it was made.
    #[inline]
    pub(crate) fn is_charged(&self) -> bool {
        self.came != Class::CONTROL && self.ingress != OWN
    }
}

/// What a PAUSE stops, named so that both ends of the link understand it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PauseScope {
    /// A queue of the upstream port.
    Queue(QueueIx),
    /// The packets of a flow in one direction.
    Flow(FlowId, Direction),
    /// What passes a port further down: a congestion root.
    Root(PortId),
    /// The same, of one of several types that the flow control numbers.
    Port(PortId, u8),
}
