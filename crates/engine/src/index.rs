//! Vectors indexed by ids instead of numbers.

use get_size2::{GetSize, GetSizeTracker};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut, Range};

/// An id that counts from 0.
pub trait Id: Copy {
    /// Returns the position of the id's element.
    fn index(self) -> usize;

    /// Returns the id of the element at position `index`.
    fn from_index(index: usize) -> Self;

    /// Returns the ids of the elements at `positions`, in order.
    fn range(positions: Range<usize>) -> impl Iterator<Item = Self> + Clone {
        positions.map(Self::from_index)
    }
}

/// A vector with one element per `I`, such as a port or a node. Dereferences to a [`Vec`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexVec<I, T>(Vec<T>, PhantomData<I>);

impl<I: Id, T> IndexVec<I, T> {
    /// Returns all ids in order.
    pub fn ids(&self) -> impl Iterator<Item = I> + Clone + use<I, T> {
        I::range(0..self.0.len())
    }

    /// Returns the elements in order, each with its id.
    pub fn enumerate(&self) -> impl Iterator<Item = (I, &T)> {
        self.ids().zip(&self.0)
    }
}

impl<I: Id, T: Default> IndexVec<I, T> {
    /// Returns the element of `id`. If there is none, first adds default elements up to `id`.
    #[inline]
    pub fn get_or_default(&mut self, id: I) -> &mut T {
        if self.0.len() <= id.index() {
            self.0.resize_with(id.index() + 1, T::default);
        }
        &mut self[id]
    }
}

impl<I, T: GetSize> GetSize for IndexVec<I, T> {
    fn get_heap_size_with_tracker<R: GetSizeTracker>(&self, tracker: R) -> (usize, R) {
        self.0.get_heap_size_with_tracker(tracker)
    }
}

impl<I, T> Default for IndexVec<I, T> {
    fn default() -> Self {
        IndexVec::from(Vec::new())
    }
}

impl<I, T> From<Vec<T>> for IndexVec<I, T> {
    fn from(elements: Vec<T>) -> Self {
        IndexVec(elements, PhantomData)
    }
}

impl<I, T> FromIterator<T> for IndexVec<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(elements: It) -> Self {
        IndexVec::from(Vec::from_iter(elements))
    }
}

impl<I, T> Deref for IndexVec<I, T> {
    type Target = Vec<T>;

    #[inline(always)]
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<I, T> DerefMut for IndexVec<I, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<I: Id, T> Index<I> for IndexVec<I, T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, id: I) -> &T {
        &self.0[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IndexVec<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.0[id.index()]
    }
}

impl<I, T> IntoIterator for IndexVec<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, I, T> IntoIterator for &'a IndexVec<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'a, I, T> IntoIterator for &'a mut IndexVec<I, T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}
