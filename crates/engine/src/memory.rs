//! What things take of memory.

use std::collections::{BinaryHeap, VecDeque};
use std::ops::AddAssign;

/// Things of one kind, and the bytes that they take together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// How many there are, or have been at once.
    pub count: u64,
    /// What they take.
    pub bytes: u64,
}

impl Share {
    /// Bytes of one of them.
    pub fn each(&self) -> u64 {
        self.bytes / self.count.max(1)
    }
}

impl AddAssign for Share {
    fn add_assign(&mut self, other: Share) {
        self.count += other.count;
        self.bytes += other.bytes;
    }
}

/// Bytes that a collection holds on the heap, its items' own left out.
pub trait HeapBytes {
    /// How many.
    fn heap_bytes(&self) -> u64;
}

macro_rules! by_capacity {
    ($($collection:ident),+) => {
        $(impl<T> HeapBytes for $collection<T> {
            fn heap_bytes(&self) -> u64 {
                (self.capacity() * size_of::<T>()) as u64
            }
        })+
    };
}

by_capacity!(Vec, VecDeque, BinaryHeap);

impl<T: HeapBytes> HeapBytes for Option<Box<T>> {
    fn heap_bytes(&self) -> u64 {
        self.as_ref().map_or(0, |item| size_of::<T>() as u64 + item.heap_bytes())
    }
}
