//! Scheduling of the queue pairs of a host's port.

use super::sender::QueuePair;
use super::turns::Turns;
use crate::ids::{CLASSES, Class, ClassMask, FlowId, QueueIx, Slot, index_of};
use backwater_engine::Time;
use backwater_engine::bits::{BitSet, first_after};
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::memory::HeapBytes;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Queue pairs of one port: ready ones, and those that wait for their departure time.
///
/// Ready queue pairs take turns in a round, in the order in which their flows started. The order
/// never changes while a queue pair lives.
///
/// A flow has a place in the round from its start on, and may wait for its first turn without a
/// queue pair. The last places of the round belong to such flows. All of them are ready.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// Places with a ready queue pair.
    pub(super) ready: BitSet,
    /// Queue pair at each place; [`Slot::NONE`] if it is finished.
    pub(super) round: IndexVec<RoundIx, Slot>,
    /// Place served last.
    pub(super) cursor: RoundIx,
    /// Classes of all queue pairs so far.
    pub(super) classes: ClassMask,
    pub(super) paced: BinaryHeap<Reverse<(Time, Slot)>>,
    /// Number of places in use.
    pub(super) live: usize,
    /// Places with a ready queue pair, by class: for rounds in which some classes are closed.
    pub(super) ready_of: [BitSet; CLASSES],
    /// Queue pairs behind each queue that the flow control added.
    pub(super) lines: Vec<Vec<Slot>>,
    /// Closed queues among the added queues. Their queue pairs are not ready.
    pub(super) closed: BitSet,
    /// Turns between the queue pairs and the port's queues.
    pub(super) turns: Turns,
    /// Flows without a queue pair, in the order of their places. Their places follow those of
    /// `round`.
    pub(super) waiting: VecDeque<FlowId>,
    /// Class of all `waiting` flows.
    pub(super) waiting_class: Class,
}

/// Place in the round of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RoundIx(pub(super) u32);

index_of!(RoundIx);

impl Lanes {
    /// Returns the bytes that the lanes hold on the heap.
    pub(super) fn heap_bytes(&self) -> u64 {
        let sets: u64 = self.ready_of.iter().chain([&self.ready, &self.closed]).map(HeapBytes::heap_bytes).sum();
        let lines = self.lines.heap_bytes() + self.lines.iter().map(HeapBytes::heap_bytes).sum::<u64>();
        self.round.heap_bytes() + self.paced.heap_bytes() + self.waiting.heap_bytes() + lines + sets
    }

    /// Returns true if a flow of an `open` class waits for its first turn.
    #[inline]
    pub(super) fn has_waiting(&self, open: ClassMask) -> bool {
        !self.waiting.is_empty() && open.has(self.waiting_class)
    }

    /// Returns true if a waiting flow of an `open` class has its turn before `ready`, the next
    /// ready place.
    pub(super) fn is_turn_of_waiting(&self, ready: Option<RoundIx>, open: ClassMask) -> bool {
        self.has_waiting(open) && ready.is_none_or(|place| place <= self.cursor)
    }

    /// Returns true if a place of an `open` class is ready.
    #[inline]
    pub(super) fn has_ready(&self, open: ClassMask) -> bool {
        if self.classes.minus(open).is_empty() { !self.ready.is_empty() } else { self.next(open).is_some() }
    }

    /// Returns the first ready place of an `open` class after the place served last, in the order
    /// of the round.
    #[inline(always)]
    pub(super) fn next(&self, open: ClassMask) -> Option<RoundIx> {
        if !self.classes.minus(open).is_empty() {
            return self.next_open(open);
        }
        let place = first_after(self.cursor.index(), self.ready.words(), |index| self.ready.word(index));
        place.map(RoundIx::from_index)
    }

    /// Implements [`Lanes::next`] for rounds in which some classes are closed.
    #[inline(never)]
    fn next_open(&self, open: ClassMask) -> Option<RoundIx> {
        let open = open.and(self.classes);
        let word = |index| open.iter().fold(0, |bits, class| bits | self.ready_of[class.index()].word(index));
        first_after(self.cursor.index(), self.ready.words(), word).map(RoundIx::from_index)
    }

    #[inline(always)]
    pub(super) fn set_ready(&mut self, pair: &QueuePair) {
        if pair.queue.index() >= CLASSES && self.closed.has(pair.queue.index()) {
            return;
        }
        self.ready.insert(pair.place.index());
        self.ready_of[pair.class.index()].insert(pair.place.index());
    }

    /// Returns the queue pairs behind `queue`, a queue that the flow control added.
    pub(super) fn line(&mut self, queue: QueueIx) -> &mut Vec<Slot> {
        let index = queue.index() - CLASSES;
        if self.lines.len() <= index {
            self.lines.resize_with(index + 1, Vec::new);
        }
        &mut self.lines[index]
    }

    #[inline]
    pub(super) fn set_waiting(&mut self, class: Class, place: RoundIx) {
        self.ready.remove(place.index());
        self.ready_of[class.index()].remove(place.index());
    }

    /// Removes the gaps that finished queue pairs left, once gaps are the greater part of the
    /// round. Calls `moved` with each slot and its new place.
    pub(super) fn close_gaps(&mut self, mut moved: impl FnMut(Slot, RoundIx)) {
        let places = self.round.len() + self.waiting.len();
        if places < 64 || places < 2 * self.live {
            return;
        }
        let (mut next, mut cursor) = (RoundIx(0), RoundIx(0));
        for place in self.round.ids() {
            let slot = self.round[place];
            if slot == Slot::NONE {
                continue;
            }
            for ready in self.ready_of.iter_mut().chain([&mut self.ready]) {
                if ready.has(place.index()) {
                    ready.remove(place.index());
                    ready.insert(next.index());
                }
            }
            if place <= self.cursor {
                cursor = next;
            }
            self.round[next] = slot;
            moved(slot, next);
            next.0 += 1;
        }
        self.round.truncate(next.index());
        self.cursor = cursor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every third of 100 places is live; place 48 was served last.
    #[test]
    fn closing_gaps_keeps_the_order_of_turns() {
        let round = (0..100).map(|place| if place % 3 == 0 { Slot(place) } else { Slot::NONE }).collect();
        let mut lanes =
            Lanes { round, cursor: RoundIx(48), live: 34, classes: ClassMask::of(Class(3)), ..Lanes::default() };
        for place in (0..100).step_by(3) {
            lanes.ready.insert(place);
            lanes.ready_of[3].insert(place);
        }
        let mut moved = Vec::new();
        lanes.close_gaps(|slot, place| moved.push((slot, place)));
        assert_eq!(moved, (0..34).map(|place| (Slot(3 * place), RoundIx(place))).collect::<Vec<_>>());
        let next = |open| lanes.next(open).map(|place| lanes.round[place]);
        assert_eq!((next(ClassMask::ALL), next(ClassMask::of(Class(2)))), (Some(Slot(51)), None));
        assert_eq!(lanes.round.len(), 34);
    }

    /// Places of waiting flows follow those of queue pairs. So waiting flows have their turn once
    /// the round has passed all queue pairs that are ready, and again before the queue pair served
    /// last.
    #[test]
    fn waiting_flows_have_their_turn_at_the_end_of_a_round() {
        let lanes = Lanes { cursor: RoundIx(5), waiting: [FlowId(0)].into(), ..Lanes::default() };
        let is_turn = |ready: Option<u32>| lanes.is_turn_of_waiting(ready.map(RoundIx), ClassMask::ALL);
        assert_eq!([Some(4), Some(5), Some(6), None].map(is_turn), [true, true, false, true]);
    }

    /// Places of waiting flows count like those of queue pairs: 64 places of which half are gaps.
    #[test]
    fn waiting_flows_have_places() {
        let is_closed = |gaps: usize, waiting: u32| {
            let round = std::iter::repeat_n(Slot::NONE, gaps).collect();
            let (waiting, live) = ((0..waiting).map(FlowId).collect(), waiting as usize);
            let mut lanes = Lanes { round, waiting, live, ..Lanes::default() };
            lanes.close_gaps(|_, _| unreachable!("there are no queue pairs"));
            lanes.round.is_empty()
        };
        assert_eq!([is_closed(32, 32), is_closed(32, 31), is_closed(32, 33)], [true, false, false]);
    }
}
