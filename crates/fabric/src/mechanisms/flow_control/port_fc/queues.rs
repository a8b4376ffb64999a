//! Numbering of queues by the egress ports of the next switch.

use crate::contract::Links;
use crate::ids::{PortId, QueueIx};
use get_size2::GetSize;

/// Egress ports of a switch for packets that enter by one port, with a queue each (sections 3.2.1
/// and 3.2.2). The entry port has no queue, so the queue numbers of the ports after it are lower by
/// one.
#[derive(Clone, Copy, Debug, GetSize)]
pub(super) struct Exits {
    /// First port of the switch.
    first: u32,
    /// Number of the switch's ports.
    ports: u32,
    /// Entry port of the packets.
    entry: u32,
    /// Queue of the first exit.
    queue: QueueIx,
}

impl Exits {
    /// Returns the exits of the switch with the port `entry`; their queues start at `queue`.
    pub(super) fn new(network: &dyn Links, entry: PortId, queue: QueueIx) -> Exits {
        let ports = network.ports(network.port(entry).node);
        Exits { first: ports[0].id.0, ports: ports.len() as u32, entry: entry.0, queue }
    }

    /// Returns the number of exits.
    pub(super) fn len(&self) -> u16 {
        self.ports as u16 - 1
    }

    /// Returns the queue of `exit`, if it is one of these exits.
    pub(super) fn queue(&self, exit: PortId) -> Option<QueueIx> {
        let number = exit.0.checked_sub(self.first).filter(|number| *number < self.ports)?;
        (exit.0 != self.entry).then(|| QueueIx(self.queue.0 + (number - u32::from(exit.0 > self.entry)) as u16))
    }

    /// Returns the exit whose queue is `queue`, if there is one.
    pub(super) fn exit(&self, queue: QueueIx) -> Option<PortId> {
        let number = queue.0.checked_sub(self.queue.0).filter(|number| *number < self.len())?;
        let port = self.first + u32::from(number);
        Some(PortId(port + u32::from(port >= self.entry)))
    }
}
