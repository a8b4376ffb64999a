//! View of a port for mechanisms.

use super::Port;
use crate::contract::PortView;
use crate::frame::cause::Cause;
use crate::ids::{PortId, QueueIx};
use backwater_engine::index::Id;
use backwater_engine::{Duration, Rate, Time};

impl PortView for Port {
    fn id(&self) -> PortId {
        self.id
    }

    fn is_up(&self) -> bool {
        !self.is_down()
    }

    fn rate(&self) -> Rate {
        self.rate
    }

    fn delay(&self) -> Duration {
        self.delay
    }

    fn ahead(&self, queue: QueueIx, framing: u64, now: Time) -> Duration {
        let on_wire = Port::free_at(self).since(now);
        match u64::from(Port::queue_frames(self, queue)) {
            0 => on_wire,
            frames => on_wire + self.rate.time_for(Port::queue_bytes(self, queue) + frames * framing),
        }
    }

    fn queue_bytes(&self, queue: QueueIx) -> u64 {
        Port::queue_bytes(self, queue)
    }

    fn queue_frames(&self, queue: QueueIx) -> u32 {
        Port::queue_frames(self, queue)
    }

    fn queued_bytes(&self) -> u64 {
        self.queued_bytes
    }

    fn backlog(&self) -> u64 {
        Port::backlog(self)
    }

    fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    fn is_occupied(&self, queue: QueueIx) -> bool {
        Port::is_occupied(self, queue)
    }

    fn queue_count(&self) -> usize {
        self.queues.len()
    }

    fn active_queues(&self) -> usize {
        Port::active_queues(self)
    }

    fn closed(&self, queue: QueueIx) -> Option<(Time, Cause)> {
        self.gate(queue).closed()
    }

    fn is_closed(&self, queue: QueueIx) -> bool {
        Port::is_closed(self, queue)
    }

    fn next_closed(&self, start: QueueIx) -> Option<QueueIx> {
        self.closed.next_from(start.index()).map(QueueIx::from_index)
    }
}
