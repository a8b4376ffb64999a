//! Prefetches of a port's state.

use super::Port;
use crate::ids::QueueIx;
use crate::model::fifo::Frames;
use backwater_engine::prefetch::prefetch;

impl Port {
    /// Prefetches the fields that every passing packet needs.
    #[inline]
    pub(crate) fn prefetch_use(&self) {
        prefetch(&self.busy_until);
        prefetch(&self.queued_bytes);
    }

    /// Prefetches the state for a packet that is about to join a queue.
    #[inline]
    pub(crate) fn prefetch_enqueue(&self, queue: QueueIx) {
        self.prefetch_use();
        prefetch(&self.queues[queue]);
    }

    /// Prefetches the place of the next packet in a queue.
    #[inline]
    pub(crate) fn prefetch_push(&self, queue: QueueIx, frames: &Frames) {
        self.queues[queue].frames.prefetch_push(frames);
    }

    /// Prefetches the queue that sends next.
    #[inline]
    pub(crate) fn prefetch_departure(&self) {
        if let Some(queue) = self.next_ready() {
            prefetch(&self.queues[queue]);
        }
    }

    /// Prefetches the frame that leaves next. Returns true if there is one.
    #[inline]
    pub(crate) fn prefetch_frame(&self, frames: &Frames) -> bool {
        let queue = self.next_ready();
        if let Some(queue) = queue {
            self.queues[queue].frames.prefetch_front(frames);
        }
        queue.is_some()
    }
}
