//! Causes of PAUSEs, which exist only in the simulation. Causes distinguish victims from culprits,
//! and join PAUSEs into trees.

use crate::ids::{CLASSES, PortId, QueueIx};
use backwater_engine::Time;
use get_size2::GetSize;

/// Cause of a PAUSE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, GetSize)]
pub struct Cause {
    /// Congestion root: the port whose congestion is the root of the tree of PAUSEs.
    pub root: PortId,
    /// Egress port, at the node that sent the PAUSE, that holds most of the bytes received from the
    /// paused queue. `None` if the flow control names only the root.
    pub via: Option<PortId>,
    /// Closure of a gate of `via` at the time of the PAUSE. `None` if the gates of `via` were open,
    /// so that `via` is the root.
    pub parent: Option<Parent>,
    /// Number of links that the chain of PAUSEs crossed from the root to the paused queue; 0 if the
    /// flow control names only the root.
    pub hops: u8,
    /// True if the gate is closed to keep packets in order until another queue of the port has
    /// advanced. The root is then the port itself.
    pub for_order: bool,
}

/// A gate that was closed when it caused another PAUSE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, GetSize)]
pub struct Parent {
    /// Queue of the gate.
    pub queue: QueueIx,
    /// Time at which the gate closed.
    pub since: Time,
}

/// Causes of a PAUSE frame, one per class of a PFC frame. Frames of other flow controls have only
/// the first cause.
pub type Causes = [Cause; CLASSES];

impl From<PortId> for Cause {
    fn from(root: PortId) -> Cause {
        Cause { root, via: None, parent: None, hops: 0, for_order: false }
    }
}

impl Cause {
    /// Returns the cause of a gate that `port` closes to keep packets in order.
    pub fn order(port: PortId) -> Cause {
        Cause { for_order: true, ..Cause::from(port) }
    }
}

/// Interval in which a gate was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closure {
    /// Time at which the gate closed.
    pub from: Time,
    /// Time at which the gate opened.
    pub to: Time,
    /// Cause of the closure.
    pub cause: Cause,
}
