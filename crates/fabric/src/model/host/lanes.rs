//! Whose turn it is among the queue pairs of a host's port.

use super::sender::{NO_SLOT, QueuePair, Slot};
use super::turns::Turns;
use crate::ids::{CLASSES, Class, ClassMask, QueueIx};
use backwater_engine::Time;
use backwater_engine::bits::{BitSet, first_after};
use backwater_engine::memory::HeapBytes;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The queue pairs of one port: those whose turn may come, and those that wait for their departure time.
///
/// Turns go round in the order in which the flows started: a queue pair's place in the round never changes while it lives.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// Places whose queue pair is ready.
    pub(super) ready: BitSet,
    /// The queue pair at each place; [`NO_SLOT`] where it is done.
    pub(super) round: Vec<Slot>,
    /// The place served last.
    pub(super) cursor: RoundIx,
    /// Classes of which there has been a queue pair.
    pub(super) classes: ClassMask,
    pub(super) paced: BinaryHeap<Reverse<(Time, Slot)>>,
    pub(super) live: usize,
    /// Places whose queue pair is ready by class, for when some classes are closed.
    pub(super) ready_of: [BitSet; CLASSES],
    /// Queue pairs that are held back by the queues that a flow control has added, queue by queue.
    pub(super) lines: Vec<Vec<Slot>>,
    /// Which of those queues are closed: their queue pairs are not among the ready ones.
    pub(super) closed: BitSet,
    /// Whose turn it is, theirs or that of the port's queues.
    pub(super) turns: Turns,
}

/// A place in a port's round.
pub(super) type RoundIx = u32;

impl Lanes {
    /// Bytes that they hold on the heap.
    pub(super) fn heap_bytes(&self) -> u64 {
        let sets: u64 = self.ready_of.iter().chain([&self.ready, &self.closed]).map(HeapBytes::heap_bytes).sum();
        let lines = self.lines.heap_bytes() + self.lines.iter().map(HeapBytes::heap_bytes).sum::<u64>();
        self.round.heap_bytes() + self.paced.heap_bytes() + lines + sets
    }

    /// The first ready place of `open` classes after the one served last, going round.
    #[inline]
    pub(super) fn next(&self, open: ClassMask) -> Option<RoundIx> {
        let (cursor, words) = (self.cursor as usize, self.ready.words());
        let place = if self.classes.minus(open).is_empty() {
            first_after(cursor, words, |index| self.ready.word(index))
        } else {
            let open = open.and(self.classes);
            let word = |index| open.iter().fold(0, |bits, class| bits | self.ready_of[class.index()].word(index));
            first_after(cursor, words, word)
        };
        place.map(|place| place as RoundIx)
    }

    /// The place behind the one served last.
    #[inline]
    pub(super) fn probably_next(&self) -> Option<&Slot> {
        self.round.get(self.cursor as usize + 1).or_else(|| self.round.first())
    }

    #[inline(always)]
    pub(super) fn set_ready(&mut self, pair: &QueuePair) {
        if usize::from(pair.queue) >= CLASSES && self.closed.has(pair.queue.into()) {
            return;
        }
        self.ready.insert(pair.place as usize);
        self.ready_of[pair.class.index()].insert(pair.place as usize);
    }

    /// The queue pairs that `queue`, one that a flow control has added, holds back.
    pub(super) fn line(&mut self, queue: QueueIx) -> &mut Vec<Slot> {
        let index = usize::from(queue) - CLASSES;
        if self.lines.len() <= index {
            self.lines.resize_with(index + 1, Vec::new);
        }
        &mut self.lines[index]
    }

    #[inline]
    pub(super) fn set_waiting(&mut self, class: Class, place: RoundIx) {
        self.ready.remove(place as usize);
        self.ready_of[class.index()].remove(place as usize);
    }

    /// Closes the gaps that finished queue pairs have left, once they are the greater part. Calls `moved` with every slot and its new place.
    pub(super) fn close_gaps(&mut self, mut moved: impl FnMut(Slot, RoundIx)) {
        if self.round.len() < 64 || self.round.len() < 2 * self.live {
            return;
        }
        let (mut next, mut cursor) = (0, 0);
        for place in 0..self.round.len() {
            let slot = self.round[place];
            if slot == NO_SLOT {
                continue;
            }
            for ready in self.ready_of.iter_mut().chain([&mut self.ready]) {
                if ready.has(place) {
                    ready.remove(place);
                    ready.insert(next as usize);
                }
            }
            if place <= self.cursor as usize {
                cursor = next;
            }
            self.round[next as usize] = slot;
            moved(slot, next);
            next += 1;
        }
        self.round.truncate(next as usize);
        self.cursor = cursor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every third of 100 places lives; 48 was served last.
    #[test]
    fn closing_gaps_changes_nobodys_turn() {
        let round = (0..100).map(|place| if place % 3 == 0 { place } else { NO_SLOT }).collect();
        let mut lanes = Lanes { round, cursor: 48, live: 34, classes: ClassMask::of(Class(3)), ..Lanes::default() };
        for place in (0..100).step_by(3) {
            lanes.ready.insert(place);
            lanes.ready_of[3].insert(place);
        }
        let mut moved = Vec::new();
        lanes.close_gaps(|slot, place| moved.push((slot, place)));
        assert_eq!(moved, (0..34).map(|place| (3 * place, place)).collect::<Vec<_>>());
        let next = |open| lanes.next(open).map(|place| lanes.round[place as usize]);
        assert_eq!((next(ClassMask::ALL), next(ClassMask::of(Class(2)))), (Some(51), None));
        assert_eq!(lanes.round.len(), 34);
    }
}
