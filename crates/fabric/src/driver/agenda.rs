//! Agenda of a shard: which nodes have something to do, and when.
//!
//! Time is divided into epochs that are no longer than the delay of the shortest link. A frame
//! whose transmission starts in an epoch arrives after this epoch. So a node can handle all its
//! events of an epoch in one visit, whatever the other nodes do, while its state is in the cache.
//!
//! The agenda holds wake-ups, and marks the epochs in which frames arrive. The frames themselves
//! are on the wires.

use crate::driver::rank::{Kind, Rank, kind_of, rank};
use crate::ids::PortIx;
use backwater_engine::calendar::Calendar;
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Wake-up of a node after the present visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct WakeUp {
    at: Time,
    /// Rank within the instant.
    rank: Rank,
}

/// Agenda of a shard's nodes.
pub(super) struct Agenda {
    /// Nodes with events in the next epochs.
    calendar: Calendar,
    /// Wake-ups of every node in these epochs, the latest first.
    near: Vec<Vec<WakeUp>>,
    /// Other wake-ups and their nodes. An arrival stands for a frame on a wire.
    far: BinaryHeap<Reverse<(WakeUp, u32)>>,
    /// Wake-ups during this visit in order. The last entry is [`Rank::MAX`].
    visit: Vec<Rank>,
    /// Number of entries of `visit` that have been handled.
    handled: usize,
    /// First entry of `visit` that has not been handled.
    next: Rank,
    /// Start of the open epoch.
    pub(super) start: Time,
    /// Time at which the visits end: the end of the epoch, or an earlier limit. Time zero between
    /// visits.
    pub(super) end: Time,
    /// Latest end of a visit so far. No node has passed this time.
    pub(super) reached: Time,
}

impl Agenda {
    /// Creates an agenda for epochs of at most `longest`.
    pub(super) fn new(nodes: usize, longest: Duration) -> Agenda {
        Agenda {
            calendar: Calendar::new(nodes, longest),
            near: vec![Vec::new(); nodes],
            far: BinaryHeap::new(),
            visit: vec![Rank::MAX],
            handled: 0,
            next: Rank::MAX,
            start: Time::ZERO,
            end: Time::ZERO,
            reached: Time::ZERO,
        }
    }

    /// Returns the number of the epoch of an instant.
    #[inline(always)]
    pub(super) fn epoch_of(&self, at: Time) -> u64 {
        self.calendar.epoch_of(at)
    }

    /// Notes that a frame arrives at `node` at `at`, after the open epoch.
    #[inline]
    pub(super) fn expect(&mut self, node: u32, at: Time) {
        if !self.calendar.mark(node, at) {
            self.push_far(node, WakeUp { at, rank: rank(Duration::ZERO, Kind::Arrive, 0, PortIx(0)) });
        }
    }

    /// Schedules a wake-up of `node`. During a visit, `node` is the visited node.
    #[inline(always)]
    pub(super) fn schedule(&mut self, node: u32, kind: Kind, port: PortIx, at: Time) {
        if at < self.end {
            self.insert(rank(at - self.start, kind, 0, port));
        } else {
            self.schedule_later(node, WakeUp { at, rank: rank(Duration::ZERO, kind, 0, port) });
        }
    }

    /// Inserts a wake-up during this visit. Its place is mostly near the end.
    #[inline(always)]
    fn insert(&mut self, wake_up: Rank) {
        let mut index = self.visit.len() - 1;
        self.visit.push(Rank::MAX);
        while index > self.handled && self.visit[index - 1] > wake_up {
            self.visit[index] = self.visit[index - 1];
            index -= 1;
        }
        self.visit[index] = wake_up;
        self.next = self.next.min(wake_up);
    }

    /// Schedules a wake-up after the present visit, if there is one.
    #[inline(never)]
    fn schedule_later(&mut self, node: u32, wake_up: WakeUp) {
        // These wake-ups are frequent, and mostly due soon.
        let is_soon = matches!(kind_of(wake_up.rank), Kind::Port | Kind::Node);
        if is_soon && self.calendar.mark(node, wake_up.at) {
            self.insert_near(node, wake_up);
        } else {
            self.push_far(node, wake_up);
        }
    }

    fn insert_near(&mut self, node: u32, wake_up: WakeUp) {
        let near = &mut self.near[node as usize];
        let index = near.iter().position(|other| *other < wake_up).unwrap_or(near.len());
        near.insert(index, wake_up);
    }

    #[inline(never)]
    fn push_far(&mut self, node: u32, wake_up: WakeUp) {
        self.far.push(Reverse((wake_up, node)));
    }

    /// Opens the next epoch that has an event before `limit`. Returns false if there is none.
    pub(super) fn open(&mut self, limit: Time) -> bool {
        let far = self.far.peek().map(|Reverse((wake_up, _))| self.calendar.epoch_of(wake_up.at));
        let next = self.calendar.next().into_iter().chain(far).min();
        let Some(epoch) = next.filter(|epoch| self.calendar.start_of(*epoch) < limit) else { return false };
        self.calendar.advance(epoch);
        self.start = self.calendar.start_of(epoch);
        self.end = self.epoch_end().min(limit);
        self.reached = self.reached.max(self.end);
        while let Some(Reverse((wake_up, node))) = self.far.peek().copied()
            && wake_up.at < self.end
        {
            self.far.pop();
            self.calendar.mark(node, wake_up.at);
            if kind_of(wake_up.rank) != Kind::Arrive {
                self.insert_near(node, wake_up);
            }
        }
        true
    }

    /// Returns the end of the epoch that was opened last.
    fn epoch_end(&self) -> Time {
        self.calendar.start_of(self.calendar.epoch_of(self.start) + 1)
    }

    /// Takes the next node, from `from` on, with events in the open epoch.
    pub(super) fn next_node(&mut self, from: u32) -> Option<u32> {
        self.calendar.take(from)
    }

    /// Begins a visit of `node`.
    #[inline]
    pub(super) fn begin_visit(&mut self, node: u32) {
        self.visit.clear();
        self.handled = 0;
        let near = &mut self.near[node as usize];
        while let Some(wake_up) = near.pop_if(|wake_up| wake_up.at < self.end) {
            self.visit.push(rank(wake_up.at - self.start, Kind::LinkDown, 0, PortIx(0)) | wake_up.rank);
        }
        self.visit.push(Rank::MAX);
        self.next = self.visit[0];
    }

    /// Returns the rank of the visited node's next wake-up; [`Rank::MAX`] if there is none during
    /// this visit.
    #[inline(always)]
    pub(super) fn next(&self) -> Rank {
        self.next
    }

    /// Takes the visited node's next wake-up.
    #[inline(always)]
    pub(super) fn take(&mut self) {
        self.handled += 1;
        self.next = self.visit[self.handled];
    }

    /// Ends the visit of `node`. `arrival` returns the time of its next arrival.
    #[inline]
    pub(super) fn end_visit(&mut self, node: u32, arrival: impl FnOnce() -> Time) {
        let end = self.epoch_end();
        if self.end < end && arrival().min(self.wake_up_of(node)) < end {
            self.calendar.mark(node, self.start);
        }
    }

    /// Closes the open epoch after its visits. Returns false if the visits ended at the limit,
    /// before the end of the epoch.
    pub(super) fn close(&mut self) -> bool {
        self.calendar.close();
        std::mem::replace(&mut self.end, Time::ZERO) == self.epoch_end()
    }

    /// Returns the time of the next event, where `arrival` returns the time of a node's next
    /// arrival.
    pub(super) fn next_event(&self, arrival: impl Fn(u32) -> Time) -> Time {
        let far = self.far.peek().map(|Reverse((wake_up, _))| wake_up.at);
        let nodes = self.calendar.next().into_iter().flat_map(|epoch| self.calendar.members(epoch));
        nodes.map(|node| arrival(node).min(self.wake_up_of(node))).chain(far).min().unwrap_or(Time::NEVER)
    }

    /// Returns the time of a node's next wake-up; [`Time::NEVER`] if none is near.
    fn wake_up_of(&self, node: u32) -> Time {
        self.near[node as usize].last().map_or(Time::NEVER, |wake_up| wake_up.at)
    }

    /// Returns the size of the heap memory.
    pub(super) fn heap_bytes(&self) -> u64 {
        let lists: u64 = self.near.iter().map(HeapBytes::heap_bytes).sum();
        let shared = self.calendar.heap_bytes() + self.far.heap_bytes() + self.visit.heap_bytes();
        shared + self.near.heap_bytes() + lists
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::rank::{port_of, time_of};
    use proptest::prelude::*;

    /// Kinds that an agenda keeps near and far.
    const KINDS: [Kind; 3] = [Kind::FlowStart, Kind::Port, Kind::Node];

    proptest! {
        /// Every node handles its wake-ups in order, whatever the limits are, and none before its
        /// time or after the limit. Each handled wake-up schedules another one.
        #[test]
        fn nodes_wake_up_in_order(
            longest in 1u64..2_000_000,
            first in prop::collection::vec((0u32..70, 0usize..3, 0u16..4, 0u64..200_000_000), 1..30),
            others in prop::collection::vec(
                (prop_oneof![0u64..3, 0u64..3_000_000, 0u64..300_000_000], 0usize..3, 0u16..4), 1..20,
            ),
            limits in prop::collection::vec(1u64..100_000_000, 1..9),
        ) {
            let mut agenda = Agenda::new(70, Duration::from_ps(longest));
            let mut expected = std::collections::BTreeSet::new();
            for (node, kind, port, at) in first {
                if expected.insert((node, Time::from_ps(at), KINDS[kind], PortIx(port))) {
                    agenda.schedule(node, KINDS[kind], PortIx(port), Time::from_ps(at));
                }
            }
            let (mut others, mut limit) = (others.into_iter(), Time::ZERO);
            for step in limits {
                limit += Duration::from_ps(step);
                while agenda.open(limit) {
                    let mut from = 0;
                    while let Some(node) = agenda.next_node(from) {
                        from = node + 1;
                        agenda.begin_visit(node);
                        while agenda.next() < Rank::MAX {
                            let (rank, of_node) = (agenda.next(), (node, Time::ZERO, Kind::LinkDown, PortIx(0)));
                            agenda.take();
                            let (at, kind, port) = (time_of(rank, agenda.start), kind_of(rank), port_of(rank));
                            prop_assert!(at < limit);
                            let first = expected.range(of_node..).next().copied();
                            prop_assert_eq!(first, Some((node, at, kind, port)));
                            expected.remove(&(node, at, kind, port));
                            let other = |(delay, kind, port): (u64, usize, u16)| {
                                (node, at + Duration::from_ps(delay), KINDS[kind], PortIx(port))
                            };
                            let next = others.next().map(other);
                            if let Some((node, at, kind, port)) = next.filter(|next| expected.insert(*next)) {
                                agenda.schedule(node, kind, port, at);
                            }
                        }
                        agenda.end_visit(node, || Time::NEVER);
                    }
                    if !agenda.close() {
                        break;
                    }
                }
                let first = expected.iter().map(|(_, at, ..)| *at).min();
                prop_assert_eq!(agenda.next_event(|_| Time::NEVER), first.unwrap_or(Time::NEVER));
                prop_assert!(first.is_none_or(|first| first >= limit));
            }
        }

        /// An expected arrival is the agenda's next event until its node is visited.
        #[test]
        fn nodes_are_visited_when_frames_arrive(
            longest in 2u64..2_000_000,
            at in prop_oneof![0u64..2_000_000, 0u64..900_000_000],
        ) {
            let (mut agenda, at) = (Agenda::new(3, Duration::from_ps(longest)), Time::from_ps(at));
            agenda.expect(2, at);
            // No visit ends after its limit, so none finds the arrival too early.
            if agenda.open(Time::from_ps(at.ps() / 2)) {
                prop_assert!(agenda.end <= at);
                let node = agenda.next_node(0);
                prop_assert_eq!(node, Some(2));
                agenda.begin_visit(2);
                agenda.end_visit(2, || at);
                agenda.close();
            }
            prop_assert!(agenda.reached <= at);
            prop_assert_eq!(agenda.next_event(|node| if node == 2 { at } else { Time::NEVER }), at);
            while agenda.open(at + Duration::from_ps(1)) {
                let node = agenda.next_node(0);
                prop_assert_eq!(node, Some(2));
                agenda.begin_visit(2);
                prop_assert_eq!(agenda.next(), Rank::MAX);
                let is_handled = agenda.end > at;
                agenda.end_visit(2, || if is_handled { Time::NEVER } else { at });
                if !agenda.close() || is_handled {
                    break;
                }
            }
            prop_assert_eq!(agenda.next_event(|_| at), Time::NEVER);
        }
    }
}
