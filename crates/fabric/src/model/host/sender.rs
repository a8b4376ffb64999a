//! The sending side of a flow: its queue pair.

use super::lanes::RoundIx;
use crate::contract::{Entropy, PathChoice, Progress, ReactionPoint, RecoverySender};
use crate::frame::{Psn, Route};
use crate::ids::{Class, FlowId, PortIx, QueueIx};
use crate::mechanisms::congestion::AnyReactionPoint;
use crate::mechanisms::recovery::AnyRecoverySender;
use crate::model::ledger::PairFacts;
use crate::network::fabric::Fabric;
use backwater_engine::Time;
use backwater_engine::prefetch::prefetch;
use get_size2::GetSize;
use std::mem::offset_of;

/// The sending side of one flow.
///
/// In the order of use: what every packet sent or acknowledged needs comes first, in two cache lines; then recovery and the reaction point.
#[repr(C, align(64))]
pub(super) struct QueuePair {
    pub(super) flow: FlowId,
    /// Where it stands in its port's round.
    pub(super) place: RoundIx,
    pub(super) route: Route,
    pub(super) bytes: u64,
    pub(super) packets: Psn,
    pub(super) progress: Progress,
    /// When the next packet may leave, as far as pacing goes.
    pub(super) next_departure: Time,
    /// Since when a packet could have left, had the port been free and open.
    pub(super) ready_since: Time,
    pub(super) class: Class,
    pub(super) state: PairState,
    pub(super) port: PortIx,
    /// The queue of the port whose gate holds it back.
    pub(super) queue: QueueIx,
    /// When the last packet started.
    pub(super) last_sent: Time,
    /// When the retransmission timer was started; [`Time::NEVER`] while nothing is in flight.
    pub(super) timed_from: Time,
    /// When the host next looks at the timer; [`Time::NEVER`] if it does not.
    pub(super) check_at: Time,
    pub(super) recovery: AnyRecoverySender,
    pub(super) reaction: AnyReactionPoint,
    /// Which path packets take, where the host's half of load balancing says.
    pub(super) paths: Option<Box<dyn PathChoice>>,
    /// When the reaction point is called by the clock, as far as that has been asked for; [`Time::NEVER`] if it has not.
    pub(super) timer_at: Time,
    pub(super) retransmitted: u64,
    /// Packets sent more than once, each time counted.
    pub(super) resent: u32,
    /// Wire size of the last packet sent.
    pub(super) last_wire: u16,
}

// Whatever mechanism keeps more than that for every flow keeps it in a box.
const _: () = assert!(offset_of!(QueuePair, last_sent) == 64 && size_of::<QueuePair>() <= 384);

/// What a queue pair waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PairState {
    /// Nothing to send, or the window is full.
    Idle,
    /// Its departure time.
    Paced,
    /// Its turn.
    Ready,
    /// Nothing: the slot is free.
    Done,
}

impl QueuePair {
    /// Bytes that its mechanisms hold on the heap.
    pub(super) fn heap_bytes(&self) -> u64 {
        let paths = self.paths.as_deref().map_or(0, size_of_val);
        (self.recovery.get_heap_size() + self.reaction.get_heap_size() + paths) as u64
    }

    /// Asks for what a packet sent or acknowledged needs.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(&self.flow);
        prefetch(&self.last_sent);
        prefetch(&self.reaction);
    }

    /// What it does next, and may do.
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

    /// Payload bytes in flight; a last packet that has arrived before others counts as a full one.
    #[inline(always)]
    fn payload_in_flight(&self, fabric: &Fabric) -> u64 {
        let before = |psn| fabric.payload_before(psn, self.bytes);
        let not_in_flight = u64::from(self.recovery.not_in_flight(&self.progress)) * fabric.spec.mtu.get();
        (before(self.progress.next) - before(self.progress.acked)).saturating_sub(not_in_flight)
    }

    /// The path of packet `psn`, if the host chooses one.
    pub(super) fn path(&mut self, psn: Psn, now: Time) -> Option<Entropy> {
        let chosen = self.reaction.path(psn, now);
        chosen.or_else(|| self.paths.as_mut().map(|paths| paths.next(psn, now)))
    }

    /// Whether it waits at `port` for its departure time, which is `at`: it may have another one by now, and be at another port.
    #[inline]
    pub(super) fn is_paced_at(&self, port: PortIx, at: Time) -> bool {
        self.state == PairState::Paced && self.next_departure == at && self.port == port
    }

    /// When the retransmission timer runs out, as things are; [`Time::NEVER`] if it does not.
    pub(super) fn deadline(&self) -> Time {
        match self.recovery.timeout(&self.progress) {
            Some(timeout) if self.timed_from != Time::NEVER => self.timed_from + timeout,
            _ => Time::NEVER,
        }
    }

    /// Whether there is a packet to send, and a window for it.
    pub(super) fn can_send(&self, fabric: &Fabric) -> bool {
        self.recovery.next(&self.progress, self.packets).is_some()
            && self.payload_in_flight(fabric) < self.reaction.window()
    }
}
