//! Calendar: which members have something to do in which epoch.
//!
//! Time is divided into epochs of equal length. The calendar holds a set of members for each of the
//! next [`EPOCHS`] epochs.

use crate::memory::HeapBytes;
use crate::time::{Duration, Time};

/// Number of epochs in the calendar.
pub const EPOCHS: u64 = 64;

/// Calendar of members, which are numbered from zero.
pub struct Calendar {
    /// Number of epochs in 2^64 ps.
    frequency: u64,
    /// Words per set.
    words: usize,
    /// Members by epoch, as bits.
    sets: Vec<u64>,
    /// Epochs that have a member, by the low bits of their numbers.
    occupied: u64,
    /// First epoch of the calendar.
    first: u64,
}

impl HeapBytes for Calendar {
    fn heap_bytes(&self) -> u64 {
        self.sets.heap_bytes()
    }
}

impl Calendar {
    /// Creates a calendar whose epochs last at most `longest`. If `longest` is 1 ps, the first
    /// epoch lasts 2 ps.
    pub fn new(members: usize, longest: Duration) -> Calendar {
        let words = members.div_ceil(64);
        let frequency = (u64::MAX / longest.ps().max(1)).saturating_add(1);
        Calendar { frequency, words, sets: vec![0; words * EPOCHS as usize], occupied: 0, first: 0 }
    }

    /// Returns the epoch of an instant.
    #[inline]
    pub fn epoch_of(&self, at: Time) -> u64 {
        // A multiplication is faster than a division.
        ((u128::from(at.ps()) * u128::from(self.frequency)) >> 64) as u64
    }

    /// Returns the start of an epoch; [`Time::NEVER`] if it is too late for a time.
    pub fn start_of(&self, epoch: u64) -> Time {
        let start = (u128::from(epoch) << 64).div_ceil(u128::from(self.frequency));
        u64::try_from(start).map_or(Time::NEVER, Time::from_ps)
    }

    /// Marks that `member` has something to do at `at`, which is not before the calendar. Returns
    /// false if `at` is after the calendar.
    #[inline(always)]
    pub fn mark(&mut self, member: u32, at: Time) -> bool {
        let epoch = self.epoch_of(at);
        debug_assert!(epoch >= self.first, "no mark is set in the past");
        if epoch - self.first >= EPOCHS {
            return false;
        }
        let set = (epoch % EPOCHS) as usize;
        self.occupied |= 1 << set;
        self.sets[set * self.words + member as usize / 64] |= 1 << (member % 64);
        true
    }

    /// Returns the first epoch that has a member.
    #[inline]
    pub fn next(&self) -> Option<u64> {
        let ahead = self.occupied.rotate_right((self.first % EPOCHS) as u32);
        (ahead != 0).then(|| self.first + u64::from(ahead.trailing_zeros()))
    }

    /// Lets the calendar begin with `epoch`. No earlier epoch may have a member.
    pub fn advance(&mut self, epoch: u64) {
        debug_assert!(self.next().is_none_or(|next| next >= epoch), "no member is left behind");
        self.first = epoch;
    }

    /// Takes the next member out of the first epoch, from `from` on.
    #[inline]
    pub fn take(&mut self, from: u32) -> Option<u32> {
        let start = (self.first % EPOCHS) as usize * self.words;
        let set = &mut self.sets[start..start + self.words];
        let mut mask = u64::MAX << (from % 64);
        for (index, word) in set.iter_mut().enumerate().skip(from as usize / 64) {
            let members = *word & mask;
            if members != 0 {
                *word &= !(members & members.wrapping_neg());
                return Some(index as u32 * 64 + members.trailing_zeros());
            }
            mask = u64::MAX;
        }
        None
    }

    /// Returns the members of an epoch of the calendar.
    pub fn members(&self, epoch: u64) -> impl Iterator<Item = u32> {
        let start = (epoch % EPOCHS) as usize * self.words;
        let words = (0..).zip(&self.sets[start..start + self.words]);
        words.flat_map(|(index, word)| (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| index * 64 + bit))
    }

    /// Notes that members may have been taken out of the first epoch.
    pub fn close(&mut self) {
        let start = (self.first % EPOCHS) as usize * self.words;
        if self.sets[start..start + self.words].iter().all(|word| *word == 0) {
            self.occupied &= !(1 << (self.first % EPOCHS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// The calendar agrees with a sorted set of (epoch, member). Members are taken in order.
        #[test]
        fn agrees_with_a_sorted_set(
            longest in 1u64..3_000_000,
            begin in prop_oneof![0u64..9, 0u64..1_000_000_000],
            marks in prop::collection::vec((0u32..200, 0u64..70, 0.0..1.0, any::<bool>()), 1..200),
        ) {
            let mut calendar = Calendar::new(200, Duration::from_ps(longest));
            let mut expected = BTreeSet::new();
            let mut first = begin;
            calendar.advance(first);
            for (member, ahead, part, takes) in marks {
                let (start, end) = (calendar.start_of(first + ahead), calendar.start_of(first + ahead + 1));
                prop_assert!((1..=longest.max(2)).contains(&(end - start).ps()));
                let at = start + Duration::from_ps(((end - start).ps() as f64 * part) as u64);
                prop_assert_eq!([start, at, end].map(|at| calendar.epoch_of(at) - first), [ahead, ahead, ahead + 1]);
                prop_assert_eq!(calendar.mark(member, at), ahead < EPOCHS);
                if ahead < EPOCHS {
                    expected.insert((first + ahead, member));
                }
                prop_assert_eq!(calendar.next(), expected.first().map(|(epoch, _)| *epoch));
                if let Some(epoch) = calendar.next().filter(|_| takes) {
                    calendar.advance(epoch);
                    first = epoch;
                    let members: Vec<u32> = calendar.members(epoch).collect();
                    for (index, member) in members.iter().enumerate() {
                        prop_assert_eq!(calendar.take(members[..index].last().map_or(0, |last| last + 1)), Some(*member));
                        prop_assert!(expected.remove(&(epoch, *member)));
                        calendar.close();
                        prop_assert_eq!(calendar.next(), expected.first().map(|(epoch, _)| *epoch));
                    }
                    prop_assert_eq!(calendar.take(0), None);
                }
            }
        }
    }
}
