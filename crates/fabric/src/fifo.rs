//! Frames that wait: in queues, and on wires.
//!
//! They stand in chunks of one pool. A queue holds as many chunks as its frames need, none when it is empty, and the chunk that one has just
//! left is the one that the next gets: memory follows the number of frames, and what is written next is mostly in a near cache.

use crate::frame::Frame;
use crate::memory::{HeapBytes, Share};
use backwater_engine::pages::prefer_large;
use backwater_engine::prefetch::prefetch;

/// Frames per chunk.
const CHUNK: usize = 8;

/// Some frames of one queue.
#[derive(Debug)]
#[repr(align(64))]
struct Chunk([Frame; CHUNK]);

/// Index of a chunk in its pool.
type ChunkIx = u32;

/// Chunks of a block, 6 MiB. Blocks never move, so that no memory is left behind when there are more; what is not used of one takes no room.
const BLOCK: usize = 1 << 14;

/// The memory of many queues.
#[derive(Debug, Default)]
pub struct Frames {
    blocks: Vec<Vec<Chunk>>,
    /// Per chunk, the one behind it in the same queue.
    next: Vec<ChunkIx>,
    free: Vec<ChunkIx>,
}

impl Frames {
    /// The most frames that there has been room for, and what that takes.
    pub(crate) fn memory(&self) -> Share {
        let chunks = (self.next.len() * size_of::<Chunk>()) as u64;
        let bytes = chunks + self.blocks.heap_bytes() + self.next.heap_bytes() + self.free.heap_bytes();
        Share { count: (self.next.len() * CHUNK) as u64, bytes }
    }

    /// Bytes of addresses that are set aside for more chunks.
    pub(crate) fn reserved(&self) -> u64 {
        ((self.blocks.len() * BLOCK - self.next.len()) * size_of::<Chunk>()) as u64
    }

    #[inline]
    fn take(&mut self) -> ChunkIx {
        self.free.pop().unwrap_or_else(|| self.grow())
    }

    /// Makes one more chunk.
    #[cold]
    fn grow(&mut self) -> ChunkIx {
        let index = self.next.len();
        if index == self.blocks.len() * BLOCK {
            let mut block = Vec::with_capacity(BLOCK);
            // The first block serves small networks, which touch little of it.
            if index > 0 {
                prefer_large(block.spare_capacity_mut());
            }
            self.blocks.push(block);
        }
        self.blocks[index / BLOCK].push(Chunk([Frame::VACANT; CHUNK]));
        self.next.push(0);
        index as ChunkIx
    }

    #[inline]
    fn at(&self, chunk: ChunkIx, index: u8) -> &Frame {
        let chunk = chunk as usize;
        &self.blocks[chunk / BLOCK][chunk % BLOCK].0[usize::from(index) % CHUNK]
    }

    #[inline]
    fn at_mut(&mut self, chunk: ChunkIx, index: u8) -> &mut Frame {
        let chunk = chunk as usize;
        &mut self.blocks[chunk / BLOCK][chunk % BLOCK].0[usize::from(index) % CHUNK]
    }
}

/// A queue of frames; first in, first out. Its frames stand in a pool, always the same one.
#[derive(Debug, Default)]
pub struct Fifo {
    len: u32,
    /// The chunk of the first frame; means nothing while the queue is empty, as all that follows.
    head: ChunkIx,
    /// The chunk of the last frame.
    tail: ChunkIx,
    /// Where the first frame stands in its chunk.
    first: u8,
    /// Where the next frame will stand in the last chunk, if there is room.
    end: u8,
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
        (!self.is_empty()).then(|| frames.at(self.head, self.first))
    }

    /// All frames, the first one first.
    pub fn iter<'a>(&self, frames: &'a Frames) -> impl Iterator<Item = &'a Frame> {
        let (mut chunk, mut index) = (self.head, self.first);
        (0..self.len).map(move |_| {
            if usize::from(index) == CHUNK {
                (chunk, index) = (frames.next[chunk as usize], 0);
            }
            index += 1;
            frames.at(chunk, index - 1)
        })
    }

    /// Adds a copy of `frame` behind all others; returns it for what is to be written on it. (Writing on a frame and copying it right then
    /// would make the processor wait for the writing.)
    #[inline]
    pub(crate) fn push<'a>(&mut self, frame: &Frame, frames: &'a mut Frames) -> &'a mut Frame {
        if self.is_empty() {
            self.head = frames.take();
            (self.tail, self.first, self.end) = (self.head, 0, 0);
        } else if usize::from(self.end) == CHUNK {
            let chunk = frames.take();
            frames.next[self.tail as usize] = chunk;
            (self.tail, self.end) = (chunk, 0);
        }
        let place = frames.at_mut(self.tail, self.end);
        self.end += 1;
        self.len += 1;
        *place = *frame;
        place
    }

    /// Takes the first frame of a queue that is not empty.
    #[inline]
    pub(crate) fn pop(&mut self, frames: &mut Frames) -> Frame {
        debug_assert!(!self.is_empty(), "only those are asked that hold a frame");
        let frame = *frames.at(self.head, self.first);
        self.len -= 1;
        self.first += 1;
        if self.is_empty() {
            frames.free.push(self.head);
        } else if usize::from(self.first) == CHUNK {
            frames.free.push(self.head);
            (self.head, self.first) = (frames.next[self.head as usize], 0);
        }
        frame
    }

    /// Asks for the first frame, and for the beginning of the next.
    #[inline]
    pub(crate) fn expect_front(&self, frames: &Frames) {
        if !self.is_empty() {
            prefetch(frames.at(self.head, self.first));
            prefetch(&frames.at(self.head, self.first + 1).at);
        }
    }

    /// Asks for where the next frame will be put.
    #[inline]
    pub(crate) fn expect_push(&self, frames: &Frames) {
        if !self.is_empty() {
            prefetch(frames.at(self.tail, self.end));
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
                let touched = |fifo: &Fifo| if fifo.is_empty() { 0 } else { fifo.len() / CHUNK + 2 };
                most = most.max(queues.iter().map(|(fifo, _)| touched(fifo)).sum());
                prop_assert!(frames.next.len() <= most);
            }
        }
    }
}
