//! Single-tier variant: a queue per set of roots (sections IV-C and VI-C). All queues lead to the
//! wire. A queue is closed while any root of its sets is paused.
//!
//! Order: when a port learns of a root, later packets of a flow join the queue of a larger set than
//! earlier packets. A new set therefore waits until all packets in queues of smaller sets, the
//! ordinary queue among them, have left. This delays no packet needlessly: a smaller set is closed
//! only because of roots that the larger set also contains.

use super::queues::QueuePool;
use crate::contract::RemainingHops;
use crate::ids::{CLASSES, PortId, QueueIx};
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::random::mix;
use get_size2::GetSize;
use std::collections::VecDeque;
use std::ops::Range;

/// Contents of the queues of one egress port, by the roots on the packets' paths.
#[derive(Debug, Default, GetSize)]
pub(super) struct Sets {
    /// Sets by number; a set without packets is free.
    known: Vec<Set>,
    /// Lanes by queue.
    lanes: IndexVec<QueueIx, Lane>,
    /// Number of lanes with a wait.
    waiting: usize,
}

/// Packets that will pass the same roots.
#[derive(Debug, Default, GetSize)]
struct Set {
    /// Roots in the order of the path.
    roots: Vec<PortId>,
    queue: QueueIx,
    packets: u64,
}

/// Numbers of packets that joined and left a queue.
#[derive(Debug, Default, GetSize)]
struct Lane {
    came: u64,
    left: u64,
    waits: VecDeque<Wait>,
}

/// Wait of a queue: packets from number `from` on must not leave before packet `until` of another
/// queue.
#[derive(Clone, Copy, Debug, GetSize)]
struct Wait {
    from: u64,
    queue: QueueIx,
    until: u64,
}

impl Lane {
    fn is_empty(&self) -> bool {
        self.came == self.left
    }
}

impl Sets {
    /// Returns the queue and number of the set of `roots`. Assigns a queue if the set has none.
    pub(super) fn place(&mut self, roots: &[PortId], pool: &mut QueuePool) -> (QueueIx, usize) {
        let found = self.known.iter().position(|set| set.packets > 0 && set.roots == roots);
        let number = found.unwrap_or_else(|| {
            let free = self.known.iter().position(|set| set.packets == 0);
            let number = free.unwrap_or_else(|| {
                self.known.push(Set::default());
                self.known.len() - 1
            });
            let hash = roots.iter().fold(0, |hash, root| mix(hash ^ u64::from(root.0)));
            let set = &mut self.known[number];
            set.roots.clear();
            set.roots.extend_from_slice(roots);
            set.queue = pool.take(hash);
            number
        });
        (self.known[number].queue, number)
    }

    /// Records a packet that joined `queue`, in the set `number` if the queue is not the ordinary
    /// queue.
    pub(super) fn add(&mut self, queue: QueueIx, number: Option<usize>) {
        // Adds a lane if the queue is new.
        self.lanes.get_or_default(queue);
        if let Some(number) = number {
            self.known[number].packets += 1;
            if self.known[number].packets == 1 {
                self.wait_for_smaller(number);
            }
        }
        self.lanes[queue].came += 1;
    }

    /// Makes a new set wait for queues that may hold earlier packets of its flows.
    fn wait_for_smaller(&mut self, number: usize) {
        let Set { queue, .. } = self.known[number];
        let from = self.lanes[queue].came;
        let mut waits = std::mem::take(&mut self.lanes[queue].waits);
        let had_none = waits.is_empty();
        for (other, lane) in self.lanes.enumerate() {
            if other != queue && !lane.is_empty() && self.holds_smaller(other, number) {
                waits.push_back(Wait { from, queue: other, until: lane.came });
            }
        }
        self.waiting += usize::from(had_none && !waits.is_empty());
        self.lanes[queue].waits = waits;
    }

    /// Returns true if `queue` holds a subset of the set `number`.
    fn holds_smaller(&self, queue: QueueIx, number: usize) -> bool {
        let roots = &self.known[number].roots;
        let is_part = |set: &Set| set.roots.iter().all(|root| roots.contains(root));
        queue.index() < CLASSES || self.in_queue(queue).any(is_part)
    }

    /// Records a packet that left `queue`.
    pub(super) fn take(&mut self, queue: QueueIx, number: Option<usize>, pool: &mut QueuePool) {
        let lane = &mut self.lanes[queue];
        lane.left += 1;
        if lane.is_empty() && !lane.waits.is_empty() {
            lane.waits.clear();
            self.waiting -= 1;
        }
        if let Some(number) = number {
            let set = &mut self.known[number];
            set.packets -= 1;
            if set.packets == 0 {
                pool.give_back(set.queue);
            }
        }
    }

    /// Removes the waits of `queue` that are over. Returns true if its first packet must wait for
    /// another queue.
    pub(super) fn is_held(&mut self, queue: QueueIx) -> bool {
        let Some(mut lane) = self.lanes.get_mut(queue.index()).map(std::mem::take) else { return false };
        let had_some = !lane.waits.is_empty();
        let is_over = |wait: &mut Wait| self.lanes[wait.queue].left >= wait.until;
        while lane.waits.pop_front_if(is_over).is_some() {}
        self.waiting -= usize::from(had_some && lane.waits.is_empty());
        let is_held = lane.waits.front().is_some_and(|wait| wait.from <= lane.left);
        self.lanes[queue] = lane;
        is_held
    }

    /// Returns true if any queue waits for another queue.
    pub(super) fn any_waits(&self) -> bool {
        self.waiting > 0
    }

    /// Returns the roots of a set.
    pub(super) fn roots(&self, number: usize) -> &[PortId] {
        &self.known[number].roots
    }

    /// Returns the indices of the queues used so far.
    pub(super) fn queues(&self) -> Range<usize> {
        CLASSES..self.lanes.len().max(CLASSES)
    }

    fn in_queue(&self, queue: QueueIx) -> impl Iterator<Item = &Set> {
        self.known.iter().filter(move |set| set.packets > 0 && set.queue == queue)
    }

    /// Returns the roots of all sets in `queue`.
    pub(super) fn roots_in(&self, queue: QueueIx) -> impl Iterator<Item = PortId> {
        self.in_queue(queue).flat_map(|set| set.roots.iter().copied())
    }

    /// Returns true if packets that pass `root` are only in queues that hold one set each.
    pub(super) fn is_alone(&self, root: PortId, pool: &QueuePool) -> bool {
        let mut with_root = self.known.iter().filter(|set| set.packets > 0 && set.roots.contains(&root));
        with_root.all(|set| pool.users(set.queue) == 1)
    }

    /// Returns the queues of sets with `count` roots, at least one of them in `roots`.
    pub(super) fn queues_with(&self, roots: &[PortId], count: usize) -> impl Iterator<Item = QueueIx> {
        let fits = move |set: &&Set| {
            set.packets > 0 && set.roots.len() == count && set.roots.iter().any(|root| roots.contains(root))
        };
        self.known.iter().filter(fits).map(|set| set.queue)
    }

    /// Maximum number of roots in a set.
    pub(super) const LARGEST: usize = RemainingHops::MOST as usize;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_found_by_the_roots_and_the_size_of_their_sets() {
        let roots = |roots: &[u32]| roots.iter().copied().map(PortId).collect();
        let set = |queue, packets, of: &[u32]| Set { roots: roots(of), queue: QueueIx(queue), packets };
        let known = vec![set(8, 1, &[1]), set(9, 0, &[1]), set(10, 1, &[1, 2]), set(11, 1, &[5])];
        let sets = Sets { known, ..Sets::default() };
        let queues = |roots: &[PortId], count| sets.queues_with(roots, count).map(|queue| queue.0).collect::<Vec<_>>();
        let [one, two, nine] = [1, 2, 9].map(PortId);
        assert_eq!((queues(&[one], 1), queues(&[one, nine], 2), queues(&[two], 1)), (vec![8], vec![10], vec![]));
    }

    #[test]
    fn a_queue_that_runs_empty_waits_for_nobody() {
        let mut pool = QueuePool::new(4);
        let mut sets = Sets::default();
        sets.add(QueueIx(0), None);
        let (queue, number) = sets.place(&[PortId(1)], &mut pool);
        sets.add(queue, Some(number));
        assert!(sets.any_waits() && sets.is_held(queue));
        // Packets at a dead port are lost out of turn.
        sets.take(queue, Some(number), &mut pool);
        assert!(!sets.any_waits());
        // The packet in the ordinary queue does not affect the following checks.
        sets.take(QueueIx(0), None, &mut pool);
        let (queue, number) = sets.place(&[PortId(1)], &mut pool);
        sets.add(queue, Some(number));
        assert!(!sets.any_waits() && !sets.is_held(queue));
    }
}
