//! Why a queue has to stop: kept in the simulation only, so that victims can be distinguished from causes and a tree of pauses can be drawn.

use crate::ids::{CLASSES, PortId, QueueIx};
use backwater_engine::Time;
use get_size2::GetSize;

/// Why a queue has to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, GetSize)]
pub struct Cause {
    /// The port whose congestion is the cause: the root of the tree of pauses.
    pub root: PortId,
    /// The egress port, at the node that has sent the PAUSE, that holds most of the bytes that came from here. `None` where the flow control names the
    /// root alone.
    pub via: Option<PortId>,
    /// The closure of a queue of `via` at that time; `None` if that port was open, and so is the root itself.
    pub parent: Option<Parent>,
    /// Links that PAUSEs have crossed from the root to the queue that stops, one because of the other; 0 where the flow control names the root alone.
    pub hops: u8,
    /// Whether the gate is closed for another queue of its own port to get further, so that order is kept: the root is that port then.
    pub for_order: bool,
}

/// A closure that had not ended, of a queue of a port that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, GetSize)]
pub struct Parent {
    /// The queue.
    pub queue: QueueIx,
    /// When its gate closed.
    pub since: Time,
}

/// The cause for every class that a PFC frame names; the frames of other mechanisms have one, the first.
pub type Causes = [Cause; CLASSES];

impl From<PortId> for Cause {
    fn from(root: PortId) -> Cause {
        Cause { root, via: None, parent: None, hops: 0, for_order: false }
    }
}

impl Cause {
    /// A gate of `port` is closed so that order is kept.
    pub fn order(port: PortId) -> Cause {
        Cause { for_order: true, ..Cause::from(port) }
    }
}

/// An interval in which a gate was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closure {
    /// When it closed.
    pub from: Time,
    /// When it opened.
    pub to: Time,
    /// Why it closed.
    pub cause: Cause,
}
