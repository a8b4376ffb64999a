//! Memory accounting.

use std::collections::{BinaryHeap, VecDeque};
use std::ops::AddAssign;

/// Number of objects of one kind, and their total size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Number of objects, or the peak number.
    pub count: u64,
    /// Total size in bytes.
    pub bytes: u64,
}

impl Share {
    /// Returns the mean size of an object.
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

/// Size of a collection's heap memory, without the heap memory of its items.
pub trait HeapBytes {
    /// Returns the size in bytes.
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
