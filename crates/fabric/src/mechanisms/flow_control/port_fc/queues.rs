//! How queues are numbered: by the ports of a switch that lead on from where a packet comes in.

use crate::contract::Links;
use crate::ids::{PortId, QueueIx};
use get_size2::GetSize;

/// The ports of a switch through which packets leave that come in by one of them, and a queue for each (sections 3.2.1 and 3.2.2): the port by which they
/// come is left out, and those behind it move up by one.
#[derive(Clone, Copy, Debug, GetSize)]
pub(super) struct Exits {
    /// The first port of the switch.
    first: u32,
    /// Number of its ports.
    ports: u32,
    /// The port by which packets come in.
    entry: u32,
    /// The queue of the first exit.
    queue: QueueIx,
}

impl Exits {
    /// The exits of the switch that has the port `entry`, with queues from `queue` on.
    pub(super) fn new(network: &dyn Links, entry: PortId, queue: QueueIx) -> Exits {
        let ports = network.ports(network.port(entry).node);
        Exits { first: ports[0].id.0, ports: ports.len() as u32, entry: entry.0, queue }
    }

    /// Number of exits.
    pub(super) fn len(&self) -> QueueIx {
        self.ports as QueueIx - 1
    }

    /// The queue of `exit`, unless it is none of these.
    pub(super) fn queue(&self, exit: PortId) -> Option<QueueIx> {
        let number = exit.0.checked_sub(self.first).filter(|number| *number < self.ports)?;
        (exit.0 != self.entry).then(|| self.queue + (number - u32::from(exit.0 > self.entry)) as QueueIx)
    }

    /// The exit whose queue is `queue`, unless it is that of none.
    pub(super) fn exit(&self, queue: QueueIx) -> Option<PortId> {
        let number = queue.checked_sub(self.queue).filter(|number| *number < self.len())?;
        let port = self.first + u32::from(number);
        Some(PortId(port + u32::from(port >= self.entry)))
    }
}
