//! Facts of a queue pair, as its owner reports them.

use crate::frame::Psn;
use crate::ids::{Class, FlowId, PortIx, QueueIx};
use backwater_engine::Time;

/// Next packet, window and departure time of a queue pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairFacts {
    pub(crate) flow: FlowId,
    pub(crate) class: Class,
    pub(crate) port: PortIx,
    /// Queue of the port whose gate holds the queue pair back.
    pub(crate) queue: QueueIx,
    /// Next packet; `None` if all packets were sent.
    pub(crate) next: Option<Psn>,
    /// Payload bytes in flight.
    pub(crate) in_flight: u64,
    /// Maximum number of payload bytes in flight.
    pub(crate) window: u64,
    /// Earliest departure of the next packet by pacing.
    pub(crate) departure: Time,
}

impl PairFacts {
    /// Returns true if there is a packet to send and the window has no room for it.
    pub(crate) fn is_window_full(&self) -> bool {
        self.next.is_some() && self.in_flight >= self.window
    }
}
