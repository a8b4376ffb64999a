//! What the owner of a queue pair says of it.

use crate::frame::Psn;
use crate::ids::{Class, FlowId, PortIx, QueueIx};
use backwater_engine::Time;

/// What a queue pair does next, and may do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairFacts {
    pub(crate) flow: FlowId,
    pub(crate) class: Class,
    pub(crate) port: PortIx,
    /// The queue of the port whose gate holds it back.
    pub(crate) queue: QueueIx,
    /// The packet that it sends next; `None` if all has been sent.
    pub(crate) next: Option<Psn>,
    /// Payload bytes in flight.
    pub(crate) in_flight: u64,
    /// How many there may be before it stops.
    pub(crate) window: u64,
    /// When its rate allows for the next packet.
    pub(crate) departure: Time,
}

impl PairFacts {
    /// Whether there is something to send that the window does not allow for.
    pub(crate) fn is_window_full(&self) -> bool {
        self.next.is_some() && self.in_flight >= self.window
    }
}
