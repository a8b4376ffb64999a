//! Queues of frames, with their memory in one pool.
//!
//! The pool consists of chunks. A queue holds as many chunks as its frames need, and none while it
//! is empty. A chunk that one queue freed is the next to be reused. Memory thus follows the number
//! of frames, and the next write mostly hits a cache near the core.

use crate::contract::packet::QueuedPacket;
use backwater_engine::memory::{HeapBytes, Share};
use backwater_engine::pages::prefer_large;
use backwater_engine::prefetch::prefetch;

/// Items per chunk.
const CHUNK: u32 = 8;

/// Pools with room for at least this many items use large pages from the start. Smaller pools touch
/// little of their room.
const LARGE: usize = 1 << 18;

/// Position of an item in its pool. The chunk's number is the position divided by [`CHUNK`].
type Position = u32;

/// Pool of the frames in all queues of a shard.
pub type Frames = Pool<QueuedPacket>;

/// Memory of many queues.
#[derive(Debug)]
pub struct Pool<T> {
    items: Vec<T>,
    /// Next chunk of the same queue, per chunk.
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
    /// Returns a pool that reserves addresses for `items` items. Unused room takes no memory. If
    /// addresses are scarce, the pool reserves less.
    pub(crate) fn with_room(items: usize) -> Pool<T> {
        let mut pool = Pool::default();
        if pool.items.try_reserve_exact(items).is_ok() && items >= LARGE {
            prefer_large(pool.items.spare_capacity_mut());
        }
        pool
    }

    /// Returns the peak number of items for which the pool has taken memory, and the pool's memory.
    pub(crate) fn memory(&self) -> Share {
        let lists = self.next.heap_bytes() + self.free.heap_bytes();
        Share { count: self.items.len() as u64, bytes: size_of_val(&*self.items) as u64 + lists }
    }

    /// Returns the size in bytes of the address space reserved for more items.
    pub(crate) fn reserved(&self) -> u64 {
        self.items.heap_bytes() - size_of_val(&*self.items) as u64
    }

    /// Takes a chunk and returns the position of its first item. A new chunk is filled with `item`.
    #[inline]
    fn take(&mut self, item: &T) -> Position {
        self.free.pop().unwrap_or_else(|| self.grow(item)) * CHUNK
    }

    #[cold]
    fn grow(&mut self, item: &T) -> u32 {
        if self.items.len() == self.items.capacity() {
            // If the system can remap pages, nothing is copied.
            self.items.reserve(CHUNK as usize);
            prefer_large(self.items.spare_capacity_mut());
        }
        self.items.extend([*item; CHUNK as usize]);
        assert!(self.items.len() < NOWHERE as usize, "too many frames wait at once: 2^32 or more");
        self.next.push(0);
        self.next.len() as u32 - 1
    }

    #[inline]
    fn at(&self, position: Position) -> &T {
        &self.items[position as usize]
    }

    /// Returns the position of the item after the one at `position`, which is not the last of its
    /// queue.
    #[inline]
    fn behind(&self, position: Position) -> Position {
        if (position + 1).is_multiple_of(CHUNK) { self.next[(position / CHUNK) as usize] * CHUNK } else { position + 1 }
    }
}

/// First-in, first-out queue. All its items are in the same pool.
#[derive(Debug)]
pub struct Fifo {
    /// Position of the first item; [`NOWHERE`] if the queue is empty.
    head: Position,
    /// Position of the last item; undefined if the queue is empty.
    last: Position,
}

/// No position in a pool.
const NOWHERE: Position = Position::MAX;

impl Default for Fifo {
    fn default() -> Fifo {
        Fifo { head: NOWHERE, last: NOWHERE }
    }
}

impl Fifo {
    /// Returns true if the queue has no item.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NOWHERE
    }

    /// Returns true if the queue has exactly one item.
    #[inline]
    pub fn is_single(&self) -> bool {
        !self.is_empty() && self.head == self.last
    }

    /// Returns the first item.
    #[inline]
    pub fn front<'a, T: Copy>(&self, pool: &'a Pool<T>) -> Option<&'a T> {
        (!self.is_empty()).then(|| pool.at(self.head))
    }

    /// Returns all items from the first to the last.
    pub fn iter<'a, T: Copy>(&self, pool: &'a Pool<T>) -> impl Iterator<Item = &'a T> {
        let (first, last) = (self.head, self.last);
        let behind = move |position: &Position| (*position != last).then(|| pool.behind(*position));
        std::iter::successors((!self.is_empty()).then_some(first), behind).map(|position| pool.at(position))
    }

    /// Appends `item`, and returns it.
    #[inline(always)]
    pub(crate) fn push<'a, T: Copy>(&mut self, item: &T, pool: &'a mut Pool<T>) -> &'a mut T {
        if self.is_empty() {
            self.last = pool.take(item);
            self.head = self.last;
        } else if (self.last + 1).is_multiple_of(CHUNK) {
            let position = pool.take(item);
            pool.next[(self.last / CHUNK) as usize] = position / CHUNK;
            self.last = position;
        } else {
            self.last += 1;
        }
        let place = &mut pool.items[self.last as usize];
        *place = *item;
        place
    }

    /// Takes the first item of a queue that is not empty.
    #[inline(always)]
    pub(crate) fn pop<T: Copy>(&mut self, pool: &mut Pool<T>) -> T {
        debug_assert!(!self.is_empty(), "the queue must hold an item");
        let item = *pool.at(self.head);
        if self.head == self.last {
            pool.free.push(self.head / CHUNK);
            self.head = NOWHERE;
        } else {
            let behind = pool.behind(self.head);
            if behind.is_multiple_of(CHUNK) {
                pool.free.push(self.head / CHUNK);
            }
            self.head = behind;
        }
        item
    }

    /// Prefetches the first item.
    #[inline]
    pub(crate) fn prefetch_front<T: Copy>(&self, pool: &Pool<T>) {
        if let Some(item) = self.front(pool) {
            prefetch(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Three queues in one pool behave like separate queues, and reuse each other's memory.
        #[test]
        fn queues_of_a_pool_agree_with_queues_apart(
            steps in prop::collection::vec((0usize..3, any::<bool>()), 1..400),
        ) {
            let mut frames = Pool::default();
            let mut queues = <[(Fifo, VecDeque<u16>); 3]>::default();
            let (mut size, mut most) = (0, 0);
            for (queue, is_push) in steps {
                let (fifo, expected) = &mut queues[queue];
                if is_push {
                    size += 1;
                    fifo.push(&size, &mut frames);
                    expected.push_back(size);
                } else if let Some(expected) = expected.pop_front() {
                    prop_assert_eq!(fifo.front(&frames).copied(), Some(expected));
                    prop_assert_eq!(fifo.pop(&mut frames), expected);
                }
                prop_assert_eq!((fifo.is_empty(), fifo.is_single()), (expected.is_empty(), expected.len() == 1));
                let seen: VecDeque<u16> = fifo.iter(&frames).copied().collect();
                prop_assert_eq!(&seen, &*expected);
                // A queue of n frames touches at most n / 8 + 2 chunks, an empty queue none.
                let touched = |len: usize| if len == 0 { 0 } else { len / CHUNK as usize + 2 };
                most = most.max(queues.iter().map(|(_, expected)| touched(expected.len())).sum());
                prop_assert!(frames.next.len() <= most);
            }
        }
    }
}
