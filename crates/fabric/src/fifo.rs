//! Frames that wait: in queues, and on wires.
//!
//! They stand in chunks of one pool. A queue holds as many chunks as its frames need, none when it is empty, and the chunk that one has just
//! left is the one that the next gets: memory follows the number of frames, and what is written next is mostly in a near cache.

use crate::frame::Frame;
use crate::ids::PortIx;
use crate::memory::{HeapBytes, Share};
use backwater_engine::Time;
use backwater_engine::pages::prefer_large;
use backwater_engine::prefetch::prefetch;

/// Items per chunk.
const CHUNK: u32 = 8;

/// Items that a pool first sets room aside for. What is not used takes no memory, only addresses.
const ROOM: usize = 1 << 17;

/// Where an item stands in its pool. The chunk is an eighth of that.
type Position = u32;

/// A frame in a queue.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    /// The frame.
    pub frame: Frame,
    /// When it joined the queue.
    pub at: Time,
    /// Port through which it entered the node; means nothing at its source.
    pub ingress: PortIx,
}

/// The frames of many queues.
pub type Frames = Pool<Queued>;

/// The memory of many queues.
#[derive(Debug)]
pub struct Pool<T> {
    items: Vec<T>,
    /// Per chunk, the one behind it in the same queue.
    next: Vec<u32>,
    /// Chunks that belong to no queue.
    free: Vec<u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool { items: Vec::new(), next: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Pool<T> {
    /// The most items that there has been room for, and what that takes.
    pub(crate) fn memory(&self) -> Share {
        let lists = self.next.heap_bytes() + self.free.heap_bytes();
        Share { count: self.items.len() as u64, bytes: size_of_val(&*self.items) as u64 + lists }
    }

    /// Bytes of addresses that are set aside for more.
    pub(crate) fn reserved(&self) -> u64 {
        self.items.heap_bytes() - size_of_val(&*self.items) as u64
    }

    /// Takes a chunk: the position of its first item. One that has just been made is full of `item`.
    #[inline]
    fn take(&mut self, item: T) -> Position {
        self.free.pop().unwrap_or_else(|| self.grow(item)) * CHUNK
    }

    #[cold]
    fn grow(&mut self, item: T) -> u32 {
        if self.items.len() == self.items.capacity() {
            self.items.reserve_exact(self.items.len().max(ROOM));
            // Small networks touch little of the first room.
            if self.items.len() > 0 {
                prefer_large(self.items.spare_capacity_mut());
            }
        }
        self.items.extend([item; CHUNK as usize]);
        self.next.push(0);
        self.next.len() as u32 - 1
    }

    #[inline]
    fn at(&self, position: Position) -> &T {
        &self.items[position as usize]
    }
}

/// A queue; first in, first out. Its items stand in a pool, always the same one.
#[derive(Debug, Default)]
pub struct Fifo {
    len: u32,
    /// Where the first item stands; means nothing while the queue is empty.
    head: Position,
    /// Behind the last item: where the next one will stand, unless a chunk ends there.
    tail: Position,
}

impl Fifo {
    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first item.
    #[inline]
    pub fn front<'a, T: Copy>(&self, pool: &'a Pool<T>) -> Option<&'a T> {
        (!self.is_empty()).then(|| pool.at(self.head))
    }

    /// All items, the first one first.
    pub fn iter<'a, T: Copy>(&self, pool: &'a Pool<T>) -> impl Iterator<Item = &'a T> {
        let mut next = self.head;
        (0..self.len).map(move |number| {
            if number > 0 && next.is_multiple_of(CHUNK) {
                next = pool.next[(next - 1) as usize / CHUNK as usize] * CHUNK;
            }
            next += 1;
            pool.at(next - 1)
        })
    }

    /// Adds `item` behind all others.
    #[inline(always)]
    pub(crate) fn push<T: Copy>(&mut self, item: T, pool: &mut Pool<T>) {
        if self.is_empty() {
            self.head = pool.take(item);
            self.tail = self.head;
        } else if self.tail.is_multiple_of(CHUNK) {
            let position = pool.take(item);
            pool.next[((self.tail - 1) / CHUNK) as usize] = position / CHUNK;
            self.tail = position;
        }
        pool.items[self.tail as usize] = item;
        self.tail += 1;
        self.len += 1;
    }

    /// Takes the first item of a queue that is not empty.
    #[inline(always)]
    pub(crate) fn pop<T: Copy>(&mut self, pool: &mut Pool<T>) -> T {
        debug_assert!(!self.is_empty(), "only those are asked that hold an item");
        let item = *pool.at(self.head);
        let chunk = self.head / CHUNK;
        self.len -= 1;
        self.head += 1;
        if self.is_empty() {
            pool.free.push(chunk);
        } else if self.head.is_multiple_of(CHUNK) {
            pool.free.push(chunk);
            self.head = pool.next[chunk as usize] * CHUNK;
        }
        item
    }

    /// Asks for the first item.
    #[inline]
    pub(crate) fn expect_front<T: Copy>(&self, pool: &Pool<T>) {
        self.front(pool).into_iter().for_each(prefetch);
    }

    /// Asks for where the next item will be put.
    #[inline]
    pub(crate) fn expect_push<T: Copy>(&self, pool: &Pool<T>) {
        if !self.is_empty() && !self.tail.is_multiple_of(CHUNK) {
            prefetch(pool.at(self.tail));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Three queues in one pool behave like three queues apart, and leave the memory to each other.
        #[test]
        fn queues_of_a_pool_agree_with_queues_apart(steps in prop::collection::vec((0usize..3, any::<bool>()), 1..400)) {
            let mut frames = Pool::default();
            let mut queues = <[(Fifo, VecDeque<u16>); 3]>::default();
            let (mut size, mut most) = (0, 0);
            for (queue, is_push) in steps {
                let (fifo, expected) = &mut queues[queue];
                if is_push {
                    size += 1;
                    fifo.push(size, &mut frames);
                    expected.push_back(size);
                } else if let Some(expected) = expected.pop_front() {
                    prop_assert_eq!(fifo.front(&frames).copied(), Some(expected));
                    prop_assert_eq!(fifo.pop(&mut frames), expected);
                }
                prop_assert_eq!((fifo.len(), fifo.is_empty()), (expected.len(), expected.is_empty()));
                let seen: VecDeque<u16> = fifo.iter(&frames).copied().collect();
                prop_assert_eq!(&seen, &*expected);
                // A queue of n frames touches at most n / 8 + 2 chunks, an empty one none.
                let touched = |fifo: &Fifo| if fifo.is_empty() { 0 } else { fifo.len() / CHUNK as usize + 2 };
                most = most.max(queues.iter().map(|(fifo, _)| touched(fifo)).sum());
                prop_assert!(frames.next.len() <= most);
            }
        }
    }
}
