//! Sending side of a flow: its queue pair.

use super::lanes::RoundIx;
use super::messages::Outgoing;
use crate::contract::{Entropy, PathChoice, Progress, ReactionPoint, RecoverySender};
use crate::frame::{Psn, Route};
use crate::ids::{Class, FlowId, PortIx, QueueIx};
use crate::mechanisms::congestion::AnyReactionPoint;
use crate::mechanisms::recovery::AnyRecoverySender;
use crate::model::ledger::PairFacts;
use crate::network::fabric::Fabric;
use backwater_engine::Time;
use get_size2::GetSize;
use std::mem::offset_of;

/// Sending side of one flow.
///
/// Fields are in the order of use: two cache lines for every packet that is sent or acknowledged,
/// then recovery and the reaction point.
#[repr(C, align(64))]
pub(super) struct QueuePair {
    pub(super) flow: FlowId,
    /// Place in the round of its port.
    pub(super) place: RoundIx,
    pub(super) route: Route,
    pub(super) bytes: u64,
    /// Number of packets; those posted so far, for a connection.
    pub(super) packets: Psn,
    pub(super) progress: Progress,
    /// Earliest departure of the next packet by pacing.
    pub(super) next_departure: Time,
    /// Time from which a packet could have departed with an idle port and an open gate.
    pub(super) ready_since: Time,
    pub(super) class: Class,
    pub(super) state: PairState,
    pub(super) port: PortIx,
    /// Queue of the port whose gate holds the flow back.
    pub(super) queue: QueueIx,
    /// Start of the last packet.
    pub(super) last_sent: Time,
    /// Start of the retransmission timer; [`Time::NEVER`] while nothing is in flight.
    pub(super) timed_from: Time,
    /// Next check of the retransmission timer; [`Time::NEVER`] if none is scheduled.
    pub(super) check_at: Time,
    pub(super) recovery: AnyRecoverySender,
    pub(super) reaction: AnyReactionPoint,
    /// Path choice of load balancing, if hosts choose paths.
    pub(super) paths: Option<Box<dyn PathChoice>>,
    /// Timer of the reaction point that is set; [`Time::NEVER`] if none is.
    pub(super) timer_at: Time,
    /// Messages of a connection; `None` for a flow.
    pub(super) outgoing: Option<Box<Outgoing>>,
    pub(super) retransmitted: u64,
    /// Number of retransmissions.
    pub(super) resent: u32,
    /// Wire size of the last packet sent.
    pub(super) last_wire: u16,
}

// A mechanism with more state per flow must box the state.
const _: () = assert!(offset_of!(QueuePair, last_sent) == 64 && size_of::<QueuePair>() <= 384);

/// State of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PairState {
    /// Nothing to send, or the window is full.
    Idle,
    /// Waits for its departure time.
    Paced,
    /// Waits for its turn.
    Ready,
    /// Complete: the slot is free.
    Done,
}

impl QueuePair {
    /// Returns the bytes that the queue pair's mechanisms hold on the heap.
    pub(super) fn heap_bytes(&self) -> u64 {
        let paths = self.paths.as_deref().map_or(0, size_of_val);
        let mechanisms = self.recovery.get_heap_size() + self.reaction.get_heap_size() + paths;
        mechanisms as u64 + self.outgoing.as_ref().map_or(0, |outgoing| outgoing.heap_bytes())
    }

    /// Returns the next packet, window and departure time.
    #[inline(never)]
    pub(super) fn facts(&self, fabric: &Fabric) -> PairFacts {
        PairFacts {
            flow: self.flow,
            class: self.class,
            port: self.port,
            queue: self.queue,
            next: self.recovery.mechanism().next(&self.progress, self.packets),
            in_flight: self.payload_in_flight(fabric),
            window: self.reaction.mechanism().window(),
            departure: self.next_departure,
        }
    }

    /// Returns the payload bytes in flight. A short last packet that arrived out of order counts as
    /// a full one.
    #[inline(always)]
    fn payload_in_flight(&self, fabric: &Fabric) -> u64 {
        let (mtu, Progress { next, acked, .. }) = (fabric.spec.mtu.get(), self.progress);
        let not_in_flight = u64::from(self.recovery.not_in_flight(&self.progress)) * mtu;
        // One test for both ends is faster than `payload_before` for each.
        let sent = match &self.outgoing {
            None => fabric.payload_before(next, self.bytes) - fabric.payload_before(acked, self.bytes),
            Some(outgoing) => outgoing.payload_before(next, mtu) - outgoing.payload_before(acked, mtu),
        };
        sent.saturating_sub(not_in_flight)
    }

    /// Returns true for a connection whose messages are all acknowledged.
    pub(super) fn is_idle(&self) -> bool {
        self.outgoing.as_ref().is_some_and(|outgoing| outgoing.idle_since.is_some())
    }

    /// Returns the payload bytes of all packets before `psn`.
    #[inline(always)]
    pub(super) fn payload_before(&self, psn: Psn, fabric: &Fabric) -> u64 {
        match &self.outgoing {
            None => fabric.payload_before(psn, self.bytes),
            Some(outgoing) => outgoing.payload_before(psn, fabric.spec.mtu.get()),
        }
    }

    /// Returns the payload bytes of packet `psn`, and true if it is the first packet of its
    /// message.
    #[inline(always)]
    pub(super) fn payload_of(&mut self, psn: Psn, fabric: &Fabric) -> (u64, bool) {
        match &mut self.outgoing {
            None => {
                let before = fabric.payload_before(psn, self.bytes);
                (fabric.payload_before(psn + 1, self.bytes) - before, psn == 0)
            }
            Some(outgoing) => outgoing.payload_of(psn, fabric.spec.mtu.get()),
        }
    }

    /// Counts the payload of a packet that is sent again.
    #[inline(always)]
    pub(super) fn count_retransmission(&mut self, psn: Psn, payload: u64) {
        self.retransmitted += payload;
        self.resent += 1;
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.message_of(psn).retransmitted += payload;
        }
    }

    /// Returns the path of packet `psn`, if the host chooses one.
    pub(super) fn path(&mut self, psn: Psn, now: Time) -> Option<Entropy> {
        let chosen = self.reaction.path(psn, now);
        chosen.or_else(|| self.paths.as_mut().map(|paths| paths.next(psn, now)))
    }

    /// Returns true if the queue pair still waits at `port` for departure time `at`. The queue
    /// pair's departure time and port may have changed since it was added to the paced queue pairs.
    #[inline]
    pub(super) fn is_paced_at(&self, port: PortIx, at: Time) -> bool {
        self.state == PairState::Paced && self.next_departure == at && self.port == port
    }

    /// Returns the present deadline of the retransmission timer; [`Time::NEVER`] if the timer is
    /// stopped.
    pub(super) fn deadline(&self) -> Time {
        match self.recovery.timeout(&self.progress) {
            Some(timeout) if self.timed_from != Time::NEVER => self.timed_from + timeout,
            _ => Time::NEVER,
        }
    }

    /// Returns true if there is a packet to send and the window has room.
    #[inline(always)]
    pub(super) fn can_send(&self, fabric: &Fabric) -> bool {
        let Progress { next, acked, .. } = self.progress;
        let (window, most) = (self.reaction.window(), u64::from(next - acked) * fabric.spec.mtu.get());
        self.recovery.next(&self.progress, self.packets).is_some()
            && (most < window || self.payload_in_flight(fabric) < window)
    }
}
