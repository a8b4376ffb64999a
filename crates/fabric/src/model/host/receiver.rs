//! Receiving side of a flow.

use crate::contract::report::Reception;
use crate::frame::{Psn, Route};
use crate::ids::PortIx;
use crate::mechanisms::congestion::AnyNotificationPoint;
use crate::mechanisms::recovery::AnyRecoveryReceiver;
use backwater_engine::Time;
use get_size2::GetSize;

/// Receiving side of one flow.
pub(super) struct Receiver {
    pub(super) recovery: AnyRecoveryReceiver,
    pub(super) notification: AnyNotificationPoint,
    /// Timer of the notification point that is set; [`Time::NEVER`] if none is.
    pub(super) timer_at: Time,
    pub(super) port: PortIx,
    pub(super) route: Route,
    pub(super) unacknowledged: u32,
    /// Number of ACKs, NACKs and CNPs sent.
    pub(super) answers: u32,
    /// Number of the flow's packets. For a connection: end of the message that is arriving, or of
    /// the last one that arrived.
    pub(super) packets: Psn,
    /// First packet of the message, and payload bytes of the message.
    pub(super) first: Psn,
    pub(super) bytes: u64,
    pub(super) expected: Psn,
    pub(super) last_delivery: Time,
    pub(super) reception: Reception,
}

const _: () = assert!(size_of::<Receiver>() <= 208);

impl Receiver {
    /// Returns the bytes on the heap.
    pub(super) fn heap_bytes(&self) -> u64 {
        let mechanisms = self.recovery.get_heap_size() + self.notification.get_heap_size();
        mechanisms as u64 + self.reception.disorder.heap_bytes()
    }
}
