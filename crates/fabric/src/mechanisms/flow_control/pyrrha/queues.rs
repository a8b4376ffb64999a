//! Isolation queues of one egress port (section IV-C). In a hierarchy, each root has a queue, which
//! leads to the queue of the next root on the way, and at last to the ordinary queue. In a single
//! tier, each set of roots has a queue.

use super::Organisation;
use super::sets::Sets;
use crate::ids::{CLASSES, PortId, QueueIx};
use arrayvec::ArrayVec;
use backwater_engine::Time;
use backwater_engine::index::Id;
use backwater_engine::random::mix;
use get_size2::GetSize;

/// Roots on the rest of a packet's path, in order.
pub(super) type RootsAhead = ArrayVec<PortId, { Sets::LARGEST }>;

/// State of an isolation queue (Figure 6). An unassigned queue does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, GetSize)]
pub enum State {
    /// No packet leaves the queue.
    Paused,
    /// Packets leave the queue in turn.
    Resumed,
    /// The root has given up: packets leave the queue, and the queue is released when it is empty.
    SoftMerging,
}

/// Isolation for one root at a port.
#[derive(Clone, Copy, Debug, GetSize)]
pub(super) struct Isolation {
    pub(super) root: PortId,
    pub(super) state: State,
    /// Queue at the port: the root's own queue, or a queue shared with other roots if there are too
    /// few queues (section IV-E). `None` in a single tier, where the root uses a queue for every
    /// set that contains it.
    pub(super) queue: Option<QueueIx>,
    /// Charged bytes of isolated packets.
    pub(super) bytes: u64,
    /// Root that replaced this root, which has given up. The heir's queue is kept until this root's
    /// queue is empty.
    pub(super) heir: Option<PortId>,
    /// Time until which the queue is kept though it is empty: for a queue that a MERGE made and
    /// that no packet, PAUSE or RESUME has reached.
    pub(super) kept_until: Time,
}

/// Queues of a port in use, and their users: roots, or sets of roots.
#[derive(Debug, GetSize)]
pub(super) struct QueuePool {
    /// Number of users of each queue used so far.
    users: Vec<u16>,
    limit: u16,
    in_use: u16,
    /// Peak number of queues in use so far.
    most_used: u16,
}

impl QueuePool {
    pub(super) fn new(limit: u16) -> QueuePool {
        QueuePool { users: Vec::new(), limit, in_use: 0, most_used: 0 }
    }

    /// Assigns the first free queue; if none is free, the queue chosen by `hash`.
    pub(super) fn take(&mut self, hash: u64) -> QueueIx {
        let free = self.users.iter().position(|users| *users == 0);
        let index = match free {
            Some(index) => index,
            None if self.users.len() < usize::from(self.limit) => {
                self.users.push(0);
                self.users.len() - 1
            }
            None => (hash % u64::from(self.limit)) as usize,
        };
        self.users[index] += 1;
        if self.users[index] == 1 {
            self.in_use += 1;
            self.most_used = self.most_used.max(self.in_use);
        }
        QueueIx::added(index)
    }

    /// Removes one user of `queue`.
    pub(super) fn give_back(&mut self, queue: QueueIx) {
        let users = &mut self.users[queue.index() - CLASSES];
        *users -= 1;
        self.in_use -= u16::from(*users == 0);
    }

    pub(super) fn users(&self, queue: QueueIx) -> u16 {
        self.users[queue.index() - CLASSES]
    }

    pub(super) fn free(&self) -> u16 {
        self.limit - self.in_use
    }
}

/// Queues of one egress port.
#[derive(Debug, GetSize)]
pub(super) struct EgressQueues {
    /// Charged bytes in the ordinary queue, which is the queue of the packets' class.
    pub(super) ordinary: u64,
    /// True if the port, as a root, may have paused a neighbour that is not yet resumed.
    pub(super) pauses: bool,
    isolations: Vec<Isolation>,
    pool: QueuePool,
    /// Queue contents in a single tier.
    sets: Option<Box<Sets>>,
}

impl EgressQueues {
    pub(super) fn new(organisation: Organisation, limit: u16) -> EgressQueues {
        let sets = (organisation == Organisation::SingleTier).then(Box::default);
        EgressQueues { ordinary: 0, pauses: false, isolations: Vec::new(), pool: QueuePool::new(limit), sets }
    }

    /// Returns true if no packet is isolated here.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.isolations.is_empty()
    }

    /// Returns true if packets with this note need nothing but a change of `ordinary`.
    #[inline]
    pub(super) fn is_ordinary(&self, note: u32) -> bool {
        note == 0 && self.sets.is_none()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Isolation> {
        self.isolations.iter()
    }

    pub(super) fn get(&self, root: PortId) -> Option<&Isolation> {
        self.isolations.iter().find(|isolation| isolation.root == root)
    }

    pub(super) fn get_mut(&mut self, root: PortId) -> Option<&mut Isolation> {
        self.isolations.iter_mut().find(|isolation| isolation.root == root)
    }

    /// Returns true if packets may still move to the queue of `root` from the queue of a root that
    /// has given up in favour of `root`.
    pub(super) fn is_heir(&self, root: PortId) -> bool {
        self.isolations.iter().any(|isolation| isolation.heir == Some(root))
    }

    /// Returns the peak number of queues in use so far.
    pub(super) fn most_used(&self) -> u16 {
        self.pool.most_used
    }

    // Queues of packets.

    /// Returns the queue and the note of a packet that will pass the ports `ahead`. In a hierarchy,
    /// the queue is that of the nearest root after `after`; in a single tier, it is that of all
    /// roots ahead. `None` if there is no such root.
    pub(super) fn place(
        &mut self,
        mut ahead: impl Iterator<Item = PortId>,
        after: Option<PortId>,
    ) -> Option<(QueueIx, u32)> {
        if self.sets.is_none() {
            if let Some(after) = after {
                ahead.find(|port| *port == after)?;
            }
            let isolation = ahead.find_map(|port| self.get(port))?;
            return isolation.queue.zip(Some(isolation.root.0 + 1));
        }
        // A packet does not return to the queue of a root that has given up.
        let is_apart = |isolation: &Isolation| after.is_none() || isolation.state != State::SoftMerging;
        let roots: RootsAhead = ahead.filter(|port| self.get(*port).is_some_and(is_apart)).collect();
        let sets = self.sets.as_mut().filter(|_| !roots.is_empty())?;
        let (queue, number) = sets.place(&roots, &mut self.pool);
        Some((queue, number as u32 + 1))
    }

    /// Returns the roots for which a packet with this note is isolated; none for a packet in an
    /// ordinary queue.
    pub(super) fn roots_of(&self, note: u32) -> RootsAhead {
        let mut roots = RootsAhead::new();
        match (note.checked_sub(1), &self.sets) {
            (None, _) => {}
            (Some(root), None) => roots.push(PortId(root)),
            (Some(number), Some(sets)) => roots.extend(sets.roots(number as usize).iter().copied()),
        }
        roots
    }

    /// Records a packet that joined `queue`.
    pub(super) fn add(&mut self, queue: QueueIx, note: u32, bytes: u64) {
        if let Some(sets) = &mut self.sets {
            sets.add(queue, note.checked_sub(1).map(|number| number as usize));
        }
        for root in self.roots_of(note) {
            let isolation = self.get_mut(root).expect("a packet is put into queues that exist");
            isolation.bytes += bytes;
            isolation.kept_until = Time::ZERO;
        }
        if note == 0 {
            self.ordinary += bytes;
        }
    }

    /// Returns a root whose queue no longer needs to be kept at `now`. Returns each root once.
    pub(super) fn end_of_time(&mut self, now: Time) -> Option<PortId> {
        let is_over = |isolation: &&mut Isolation| isolation.kept_until != Time::ZERO && isolation.kept_until <= now;
        let isolation = self.isolations.iter_mut().find(is_over)?;
        isolation.kept_until = Time::ZERO;
        Some(isolation.root)
    }

    /// Records a packet that left `queue`.
    pub(super) fn take(&mut self, queue: QueueIx, note: u32, bytes: u64) {
        for root in self.roots_of(note) {
            self.get_mut(root).expect("an isolation queue stays until it is empty").bytes -= bytes;
        }
        if note == 0 {
            self.ordinary -= bytes;
        }
        if let Some(sets) = &mut self.sets {
            sets.take(queue, note.checked_sub(1).map(|number| number as usize), &mut self.pool);
        }
    }

    // Gates of queues.

    /// Returns the root that keeps `queue` closed, if any.
    pub(super) fn keeper(&self, queue: QueueIx) -> Option<PortId> {
        let is_paused = |isolation: &&Isolation| isolation.state == State::Paused;
        let keeper = match &self.sets {
            None => self.isolations.iter().filter(|isolation| isolation.queue == Some(queue)).find(is_paused),
            Some(sets) => sets.roots_in(queue).find_map(|root| self.get(root).filter(is_paused)),
        };
        keeper.map(|isolation| isolation.root)
    }

    /// Returns true if the first packet of `queue` must wait for packets of another queue.
    pub(super) fn is_held(&mut self, queue: QueueIx) -> bool {
        self.sets.as_mut().is_some_and(|sets| sets.is_held(queue))
    }

    /// Returns true if any queue waits for another queue.
    pub(super) fn any_waits(&self) -> bool {
        self.sets.as_ref().is_some_and(|sets| sets.any_waits())
    }

    /// Returns all queues used so far in a single tier.
    pub(super) fn queues(&self) -> impl Iterator<Item = QueueIx> + use<> {
        QueueIx::range(self.sets.as_ref().map_or(0..0, |sets| sets.queues()))
    }

    // Assigning and releasing queues.

    /// Starts isolating packets for a new `root`.
    pub(super) fn assign(&mut self, root: PortId, state: State) {
        let queue = self.sets.is_none().then(|| self.pool.take(mix(root.0.into())));
        self.isolations.push(Isolation { root, state, queue, bytes: 0, heir: None, kept_until: Time::ZERO });
    }

    /// Stops isolating packets for `root`, which has no queued packets. Returns its heir, if any.
    pub(super) fn unassign(&mut self, root: PortId) -> Option<PortId> {
        let position = self.isolations.iter().position(|isolation| isolation.root == root);
        let isolation = self.isolations.remove(position.expect("the caller has just seen the queue that it removes"));
        isolation.queue.iter().for_each(|queue| self.pool.give_back(*queue));
        isolation.heir
    }

    /// Calls `flush` for the queues of `roots`, which have just given up, in an order in which
    /// their packets can be moved on. Skips queues shared with other roots, since flushing would
    /// reorder the packets of the other roots. In a single tier, skips all queues if a moved packet
    /// could overtake an earlier one: if sets share queues, or if other roots that have given up
    /// still have queues.
    pub(super) fn flush(&self, roots: &[PortId], mut flush: impl FnMut(QueueIx)) {
        let Some(sets) = &self.sets else {
            let isolations = roots.iter().filter_map(|root| self.get(*root)).filter(|isolation| isolation.bytes > 0);
            let alone = isolations.filter_map(|isolation| isolation.queue).filter(|queue| self.pool.users(*queue) == 1);
            return alone.for_each(flush);
        };
        let given_up = self.isolations.iter().filter(|isolation| isolation.state == State::SoftMerging);
        let is_clear = given_up.count() == roots.len() && roots.iter().all(|root| sets.is_alone(*root, &self.pool));
        // Packets of one queue move to at most two queues: the queue of the set with the heir, and
        // the queue of the set without the heir.
        let concerned = (1..=Sets::LARGEST).map(|count| sets.queues_with(roots, count).count()).sum::<usize>();
        if is_clear && 2 * concerned <= usize::from(self.pool.free()) {
            (1..=Sets::LARGEST).for_each(|count| sets.queues_with(roots, count).for_each(&mut flush));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_used_again_and_shared_when_they_run_out() {
        let mut egress = EgressQueues::new(Organisation::Hierarchical, 2);
        let queue = |egress: &EgressQueues, root| egress.get(PortId(root)).and_then(|isolation| isolation.queue);
        for root in [10, 11, 12] {
            egress.assign(PortId(root), State::Paused);
        }
        assert_eq!((queue(&egress, 10), queue(&egress, 11)), (Some(QueueIx(8)), Some(QueueIx(9))));
        let shared = queue(&egress, 12).expect("assigned");
        assert!(shared == QueueIx(8) || shared == QueueIx(9));
        assert_eq!(egress.most_used(), 2);
        // The shared queue stays closed until its last root is resumed.
        let other = if shared == QueueIx(8) { 10 } else { 11 };
        egress.get_mut(PortId(other)).expect("assigned").state = State::Resumed;
        assert_eq!(egress.keeper(shared), Some(PortId(12)));
        egress.unassign(PortId(12));
        assert_eq!(egress.keeper(shared), None);
        egress.unassign(PortId(10));
        egress.assign(PortId(13), State::Resumed);
        assert_eq!(queue(&egress, 13), Some(QueueIx(8)));
    }
}
