//! What is only accounting: what the audit, the search for deadlocks and the observers ask of mechanisms. It decides nothing.

use crate::contract::packet::{PacketContext, PauseScope};
use crate::contract::view::PortView;
use crate::ids::{Class, PortIx, QueueIx};
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use get_size2::GetSize;

/// The books of a flow control.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait FlowControlAccounts {
    /// Whether a closed gate stays closed until the downstream opens it: then a cycle of waits is a deadlock.
    fn holds_until_resume(&self) -> bool {
        true
    }

    /// What this node keeps stopped upstream, by ingress port: what an audit balances against [`FlowControlAccounts::stopped`] there.
    fn stopping(&self) -> Vec<(PortIx, PauseScope)> {
        Vec::new()
    }

    /// What the downstream of `port` has stopped here. Default: the queues behind closed gates.
    fn stopped(&self, port: PortIx, view: &dyn PortView) -> Vec<PauseScope> {
        view.closed_queues().map(|queue| self.scope(port, queue)).collect()
    }

    /// What a closed gate of `queue` at `port` waits to hear of. Default: the queue itself.
    fn scope(&self, _port: PortIx, queue: QueueIx) -> PauseScope {
        PauseScope::Queue(queue)
    }

    /// Whether a packet queued here is among those that keep `scope` stopped, upstream of `ingress`. Default: whether it came from there
    /// and from that queue.
    fn keeps_stopped(&self, ingress: PortIx, scope: PauseScope, packet: &PacketContext<'_>) -> bool {
        packet.ingress == ingress && scope == PauseScope::Queue(packet.packet().queue.into())
    }

    /// Queues of this node whose gates, while they are closed, keep `scope` stopped upstream of `ingress`, whether they hold anything or not: where a
    /// node passes PAUSEs on.
    fn passed_on(&self, _ingress: PortIx, _scope: PauseScope) -> Vec<(PortIx, QueueIx)> {
        Vec::new()
    }

    /// What should have been released by now, in words, when nothing is in flight any more; `None` if all is well.
    fn leftover(&self) -> Option<String> {
        None
    }

    /// The most queues beyond those of the classes that any one port has had in use at once.
    fn most_queues_used(&self) -> QueueIx {
        0
    }
}

/// The books of a buffer policy.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait BufferAccounts {
    /// Bytes in use, for probes and audits.
    fn occupancy(&self) -> Occupancy;

    /// Bytes charged to one ingress queue, all pools together.
    fn held(&self, ingress: PortIx, class: Class) -> u64;

    /// Bytes of headroom that one ingress queue uses; its port, where queues share it.
    fn headroom(&self, _ingress: PortIx, _class: Class) -> u64 {
        0
    }

    /// The most bytes of headroom that one ingress queue has used so far; its port, where queues share it.
    fn peak_headroom(&self, _ingress: PortIx, _class: Class) -> u64 {
        0
    }
}

/// Bytes in use in a switch's buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, GetSize)]
pub struct Occupancy {
    /// In all pools.
    pub used: u64,
    /// Of these in the shared pool.
    pub shared: u64,
    /// Of these in headroom.
    pub headroom: u64,
    /// The most that has been in use at once so far.
    pub peak: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    struct Plain;
    impl FlowControlAccounts for Plain {}

    #[test]
    fn by_default_a_packet_keeps_the_queue_stopped_that_it_has_come_from() {
        let packet = testing::packet(1, Class(3), 1000);
        let keeps = |ingress, queue| Plain.keeps_stopped(ingress, PauseScope::Queue(queue), &packet);
        assert_eq!([keeps(1, 3), keeps(1, 4), keeps(0, 3), keeps(0, 4)], [true, false, false, false]);
    }
}
