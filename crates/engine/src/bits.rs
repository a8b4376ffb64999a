//! Sets of small numbers, kept as bits in words.

use crate::memory::HeapBytes;
use get_size2::GetSize;
use std::iter;

/// Set of small numbers with a fast search for the next member. Members below 64 are stored inline,
/// the others behind a pointer.
#[derive(Clone, Debug, Default, GetSize)]
pub struct BitSet {
    first: u64,
    #[allow(clippy::box_collection, reason = "a boxed vector takes one word here instead of three")]
    more: Option<Box<Vec<u64>>>,
}

impl HeapBytes for BitSet {
    fn heap_bytes(&self) -> u64 {
        self.more.heap_bytes()
    }
}

impl BitSet {
    /// Adds a member.
    #[inline]
    pub fn insert(&mut self, bit: usize) {
        *self.word_mut(bit / 64) |= 1 << (bit % 64);
    }

    /// Removes a member.
    #[inline]
    pub fn remove(&mut self, bit: usize) {
        *self.word_mut(bit / 64) &= !(1 << (bit % 64));
    }

    /// Returns true if `bit` is a member.
    #[inline]
    pub fn has(&self, bit: usize) -> bool {
        self.word(bit / 64) & (1 << (bit % 64)) != 0
    }

    /// Returns the members in ascending order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        iter::successors(self.next_from(0), |member| self.next_from(member + 1))
    }

    /// Returns the first member that is `start` or greater.
    #[inline]
    pub fn next_from(&self, start: usize) -> Option<usize> {
        let first = start / 64;
        let rest = |index: usize| if index == first { u64::MAX << (start % 64) } else { u64::MAX };
        (first..self.words()).find_map(|index| match self.word(index) & rest(index) {
            0 => None,
            bits => Some(64 * index + bits.trailing_zeros() as usize),
        })
    }

    /// Returns true if the set has no members.
    #[inline]
    pub fn is_empty(&self) -> bool {
        (0..self.words()).all(|index| self.word(index) == 0)
    }

    /// Returns true if any member is not in `other`.
    #[inline]
    pub fn exceeds(&self, other: &BitSet) -> bool {
        self.first & !other.first != 0 || self.more.as_ref().is_some_and(|more| other.lacks_any_of(more))
    }

    /// Returns true if the set lacks a member that is in `more`, the words after the first one of
    /// another set.
    #[inline(never)]
    fn lacks_any_of(&self, more: &[u64]) -> bool {
        (1..).zip(more).any(|(index, word)| word & !self.word(index) != 0)
    }

    /// Returns the first member after `cursor` that is not in `other`. The search wraps around.
    #[inline]
    pub fn next_outside(&self, other: &BitSet, cursor: usize) -> Option<usize> {
        first_after(cursor, self.words(), |index| self.word(index) & !other.word(index))
    }

    /// Returns the number of members that are not in `other`.
    #[inline]
    pub fn count_outside(&self, other: &BitSet) -> usize {
        (0..self.words()).map(|index| (self.word(index) & !other.word(index)).count_ones() as usize).sum()
    }

    /// Returns the number of words.
    #[inline]
    pub fn words(&self) -> usize {
        1 + self.more.as_ref().map_or(0, |more| more.len())
    }

    /// Returns the members from `64 * index` to `64 * index + 63` as bits.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        if index == 0 {
            return self.first;
        }
        self.more.as_ref().and_then(|more| more.get(index - 1)).copied().unwrap_or(0)
    }

    #[inline(always)]
    fn word_mut(&mut self, index: usize) -> &mut u64 {
        if index == 0 { &mut self.first } else { self.later_word_mut(index) }
    }

    #[inline(never)]
    fn later_word_mut(&mut self, index: usize) -> &mut u64 {
        let more = self.more.get_or_insert_default();
        if more.len() < index {
            more.resize(index, 0);
        }
        &mut more[index - 1]
    }
}

/// Returns the first member after `cursor` in a set of `words` words, given by `word`. The search
/// wraps around.
#[inline(always)]
pub fn first_after(cursor: usize, words: usize, word: impl Fn(usize) -> u64) -> Option<usize> {
    if words > 1 {
        return first_of_many(cursor, words, word);
    }
    let bits = word(0);
    let behind = bits & (u64::MAX - 1).checked_shl(cursor as u32).unwrap_or(0);
    let bits = if behind == 0 { bits } else { behind };
    (bits != 0).then(|| bits.trailing_zeros() as usize)
}

/// Searches a set of more than one word.
#[inline(never)]
fn first_of_many(cursor: usize, words: usize, word: impl Fn(usize) -> u64) -> Option<usize> {
    let start = cursor + 1;
    let (first, mask) = (start / 64, u64::MAX << (start % 64));
    let found = |index: usize, bits: u64| (bits != 0).then(|| index * 64 + bits.trailing_zeros() as usize);
    let behind = if first < words { found(first, word(first) & mask) } else { None };
    behind
        .or_else(|| (first + 1..words).find_map(|index| found(index, word(index))))
        .or_else(|| (0..words.min(first + 1)).find_map(|index| found(index, word(index))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_bit_set_is_a_set(
            (members, others, cursor) in prop_oneof![Just(8usize), Just(64), Just(192)].prop_flat_map(|count| {
                let set = || prop::collection::btree_set(0..count, 0..20);
                (set(), set(), 0..count)
            }),
        ) {
            let set_of = |members: &BTreeSet<usize>| {
                let mut set = BitSet::default();
                members.iter().for_each(|bit| set.insert(*bit));
                set
            };
            let (mut set, other) = (set_of(&members), set_of(&others));
            prop_assert_eq!(set.iter().collect::<BTreeSet<_>>(), members.clone());
            let outside: BTreeSet<usize> = members.difference(&others).copied().collect();
            let next = outside.range(cursor + 1..).next().or(outside.first()).copied();
            prop_assert_eq!(set.next_outside(&other, cursor), next);
            prop_assert_eq!(set.next_from(cursor), members.range(cursor..).next().copied());
            prop_assert_eq!((set.exceeds(&other), set.exceeds(&set)), (next.is_some(), false));
            prop_assert_eq!(set.count_outside(&other), outside.len());
            others.iter().for_each(|bit| set.remove(*bit));
            prop_assert!((0..192).all(|bit| set.has(bit) == outside.contains(&bit)));
            prop_assert_eq!(set.is_empty(), outside.is_empty());
        }
    }
}
