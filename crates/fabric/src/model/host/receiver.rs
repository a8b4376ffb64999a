//! The receiving side of a flow.

use crate::contract::Footprint;
use crate::contract::note::Reception;
use crate::frame::{Psn, Route};
use crate::ids::PortIx;
use crate::mechanisms::congestion::AnyNotificationPoint;
use crate::mechanisms::recovery::AnyRecoveryReceiver;
use backwater_engine::{Duration, Time};

/// The receiving side of one flow.
pub(super) struct Receiver {
    pub(super) recovery: AnyRecoveryReceiver,
    pub(super) notification: AnyNotificationPoint,
    /// Timer of its notification point that is set.
    pub(super) timer: Time,
    pub(super) port: PortIx,
    pub(super) route: Route,
    pub(super) unacknowledged: u32,
    pub(super) expected: Psn,
    /// Packets that have come, wanted or not.
    pub(super) arrived: u64,
    pub(super) last_delivery: Time,
    /// Payload bytes delivered in order.
    pub(super) delivered: u64,
    /// Time that its next packet was held by a PAUSE.
    pub(super) paused: Duration,
    /// Of that, behind a PAUSE caused by a port that is not on its path.
    pub(super) blocked: Duration,
    /// The way of the packet with which it was complete.
    pub(super) way: Option<Route>,
}

const _: () = assert!(size_of::<Receiver>() <= 160);

impl Receiver {
    /// How its flow of `bytes` has fared so far.
    pub(super) fn reception(&self, bytes: u64) -> Reception {
        let Receiver { delivered, paused, blocked, way, .. } = *self;
        let finish = (delivered == bytes).then_some(self.last_delivery);
        Reception { delivered, finish, paused, blocked, way }
    }

    /// Bytes that its mechanisms hold on the heap.
    pub(super) fn heap_bytes(&self) -> u64 {
        self.recovery.heap_bytes() + self.notification.heap_bytes()
    }
}
