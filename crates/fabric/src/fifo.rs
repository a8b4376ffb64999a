//! Frames that wait: in queues, and on wires.
//!
//! They stand in chunks of one pool. A queue holds as many chunks as its frames need, none when it is empty, and the chunk that one has just
//! left is the one that the next gets: memory follows the number of frames, and what is written next is mostly in a near cache.

use crate::frame::Frame;
use crate::memory::{HeapBytes, Share};
use backwater_engine::pages::prefer_large;
use backwater_engine::prefetch::prefetch;

/// Frames per chunk.
const CHUNK: u32 = 8;

/// Frames of a block, 6 MiB. Blocks never move, so that no memory is left behind when there are more; what is not used of one takes no room.
const BLOCK: usize = 1 << 17;

/// Where a frame stands in its pool. The chunk is an eighth of that.
type Position = u32;

/// The memory of many queues.
#[derive(Debug, Default)]
pub struct Frames {
    blocks: Vec<Vec<Frame>>,
    /// Per chunk, the one behind it in the same queue.
    next: Vec<u32>,
    /// Chunks that belong to no queue.
    free: Vec<u32>,
}

impl Frames {
    /// The most frames that there has been room for, and what that takes.
    pub(crate) fn memory(&self) -> Share {
        let count = (self.next.len() * CHUNK as usize) as u64;
        let lists = self.blocks.heap_bytes() + self.next.heap_bytes() + self.free.heap_bytes();
        Share { count, bytes: count * size_of::<Frame>() as u64 + lists }
    }

    /// Bytes of addresses that are set aside for more frames.
    pub(crate) fn reserved(&self) -> u64 {
        self.blocks.iter().map(|block| ((block.capacity() - block.len()) * size_of::<Frame>()) as u64).sum()
    }

    /// Takes a chunk: the position of its first frame.
    #[inline]
    fn take(&mut self) -> Position {
        self.free.pop().unwrap_or_else(|| self.grow()) * CHUNK
    }

    /// Makes one more chunk.
    #[cold]
    fn grow(&mut self) -> u32 {
        let chunk = self.next.len();
        if chunk * CHUNK as usize == self.blocks.len() * BLOCK {
            let mut block = Vec::with_capacity(BLOCK);
            // The first block serves small networks, which touch little of it.
            if chunk > 0 {
                prefer_large(block.spare_capacity_mut());
            }
            self.blocks.push(block);
        }
        let block = self.blocks.last_mut().expect("there is one, with room for the chunk");
        block.extend([Frame::VACANT; CHUNK as usize]);
        self.next.push(0);
        chunk as u32
    }

    #[inline]
    fn at(&self, position: Position) -> &Frame {
        &self.blocks[position as usize / BLOCK][position as usize % BLOCK]
    }

    #[inline]
    fn at_mut(&mut self, position: Position) -> &mut Frame {
        &mut self.blocks[position as usize / BLOCK][position as usize % BLOCK]
    }
}

/// A queue of frames; first in, first out. Its frames stand in a pool, always the same one.
#[derive(Debug, Default)]
pub struct Fifo {
    len: u32,
    /// Where the first frame stands; means nothing while the queue is empty.
    head: Position,
    /// Behind the last frame: where the next one will stand, unless a chunk ends there.
    tail: Position,
}

impl Fifo {
    /// Number of frames.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first frame.
    #[inline]
    pub fn front<'a>(&self, frames: &'a Frames) -> Option<&'a Frame> {
        (!self.is_empty()).then(|| frames.at(self.head))
    }

    /// All frames, the first one first.
    pub fn iter<'a>(&self, frames: &'a Frames) -> impl Iterator<Item = &'a Frame> {
        let mut next = self.head;
        (0..self.len).map(move |number| {
            if number > 0 && next.is_multiple_of(CHUNK) {
                next = frames.next[(next - 1) as usize / CHUNK as usize] * CHUNK;
            }
            next += 1;
            frames.at(next - 1)
        })
    }

    /// Adds a copy of `frame` behind all others; returns it for what is to be written on it.
    #[inline(always)]
    pub(crate) fn push<'a>(&mut self, frame: &Frame, frames: &'a mut Frames) -> &'a mut Frame {
        if self.is_empty() {
            self.head = frames.take();
            self.tail = self.head;
        } else if self.tail.is_multiple_of(CHUNK) {
            let position = frames.take();
            frames.next[((self.tail - 1) / CHUNK) as usize] = position / CHUNK;
            self.tail = position;
        }
        let place = frames.at_mut(self.tail);
        self.tail += 1;
        self.len += 1;
        *place = *frame;
        place
    }

    /// Takes the first frame of a queue that is not empty.
    #[inline(always)]
    pub(crate) fn pop(&mut self, frames: &mut Frames) -> Frame {
        debug_assert!(!self.is_empty(), "only those are asked that hold a frame");
        let frame = *frames.at(self.head);
        let chunk = self.head / CHUNK;
        self.len -= 1;
        self.head += 1;
        if self.is_empty() {
            frames.free.push(chunk);
        } else if self.head.is_multiple_of(CHUNK) {
            frames.free.push(chunk);
            self.head = frames.next[chunk as usize] * CHUNK;
        }
        frame
    }

    /// Asks for the first frame, and for the beginning of the next in its chunk.
    #[inline]
    pub(crate) fn expect_front(&self, frames: &Frames) {
        if !self.is_empty() {
            prefetch(frames.at(self.head));
            if !(self.head + 1).is_multiple_of(CHUNK) {
                prefetch(&frames.at(self.head + 1).at);
            }
        }
    }

    /// Asks for where the next frame will be put.
    #[inline]
    pub(crate) fn expect_push(&self, frames: &Frames) {
        if !self.is_empty() && !self.tail.is_multiple_of(CHUNK) {
            prefetch(frames.at(self.tail));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::frame;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Three queues in one pool behave like three queues apart, and leave the memory to each other.
        #[test]
        fn queues_of_a_pool_agree_with_queues_apart(steps in prop::collection::vec((0usize..3, any::<bool>()), 1..400)) {
            let mut frames = Frames::default();
            let mut queues = <[(Fifo, VecDeque<u16>); 3]>::default();
            let (mut size, mut most) = (0, 0);
            for (queue, is_push) in steps {
                let (fifo, expected) = &mut queues[queue];
                if is_push {
                    size += 1;
                    assert_eq!(fifo.push(&frame(3, size), &mut frames).size.wire, size);
                    expected.push_back(size);
                } else if let Some(expected) = expected.pop_front() {
                    prop_assert_eq!(fifo.front(&frames).map(|frame| frame.size.wire), Some(expected));
                    prop_assert_eq!(fifo.pop(&mut frames).size.wire, expected);
                }
                prop_assert_eq!((fifo.len(), fifo.is_empty()), (expected.len(), expected.is_empty()));
                let seen: VecDeque<u16> = fifo.iter(&frames).map(|frame| frame.size.wire).collect();
                prop_assert_eq!(&seen, &*expected);
                // A queue of n frames touches at most n / 8 + 2 chunks, an empty one none.
                let touched = |fifo: &Fifo| if fifo.is_empty() { 0 } else { fifo.len() / CHUNK as usize + 2 };
                most = most.max(queues.iter().map(|(fifo, _)| touched(fifo)).sum());
                prop_assert!(frames.next.len() <= most);
            }
        }
    }
}
