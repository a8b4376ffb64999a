//! Queues of a port.

use crate::contract::packet::QueuedPacket;
use crate::ids::{CLASSES, QueueIx};
use crate::model::fifo::{Fifo, Frames, Place};
use backwater_engine::index::Id;
use std::ops::{Index, IndexMut};

/// One queue of a port: half a cache line.
#[derive(Debug, Default)]
#[repr(align(32))]
pub(super) struct Queue {
    pub(super) frames: Fifo,
    /// Number of frames.
    pub(super) count: u32,
    /// Charged bytes of `frames`.
    pub(super) bytes: u64,
    /// Credit of deficit weighted round robin.
    pub(super) deficit: u64,
}

impl Queue {
    /// Adds a frame of `bytes`.
    #[inline(always)]
    pub(super) fn push(&mut self, place: Place, bytes: u64, frames: &mut Frames) {
        self.bytes += bytes;
        self.count += 1;
        self.frames.push(place, frames);
    }

    /// Takes the first frame of a queue that is not empty.
    #[inline(always)]
    pub(super) fn pop<'a>(&mut self, frames: &'a mut Frames) -> (Place, &'a mut QueuedPacket) {
        let (place, packet) = self.frames.pop(frames);
        self.bytes -= u64::from(packet.frame.size.charge);
        self.count -= 1;
        (place, packet)
    }
}

/// Queues of a port. The queues of the traffic classes are stored in place; added queues are behind
/// a pointer, as many as have been used.
#[derive(Debug, Default)]
pub(super) struct Queues {
    pub(super) of_classes: [Queue; CLASSES],
    pub(super) added: Vec<Queue>,
}

impl Queues {
    pub(super) fn len(&self) -> usize {
        CLASSES + self.added.len()
    }

    #[inline]
    pub(super) fn get(&self, queue: QueueIx) -> Option<&Queue> {
        let queue = queue.index();
        if queue < CLASSES { Some(&self.of_classes[queue]) } else { self.added.get(queue - CLASSES) }
    }

    /// Adds `queue` and all queues before it.
    #[cold]
    pub(super) fn grow(&mut self, queue: QueueIx) {
        self.added.resize_with(queue.index() + 1 - CLASSES, Queue::default);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Queue> {
        self.of_classes.iter().chain(&self.added)
    }
}

impl Index<QueueIx> for Queues {
    type Output = Queue;

    #[inline]
    fn index(&self, queue: QueueIx) -> &Queue {
        let queue = queue.index();
        if queue < CLASSES { &self.of_classes[queue] } else { &self.added[queue - CLASSES] }
    }
}

impl IndexMut<QueueIx> for Queues {
    #[inline]
    fn index_mut(&mut self, queue: QueueIx) -> &mut Queue {
        let queue = queue.index();
        if queue < CLASSES { &mut self.of_classes[queue] } else { &mut self.added[queue - CLASSES] }
    }
}
