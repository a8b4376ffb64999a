//! The isolation queues of one egress port (section IV-C).

use crate::ids::{CLASSES, PortId, QueueIx};
use crate::memory::HeapBytes;
use backwater_engine::random::mix;

/// State of an isolation queue (Figure 6); one that is not assigned does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing leaves it.
    Paused,
    /// Packets leave it in turn.
    Resumed,
    /// Its root has given up: packets leave it, and it goes when it is empty.
    SoftMerging,
}

/// What a port isolates for one root.
#[derive(Clone, Copy, Debug)]
pub(super) struct Isolation {
    pub(super) root: PortId,
    pub(super) state: State,
    /// The queue of the port that it stands in: its own, or shared with others where there are not enough (section IV-E).
    pub(super) queue: QueueIx,
    /// Charged bytes of its packets.
    pub(super) bytes: u64,
    /// The root that has taken the place of one that has given up: its queue is kept until this one is empty.
    pub(super) heir: Option<PortId>,
}

/// The queues behind one egress port.
#[derive(Debug)]
pub(super) struct Egress {
    /// Charged bytes in the ordinary queue, that of the packets' class.
    pub(super) ordinary: u64,
    isolations: Vec<Isolation>,
    /// How many roots use each of the queues that have been used so far.
    users: Vec<u16>,
    limit: QueueIx,
    in_use: QueueIx,
    /// The most queues in use at once so far.
    pub(super) most_used: QueueIx,
}

impl Egress {
    pub(super) fn new(limit: QueueIx) -> Egress {
        Egress { ordinary: 0, isolations: Vec::new(), users: Vec::new(), limit, in_use: 0, most_used: 0 }
    }

    /// Whether nothing is isolated here.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.isolations.is_empty()
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

    /// Whether packets may still come to the queue of `root` from that of a root that has given up for its sake.
    pub(super) fn is_heir(&self, root: PortId) -> bool {
        self.isolations.iter().any(|isolation| isolation.heir == Some(root))
    }

    /// The root, if any, that keeps `queue` shut.
    pub(super) fn keeper(&self, queue: QueueIx) -> Option<PortId> {
        let mut inside = self.isolations.iter().filter(|isolation| isolation.queue == queue);
        inside.find(|isolation| isolation.state == State::Paused).map(|isolation| isolation.root)
    }

    /// Assigns a queue to `root`, which has none here: the first that is free; if none is, one that a hash of the root chooses.
    pub(super) fn assign(&mut self, root: PortId, state: State) {
        let free = self.users.iter().position(|users| *users == 0);
        let index = match free {
            Some(index) => index,
            None if self.users.len() < usize::from(self.limit) => {
                self.users.push(0);
                self.users.len() - 1
            }
            None => (mix(root.0.into()) % u64::from(self.limit)) as usize,
        };
        self.users[index] += 1;
        if self.users[index] == 1 {
            self.in_use += 1;
            self.most_used = self.most_used.max(self.in_use);
        }
        self.isolations.push(Isolation { root, state, queue: (CLASSES + index) as QueueIx, bytes: 0, heir: None });
    }

    /// Takes the queue of `root` away again, which has one; its heir, if there is one.
    pub(super) fn unassign(&mut self, root: PortId) -> Option<PortId> {
        let position = self.isolations.iter().position(|isolation| isolation.root == root);
        let isolation = self.isolations.remove(position.expect("whoever takes a queue away has just seen it"));
        let users = &mut self.users[usize::from(isolation.queue) - CLASSES];
        *users -= 1;
        self.in_use -= QueueIx::from(*users == 0);
        isolation.heir
    }

    pub(super) fn heap_bytes(&self) -> u64 {
        self.isolations.heap_bytes() + self.users.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_used_again_and_shared_when_they_run_out() {
        let mut egress = Egress::new(2);
        let queue = |egress: &Egress, root| egress.get(PortId(root)).map(|isolation| isolation.queue);
        for root in [10, 11, 12] {
            egress.assign(PortId(root), State::Paused);
        }
        assert_eq!((queue(&egress, 10), queue(&egress, 11)), (Some(8), Some(9)));
        let shared = queue(&egress, 12).expect("assigned");
        assert!(shared == 8 || shared == 9);
        assert_eq!(egress.most_used, 2);
        // The shared queue stays shut until the last of its roots lets it go.
        let other = if shared == 8 { 10 } else { 11 };
        egress.get_mut(PortId(other)).expect("assigned").state = State::Resumed;
        assert_eq!(egress.keeper(shared), Some(PortId(12)));
        egress.unassign(PortId(12));
        assert_eq!(egress.keeper(shared), None);
        egress.unassign(PortId(10));
        egress.assign(PortId(13), State::Resumed);
        assert_eq!(queue(&egress, 13), Some(8));
    }
}
