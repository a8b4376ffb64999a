//! Accounts of mechanisms: state that the audit, the deadlock detector and the observers read.
//! Accounts never change a packet's path.

use crate::contract::packet::{PacketContext, PauseScope};
use crate::contract::view::PortView;
use crate::ids::{CLASSES, Class, PortIx, QueueIx};
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use get_size2::GetSize;
use std::ops::Deref;

/// Accounts of a flow control. The audit and the deadlock detector call these methods between
/// events.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait FlowControlAccounts {
    /// Returns true if a closed gate stays closed until the downstream opens it. The deadlock
    /// detector examines only such flow controls: their cycles of waiting queues never resolve.
    fn holds_until_resume(&self) -> bool {
        true
    }

    /// Returns the PAUSEs in effect that this node sent upstream, each with the ingress port. The
    /// audit compares them with [`FlowControlAccounts::obeyed_pauses`] of the upstream node once
    /// nothing is in flight.
    fn upstream_pauses(&self) -> Vec<(PortIx, PauseScope)> {
        Vec::new()
    }

    /// Returns the scopes of the PAUSEs that `port` obeys. Default: the scopes of its closed gates.
    fn obeyed_pauses(&self, port: PortIx, view: &dyn PortView) -> Vec<PauseScope> {
        view.closed_queues().map(|queue| self.scope(port, queue)).collect()
    }

    /// Returns the scope of the PAUSE that keeps the gate of `queue` at `port` closed. Default: the
    /// queue itself.
    fn scope(&self, _port: PortIx, queue: QueueIx) -> PauseScope {
        PauseScope::Queue(queue)
    }

    /// Returns true if a packet that is queued here is a reason why the upstream of `ingress` has
    /// to keep `scope` paused. Default: true if the packet arrived on `ingress` from the upstream
    /// queue that `scope` names. The context is without the packet's side records: trail, path
    /// header and notice.
    fn sustains_pause(&self, ingress: PortIx, scope: PauseScope, packet: &PacketContext<'_>) -> bool {
        packet.ingress() == ingress && scope == PauseScope::Queue(QueueIx(packet.headers().queue.into()))
    }

    /// Returns the queues of this node whose closed gates keep `scope` paused upstream of
    /// `ingress`, even while these queues are empty. For nodes that relay PAUSEs.
    fn relayed_pauses(&self, _ingress: PortIx, _scope: PauseScope) -> Vec<(PortIx, QueueIx)> {
        Vec::new()
    }

    /// Describes state that should have been released once nothing is in flight any more. Returns
    /// `None` if no such state is left.
    fn leftover(&self) -> Option<String> {
        None
    }

    /// Returns the peak number of queues in use at any one port so far. Class queues do not count.
    fn most_queues_used(&self) -> u16 {
        0
    }
}

/// Accounts of a buffer policy. The model, the probes and the audit call these methods.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait BufferAccounts {
    /// Returns the bytes in use in the whole buffer.
    fn occupancy(&self) -> Occupancy;

    /// Returns the bytes charged to an ingress queue in all pools.
    fn ingress_occupancy(&self, ingress: PortIx, class: Class) -> u64;

    /// Returns [`BufferAccounts::ingress_occupancy`] of all classes.
    fn ingress_occupancies(&self, ingress: PortIx) -> [u64; CLASSES] {
        std::array::from_fn(|class| self.ingress_occupancy(ingress, Class(class as u8)))
    }

    /// Returns the headroom bytes in use by an ingress queue, or by its port if queues share
    /// headroom.
    fn headroom(&self, _ingress: PortIx, _class: Class) -> u64 {
        0
    }

    /// Returns the peak headroom bytes of an ingress queue so far, or of its port if queues share
    /// headroom.
    fn peak_headroom(&self, _ingress: PortIx, _class: Class) -> u64 {
        0
    }
}

/// Bytes in use in a switch's buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, GetSize)]
pub struct Occupancy {
    /// Bytes in all pools.
    pub used: u64,
    /// Bytes in the shared pool.
    pub shared: u64,
    /// Bytes in headroom.
    pub headroom: u64,
    /// Peak of `used` so far.
    pub peak: u64,
}

/// Returns the size of a mechanism of another crate, without its own heap data.
pub(crate) fn size_of_plug_in<T: ?Sized>(mechanism: &impl Deref<Target = T>) -> usize {
    size_of_val(&**mechanism)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    struct Plain;
    impl FlowControlAccounts for Plain {}

    #[test]
    fn by_default_a_packet_sustains_the_pause_of_its_own_ingress_queue() {
        let packet = testing::packet(1, Class(3), 1000);
        let keeps = |ingress, queue| Plain.sustains_pause(PortIx(ingress), PauseScope::Queue(QueueIx(queue)), &packet);
        assert_eq!([keeps(1, 3), keeps(1, 4), keeps(0, 3), keeps(0, 4)], [true, false, false, false]);
    }
}
