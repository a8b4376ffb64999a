//! Asks the memory for what a port will need soon.

use super::Port;
use crate::ids::QueueIx;
use crate::model::fifo::Frames;
use backwater_engine::prefetch::prefetch;

impl Port {
    /// Asks for the part of the port that every passing packet needs.
    #[inline]
    pub(crate) fn prefetch_use(&self) {
        prefetch(&self.busy_until);
        prefetch(&self.queued_bytes);
    }

    /// Asks for what a packet needs that is about to join a queue.
    #[inline]
    pub(crate) fn prefetch_enqueue(&self, queue: QueueIx) {
        self.prefetch_use();
        prefetch(&self.queues[queue]);
    }

    /// Asks for the place that a packet will have in its queue.
    #[inline]
    pub(crate) fn prefetch_push(&self, queue: QueueIx, frames: &Frames) {
        self.queues[queue].frames.prefetch_push(frames);
    }

    /// Asks for the queue that is about to send.
    #[inline]
    pub(crate) fn prefetch_departure(&self) {
        if let Some(queue) = self.next_ready() {
            prefetch(&self.queues[queue]);
        }
    }

    /// Asks for the frame that is about to leave; whether there is one.
    #[inline]
    pub(crate) fn prefetch_frame(&self, frames: &Frames) -> bool {
        let queue = self.next_ready();
        if let Some(queue) = queue {
            self.queues[queue].frames.prefetch_front(frames);
        }
        queue.is_some()
    }
}
