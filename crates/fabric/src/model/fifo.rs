//! Queues of frames, with all frames in one pool.
//!
//! A frame keeps its place in the pool while it passes queues and wires: these are lists of places.
//! So a frame's way through a switch touches one cache line of the frame. A place that was freed is
//! the next to be reused, and mostly still in a cache near the core.

use crate::contract::packet::QueuedPacket;
use backwater_engine::memory::{HeapBytes, Share};
use backwater_engine::pages::prefer_large;
use backwater_engine::prefetch::prefetch;
use std::ops::{Index, IndexMut};

/// Pools with room for at least this many items use large pages from the start. Smaller pools touch
/// little of their room.
const LARGE: usize = 1 << 18;

/// Place of an item in its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(u32);

/// No place in a pool.
const NOWHERE: Place = Place(u32::MAX);

/// Pool of the frames in all queues and on all wires of a shard.
pub type Frames = Pool<QueuedPacket>;

const _: () = assert!(size_of::<Slot<QueuedPacket>>() == 64);

/// Memory of many queues.
#[derive(Debug)]
pub struct Pool<T> {
    slots: Vec<Slot<T>>,
    /// First free slot; the others follow.
    free: Place,
}

/// An item and its successor: a cache line, if the item is a frame.
#[derive(Debug)]
#[repr(align(64))]
struct Slot<T> {
    item: T,
    /// Next item of the same queue, or next free slot.
    next: Place,
}

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool { slots: Vec::new(), free: NOWHERE }
    }
}

impl<T: Copy> Pool<T> {
    /// Returns a pool that reserves addresses for `items` items. Unused room takes no memory. If
    /// addresses are scarce, the pool reserves less.
    pub(crate) fn with_room(items: usize) -> Pool<T> {
        let mut pool = Pool::default();
        if pool.slots.try_reserve_exact(items).is_ok() && items >= LARGE {
            prefer_large(pool.slots.spare_capacity_mut());
        }
        pool
    }

    /// Returns the peak number of items, and the memory that the pool has taken for them.
    pub(crate) fn memory(&self) -> Share {
        Share { count: self.slots.len() as u64, bytes: size_of_val(&*self.slots) as u64 }
    }

    /// Returns the size in bytes of the address space reserved for more items.
    pub(crate) fn reserved(&self) -> u64 {
        self.slots.heap_bytes() - size_of_val(&*self.slots) as u64
    }

    /// Puts an item into a free slot.
    #[inline(always)]
    pub fn put(&mut self, item: T) -> Place {
        let place = self.free;
        match self.slots.get_mut(place.0 as usize) {
            Some(slot) => {
                self.free = slot.next;
                slot.item = item;
                place
            }
            None => self.grow(item),
        }
    }

    #[cold]
    fn grow(&mut self, item: T) -> Place {
        if self.slots.len() == self.slots.capacity() {
            // This copies the pool, and takes the memory of both copies meanwhile. It is rare,
            // because much room is reserved.
            self.slots.reserve(1);
            prefer_large(self.slots.spare_capacity_mut());
        }
        let place = Place(self.slots.len() as u32);
        assert!(place != NOWHERE, "too many frames wait at once: 2^32 or more");
        self.slots.push(Slot { item, next: NOWHERE });
        place
    }

    /// Takes the item at `place`, which is in no queue, and frees its slot.
    #[inline(always)]
    pub fn take(&mut self, place: Place) -> T {
        let slot = &mut self.slots[place.0 as usize];
        slot.next = std::mem::replace(&mut self.free, place);
        slot.item
    }

    /// Prefetches the item behind `place`, if there is one.
    #[inline(always)]
    fn prefetch_behind(&self, place: Place) {
        let slot = |place: Place| self.slots.get(place.0 as usize);
        if let Some(behind) = slot(place).and_then(|first| slot(first.next)) {
            prefetch(behind);
        }
    }

    #[inline(always)]
    fn behind(&self, place: Place) -> Place {
        self.slots[place.0 as usize].next
    }
}

impl<T> Index<Place> for Pool<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, place: Place) -> &T {
        &self.slots[place.0 as usize].item
    }
}

impl<T> IndexMut<Place> for Pool<T> {
    #[inline(always)]
    fn index_mut(&mut self, place: Place) -> &mut T {
        &mut self.slots[place.0 as usize].item
    }
}

/// First-in, first-out queue. All its items are in the same pool.
#[derive(Debug)]
pub struct Fifo {
    /// First item; [`NOWHERE`] if the queue is empty.
    first: Place,
    /// Last item; undefined if the queue is empty.
    last: Place,
}

impl Default for Fifo {
    fn default() -> Fifo {
        Fifo { first: NOWHERE, last: NOWHERE }
    }
}

impl Fifo {
    /// Returns true if the queue has no item.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == NOWHERE
    }

    /// Returns true if the queue has exactly one item.
    #[inline]
    pub fn is_single(&self) -> bool {
        !self.is_empty() && self.first == self.last
    }

    /// Returns the first item.
    #[inline(always)]
    pub fn front<'a, T: Copy>(&self, pool: &'a Pool<T>) -> Option<&'a T> {
        (!self.is_empty()).then(|| &pool[self.first])
    }

    /// Prefetches the second item.
    #[inline(always)]
    pub(crate) fn prefetch_second<T: Copy>(&self, pool: &Pool<T>) {
        pool.prefetch_behind(self.first);
    }

    /// Returns all items from the first to the last.
    pub fn iter<'a, T: Copy>(&self, pool: &'a Pool<T>) -> impl Iterator<Item = &'a T> {
        let (first, last) = (self.first, self.last);
        let behind = move |place: &Place| (*place != last).then(|| pool.behind(*place));
        std::iter::successors((!self.is_empty()).then_some(first), behind).map(|place| &pool[place])
    }

    /// Appends the item at `place`, which is in no queue.
    #[inline(always)]
    pub(crate) fn push<T: Copy>(&mut self, place: Place, pool: &mut Pool<T>) {
        if self.is_empty() {
            self.first = place;
        } else {
            pool.slots[self.last.0 as usize].next = place;
        }
        self.last = place;
    }

    /// Removes the first item of a queue that is not empty. The item keeps its place in the pool.
    /// Prefetches the next item but one, so that the next item is already near when it is removed.
    #[inline(always)]
    pub(crate) fn pop<'a, T: Copy>(&mut self, pool: &'a mut Pool<T>) -> (Place, &'a mut T) {
        debug_assert!(!self.is_empty(), "the queue must hold an item");
        let first = self.first;
        let behind = pool.behind(first);
        self.first = if first == self.last { NOWHERE } else { behind };
        pool.prefetch_behind(behind);
        (first, &mut pool[first])
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
                    let place = frames.put(size);
                    fifo.push(place, &mut frames);
                    expected.push_back(size);
                } else if let Some(expected) = expected.pop_front() {
                    prop_assert_eq!(fifo.front(&frames).copied(), Some(expected));
                    let (place, item) = fifo.pop(&mut frames);
                    prop_assert_eq!((*item, frames.take(place)), (expected, expected));
                }
                prop_assert_eq!((fifo.is_empty(), fifo.is_single()), (expected.is_empty(), expected.len() == 1));
                let seen: VecDeque<u16> = fifo.iter(&frames).copied().collect();
                prop_assert_eq!(&seen, &*expected);
                most = most.max(queues.iter().map(|(_, expected)| expected.len()).sum());
                prop_assert!(frames.slots.len() <= most);
            }
        }
    }
}
